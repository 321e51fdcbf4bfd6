"""Protected rows: the one object that learners and analysts get.

Every question is charged before a row is read, asks a whole level or a whole forest at once, and
returns only what a mechanism let through.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from privet.checks import Number, whole
from privet.data import Persons, declared_unit
from privet.engines import nobody, open_engine
from privet.errors import BudgetError, BudgetExceeded, SchemaError
from privet.privacy.budget import ZCDP
from privet.privacy.mechanisms import Mechanisms, Secure
from privet.privacy.prepaid import Payer, Quote, Quoting
from privet.privacy.question import Question, cost_of
from privet.privacy.questions import QUESTIONS
from privet.privacy.questions.trees import LeafLabelRows, LeafLabels
from privet.privacy.wall import Wall
from privet.schema import Schema
from privet.structure import CompleteTrees


class Protected(Wall):
    """Rows behind the wall, and every question by its name: ``noisy_count("age >= 37", epsilon=0.1)``.

    Parameters
    ----------
    engine : Engine
        Where the rows lie.
    schema : Schema
    account : Account
        Whose budget pays.
    mechanisms : Mechanisms
        Where noise comes from: `Secure` unless something else is given.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """A question by its name, with an ``epsilon`` or a ``rho``, and a ``delta`` where it has its own."""
        if name not in QUESTIONS:
            raise AttributeError(f"protected rows have no {name!r}: they answer {', '.join(QUESTIONS)}.")
        return partial(_asked, self, QUESTIONS[name])

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *QUESTIONS]

    def __repr__(self) -> str:
        return f"Protected({self._account.name!r}, {len(self.schema.features)} features)"

    def batch(
        self,
        source: Any,
        name: str,
        labels: Any = None,
        unit: Any = None,
        spill: str | Path | bool | None = None,
        key: str | None = None,
    ) -> Protected:
        """A later, disjoint set of people, whose questions cost in parallel to those of others.

        Privacy
        -------
        Holds if nobody of this batch is in another one: the owner declared so, and the ledger keeps that
        declaration. Proof: *Parallel composition*.
        """
        account = self._account.batch(name)
        return protect(
            source, self.schema, account, labels, self._mechanisms, unit=unit, spill=spill, key=key
        )

    def under(self, schema: Schema) -> Protected:
        """The same rows, read under the same contract with other bounds and categories: those found, or none.

        What is left of a reserved plan goes along.

        Privacy
        -------
        A row's code depends on that row and the schema alone, whoever chose it, so every question has the
        sensitivity that follows from the schema under which it is asked. What is asked is charged to the
        same account, as asked under the contract. Proof: *Ranges and values*.
        """
        # By way of text: of plain types alone, whatever was handed in.
        schema = Schema.from_dict(json.loads(json.dumps(schema.to_dict())))
        if schema.declared != self.schema.declared:
            raise SchemaError(
                "rows can be read under their own contract alone.",
                "fill in what it leaves open: Schema.filled.",
            )
        rows = Protected(self._engine.under(schema), schema, self._account, self._mechanisms)
        rows._carry_on(self)
        return rows

    def split(self, n: int) -> Parts:
        """Disjoint random parts: every person draws their own, whatever the others do.

        Privacy
        -------
        What is asked of the parts costs the maximum. Proof: *Parallel composition*.
        """
        return Parts(self, whole(n, "the number of parts", 1, hint="give as many parts as trees."))


@dataclass(frozen=True)
class Parts:
    """Random disjoint parts of protected rows, drawn anew for every question: tree ``t`` has part ``t``."""

    protected: Protected
    n: int

    def choose_label(self, structure: CompleteTrees, **price: Number) -> Any:
        """See `LeafLabels`."""
        return self._ask(LeafLabels, structure, price)

    def noisy_histogram(self, structure: CompleteTrees, **price: Number) -> Any:
        """See `LeafLabelRows`."""
        return self._ask(LeafLabelRows, structure, price)

    def _ask(self, kind: type[Question[Any]], structure: CompleteTrees, price: dict[str, Number]) -> Any:
        whole(self.n, "the number of parts", structure.n_trees, structure.n_trees, "take as many as trees.")
        return getattr(self.protected, kind.method)(structure, own_rows=True, **price)


def _asked(rows: Protected, kind: type[Question[Any]], *args: Any, **more: Any) -> Any:
    price = [more.pop(name, None) for name in ("epsilon", "rho", "delta")]
    question = kind(*args, **more).copied()
    question.check_predicted(rows.schema)
    question.check(rows.schema)
    return rows.ask(question, cost_of(question, rows.schema, *price))


def protect(
    source: Any,
    schema: Schema,
    account: Payer,
    labels: Any = None,
    mechanisms: Mechanisms | None = None,
    progress: Callable[[float], None] | None = None,
    unit: Any = None,
    spill: str | Path | bool | None = None,
    key: str | None = None,
) -> Protected:
    """Put a table behind the wall. Column names are checked now, rows are read when paid for.

    Parameters
    ----------
    source : a frame, an Arrow table, a numpy array, or where rows lie
        A path of a CSV, Parquet or Arrow file, of a folder of them, a pattern of their names, or the address
        of a table or query: ``duckdb:///people.db?table=people``, ``postgresql://host/db?query=SELECT …``.
    schema : Schema
    account : Account
        Or whoever else pays, see `Payer`.
    labels : array-like, optional
        The label of each row, where it does not stand in the table.
    mechanisms : Mechanisms, optional
        `Repeatable` in studies and tests.
    progress : callable, optional
        Told which share of the rows has been read.
    unit : str or array-like, optional
        The column that says whose a row is, or an identifier for each row; by default the schema's ``unit``,
        and a row a person without one.
    spill : path or bool, optional
        Folder of the private file that holds codes of rows which are read again and again, where they are too
        many for memory: by default that of temporary files. False reads them from their place every time.
    key : str, optional
        Column that says which row is which, as a primary key does. What a row draws for itself, such as
        whether it is held out, then depends on its key and no more on its place: databases promise no order.

    Privacy
    -------
    Where a person may have several rows, one of them is drawn, once, and stands for them in every answer. So
    whatever is said of one row holds of a person with all their rows. Proof: *One row a person*.
    """
    schema, beside = declared_unit(schema, unit)
    mechanisms = mechanisms or Secure()
    persons = None if schema.unit is None else Persons(schema.unit, mechanisms.row_draws().key, beside)
    engine = open_engine(source, schema, labels, progress, persons, spill, key)
    return Protected(engine, schema, account, mechanisms)


def quotes(
    ask: Callable[[Protected], object], schema: Schema, name: str = "people", accounting: str = ZCDP
) -> list[Quote]:
    """What some work would reserve first, by doing it on no rows with an account that refuses every charge.

    Parameters
    ----------
    ask : callable
        Gets protected rows, of which there are none.
    schema : Schema
    name : str
        The account.
    accounting : str
        How costs with a δ add up on it.

    Returns
    -------
    list of Quote
        One, or several where the work tries another plan after the first is refused.

    Privacy
    -------
    No row is there to be read: a price follows from what is asked and the schema alone.
    """
    payer = Quoting(name, accounting)
    with suppress(BudgetExceeded):
        ask(Protected(nobody(schema), schema, payer))
    if not payer.quotes:
        raise BudgetError("this asks nothing.", "ask a question.")
    return payer.quotes

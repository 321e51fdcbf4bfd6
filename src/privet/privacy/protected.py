"""Protected rows: the one object that learners and analysts get.

Every question is charged before a row is read, asks a whole level or a whole forest at once, and
returns only what a mechanism let through.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from privet.data import Codes, encode, open_table
from privet.engines import MemoryEngine
from privet.errors import DataError, PrivetError
from privet.privacy.analyst_questions import AnalystQuestions
from privet.privacy.bits import Bits
from privet.privacy.boosting_questions import BoostingQuestions
from privet.privacy.ledger import Account
from privet.privacy.score_questions import ScoreQuestions
from privet.privacy.selection_questions import SelectionQuestions
from privet.privacy.split_questions import SplitQuestions
from privet.schema import Schema

NEIGHBOURS = "add or remove one row"


class Protected(AnalystQuestions, SplitQuestions, BoostingQuestions, ScoreQuestions, SelectionQuestions):
    """Rows behind the wall.

    Parameters
    ----------
    engine : Engine
        Where the rows lie.
    schema : Schema
    account : Account
        Whose budget pays.
    bits : SecureBits or StudyBits
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Protected({self._account.name!r}, {len(self.schema.features)} features)"

    def batch(self, source: Any, name: str, labels: Any = None) -> Protected:
        """A later, disjoint set of people, whose questions cost in parallel to those of others.

        Privacy
        -------
        Holds if nobody of this batch is in another one; the ledger keeps that declaration. Proof:
        *Parallel composition*.
        """
        return protect(source, self.schema, self._account.batch(name), labels, self._bits)


def protect(
    source: Any,
    schema: Schema,
    account: Account,
    labels: Any = None,
    bits: Bits | None = None,
    progress: Callable[[float], None] | None = None,
) -> Protected:
    """Put a table behind the wall. Column names are checked now, rows are read when paid for.

    Parameters
    ----------
    source : a frame, an Arrow table, a numpy array, or the path of a CSV or Parquet file
    schema : Schema
    account : Account
    labels : array-like, optional
        The label of each row, where it does not stand in the table.
    bits : SecureBits or StudyBits, optional
    progress : callable, optional
        Told which share of the rows has been read.
    """
    table = open_table(source, schema)
    table.require(schema.feature_names if labels is not None else [*schema.feature_names, schema.label.name])

    def load() -> Codes:
        try:
            codes = encode(table, schema, labels)
        except PrivetError:
            raise
        except Exception:
            codes = None
        if codes is None:  # raised here, where no exception that may quote a row is its context
            raise DataError(
                "the table could not be read through its schema.",
                "give columns of numbers, text or truth values; convert dates and other types.",
            )
        if schema.max_rows is not None and codes.n_rows > schema.max_rows:
            raise DataError(
                "the table has more rows than the schema's max_rows allows.",
                "raise max_rows: it must bound the rows, publicly.",
            )
        return codes

    return Protected(MemoryEngine(load, progress), schema, account, bits)

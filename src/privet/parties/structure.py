"""What parties agree on before any of them asks its rows: trees, voting, price, schema."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from privet.checks import whole
from privet.errors import ModelFileError, PrivetError, QuestionError, SchemaError
from privet.learners.boosting.numbers import Numbers
from privet.learners.count_forest import default_trees
from privet.learners.count_structure import LABEL_SHARE
from privet.learners.majority_forest import check_size, forest_depth
from privet.learners.purse import Purse
from privet.learners.random_trees import random_complete_trees
from privet.model.card import stated
from privet.model.file import MAGIC, from_bytes, read_whole, to_bytes, write_whole
from privet.model.forest import trees_from_arrays, trees_to_arrays
from privet.model.voting import check_voting
from privet.privacy import Budget, Charge
from privet.privacy.questions.boosting import LabelRows
from privet.privacy.questions.moments import Moments
from privet.privacy.questions.numbers import LeafTargetRows
from privet.privacy.questions.trees import MAX_CELLS, LeafLabelRows
from privet.schema import Schema, Target
from privet.structure import CompleteTrees

KIND = "party-structure"
VOTING = "posterior"


@dataclass(frozen=True)
class PublicStructure:
    """A forest without counts, and what a party pays to fill it.

    Attributes
    ----------
    trees : CompleteTrees
    schema : Schema
    budget : Budget
        What each party is asked to spend.
    voting : str
        Of labels; a number is told by the mean of the trees.
    seed : int
        Public; `is_drawn` says whether the trees come from it.
    """

    trees: CompleteTrees
    schema: Schema
    budget: Budget
    voting: str
    seed: int

    def __post_init__(self) -> None:
        if self.schema.open_features or self.schema.target_is_open:
            raise open_contract()
        object.__setattr__(self, "seed", check_seed(self.seed))
        check_size(self.trees.n_trees, self.trees.depth)
        check_voting(self.voting)
        if self.is_of_numbers and self.voting != VOTING:
            raise QuestionError("labels are voted on, numbers are not.", "leave the voting out.")
        if np.prod(self.shape) > MAX_CELLS:
            raise QuestionError("these trees have too many leaves.", "take fewer or shallower trees.")
        self.plan(self.budget)

    @property
    def is_of_numbers(self) -> bool:
        """Whether a number is to be predicted."""
        return isinstance(self.schema.label, Target)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of a party's counts: trees, leaves, and labels, or *below* and *above* of a number."""
        columns = 2 if self.is_of_numbers else self.schema.n_labels
        return self.trees.n_trees, self.trees.n_leaves, columns

    @property
    def n_totals(self) -> int:
        """Counts of all rows that a party gives: by label, or the moments of a number."""
        return 3 if self.is_of_numbers else self.schema.n_labels

    @property
    def middle(self) -> Numbers:
        """About which number, and by which width, rows are shared out: all of the public range."""
        return Numbers.of(self.schema)

    @property
    def fingerprint(self) -> str:
        """Digest of everything that was agreed on."""
        return hashlib.sha256(self._bytes()).hexdigest()

    @property
    def is_drawn(self) -> bool:
        """Whether whoever draws with the seed gets these trees; privacy does not depend on it."""
        again = _draw(self.schema, self.trees.n_trees, self.trees.depth, self.seed)
        return to_bytes({}, trees_to_arrays(again)) == to_bytes({}, trees_to_arrays(self.trees))

    def questions(self) -> tuple[LabelRows | Moments, LeafLabelRows | LeafTargetRows]:
        """What a party asks its rows: about all of them, and by leaf."""
        if self.is_of_numbers:
            about = self.middle
            return Moments(self.schema.target.name), LeafTargetRows(self.trees, about.centre, about.width)
        return LabelRows(), LeafLabelRows(self.trees)

    def plan(self, budget: Budget) -> list[Charge]:
        """What a party pays for them."""
        purse, shares = Purse.of(budget), (LABEL_SHARE, 1 - LABEL_SHARE)
        plan = [
            question.charge(self.schema, purse.cost(share))
            for question, share in zip(self.questions(), shares, strict=True)
        ]
        for charge in plan:
            _ = charge.law  # noise that cannot be drawn is refused here
        return plan

    def describe(self) -> dict[str, Any]:
        """What was agreed on, as plain data."""
        return {
            "kind": KIND,
            "fingerprint": self.fingerprint,
            "schema": self.schema.fingerprint,
            "trees": self.trees.n_trees,
            "depth": self.trees.depth,
            **({} if self.is_of_numbers else {"voting": self.voting}),
            "budget of each party": str(self.budget),
            "seed": self.seed,
            "drawn from the seed": self.is_drawn,
        }

    def save(self, path: str | Path) -> None:
        """Write the structure to one file."""
        write_whole(path, self._bytes())

    def _bytes(self) -> bytes:
        header = {
            "kind": KIND,
            "schema": self.schema.to_dict(),
            "depth": self.trees.depth,
            "epsilon": str(self.budget.epsilon),
            "delta": str(self.budget.delta),
            "voting": self.voting,
            "seed": self.seed,
        }
        return to_bytes(header, trees_to_arrays(self.trees))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a structure from its file; one that could not be asked of any table is refused."""
        data = read_whole(path)
        header, arrays = from_bytes(data, path) if data.startswith(MAGIC) else ({}, {})
        if header.get("kind") != KIND:
            raise ModelFileError(
                f"{str(path)!r} is not a structure.", "give a file written by `privet party structure`."
            )
        try:
            schema, seed = Schema.from_dict(header["schema"]), header["seed"]
            budget = Budget(stated(header["epsilon"]), stated(header["delta"]))
            trees = trees_from_arrays(arrays, header["depth"], schema)
            return cls(trees, schema, budget, header["voting"], seed)
        except (PrivetError, KeyError, TypeError, ValueError) as error:
            raise ModelFileError(
                f"{str(path)!r} does not hold a sound structure ({error}).", "fetch it again."
            ) from None


def draw_structure(
    schema: Schema,
    epsilon: float = 1.0,
    delta: float = 0,
    *,
    n_trees: int | None = None,
    max_depth: int | None = None,
    voting: str = VOTING,
    seed: int = 0,
) -> PublicStructure:
    """Draw random trees from a schema and a public seed; no row is involved.

    Parameters
    ----------
    schema : Schema
        The public contract of every party's table.
    epsilon, delta : float
        What each party is asked to spend.
    n_trees, max_depth : int, optional
        By default as `CountForestClassifier` with ``structure="fletcher-islam"`` has them.
    voting : str
        How the merged model combines leaves that count labels.
    seed : int
    """
    if schema.open_features or schema.target_is_open:
        raise open_contract()
    budget = Budget(epsilon, delta)
    wanted = default_trees(float(budget.epsilon), float(budget.delta)) if n_trees is None else n_trees
    trees, seed = whole(wanted, "n_trees", 1), check_seed(seed)
    depth = forest_depth(schema, trees) if max_depth is None else whole(max_depth, "max_depth", 1)
    check_size(trees, depth)
    return PublicStructure(_draw(schema, trees, depth, seed), schema, budget, voting, seed)


def open_contract() -> SchemaError:
    """Return the error of a schema from which no trees can be drawn."""
    return SchemaError(
        "parties agree on trees before anyone asks, and the schema leaves features open.",
        "state bounds and lists of categories that all agree on.",
    )


def _draw(schema: Schema, n_trees: int, depth: int, seed: int) -> CompleteTrees:
    # A seed of this generator draws the same numbers in every version of numpy.
    return random_complete_trees(schema, n_trees, depth, np.random.RandomState(seed))


def check_seed(seed: object) -> int:
    """Take a seed that names one drawing."""
    return whole(seed, "the seed", 0, 2**32 - 1)

"""Hold every answer that crosses the wall against the answer that a neighbouring table would get.

A program behind the wall is run on a table, and what each mechanism was given and gave is written
down. It is run again on the table without one of its rows, and every mechanism is made to give the same
answers as before. Three things must come out:

- the program asks the same questions, with the same noise: otherwise what it asks tells of the rows;
- what it releases is the same: otherwise something but the answers reached it;
- the losses of the answers, each computed from the two exact answers and the law of the noise, add up
  to no more than was charged.

The loss of additive noise is known exactly for all its infinitely many outcomes: the distance of
the exact answers over the scale. That of a selection is read off the exact laws of its few outcomes. Which
random part a row is in is not released; rows that both tables hold are given the same one, and what
holds for every choice of parts holds for their mixture.

Proof note: ``docs/proofs/auditing.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from privet.audit.interception import SealedBits, replaced
from privet.audit.losses import Answer, Loss, loss_of, together
from privet.audit.ranges import drawn, ranges_of
from privet.engines import Batch
from privet.model import PrivacyCard
from privet.privacy import (
    Budget,
    Cost,
    Ledger,
    Protected,
    StudyBits,
    mechanisms,
    selection,
    sparse,
    tree_questions,
)
from privet.privacy.bits import uniform_below
from privet.privacy.budget import NOTHING
from privet.schema import Schema

SPARSE = sparse.sparse_laplace


class Leak(Exception):
    """Something depended on a row that no answer of the wall accounts for."""


class Witness:
    """Stands between the wall and its mechanisms, draws their answers or repeats earlier ones."""

    def __init__(
        self, n_rows: int, seed: int, lift: int = 0, earlier: Witness | None = None, without: int = 0
    ) -> None:
        self._n_rows = n_rows
        self.answers: list[Answer] = []
        self.parts: list[np.ndarray] = []
        self._study = StudyBits(seed)
        self._random = np.random.default_rng(seed)
        self._lift = lift
        self._earlier = earlier
        self._without = without

    def watching(self) -> AbstractContextManager[Any]:
        """Take the place of all mechanisms, and of the rows' choice of parts."""
        stack = ExitStack()
        stack.enter_context(
            replaced(
                {
                    mechanisms.laplace_counts: self._additive("laplace", 1),
                    mechanisms.gaussian_counts: self._additive("gaussian", 2),
                    mechanisms.permute_and_flip: self._selection("permute-and-flip"),
                    mechanisms.exponential: self._selection("exponential"),
                    sparse.sparse_laplace: self._sparse,
                    selection.exponential_ranges: self._ranges,
                }
            )
        )
        stack.enter_context(replaced({uniform_below: self._uniform_parts}, [tree_questions]))
        return stack

    def _additive(self, name: str, power: int) -> Callable[..., Any]:
        """Noise of about the right width will do: every outcome is possible, and none is left out."""

        def answer(exact: np.ndarray, parameter: Fraction, bits: Any) -> Any:
            def draw() -> Any:
                width = float(parameter) ** (1 / power)
                noise = np.rint(self._random.laplace(self._lift, width, exact.shape))
                return exact + noise.astype(np.int64)

            return self._settle(name, parameter, exact, draw)

        return answer

    def _selection(self, name: str) -> Callable[..., Any]:
        def answer(exact_scores: np.ndarray, rate: Fraction, bits: Any) -> Any:
            rows, columns = exact_scores.shape
            return self._settle(name, rate, exact_scores, lambda: self._random.integers(columns, size=rows))

        return answer

    def _sparse(
        self,
        cells: np.ndarray,
        exact: np.ndarray,
        n_cells: int,
        scale: Fraction,
        threshold: int,
        bits: Any,
    ) -> Any:
        held = dict(zip(cells.tolist(), exact.tolist(), strict=True))
        draw = SPARSE
        return self._settle(
            "sparse",
            (scale, n_cells, threshold),
            held,
            lambda: draw(cells, exact, n_cells, scale, threshold, self._study),
        )

    def _ranges(
        self,
        exact_best: np.ndarray,
        exact_mass: np.ndarray,
        thresholds: np.ndarray,
        locate: selection.Locate,
        table: selection.WeightTable,
        bits: Any,
    ) -> Any:
        leaves = ranges_of(exact_best, exact_mass, thresholds, locate, table)

        def draw() -> Any:
            choices = [drawn(leaf, self._random) for leaf in leaves]
            return tuple(np.array(choices, np.int64).reshape(-1, 2).T)

        return self._settle("ranges", (table.rate, thresholds.tobytes()), leaves, draw)

    def _settle(self, mechanism: str, parameter: Any, exact: Any, draw: Callable[[], Any]) -> Any:
        exact = exact.copy()
        free = self._earlier is None
        outcome = draw() if free else self._repeated(mechanism, parameter, np.shape(exact))
        self.answers.append(Answer(mechanism, parameter, exact, outcome))
        return tuple(map(np.copy, outcome)) if isinstance(outcome, tuple) else outcome.copy()

    def _repeated(self, mechanism: str, parameter: Any, shape: tuple[int, ...]) -> Any:
        assert self._earlier is not None
        place = len(self.answers)
        if place >= len(self._earlier.answers):
            raise Leak("the neighbour is asked one question more")
        before = self._earlier.answers[place]
        if (mechanism, parameter, shape) != (before.mechanism, before.parameter, np.shape(before.exact)):
            raise Leak("the neighbour is asked another question")
        return before.outcome

    def _uniform_parts(self, bounds: np.ndarray, bits: Any) -> np.ndarray:
        if len(bounds) != self._n_rows:
            raise Leak("parts are not drawn once a row")
        if self._earlier is None:
            parts = uniform_below(bounds, self._study)
        else:
            parts = np.delete(self._earlier.parts[len(self.parts)], [self._without])
        self.parts.append(parts)
        return parts.copy()


@dataclass(frozen=True)
class Comparison:
    """One transcript on two neighbours, and what was charged for it.

    Attributes
    ----------
    loss : Loss
    charged : Cost
    answers : int
    leak : str
        What depended on the row besides the answers, if anything did.
    in_parts : bool
        Whether rows drew random parts: the loss is then that of one choice of parts, which bounds the loss
        over all of them but need not be attained.
    """

    loss: Loss
    charged: Cost
    answers: int
    leak: str = ""
    in_parts: bool = False

    @property
    def keeps(self) -> bool:
        """Whether what was charged covers the loss."""
        if self.leak:
            return False
        bound, charged = self.loss.bound, self.charged
        if bound.epsilon is not None and charged.epsilon is not None:
            return bound.epsilon <= charged.epsilon
        return bound.rho <= charged.rho

    @property
    def broken(self) -> bool:
        """Whether it certainly does not: some outcome is likelier than was paid for."""
        if self.leak or self.in_parts:
            return bool(self.leak)
        if self.loss.bound.epsilon is not None and self.charged.epsilon is not None:
            return self.loss.attained > float(self.charged.epsilon) * (1 + 1e-12)
        return self.loss.rho > self.charged.rho


class Rows:
    """Some rows as an engine: codes ``(features, rows)`` and labels, handed over in one batch."""

    def __init__(self, features: np.ndarray, labels: np.ndarray) -> None:
        self.features = features
        self.labels = labels

    def sum(self, kernel: Callable[[Batch], Any]) -> Any:
        """See `Engine.sum`."""
        return kernel(Batch(self.features, self.labels))

    def without(self, row: int) -> Rows:
        """The neighbour that lacks a row."""
        features = np.ascontiguousarray(np.delete(self.features, row, axis=1))
        return Rows(features, np.delete(self.labels, row))


def watch(
    program: Callable[[Protected], Any], rows: Rows, schema: Schema, budget: Budget, witness: Witness
) -> tuple[Any, Cost]:
    """Run a program behind the wall; return its release and what its ledger was charged."""
    account = Ledger().create("audit", budget)
    with witness.watching():
        protected = Protected(rows, schema, account, SealedBits())  # type: ignore[arg-type]
        release = program(protected)
    spent = account.spent()
    account.ledger.close()
    return release, spent


def compare_without(
    program: Callable[[Protected], Any],
    rows: Rows,
    row: int,
    schema: Schema,
    budget: Budget,
    seed: int,
    lift: int = 0,
) -> Comparison:
    """Hold one transcript on a table against the same transcript without one of its rows."""
    n_rows = len(rows.labels)
    first = Witness(n_rows, seed, lift)
    again = Witness(n_rows - 1, seed, lift, first, row)
    charged = NOTHING
    try:
        release, charged = watch(program, rows, schema, budget, first)
        other, charged_again = watch(program, rows.without(row), schema, budget, again)
        if len(again.answers) != len(first.answers):
            raise Leak("the neighbour is asked fewer questions")
        if charged_again != charged:
            raise Leak("the neighbour is charged another cost")
        if digest(other) != digest(release):
            raise Leak("the release differs although all answers are the same")
    except Leak as leak:
        return Comparison(Loss(NOTHING), charged, len(first.answers), str(leak))
    losses = [loss_of(a, b) for a, b in zip(first.answers, again.answers, strict=True)]
    return Comparison(together(losses), charged, len(losses), in_parts=bool(first.parts))


def digest(release: Any) -> Hashable:
    """A release as something that can be compared; where it stands in a ledger is left out."""
    if isinstance(release, np.ndarray) and release.dtype == object:
        return (release.shape, digest(release.ravel().tolist()))
    if isinstance(release, np.ndarray):
        return (release.dtype.str, release.shape, release.tobytes())
    if is_dataclass(release) and not isinstance(release, type):
        skipped = {"receipt"} if isinstance(release, PrivacyCard) else set()
        names = [field.name for field in fields(release) if field.name not in skipped]
        return tuple(digest(getattr(release, name)) for name in names)
    if isinstance(release, dict):
        return tuple((key, digest(value)) for key, value in release.items() if key != "receipt")
    if isinstance(release, list | tuple):
        return tuple(map(digest, release))
    return repr(release)

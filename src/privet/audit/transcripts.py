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

from collections.abc import Callable, Hashable, Sequence
from copy import deepcopy
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from privet.answers import Law
from privet.audit.enumeration import SealedBits
from privet.audit.losses import NOTHING, Answer, Loss, loss_of, together
from privet.audit.ranges import drawn, ranges_of
from privet.audit.stand import Program, Rows, ask
from privet.model import PrivacyCard
from privet.noise.bits import RowDraws, StudyBits
from privet.noise.ranges import Locate, WeightTable
from privet.noise.samplers import GAUSSIAN
from privet.noise.sparse import sparse_laplace
from privet.privacy import Budget, Cost, Ledger, Mechanisms
from privet.privacy.budget import NOTHING as FREE
from privet.privacy.mechanisms import Key
from privet.schema import Schema


class Leak(BaseException):
    """Something depended on a row that no answer accounts for; no error: no program may catch it."""


class Witness(Mechanisms):
    """Mechanisms of a wall under audit: they write down what they are given, and give what they gave before.

    Parameters
    ----------
    n_rows : int
        Of the table that is asked.
    seed : int
        Of the answers, which could be any.
    lift : int
        Added to every noisy number.
    earlier : Witness, optional
        Whose answers are repeated.
    """

    def __init__(self, n_rows: int, seed: int, lift: int = 0, earlier: Witness | None = None) -> None:
        super().__init__(SealedBits())
        self.answers: list[Answer] = []
        self.keys: list[bytes] = []
        self.in_parts = False
        self.n_rows = n_rows
        self._study = StudyBits(seed)
        self._random = np.random.default_rng(seed)
        self._lift = lift
        self._earlier = earlier

    def add(self, exact: np.ndarray, law: Law) -> np.ndarray:
        """Noise of about the right width will do: every outcome is possible, and none is left out."""

        def draw() -> Any:
            width = float(law.parameter) ** (1 / 2 if law.name == GAUSSIAN else 1)
            noise = np.rint(self._random.laplace(self._lift, width, exact.shape))
            return exact + noise.astype(np.int64)

        return np.asarray(self._settle(law.name, law.parameter, exact.copy(), draw))

    def choose(self, exact_scores: np.ndarray, law: Law) -> np.ndarray:
        """Any candidate may be chosen."""
        *shape, columns = exact_scores.shape
        flat = exact_scores.reshape(-1, columns).copy()
        chosen = self._settle(
            law.name, law.parameter, flat, lambda: self._random.integers(columns, size=len(flat))
        )
        return np.asarray(chosen.reshape(shape))

    def choose_in_ranges(
        self,
        exact_best: np.ndarray,
        exact_mass: np.ndarray,
        thresholds: np.ndarray,
        locate: Locate,
        table: WeightTable,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Any choice and threshold that a leaf may take."""
        leaves = ranges_of(exact_best, exact_mass, thresholds, locate, table)

        def draw() -> Any:
            choices = [drawn(leaf, self._random) for leaf in leaves]
            return tuple(np.array(choices, np.int64).reshape(-1, 2).T)

        choice, threshold = self._settle("ranges", (table.rate, thresholds.tobytes()), leaves, draw)
        return choice, threshold

    def keep_frequent(
        self, cells: np.ndarray, exact: np.ndarray, n_cells: int, scale: Fraction, threshold: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Some sparse release."""
        held = dict(zip(cells.tolist(), exact.tolist(), strict=True))
        kept, values = self._settle(
            "sparse",
            (scale, n_cells, threshold),
            held,
            lambda: sparse_laplace(cells, exact, n_cells, scale, threshold, self._study),
        )
        return kept, values

    def keep_common(
        self, keys: Sequence[Key], exact: np.ndarray, law: Law, threshold: int
    ) -> tuple[list[Key], np.ndarray]:
        """Some values that rows have."""
        held = dict(zip(keys, exact.tolist(), strict=True))
        kept, noisy = self._settle(
            "common",
            (*law, threshold),
            held,
            lambda: Mechanisms(self._study).keep_common(keys, exact, law, threshold),
        )
        return kept, noisy

    def row_draws(self) -> RowDraws:
        """Draws under a key that both tables share: rows that both hold draw the same."""
        place = len(self.keys)
        if self._earlier is None:
            self.keys.append(self._study.bytes(32))
        elif place < len(self._earlier.keys):
            self.keys.append(self._earlier.keys[place])
        else:
            raise Leak("the neighbour is asked one question more")
        return WatchedDraws(self.keys[place], self)

    def below(self, bounds: np.ndarray) -> np.ndarray:
        """Uniform draws, of which no row knows."""
        return np.asarray(
            self._settle("uniform", bounds.tobytes(), None, lambda: self._random.integers(bounds))
        )

    def coin(self, probability: Fraction) -> bool:
        """A coin, of which no row knows."""
        return bool(
            self._settle("coin", probability, None, lambda: self._random.random() < float(probability))
        )

    def _settle(self, mechanism: str, parameter: Any, exact: Any, draw: Callable[[], Any]) -> Any:
        outcome = draw() if self._earlier is None else self._repeated(mechanism, parameter, np.shape(exact))
        self.answers.append(Answer(mechanism, parameter, exact, outcome))
        return deepcopy(outcome)

    def _repeated(self, mechanism: str, parameter: Any, shape: tuple[int, ...]) -> Any:
        assert self._earlier is not None
        place = len(self.answers)
        if place >= len(self._earlier.answers):
            raise Leak("the neighbour is asked one question more")
        before = self._earlier.answers[place]
        if (mechanism, parameter, shape) != (before.mechanism, before.parameter, np.shape(before.exact)):
            raise Leak("the neighbour is asked another question")
        return before.outcome


class WatchedDraws(RowDraws):
    """What rows draw for themselves, where a witness sees that they do, once a row."""

    def __init__(self, key: bytes, witness: Witness) -> None:
        super().__init__(key)
        self._witness = witness

    def below(self, bound: int, rows: np.ndarray) -> np.ndarray:
        """See `RowDraws.below`."""
        if len(rows) != self._witness.n_rows:
            raise Leak("parts are not drawn once a row")
        self._witness.in_parts = True
        return super().below(bound, rows)


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
        if self.leak or self.loss.delta > self.charged.delta:
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
        if self.loss.delta > float(self.charged.delta) * (1 + 1e-9):
            return True
        if self.loss.bound.epsilon is not None and self.charged.epsilon is not None:
            return self.loss.attained > float(self.charged.epsilon) * (1 + 1e-12)
        return self.loss.rho > self.charged.rho


def watch(program: Program, rows: Rows, schema: Schema, budget: Budget, witness: Witness) -> tuple[Any, Cost]:
    """Run a program behind a wall; return its release and what its ledger was charged."""
    account = Ledger().create("audit", budget)
    release = ask(program, rows, schema, account, witness)
    spent = account.spent()
    account.ledger.close()
    return release, spent


def compare_without(
    program: Program,
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
    again = Witness(n_rows - 1, seed, lift, first)
    charged = FREE
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
    return Comparison(together(losses), charged, len(losses), in_parts=first.in_parts)


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

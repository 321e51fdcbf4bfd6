"""What one party says: noisy counts for an agreed structure, with their card, signed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from privet.answers import Law
from privet.errors import ModelFileError, PrivetError, SchemaError
from privet.keys import PrivateKey, public_key
from privet.learners.count_forest import written
from privet.model import PrivacyCard
from privet.model.card import stated
from privet.model.file import from_bytes, read_whole, to_bytes, write_whole
from privet.parties.keys import check_party, open_signed, sign
from privet.parties.structure import PublicStructure
from privet.privacy import Budget, Charge, Protected
from privet.version import __version__

KIND = "party-vector"
MAX_COUNT = 1 << 52
"""No count reaches it, whatever its noise; those of a thousand parties add up without overflow."""

MAX_TOTAL = 1 << 62
"""The same of counts of all rows, which may be in fine units: they are added up as floats."""


@dataclass(frozen=True)
class SignedVector:
    """Noisy counts of one party, verified to be what the holder of ``key`` signed.

    Attributes
    ----------
    party : str
    key : str
        Public key, as hexadecimal digits.
    structure : str
        Fingerprint of the structure that the counts belong to.
    disjoint : bool
        Whether the party declares that its people are with no other party.
    noise : list of [str, str]
        Law and parameter of the noise of ``label_rows`` and of ``counts``.
    label_rows : int64 (labels,)
        Of a number (3,), its moments, in units: see `Moments`.
    counts : int64
        Of every tree, leaf and label; of a number the sixteenths of rows *below* and *above*.
    card : PrivacyCard
    signed : bytes
        The file.
    """

    party: str
    key: str
    structure: str
    disjoint: bool
    noise: list[list[str]]
    label_rows: np.ndarray
    counts: np.ndarray
    card: PrivacyCard
    signed: bytes

    @property
    def budget(self) -> Budget:
        """What the party says that it spent."""
        return Budget(stated(self.card.epsilon), stated(self.card.delta))

    def describe(self) -> dict[str, Any]:
        """Who says what, as plain data."""
        return {
            "kind": KIND,
            "party": self.party,
            "key": self.key,
            "structure": self.structure,
            "schema": self.card.schema,
            "people": "declared to be with no other party" if self.disjoint else "may be with other parties",
            "noise of label rows": " ".join(self.noise[0]),
            "noise of leaf counts": " ".join(self.noise[1]),
            "promise": self.card.promise,
            "receipt": self.card.receipt,
        }

    def save(self, path: str | Path) -> None:
        """Write the signed file."""
        write_whole(path, self.signed)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a signed file; nothing of it is believed before its signature holds."""
        return cls.from_bytes(read_whole(path), path)

    @classmethod
    def from_bytes(cls, data: bytes, path: str | Path) -> Self:
        """Read the bytes of a signed file; ``path`` is named in errors."""
        key, payload = open_signed(data, path)
        header, arrays = from_bytes(payload, path)
        try:
            if header.pop("kind") != KIND:
                raise TypeError("another kind of file")
            card = PrivacyCard(**header.pop("card"))
            fields: dict[str, Any] = {**header, **arrays}
            vector = cls(**fields, key=key, card=card, signed=data)
            _check_types(vector)
        except (PrivetError, KeyError, TypeError, ValueError, AttributeError):
            raise ModelFileError(
                f"{str(path)!r} is signed but makes no sense.", "ask the party for another."
            ) from None
        return vector


def publish(
    structure: PublicStructure,
    protected: Protected,
    party: str,
    key: PrivateKey,
    *,
    epsilon: Any = None,
    disjoint: bool = True,
) -> SignedVector:
    """Ask a party's own rows for the counts of an agreed structure, and sign them.

    Parameters
    ----------
    structure : PublicStructure
    protected : Protected
        The party's rows; its account pays.
    party : str
        Name under which the counts are published.
    key : PrivateKey
    epsilon : number, optional
        What to spend; by default what the structure says.
    disjoint : bool
        Whether the party declares that none of its people is with another party.

    Privacy
    -------
    ε-DP or (ε, δ)-DP under adding or removing one row of this party, or one person with all their rows
    where the schema has a unit, whatever the structure: two questions in sequence, rows by label and rows by
    leaf and label of all trees; of a number its moments, and rows below and above the middle of its range by
    leaf. Proof: *Parties*.
    """
    check_party(party)
    if protected.schema.fingerprint != structure.schema.fingerprint:
        raise SchemaError(
            "the structure was drawn for another schema than this table's.", "use the structure's schema."
        )
    budget = Budget(structure.budget.epsilon if epsilon is None else epsilon, structure.budget.delta)
    plan = structure.plan(budget)
    public_key(key)
    for number in (budget.epsilon, budget.delta):
        stated(written(number))
    protected.reserve(plan)
    totals, leaves = (
        protected.ask(question, charge.cost)
        for question, charge in zip(structure.questions(), plan, strict=True)
    )
    header = {
        "kind": KIND,
        "party": party,
        "structure": structure.fingerprint,
        "disjoint": bool(disjoint),
        "noise": [[law.name, str(law.parameter)] for law in expected_noise(structure, budget)],
        "card": _card(structure, protected, party, budget, plan).to_dict(),
    }
    # Of a number leaves come in rows: whole units again, as they were drawn.
    counts = np.rint(leaves.values / unit_of(plan[1])).astype(np.int64)
    payload = to_bytes(header, {"label_rows": totals.values, "counts": counts})
    return SignedVector.from_bytes(sign(payload, key), party)


def expected_noise(structure: PublicStructure, budget: Budget) -> tuple[Law, ...]:
    """Law of the noise that a budget buys in the two answers."""
    return tuple(charge.law for charge in structure.plan(budget))


def unit_of(charge: Charge) -> float:
    """What a whole number of an answer counts, in rows."""
    return float(charge.change.unit)  # type: ignore[union-attr]


def _card(
    structure: PublicStructure, protected: Protected, party: str, budget: Budget, plan: list[Charge]
) -> PrivacyCard:
    caveats = [] if protected.private else ["noise was drawn from a repeatable generator"]
    return PrivacyCard(
        epsilon=written(budget.epsilon),
        delta=written(budget.delta),
        neighbours=protected.schema.neighbours,
        private=not caveats,
        caveats=caveats,
        questions=[charge.to_dict() for charge in plan],
        schema=structure.schema.fingerprint,
        account=party,
        receipt=protected.receipt.hash if protected.receipt else "",
        learner={"name": "party", "trees": structure.trees.n_trees, "depth": structure.trees.depth},
        version=__version__,
    )


def _check_types(vector: SignedVector) -> None:
    """A signature says who wrote a file, not that it makes sense."""
    check_party(vector.party)
    _ = vector.budget
    card, (labels, leaves) = vector.card, vector.noise
    texts = (vector.structure, card.schema, card.receipt, card.account, *card.caveats, *labels, *leaves)
    if not all(isinstance(text, str) and len(text) <= 200 and text.isprintable() for text in texts):
        raise TypeError("text expected")
    if not isinstance(vector.disjoint, bool) or card.private is not (not card.caveats):
        raise TypeError("truth value expected")
    for array, dimensions, most in ((vector.label_rows, 1, MAX_TOTAL), (vector.counts, 3, MAX_COUNT)):
        if array.dtype != np.int64 or array.ndim != dimensions or not array.size:
            raise TypeError("counts expected")
        if array.min() <= -most or array.max() >= most:
            raise ValueError("counts beyond reason")

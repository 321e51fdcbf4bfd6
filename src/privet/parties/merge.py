"""Horizontal parties: the same attributes of other people. Their counts add up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import sqrt

import numpy as np

from privet.errors import ModelFileError, QuestionError, SchemaError
from privet.learners.boosting.numbers import NOT_ASKED
from privet.learners.count_forest import exposure, label_prior
from privet.learners.purse import sd_of
from privet.model import CountForest, NumberForest, PrivacyCard
from privet.parties.numbers import ground_of
from privet.parties.structure import PublicStructure
from privet.parties.vector import SignedVector, expected_noise, unit_of
from privet.privacy import Charge, Cost, in_parallel, in_sequence
from privet.schema import Schema
from privet.version import __version__

MAX_PARTIES = 1000
IDENTITIES = {True: "checked against known keys", False: "not checked"}
ONE_PARTY = "{} of one party; parties declare that nobody is with two of them"
SOME_PARTIES = "add or remove one person, who may have {} with several parties: their ε add up"


def merge(
    structure: PublicStructure,
    vectors: Sequence[SignedVector],
    known_keys: Mapping[str, str] | None = None,
) -> CountForest | NumberForest:
    """Add up the counts of any parties that filled the same structure.

    Parameters
    ----------
    structure : PublicStructure
    vectors : sequence of SignedVector
    known_keys : mapping of str to str, optional
        Public key of every party that may take part. Without it a signature shows that a file is
        whole, not whose it is, and the card says that.

    Privacy
    -------
    Post-processing of what was published. The most exposed person costs the largest ε of the parties
    that declare their people to be with no other, and the sum of all others. Proof: *Parties*.
    """
    if not 0 < len(vectors) <= MAX_PARTIES:
        raise QuestionError(f"{len(vectors)} vectors cannot be merged.", f"give 1 to {MAX_PARTIES}.")
    _check_once(vectors)
    for vector in vectors:
        _check_fit(structure, vector)
        if known_keys is not None:
            _check_identity(vector, known_keys)
    plans = [structure.plan(vector.budget) for vector in vectors]
    of_all, of_leaves = (sum(sd_of(plan[i]) ** 2 for plan in plans) for i in (0, 1))
    counts = np.sum([vector.counts for vector in vectors], axis=0)
    totals = np.sum(
        [unit_of(plan[0]) * vector.label_rows for plan, vector in zip(plans, vectors, strict=True)], axis=0
    )
    trees, schema = structure.trees, structure.schema
    card = _merged_card(structure, vectors, known_keys is not None)
    if structure.is_of_numbers:
        ground = ground_of(structure.middle, totals, sqrt(of_all))
        return NumberForest(
            trees, unit_of(plans[0][1]) * counts, sqrt(of_leaves), ground, NOT_ASKED, schema, card
        )
    prior = label_prior(totals, of_all)
    return CountForest(trees, counts, of_leaves, prior, structure.voting, schema, card)


def _check_once(vectors: Sequence[SignedVector]) -> None:
    views: tuple[tuple[str, Callable[[SignedVector], str]], ...] = (
        ("name", lambda vector: vector.party.casefold()),
        ("key", lambda vector: vector.key),
    )
    for what, view in views:
        seen: dict[str, SignedVector] = {}
        for vector in vectors:
            if view(vector) in seen:
                raise QuestionError(
                    f"{vector.party!r} and {seen[view(vector)].party!r} have the same {what}: "
                    "a party can be merged once only.",
                    "give one vector for each party.",
                )
            seen[view(vector)] = vector


def _check_fit(structure: PublicStructure, vector: SignedVector) -> None:
    """Refuse counts that are not an answer to this structure at the price they state."""
    party = repr(vector.party)
    if vector.card.schema != structure.schema.fingerprint:
        raise SchemaError(f"the vector of {party} was made under another schema.", "merge those that agree.")
    if vector.structure != structure.fingerprint:
        raise ModelFileError(f"the vector of {party} is for another structure.", "merge those that agree.")
    plan = [charge.to_dict() for charge in structure.plan(vector.budget)]
    noise = [[law.name, str(law.parameter)] for law in expected_noise(structure, vector.budget)]
    shapes = (vector.label_rows.shape, vector.counts.shape) == ((structure.n_totals,), structure.shape)
    if not shapes or vector.card.questions != plan or vector.noise != noise:
        raise ModelFileError(
            f"the vector of {party} does not state the counts, costs and noise that its ε buys.",
            "ask the party for another.",
        )


def _check_identity(vector: SignedVector, known_keys: Mapping[str, str]) -> None:
    if vector.party not in known_keys:
        raise ModelFileError(f"no key is known for {vector.party!r}.", "ask the party, by another way.")
    if vector.key != known_keys[vector.party]:
        raise ModelFileError(
            f"the vector of {vector.party!r} is signed with another key than the one known.",
            "do not use it; ask the party, by another way.",
        )


def _merged_card(structure: PublicStructure, vectors: Sequence[SignedVector], checked: bool) -> PrivacyCard:
    batches = [_batch(vector) for vector in vectors]
    disjoint = all(vector.disjoint for vector in vectors)
    how = f"{'parallel' if disjoint else 'sequence'} over {len(vectors)} parties"
    plans = [structure.plan(vector.budget) for vector in vectors]
    asked = [
        Charge(plans[0][i].question, _joint(vectors, [plan[i].cost for plan in plans]), how) for i in (0, 1)
    ]
    learner = {
        "name": "count-forest",
        "parties": len(vectors),
        "identities": IDENTITIES[checked],
        "trees": structure.trees.n_trees,
        "depth": structure.trees.depth,
        "structure": structure.fingerprint[:32],
    }
    return PrivacyCard(
        epsilon=exposure(batches, "epsilon"),
        delta=exposure(batches, "delta"),
        neighbours=_neighbours(structure.schema, len(vectors), disjoint),
        private=all(vector.card.private for vector in vectors),
        caveats=sorted({caveat for vector in vectors for caveat in vector.card.caveats}),
        questions=[charge.to_dict() for charge in asked],
        schema=structure.schema.fingerprint,
        account=", ".join(vector.party for vector in vectors),
        receipt="",
        learner=learner,
        version=__version__,
        batches=batches,
    )


def _neighbours(schema: Schema, n_parties: int, disjoint: bool) -> str:
    if n_parties == 1:
        return schema.neighbours
    if disjoint:
        return ONE_PARTY.format(schema.neighbours)
    return SOME_PARTIES.format("a row" if schema.unit is None else "rows")


def _batch(vector: SignedVector) -> dict[str, str | None]:
    declared = vector.party if vector.disjoint else None
    card = {name: getattr(vector.card, name) for name in ("epsilon", "delta", "receipt")}
    return {"batch": declared, "party": vector.party, "key": vector.key, **card}


def _joint(vectors: Sequence[SignedVector], costs: Sequence[Cost]) -> Cost:
    """What the most exposed person costs, as `exposure` counts it."""
    declared = [cost for vector, cost in zip(vectors, costs, strict=True) if vector.disjoint]
    others = [cost for vector, cost in zip(vectors, costs, strict=True) if not vector.disjoint]
    return in_sequence([in_parallel(declared), *others])

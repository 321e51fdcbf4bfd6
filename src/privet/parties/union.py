"""Vertical parties: other attributes of the same people. Their forests stand side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from privet.errors import QuestionError, SchemaError
from privet.learners.count_forest import written
from privet.model import CountForest, PrivacyCard, UnionForest
from privet.model.card import stated
from privet.model.union import check_forests
from privet.schema import Schema
from privet.version import __version__

EVERY_PARTY = "add or remove one person, who has {} with every party: the same people, so ε add up"


def unite(forests: Mapping[str, CountForest], voting: str | None = None) -> UnionForest:
    """Put forests over different attributes of the same people side by side.

    Parameters
    ----------
    forests : mapping of str to CountForest
        By party. Their schemas have the same label and no feature in common.
    voting : str, optional
        By default the forests' own, if it is one.

    Privacy
    -------
    Post-processing of what was released. The same people are with every party, so the cost is the sum.
    Proof: *Parties*.
    """
    models = list(forests.values())
    if len(models) < 2:
        raise QuestionError("a union needs at least two forests.", "give one model for each party.")
    check_forests(models)
    if len({model.schema.label for model in models}) > 1:
        raise SchemaError("the parties' schemas differ in the label.", "agree on its name and values.")
    units = {model.schema.unit for model in models}
    if len(units) > 1:
        raise SchemaError("the parties' schemas differ in whose a row is.", "agree on the unit.")
    votings = sorted({model.voting for model in models} if voting is None else {voting})
    if len(votings) > 1:
        raise QuestionError(f"the forests vote differently ({', '.join(votings)}).", "choose a voting.")
    features = [feature for model in models for feature in model.schema.features]
    schema = Schema(features, models[0].schema.label, unit=units.pop())
    return UnionForest(models, votings[0], schema, _union_card(forests, schema))


def _union_card(forests: Mapping[str, CountForest], schema: Schema) -> PrivacyCard:
    cards = {party: forest.card for party, forest in forests.items()}
    return PrivacyCard(
        epsilon=_sum([card.epsilon for card in cards.values()]),
        delta=_sum([card.delta for card in cards.values()]),
        neighbours=EVERY_PARTY.format("a row" if schema.unit is None else "rows"),
        private=all(card.private for card in cards.values()),
        caveats=sorted({caveat for card in cards.values() for caveat in card.caveats}),
        questions=[
            {**q, "question": f"{party}: {q['question']}"} for party in cards for q in cards[party].questions
        ],
        schema=schema.fingerprint,
        account=", ".join(cards),
        receipt="",
        learner={"name": "union-forest", "parties": len(cards)},
        version=__version__,
        batches=[_batch(party, card) for party, card in cards.items()],
    )


def _sum(numbers: Sequence[str]) -> str:
    """The sum of what cards state; a twin that is not private states an infinite ε."""
    return "inf" if "inf" in numbers else written(sum(map(stated, numbers), Fraction(0)))


def _batch(party: str, card: PrivacyCard) -> dict[str, Any]:
    told = {name: getattr(card, name) for name in ("epsilon", "delta", "receipt", "account", "schema")}
    return {"batch": None, "party": party, **told, "parties": card.batches}

"""What a model cost, worked out anew from its card and, where there is one, from the ledger."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any

from privet.audit.losses import Bound, epsilon_at
from privet.audit.verdict import BROKEN, HOLDS, Verdict
from privet.model import PrivacyCard
from privet.privacy import GDP, ZCDP, Budget, Charge, Cost, Ledger, in_sequence
from privet.privacy.charges import plans_of, settled
from privet.schema import Schema

COMPOSITIONS = re.compile(r"sequence|parallel over \d+ random parts|(sequence|parallel) over \d+ parties")
"""How the parts of a question may compose: each way has a proof."""


@dataclass(frozen=True)
class Check:
    """One thing that must agree."""

    what: str
    agrees: bool
    detail: str


def verdict_on_charges(
    name: str, charges: Sequence[Charge], epsilon: Fraction, delta: Fraction = Fraction(0)
) -> Verdict:
    """Whether questions about the same people cost no more than was promised."""
    total = in_sequence(charge.cost for charge in charges)
    kept = Budget(epsilon, delta).allows(total)
    return Verdict(
        name,
        "accounting",
        HOLDS if kept else BROKEN,
        float(epsilon),
        in_epsilon(total, delta),
        f"{len(charges)} questions",
        float(delta),
        witness={"charged": str(total), "promised": str(Budget(epsilon, delta))},
    )


def in_epsilon(cost: Cost | Bound, delta: Fraction) -> float:
    """A cost as the ε that it keeps, with a δ where it needs one."""
    if cost.epsilon is not None:
        return float(cost.epsilon)
    return epsilon_at(cost.rho, delta) if delta else inf


def checks(card: PrivacyCard, schema: Schema, ledger: Ledger | None = None) -> Iterator[Check]:
    """Everything about a model's cost that can be worked out twice."""
    total, (epsilon, delta) = Bound.of(card.questions), _promise(card)
    kept = total.epsilon is not None and total.epsilon <= epsilon
    promised = Budget(epsilon, delta, accounting=card.accounting)
    kept = kept or (delta > 0 and _adds_up(card) <= promised.rho)
    yield Check("questions within the promise", kept, f"{total} of {promised}")
    compositions = [question["composition"] for question in card.questions]
    odd = [composition for composition in compositions if not COMPOSITIONS.fullmatch(composition)]
    yield Check("compositions that are proved", not odd, "; ".join(odd) or f"{len(compositions)} questions")
    yield Check("card and model have one schema", card.schema == schema.fingerprint, card.schema)
    if card.batches:
        exposed = exposure(card.batches)
        stated = Fraction(card.epsilon), Fraction(card.delta)
        yield Check("batches add up to the promise", exposed == stated, f"{len(card.batches)} batches")
    if ledger is not None:
        yield from _ledger_checks(card, total, ledger)


def _adds_up(card: PrivacyCard) -> Fraction:
    """Sum of the questions' ρ, or where the card says so of halves of μ²."""
    if card.accounting == ZCDP:
        return Bound.of(card.questions).rho
    return sum((Charge.from_dict(asked).cost.priced(GDP).rho for asked in card.questions), Fraction(0))


def _promise(card: PrivacyCard) -> tuple[Fraction, Fraction]:
    """ε and δ of the questions on a card, exactly: of all parties, or of the newest batch alone."""
    whole = {"epsilon": card.epsilon, "delta": card.delta}
    newest = whole if not card.batches or _of_parties(card) else card.batches[-1]
    return Fraction(newest["epsilon"]), Fraction(newest["delta"])


def _of_parties(card: PrivacyCard) -> bool:
    """Whether a model was merged from what several owners published, each with a ledger of its own."""
    return any("party" in batch for batch in card.batches)


def exposure(batches: Sequence[Mapping[str, Any]]) -> tuple[Fraction, Fraction]:
    """ε and δ of the most exposed person: batches not declared disjoint add up, others do not."""
    everyone, declared = [Fraction(0)] * 2, {None: [Fraction(0)] * 2}
    for batch in batches:
        sums = everyone if batch["batch"] is None else declared.setdefault(batch["batch"], [Fraction(0)] * 2)
        for i, unit in enumerate(("epsilon", "delta")):
            sums[i] += Fraction(batch[unit])
    most = [everyone[i] + max(sums[i] for sums in declared.values()) for i in (0, 1)]
    return most[0], most[1]


def _ledger_checks(card: PrivacyCard, total: Bound, ledger: Ledger) -> Iterator[Check]:
    """The charge that a card's receipt names, held against the card."""
    events = ledger.events()
    cancelled = {event["number_cancelled"] for event in events if "number_cancelled" in event}
    receipts = [batch["receipt"] for batch in card.batches] or [card.receipt]
    by_hash = {event["hash"]: event for event in events if event["kind"] == "charge"}
    held = [by_hash[receipt] for receipt in receipts if receipt in by_hash]
    enough = bool(held) if _of_parties(card) else len(held) == len(receipts)
    live = enough and not any(event["number"] in cancelled for event in held)
    yield Check("receipts are in the ledger", live, f"{len(held)} of {len(receipts)}")
    if not live or _of_parties(card):
        return
    same = {(event["account"], event["schema"]) for event in held} == {(card.account, card.schema)}
    yield Check("charged to this account and schema", same, card.account)
    charged = [Bound.of(plan) for plan in plans_of(held[-1], settled(events))]
    paid = any(total.within(plan) for plan in charged)
    told = f"{' or '.join(map(str, charged))} charged, {total} asked"
    yield Check("the ledger was charged what was asked", paid, told)


def account_for(
    name: str, card: PrivacyCard, schema: Schema, ledger: Ledger | None = None
) -> tuple[Verdict, list[Check]]:
    """Verdict on a model's accounts; one disagreement breaks it."""
    if card.epsilon == str(inf):
        why = {"why": "the card promises nothing: this twin of a model is not private"}
        return Verdict(name, "accounting", BROKEN, inf, inf, "the card", witness=why), []
    listed = list(checks(card, schema, ledger))
    total = Bound.of(card.questions)
    disagree = [check.what for check in listed if not check.agrees]
    if not card.private:
        disagree.append("the card says that a promise holds")
    verdict = Verdict(
        name,
        "accounting",
        BROKEN if disagree else HOLDS,
        float(Fraction(card.epsilon)),
        _loss(card, total),
        f"{len(card.questions)} questions, {len(listed)} checks",
        float(Fraction(card.delta)),
        witness={"why": f"does not hold: {'; '.join(disagree)}" if disagree else "all agree"},
    )
    return verdict, listed


def _loss(card: PrivacyCard, total: Bound) -> float:
    """What the most exposed person lost, over all batches: a card has the questions of the newest alone."""
    if len(card.batches) > 1 and not _of_parties(card):
        return float(exposure(card.batches)[0])
    if total.epsilon is not None or not Fraction(card.delta):
        return in_epsilon(total, Fraction(card.delta))
    return epsilon_at(_adds_up(card), Fraction(card.delta), card.accounting)

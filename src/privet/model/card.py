"""The privacy card: what a model promises, to whom, and on what grounds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import Any

from privet.errors import QuestionError
from privet.notebook import facts_html

NUMBER = re.compile(r"\d{1,999}(/[1-9]\d{0,998}|(\.\d{1,999})?(e-?\d{1,3})?)")
"""What a card may state: longer exponents would take forever to read exactly."""


@dataclass(frozen=True)
class PrivacyCard:
    """What a release cost and under which promise.

    Attributes
    ----------
    epsilon, delta : str
        Exact, as decimals or fractions.
    neighbours : str
        What one person may change.
    private : bool
        False where the promise does not hold; ``caveats`` says why.
    caveats : list of str
    questions : list of dict
        Every question asked, with its cost and composition.
    schema : str
        Fingerprint of the public contract.
    account, receipt : str
        Data set charged, and the ledger's hash at that charge.
    learner : dict
        Name and public parameters.
    version : str
        Version of the library.
    batches : list of dict
        Name, cost and receipt of every batch that was added, oldest first; a batch without a name was
        not declared to hold other people than the rest.
    accounting : str
        How the questions add up to a promise with a δ: ``zcdp``, or ``gdp`` of Gaussian differential privacy.
    start : dict
        What another model that this one starts from promises itself, and how far the rows bore it out; empty
        without one.
    changes : list of dict
        What was done to the model after it was learnt, oldest first: weights, thresholds, shapes.
    """

    epsilon: str
    delta: str
    neighbours: str
    private: bool
    caveats: Sequence[str]
    questions: Sequence[Mapping[str, Any]]
    schema: str
    account: str
    receipt: str
    learner: Mapping[str, Any]
    version: str
    batches: Sequence[Mapping[str, Any]] = field(default_factory=list)
    accounting: str = "zcdp"
    start: Mapping[str, Any] = field(default_factory=dict)
    changes: Sequence[Mapping[str, Any]] = field(default_factory=list)

    def changed(self, change: Mapping[str, Any]) -> PrivacyCard:
        """The card of the same model after a change."""
        return replace(self, changes=[*self.changes, dict(change)])

    def check(self) -> None:
        """Refuse a card of a file whose parts are not what they are said to be: readers take them as such."""
        for number in (self.epsilon, self.delta):
            if number != "inf":
                stated(number)
        texts = [self.neighbours, self.schema, self.account, self.receipt, self.version, self.accounting]
        sound = all(isinstance(text, str) for text in (*texts, *self.caveats))
        if not sound or type(self.private) is not bool:
            raise QuestionError("its card is none that privet writes.")
        self.rows()

    def to_dict(self) -> dict[str, Any]:
        """Return the card as plain data."""
        return asdict(self)

    def rows(self) -> list[tuple[str, str]]:
        """Names and values, in the order a reader wants them."""
        return [
            ("promise", self.promise),
            ("neighbours", self.neighbours),
            *([("adds up", "in μ² of Gaussian differential privacy")] if self.accounting == "gdp" else []),
            *(("caveat", caveat) for caveat in self.caveats),
            *(("asked", line) for line in self.asked),
            *(("start", line) for line in _start(self.start)),
            *(("changed", _change(change)) for change in self.changes),
            *(("party", line) for line in _parties(self.batches)),
            *(("batch", line) for line in _history(self.batches)),
            ("learner", ", ".join(f"{k}={self.learner[k]}" for k in _name_first(self.learner))),
            ("data set", self.account),
            ("schema", self.schema),
            *([("receipt", self.receipt[:32])] if self.receipt else []),
            ("made by", f"privet {self.version}"),
        ]

    def _repr_html_(self) -> str:
        return facts_html("Privacy card", self.rows())

    def __str__(self) -> str:
        return "\n".join(f"{name:<11}{value}" for name, value in self.rows())

    @property
    def asked(self) -> list[str]:
        """Every kind of question, and how often it was asked."""
        found = Counter(f"{q['question']} ({q['composition']})" for q in self.questions)
        return [f"{line}, {n} times" if n > 1 else line for line, n in found.items()]

    @property
    def promise(self) -> str:
        """The guarantee in one line."""
        pure = stated(self.delta) == 0
        text = f"{self.epsilon}" if pure else f"({self.epsilon}, {self.delta})"
        text += "-differential privacy"
        return text if self.private else f"NONE: {text} does not hold here"


def stated(number: object) -> Fraction:
    """An exact number that a file states."""
    if not isinstance(number, str) or not NUMBER.fullmatch(number):
        raise QuestionError("a number cannot be stated in this way.", "write it as 0.5 or 1/3.")
    return Fraction(number)


def _parties(batches: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for every party of a merged model, those of its parts after it."""
    lines = []
    for batch in batches:
        if "party" in batch:
            more = [f"{name} {batch[name][:16]}" for name in ("key", "receipt") if batch.get(name)]
            lines += [", ".join([f"{batch['party']}: {_cost(batch)}", *more])]
            lines += [f"– {line}" for line in _parties(batch.get("parties", []))]
    return lines


def _change(change: Mapping[str, Any]) -> str:
    """What was done, and what it cost whom."""
    if "by" not in change:
        return str(change["what"])
    same = ", as the model was: both costs add up" if change["same account"] else ""
    return f"{change['what']}, by {change['by']}, ε={change['epsilon']} charged to {change['account']}{same}"


def _start(start: Mapping[str, Any]) -> list[str]:
    """What a model started from: rows that are public, or people who have a promise of their own."""
    if not start:
        return []
    found = str(start["trust"])
    if "weight" in start:
        found += f", weight {start['weight']:.2f} beside {start['own weight']:.2f} of these rows"
    if start.get("public"):
        return [f"public rows, which nothing protects: {found}"]
    promise = _cost(start) if start["private"] else "NO PROMISE"
    same = "the same account, where both are charged" if start["same account"] else start["account"]
    return [f"a model of {same}, {promise}: {found}", "who is among both has the sum of both costs"]


def _history(batches: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for every batch that one owner added, oldest first; none where there was a single one."""
    own = [batch for batch in batches if "party" not in batch]
    if len(own) < 2:
        return []
    return [
        ("undeclared" if batch["batch"] is None else f"{batch['batch']}, declared disjoint")
        + f": {_cost(batch)}"
        + (f", receipt {batch['receipt'][:16]}" if batch.get("receipt") else "")
        for batch in own
    ]


def _cost(batch: Mapping[str, Any]) -> str:
    return f"ε={batch['epsilon']}" + ("" if stated(batch["delta"]) == 0 else f", δ={batch['delta']}")


def _name_first(learner: Mapping[str, Any]) -> list[str]:
    """A file keeps its keys sorted; a reader wants the name first."""
    return sorted(learner.keys(), key=lambda name: name != "name")

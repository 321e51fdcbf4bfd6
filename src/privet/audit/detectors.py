"""What a released model gives away beside its noise.

Values that stand in it as they are, names that one person alone has, noise that can be drawn again,
leaves that are not there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, log
from pathlib import Path
from typing import Any

from scipy import stats

from privet.audit.rival_stand import flat
from privet.audit.statistical import DOUBT, at_least, bound_from_counts
from privet.audit.verdict import BROKEN, NOT_REFUTED, Verdict
from privet.data import encode, open_table
from privet.kernels.count import count_leaves
from privet.model.file import read_model

Fields = Mapping[str, str]
"""Every number and text of a model, by where it stands."""


@dataclass(frozen=True)
class Telling:
    """A field whose value tells two neighbouring tables apart.

    Attributes
    ----------
    field, value : str
    seen, seen_other, runs : int
        How often the field had the value on the table on which it is likelier, and on the other.
    loss : float
        Lower bound on ε.
    """

    field: str
    value: str
    seen: int
    seen_other: int
    runs: int
    loss: float


def file_fields(path: str | Path) -> dict[str, str]:
    """Fields of a model's file: its header's and its arrays'."""
    header, arrays = read_model(path)
    return flat({**header, "arrays": {name: array.tolist() for name, array in arrays.items()}})


def telling_fields(
    fields: Sequence[Fields], other: Sequence[Fields], doubt: float = DOUBT, most: int = 5
) -> list[Telling]:
    """Fields that tell two tables apart, the most telling first.

    Half of the models nominate values, the other half test them; the doubt is shared by the nominees. A
    value that is always the same on one table and never occurs on the other was not noised.
    """
    half = len(fields) // 2
    n = len(fields) - half
    pilots = [Counter(item for model in each[:half] for item in model.items()) for each in (fields, other)]
    nominees = sorted(
        pilots[0].keys() | pilots[1].keys(), key=lambda item: -abs(pilots[0][item] - pilots[1][item])
    )[:most]
    found = []
    for item in nominees:
        seen = [sum(item in model.items() for model in each[half:]) for each in (fields, other)]
        likely, unlikely = sorted(seen, reverse=True)
        loss = float(bound_from_counts(likely, unlikely, n, doubt / most))
        found.append(Telling(*item, likely, unlikely, n, loss))
    return sorted(found, key=lambda telling: -telling.loss)


def fields_verdict(
    defendant: str,
    fields: Sequence[Fields],
    other: Sequence[Fields],
    epsilon: float,
    seconds: float = 0.0,
    doubt: float = DOUBT,
) -> Verdict:
    """Whether some field of a model tells two neighbouring tables apart by more than ε."""
    tellings = telling_fields(fields, other, doubt)
    worst = tellings[0].loss if tellings else 0.0
    shown = [
        f"{t.field} = {t.value}: in {t.seen} of {t.runs} models, in {t.seen_other} of the neighbour's"
        for t in tellings
        if t.loss > epsilon
    ]
    return Verdict(
        defendant,
        "fields of the model",
        BROKEN if worst > epsilon else NOT_REFUTED,
        epsilon,
        worst,
        f"{len(fields)} models of each table",
        confidence=1 - doubt,
        witness={"fields": shown},
        seconds=seconds,
    )


def names_verdict(
    defendant: str,
    fields: Sequence[Fields],
    other: Sequence[Fields],
    name: str,
    epsilon: float,
    seconds: float = 0.0,
    doubt: float = DOUBT,
) -> Verdict:
    """Whether a name that one person alone has gets into the model, more often than ε allows."""
    seen, seen_other = (sum(_names(model, name) for model in each) for each in (fields, other))
    loss = float(bound_from_counts(seen, seen_other, len(fields), doubt))
    return Verdict(
        defendant,
        "names from the rows",
        BROKEN if loss > epsilon else NOT_REFUTED,
        epsilon,
        loss,
        f"{len(fields)} models of each table",
        confidence=1 - doubt,
        witness={"named": seen, "named for the neighbour": seen_other},
        seconds=seconds,
    )


def _names(fields: Fields, name: str) -> bool:
    return any(name in part for item in fields.items() for part in item)


def replay_verdict(
    defendant: str, right: Sequence[bool], epsilon: float, seconds: float = 0.0, doubt: float = DOUBT
) -> Verdict:
    """Whether drawing a model's noise again told its table more often than ε allows.

    Of a coin that chose the table, e^ε/(1 + e^ε) of the guesses may be right.
    """
    k, n = sum(right), len(right)
    likely = float(at_least(k, n, doubt))
    loss = max(log(likely / (1 - likely)), 0.0) if likely > 0 else 0.0
    return Verdict(
        defendant,
        "noise drawn again",
        BROKEN if loss > epsilon else NOT_REFUTED,
        epsilon,
        loss,
        f"{n} models",
        confidence=1 - doubt,
        witness={"right": k, "of": n, "allowed": exp(epsilon) / (1 + exp(epsilon))},
        seconds=seconds,
    )


def zeros_verdict(name: str, model: Any, doubt: float = DOUBT) -> Verdict | None:
    """Whether more counts are zero than noise makes so; None for a model that shows no such counts.

    Leaves that hold nobody must carry noise like all others. Left out of the release, or stored as
    they are, they tell where nobody is.
    """
    if not _has_counts(model):
        return None
    zeros, n = int((model.counts == 0).sum()), model.counts.size
    return _coincidence(name, "leaves without noise", model, zeros, n, doubt)


def exact_counts_verdict(name: str, model: Any, table: Any, doubt: float = DOUBT) -> Verdict | None:
    """Whether more counts equal the exact ones than noise makes so; None as for `zeros_verdict`."""
    if not _has_counts(model):
        return None
    codes = encode(open_table(table, model.schema), model.schema)
    assert codes.labels is not None
    exact = count_leaves(model.trees, codes.features, codes.labels, model.schema.n_labels)
    same = int((exact == model.counts).sum())
    return _coincidence(name, "counts without noise", model, same, exact.size, doubt)


def _has_counts(model: Any) -> bool:
    """Whether every leaf's counts are there; a sparse release shows some of them, and zero for the rest."""
    return hasattr(model, "variance") and getattr(model, "every_leaf", None) is not None


def _coincidence(name: str, method: str, model: Any, same: int, n: int, doubt: float) -> Verdict:
    chance = chance_of_no_noise(model.variance)
    broken = float(stats.binom.sf(same - 1, n, chance)) < doubt
    return Verdict(
        name,
        method,
        BROKEN if broken else NOT_REFUTED,
        float(Fraction(model.card.epsilon)),
        float("inf") if broken else 0.0,
        f"{n:,} counts",
        confidence=1 - doubt,
        witness={"found": same, "expected at most": round(n * chance, 1)},
    )


def chance_of_no_noise(variance: float) -> float:
    """Largest chance that integer noise of a variance is zero, of the laws in use.

    A discrete Laplace law with odds a has variance 2a/(1 − a)² and is zero with chance (1 − a)/(1 + a);
    Gaussian noise, and sums of several noises, of the same variance are zero less often.

    >>> round(chance_of_no_noise(2 * 0.5 / 0.25), 3)
    0.333
    """
    a = 1 + 1 / variance - (2 / variance + 1 / variance**2) ** 0.5
    return float((1 - a) / (1 + a))

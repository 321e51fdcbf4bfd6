"""The report of a model: one page that says what it promises and what it has learnt.

All of it is drawn from released values: reading it costs nothing, and it may go wherever the model may.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from privet.errors import PrivetError, QuestionError
from privet.kernels.predict import probabilities
from privet.model import Model, PrivacyCard, released
from privet.model.effects import Effects
from privet.model.rules import Rule
from privet.model.sections import (
    FeaturePairs,
    FeatureShapes,
    LabelShares,
    RuleList,
    Section,
    Sizes,
    TreePicture,
)
from privet.model.words import condition_text
from privet.pictures.page import bar, chips, definitions, figure, page, section, table
from privet.pictures.shapes import SURE, Shapes, draw_overview, feature_bins
from privet.pictures.style import new_figure, page_svg, require_matplotlib
from privet.pictures.tree import draw_tree

MOST_FEATURES, MOST_PAIRS = 40, 6
THIN = 0.005
"""Share of the rows from which on a region is worth naming."""

FREE = "Everything here is drawn from what the model released. Looking at it costs no privacy."


def explain(model: Any, path: str | Path | None = None) -> str:
    """Write a report of a model: its promise, what it has learnt, and how far noise lets that be seen.

    Parameters
    ----------
    model : a fitted estimator, or its model
    path : str or Path, optional
        File for the page.

    Returns
    -------
    str
        One HTML page that stands alone.
    """
    require_matplotlib()
    found = released(model)
    parts = [section(each.title, each.text, *BODIES[type(each)](each)) for each in found.sections()]
    label = found.schema.label.name
    text = page(f"What this model says of {label}", [_head(found), *parts, _foot(found.card)])
    if path is not None:
        _write(path, text)
    return text


def main_figure(model: Any) -> Any:
    """The first picture that a page about a model has."""
    for each in released(model).sections():
        if type(each) in MAIN:
            return MAIN[type(each)](each)
    raise QuestionError("no picture stands for this model.", "look at its page: privet.explain(model).")


def _head(model: Model) -> str:
    card, names = model.card, len(model.schema.features)
    lead = f"{model.title} of {names} features, learnt under {card.promise}. {FREE}"
    warning = ""
    if not card.private:
        reasons = escape("; ".join(card.caveats))
        warning = f'<p class="warning"><strong>No promise holds:</strong> {reasons}.</p>'
    title = f"<h1>What this model says of “{escape(model.schema.label.name)}”</h1>"
    top = f'<p class="kicker">PRIVET model report</p>{title}<p class="lead">{escape(lead)}</p>{warning}'
    return f"<header>{top}</header>{_promise(card)}"


def _promise(card: PrivacyCard) -> str:
    told = [(name, value) for name, value in card.rows() if name != "asked"]
    questions = "".join(f"<li>{escape(line)}</li>" for line in card.asked)
    summary = f"<summary>What was asked of the rows: {len(card.questions)} questions</summary>"
    return section(
        "What it promises",
        "Whether or not any one row was in the table, this model would have come out with nearly the same "
        "probability. The promise says how nearly.",
        f'<div class="card">{definitions(told)}<details>{summary}<ul>{questions}</ul></details></div>',
    )


def _foot(card: PrivacyCard) -> str:
    return f"<footer>Made by privet from a released model, under the schema {escape(card.schema)}.</footer>"


def _nothing(told: Section) -> list[str]:
    return []


def _shares(told: LabelShares) -> list[str]:
    most = float(told.shares.max())
    rows = [
        [escape(label), f"{share:.1%}", bar(share / most)]
        for label, share in zip(told.labels, told.shares.tolist(), strict=True)
    ]
    return [f'<div class="card">{table(["label", "share", ""], rows, [1])}</div>']


def _sizes(told: Sizes) -> list[str]:
    """Features, those that do most first."""
    sizes, marks = told.sizes, told.marks
    most = max(float(sizes.max()), float(marks.max()) if marks is not None else 0.0, 1e-12)
    total = max(float(sizes.sum()), 1e-12)
    rows = [
        [
            escape(told.features[i]),
            bar(sizes[i] / most, None if marks is None else marks[i] / most),
            f"{sizes[i] / total:.1%}",
            *([] if marks is None else [f"{marks[i] / total:.1%}"]),
        ]
        for i in np.argsort(-sizes)[:MOST_FEATURES]
    ]
    heads = ["feature", "", "share", *([] if marks is None else ["noise alone"])]
    return [f'<div class="card tall">{table(heads, rows, [2, 3])}</div>']


def _features(told: FeatureShapes) -> list[str]:
    shapes = Shapes(told)
    order = np.argsort(-shapes.effects.importances)[:MOST_FEATURES].tolist()
    drawn = []
    for feature in order:
        picture = new_figure(3.8, 2.5)
        shapes.draw(picture.add_subplot(), feature)
        name = shapes.schema.feature_names[feature]
        svg = page_svg(picture, shapes.spots(feature))
        drawn.append(figure(svg, name, feature_caption(shapes, feature)))
    return [f'<div class="grid">{"".join(drawn)}</div>']


def feature_caption(shapes: Shapes, feature: int) -> str:
    """Where a feature's effect is lowest and highest, in words."""
    shown, told = shapes.told, shapes.schema.features[feature]
    place = shown.bins.slices[feature]
    held = shown.bin_shares[place] >= THIN
    if not held.any():
        return ""
    values = shapes.effects.single[place]
    score = 0 if shapes.binary else int((shown.bin_shares[place] @ np.abs(values)).argmax())
    bins = feature_bins(shown, feature)
    label = -1 if shapes.binary else score
    ends = [int(np.where(held, sign * values[:, score], -np.inf).argmax()) for sign in (-1, 1)]
    told_of = _values_told(shapes, values, label)
    texts = [f"{condition_text(told, bins == b) or 'anywhere'} ({told_of[b]})" for b in ends]
    if ends[0] == ends[1]:
        return ""
    return f"{shapes.names[label]}: least where {texts[0]}, most where {texts[1]}."


def _values_told(shapes: Shapes, values: np.ndarray, label: int) -> list[str]:
    """What an average row would be told with each of some values of one feature."""
    if shapes.number:
        return [f"{value:,.5g}" for value in (shapes.effects.base + values)[:, 0]]
    chances = probabilities(shapes.effects.base + values, len(shapes.names))
    return [f"{chance:.1%}" for chance in chances[:, label]]


def _pairs(told: FeaturePairs) -> list[str]:
    shapes = Shapes(told)
    names = shapes.schema.feature_names
    best = list(shapes.effects.weights)[:MOST_PAIRS]
    scores = {pair: _loudest(shapes.effects, pair) for pair in best}
    drawn = []
    for pair in best[:3]:
        picture = new_figure(3.8, 3.2)
        shapes.draw_pair(picture.add_subplot(), pair, scores[pair])
        label = shapes.names[-1 if shapes.binary else scores[pair]]
        more = "is more" if shapes.number else "is more likely"
        words = f"Blue: {label} {more} than both alone say; red: less. Widths are shares of rows."
        drawn.append(figure(page_svg(picture), f"{names[pair[0]]} × {names[pair[1]]}", words))
    most = max(shapes.effects.weights.values())
    rows = [
        [
            f"{escape(names[i])} × {escape(names[j])}",
            bar(shapes.effects.weights[i, j] / most),
            escape(pair_words(shapes, (i, j), scores[i, j])),
        ]
        for i, j in best
    ]
    listed = table(["pair", "weight", "strongest, of values that are common"], rows)
    return [f'<div class="grid">{"".join(drawn)}</div>', f'<div class="card tall whole">{listed}</div>']


def _loudest(told: Effects, pair: tuple[int, int]) -> int:
    return int(np.abs(told.pairs[pair]).sum(axis=(0, 1)).argmax())


def pair_words(shapes: Shapes, pair: tuple[int, int], score: int) -> str:
    """Where a pair of features says most beyond what each says alone."""
    shown, value = shapes.told, shapes.effects.pairs[pair][:, :, score]
    held = [shown.bin_shares[shown.bins.slices[j]] for j in pair]
    heavy = np.outer(*held) >= THIN / 4
    if not heavy.any():
        return ""
    a, b = np.unravel_index(np.where(heavy, np.abs(value), -1).argmax(), value.shape)
    masks = [feature_bins(shown, j) == cell for j, cell in zip(pair, (a, b), strict=True)]
    texts = [condition_text(shapes.schema.features[j], mask) for j, mask in zip(pair, masks, strict=True)]
    label = shapes.names[-1 if shapes.binary else score]
    way = "more" if value[a, b] > 0 else "less"
    likely = "" if shapes.number else " likely"
    return f"{label} {way}{likely} where {' and '.join(text for text in texts if text)}"


def _rules(told: RuleList) -> list[str]:
    # Where nobody can be, by the released counts, nothing is strong.
    held = [rule for rule in told.rules if not told.rules.counted or _is_held(rule)]
    heads = ["if", "then"]
    shown = [[chips(rule.conditions or ["always"]), escape(str(rule.label))] for rule in held]
    if told.rules.counted:
        heads += ["confidence", "rows"]
        shown = [[*row, *_numbers(rule)] for row, rule in zip(shown, held, strict=True)]
    return [f'<div class="card tall">{table(heads, shown, [2, 3])}</div>']


def _is_held(rule: Rule) -> bool:
    """Whether a rule's noisy rows say that it has any."""
    known = rule.support is not None and rule.support_sd is not None and rule.confidence is not None
    return known and (rule.support or 0) > SURE * (rule.support_sd or 0)


def _numbers(rule: Rule) -> list[str]:
    known = rule.confidence is not None
    confidence = f"{rule.confidence:.1%} ± {rule.confidence_sd:.1%}" if known else "–"
    return [confidence, f"{rule.support:,.0f} ± {rule.support_sd:,.0f}"]


def _tree(told: TreePicture) -> list[str]:
    return [figure(page_svg(draw_tree(told.tree)), wide=True)]


BODIES: Mapping[type[Section], Callable[[Any], list[str]]] = {
    Section: _nothing,
    LabelShares: _shares,
    Sizes: _sizes,
    FeatureShapes: _features,
    FeaturePairs: _pairs,
    RuleList: _rules,
    TreePicture: _tree,
}
"""How each kind of section is drawn."""

MAIN: Mapping[type[Section], Callable[[Any], Any]] = {
    FeatureShapes: lambda told: draw_overview(Shapes(told)),
    TreePicture: lambda told: draw_tree(told.tree),
}
"""Sections that one figure can stand for."""


def _write(path: str | Path, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise PrivetError(f"cannot write {str(path)!r} ({error.strerror}).", "check the path.") from None

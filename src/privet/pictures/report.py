"""The report of a model: one page that says what it promises and what it has learnt.

All of it is drawn from released values: reading it costs nothing, and it may go wherever the model may.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from privet.errors import PrivetError
from privet.kernels.predict import probabilities
from privet.model.additive import AdditiveModel
from privet.model.card import PrivacyCard
from privet.model.counts import CountForest
from privet.model.effects import Effects, effects
from privet.model.forest import LabelForest
from privet.model.gains import forest_gains
from privet.model.tree import released
from privet.model.union import UnionForest
from privet.model.words import condition_text
from privet.pictures.page import bar, chips, definitions, figure, page, section, table
from privet.pictures.shapes import Shapes, draw_overview, feature_bins
from privet.pictures.style import new_figure, require_matplotlib, svg_of
from privet.pictures.tree import plot_tree

MOST_FEATURES, MOST_PAIRS, MOST_RULES = 40, 6, 12
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
    model = getattr(model, "model_", model)
    parts = _union_parts(model) if isinstance(model, UnionForest) else _parts(released(model))
    label = model.schema.label.name
    text = page(f"What this model says of {label}", [_head(model), *parts, _foot(model.card)])
    if path is not None:
        _write(path, text)
    return text


def main_figure(model: Any) -> Any:
    """The picture that says most: the shapes of an additive model, or a tree of a forest."""
    model = released(model.forests[0] if isinstance(model, UnionForest) else model)
    if isinstance(model, AdditiveModel):
        return draw_overview(Shapes(model, effects(model)))
    return plot_tree(model)


def _head(model: Any) -> str:
    card, names = model.card, len(model.schema.features)
    kinds = {
        "additive": "An additive model",
        "label-forest": "A forest of labels",
        "rule-forest": "Trees whose every node is a rule,",
    }
    kind = kinds.get(model.kind, "A forest of noisy counts")
    lead = f"{kind} of {names} features, learnt under {card.promise}. {FREE}"
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


def _shares(model: Any, shares: np.ndarray, title: str, text: str) -> str:
    most = float(shares.max())
    rows = [
        [escape(str(value)), f"{share:.1%}", bar(share / most)]
        for value, share in zip(model.schema.label.values, shares.tolist(), strict=True)
    ]
    return section(title, text, f'<div class="card">{table(["label", "share", ""], rows, [1])}</div>')


def _additive_parts(model: AdditiveModel) -> list[str]:
    told = effects(model)
    shapes = Shapes(model, told)
    base = probabilities(told.base[None], len(model.schema.label.values))[0]
    parts = [
        _shares(model, base, "Before any feature is looked at", "What the model says of an average row."),
        _importances(model, told),
        _features(shapes),
    ]
    return parts + ([_pairs(shapes)] if told.pairs else [])


def _importances(model: AdditiveModel, told: Effects) -> str:
    text = (
        "How far each feature alone moves a prediction, on average over the noisy rows. The dark line is "
        "what noise alone would do: a bar that does not pass it, in grey, may be nothing else."
    )
    return section("What matters", text, _bars(model, told.importances, told.noise))


def _bars(model: Any, sizes: np.ndarray, marks: np.ndarray | None = None) -> str:
    """Features, those that do most first."""
    most = max(float(sizes.max()), float(marks.max()) if marks is not None else 0.0, 1e-12)
    rows = [
        [
            escape(model.schema.feature_names[i]),
            bar(sizes[i] / most, None if marks is None else marks[i] / most),
        ]
        for i in np.argsort(-sizes)[:MOST_FEATURES]
    ]
    return f'<div class="card">{table(["feature", ""], rows)}</div>'


def _features(shapes: Shapes) -> str:
    order = np.argsort(-shapes.effects.importances)[:MOST_FEATURES].tolist()
    drawn = []
    for feature in order:
        picture = new_figure(3.8, 2.5)
        shapes.draw(picture.add_subplot(), feature)
        name = shapes.model.schema.feature_names[feature]
        drawn.append(figure(svg_of(picture), name, feature_caption(shapes, feature)))
    axis = (
        f"The chance of “{shapes.names[-1]}” as one feature changes and all others stay average"
        if shapes.binary
        else "The odds of a label as one feature changes and all others stay average, times or divided by "
        "what they are for an average row; labels that a feature moves little are grey"
    )
    text = (
        f"{axis}. The band is two standard deviations on either side: what would change if noise and trees "
        "were drawn anew. Grey hills show where rows are."
    )
    return section("Feature by feature", text, f'<div class="grid">{"".join(drawn)}</div>')


def feature_caption(shapes: Shapes, feature: int) -> str:
    """Where a feature's effect is lowest and highest, in words."""
    model, told = shapes.model, shapes.model.schema.features[feature]
    place = model.additive.bins.slices[feature]
    held = model.bin_shares[place] >= THIN
    if not held.any():
        return ""
    values = shapes.effects.single[place]
    score = 0 if shapes.binary else int((model.bin_shares[place] @ np.abs(values)).argmax())
    bins, chances = (
        feature_bins(model, feature),
        probabilities(shapes.effects.base + values, len(shapes.names)),
    )
    label = -1 if shapes.binary else score
    ends = [int(np.where(held, sign * values[:, score], -np.inf).argmax()) for sign in (-1, 1)]
    texts = [f"{condition_text(told, bins == b) or 'anywhere'} ({chances[b, label]:.1%})" for b in ends]
    if ends[0] == ends[1]:
        return ""
    return f"{shapes.names[label]}: least where {texts[0]}, most where {texts[1]}."


def _pairs(shapes: Shapes) -> str:
    names = shapes.model.schema.feature_names
    best = list(shapes.effects.weights)[:MOST_PAIRS]
    scores = {pair: _loudest(shapes.effects, pair) for pair in best}
    drawn = []
    for pair in best[:3]:
        picture = new_figure(3.8, 3.2)
        shapes.draw_pair(picture.add_subplot(), pair, scores[pair])
        label = shapes.names[-1 if shapes.binary else scores[pair]]
        told = f"Blue: {label} is more likely than both alone say; red: less. Widths are shares of rows."
        drawn.append(figure(svg_of(picture), f"{names[pair[0]]} × {names[pair[1]]}", told))
    most = max(shapes.effects.weights.values())
    rows = [
        [
            f"{escape(names[i])} × {escape(names[j])}",
            bar(shapes.effects.weights[i, j] / most),
            escape(pair_words(shapes, (i, j), scores[i, j])),
        ]
        for i, j in best
    ]
    text = (
        f"The {shapes.model.additive.n_trees} trees also see features together: what remains of them after "
        "each feature's own part, pair by pair, those that matter most first. Noise is not drawn here: small "
        "patterns may be nothing."
    )
    listed = table(["pair", "weight", "strongest"], rows)
    return section(
        "Together", text, f'<div class="grid">{"".join(drawn)}</div>', f'<div class="card">{listed}</div>'
    )


def _loudest(told: Effects, pair: tuple[int, int]) -> int:
    return int(np.abs(told.pairs[pair]).sum(axis=(0, 1)).argmax())


def pair_words(shapes: Shapes, pair: tuple[int, int], score: int) -> str:
    """Where a pair of features says most beyond what each says alone."""
    model, value = shapes.model, shapes.effects.pairs[pair][:, :, score]
    held = [model.bin_shares[model.additive.bins.slices[j]] for j in pair]
    heavy = np.outer(*held) >= THIN / 4
    if not heavy.any():
        return ""
    a, b = np.unravel_index(np.where(heavy, np.abs(value), -1).argmax(), value.shape)
    masks = [feature_bins(model, j) == cell for j, cell in zip(pair, (a, b), strict=True)]
    texts = [condition_text(model.schema.features[j], mask) for j, mask in zip(pair, masks, strict=True)]
    label = shapes.names[-1 if shapes.binary else score]
    way = "more" if value[a, b] > 0 else "less"
    return f"{label} {way} likely where {' and '.join(text for text in texts if text)}"


def _parts(model: Any) -> list[str]:
    return _additive_parts(model) if isinstance(model, AdditiveModel) else _forest_parts(model)


def _union_parts(model: UnionForest) -> list[str]:
    """The parts of every forest, under the features it knows."""
    parts = []
    for i, forest in enumerate(model.forests, 1):
        known = f"It knows {', '.join(forest.schema.feature_names)}. {forest.card.promise}."
        parts += [section(f"Forest {i} of {len(model.forests)}", known), *_parts(released(forest))]
    return parts


def _forest_parts(model: Any) -> list[str]:
    parts = []
    if hasattr(model, "prior"):
        parts.append(
            _shares(model, model.prior, "Before any feature is looked at", "Noisy shares of the labels.")
        )
    if not isinstance(model, LabelForest):
        parts.append(_gains(model))
    parts.append(_rules(model))
    return [*parts, _tree(model)]


def _gains(model: Any) -> str:
    text = (
        "How much the splits on each feature tell labels apart, as a share of what all splits do. What noise "
        "adds is taken off; splits whose rows drown in it are not counted."
    )
    return section("What matters", text, _bars(model, forest_gains(model)))


def _rules(model: Any) -> str:
    rules = model.rules(MOST_RULES)
    if isinstance(model, LabelForest):
        rows = [[chips(rule.conditions), escape(str(rule.label))] for rule in rules]
        text = (
            "The first leaves of the first tree. Leaves released labels alone, so that none can be called "
            "stronger than another, and no feature more important."
        )
        return section("Some rules", text, f'<div class="card">{table(["if", "then"], rows)}</div>')
    rows = [
        [
            chips(rule.conditions),
            escape(str(rule.label)),
            f"{rule.confidence:.1%} ± {rule.confidence_sd:.1%}" if rule.confidence is not None else "–",
            f"{rule.support:,.0f} ± {rule.support_sd:,.0f}",
        ]
        for rule in rules
    ]
    text = (
        "Paths of the trees whose label lies furthest above its mean share, in deviations of noise and "
        "chance. ± is the standard deviation of the noise."
    )
    listed = table(["if", "then", "confidence", "rows"], rows, [2, 3])
    return section("Strongest rules", text, f'<div class="card">{listed}</div>')


def _tree(model: Any) -> str:
    text = "Its first levels. Colours lean to a label as far as noise lets a node speak."
    if isinstance(model, CountForest):
        text += " Numbers of inner nodes are sums over leaves, and their noise adds up."
    return section("One tree", text, figure(svg_of(plot_tree(model)), wide=True))


def _write(path: str | Path, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise PrivetError(f"cannot write {str(path)!r} ({error.strerror}).", "check the path.") from None

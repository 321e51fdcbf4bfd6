"""Do noise bands tell how far a shape varies from fit to fit? Many fits of one invented table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from privet.estimators import BoostingClassifier
from privet.model import AdditiveModel
from privet.model.effects import effects
from privet.model.rules import places
from privet.privacy import Budget, Ledger, protect
from privet.schema import Categorical, Continuous, Label, Schema
from privet.studies.study import Found, Quick, Study

KINDS = ["a", "b", "c", "d", "e", "f"]
SCHEMA = Schema(
    [
        *(Continuous(name, -3, 3, missing=False) for name in ("wave", "line", "peak")),
        Categorical("kind", KINDS, missing=False),
        *(Continuous(name, -3, 3, missing=False) for name in ("nothing", "nothing else")),
    ],
    Label("answer", ["no", "yes"]),
)
"""Four features that matter, two that do not."""

SETTINGS = ((0.5, 0.0), (1.0, 0.0), (4.0, 0.0), (0.5, 1e-6), (1.0, 1e-6), (4.0, 1e-6))
GRID = 60


def run(
    settings: Sequence[tuple[float, float]] = SETTINGS, n_rows: int = 20_000, fits: int = 20
) -> Iterator[dict[str, Any]]:
    """One row a setting and a part of the model: spread from fit to fit, band, and how much it covers.

    ``covered`` is the share of points, over features and fits, that lie within two bands of their mean over
    the fits; 0.95 would be right for normal errors and a band that is neither too narrow nor too wide.
    """
    table = invented(n_rows)
    features = range(len(SCHEMA.features))
    grids = [_grid(table[0][:, j], j) for j in features]
    for epsilon, delta in settings:
        models = [_model(epsilon, delta, table, seed) for seed in range(fits)]
        told = [effects(model) for model in models]
        for part, shown in (
            ("shape", [(model.additive.shapes, model.bands) for model in models]),
            ("with trees", [(effect.single, effect.bands) for effect in told]),
        ):
            pairs = list(zip(models, shown, strict=True))
            drawn = [[_centred(_at(m, v[:, 0], j, grids[j])) for m, (v, _) in pairs] for j in features]
            bands = [[_at(m, band, j, grids[j]) for m, (_, band) in pairs] for j in features]
            yield {"epsilon": epsilon, "delta": delta, "part": part, **_summary(drawn, bands)}


def invented(n_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows and answers: a wave, a line, a peak and six kinds add up to the odds."""
    random = np.random.default_rng(seed)
    wide = random.normal(size=(n_rows, 5)).clip(-2.99, 2.99)
    wide[:, 0] = random.uniform(-3, 3, n_rows)
    kind = random.integers(0, len(KINDS), n_rows)
    effect = np.array([-1, 0, 0.5, 0.2, -0.3, 0.6])[kind]
    score = 1.2 * np.sin(1.2 * wide[:, 0]) + 0.8 * wide[:, 1] - 0.5 * np.abs(wide[:, 2]) + effect
    answer = random.random(n_rows) < 1 / (1 + np.exp(score.mean() - score))
    X = np.column_stack(
        [wide[:, :3].astype(object), np.array(KINDS, object)[kind], wide[:, 3:].astype(object)]
    )
    return X, np.array(SCHEMA.classes, object)[answer.astype(int)]


def _model(epsilon: float, delta: float, table: tuple[np.ndarray, np.ndarray], seed: int) -> AdditiveModel:
    account = Ledger().create("study", Budget(epsilon, delta))
    protected = protect(table[0], SCHEMA, account, table[1])
    model: Any = BoostingClassifier(epsilon, delta, random_state=seed).fit(protected).model_
    return model


def _grid(column: np.ndarray, j: int) -> np.ndarray:
    """Codes of a feature at even quantiles of its rows: each stands for as many rows."""
    feature = SCHEMA.features[j]
    if isinstance(feature, Categorical):
        return np.arange(len(feature.categories))
    quantiles = np.quantile(column.astype(float), (np.arange(GRID) + 0.5) / GRID)
    return ((quantiles - feature.lower) / feature.width).astype(np.int64)


def _at(model: AdditiveModel, values: np.ndarray, j: int, codes: np.ndarray) -> np.ndarray:
    """Values of a feature's bins at some of its codes."""
    bins = places(model.additive.bins.views, j, SCHEMA.features[j].n_codes)[codes]
    return values[model.additive.bins.slices[j]][bins]


def _centred(values: np.ndarray) -> np.ndarray:
    return values - values.mean()


def _summary(drawn: list[list[np.ndarray]], bands: list[list[np.ndarray]]) -> dict[str, Any]:
    ratios, covered = {}, []
    for feature, values, wide in zip(
        SCHEMA.features, map(np.array, drawn), map(np.array, bands), strict=True
    ):
        ratios[feature.name] = float(values.std(axis=0, ddof=1).mean() / wide.mean())
        covered.append((np.abs(values - values.mean(axis=0)) <= 2 * wide).mean())
    return {"spread / band": ratios, "covered": float(np.mean(covered)), "least covered": float(min(covered))}


def spread(epsilon: float, delta: float, rows: int, fits: int, repeat: int) -> Found:
    """Spread over band of every feature, and how much the bands cover, by part of the model."""
    told: dict[str, dict[str, float]] = {}
    for row in run(((epsilon, delta),), rows, fits):
        part = row["part"]
        told[part] = {"covered": row["covered"], "least covered": row["least covered"]}
        for feature, ratio in row["spread / band"].items():
            told[f"{part}: {feature}"] = {"spread / band": ratio}
    return told


COVERED = Study(
    "ours/bands",
    "Points within two noise bands of their mean, over many fits of one invented table",
    spread,
    [{"delta": (0.0, 1e-6), "epsilon": (0.5, 1.0, 4.0), "rows": [20_000], "fits": [20]}],
    quick=Quick({"delta": (0.0,), "epsilon": (1.0,), "rows": [8000], "fits": [4]}),
    panel="δ = {delta:g}",
    x="epsilon",
    quantity="ε",
    score="covered",
)
STUDIES = [
    COVERED,
    COVERED.showing(
        "ours/bands-spread",
        "How far shapes vary from fit to fit, as a part of their band, by feature",
        score="spread / band",
        percent=False,
    ),
]

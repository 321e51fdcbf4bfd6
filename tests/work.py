"""All that may be asked of rows: every learner, score and question, as what can be compared."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from privet import (
    BoostingClassifier,
    BoostingRegressor,
    Budget,
    Categorical,
    Continuous,
    CountForestClassifier,
    CountForestRegressor,
    Ledger,
    PrivateRegressorSelection,
    PrivateSelection,
    Schema,
    Target,
    private_score,
    protect,
)
from privet.estimators import CLASSIFIERS, REGRESSORS
from privet.privacy import Protected, Repeatable
from tests.places import SCHEMA, digest, people

NUMBERS = Schema([each for each in SCHEMA.features if each.name != "age"], Target("age", 0, 130))
KINDS = {"height": Continuous("height"), "town": Categorical("town")}
OPEN = Schema([KINDS.get(each.name, each) for each in SCHEMA.features], SCHEMA.label)
MANY = {
    "town": Categorical("town", ["north", *map(str, range(3000))]),
    "ward": Categorical("ward", list(range(2000))),
}
WIDE = Schema([MANY.get(each.name, each) for each in SCHEMA.features], SCHEMA.label)
METRICS = {
    "ill": ("accuracy", "balanced_accuracy", "brier", "calibration_error", "auc"),
    "age": ("r2", "mae"),
}

Work = Callable[..., Any]


def protected(source: Any, schema: Schema = SCHEMA, **more: Any) -> Protected:
    """Rows of a place behind a wall whose noise is the same each time, with a budget for anything."""
    account = Ledger().create("people", Budget(1000, "1e-3", "1e-4"))
    return protect(source, schema, account, mechanisms=Repeatable(7), **more)


def fitted(estimator: Any, source: Any, schema: Schema = SCHEMA, start: Any = None, **more: Any) -> str:
    """What an estimator makes of some rows."""
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=3)
    given = {} if start is None else start()
    return digest(estimator.fit(protected(source, schema, **more), **given).model_)


def learner(name: str, source: Any, schema: Schema = SCHEMA, **more: Any) -> str:
    """What a learner makes of some rows."""
    delta = {"delta": 1e-5} if schema.open_features else {}
    kinds = REGRESSORS if isinstance(schema.label, Target) else CLASSIFIERS
    return fitted(kinds[name](epsilon=2, **delta), source, schema, **more)


def structured(structure: str, source: Any, schema: Schema = SCHEMA, **more: Any) -> str:
    """What a count forest of another structure makes of some rows; of many categories it counts sparsely."""
    shape = {"bojarski": {"max_depth": 4}, "jagannathan": {"max_depth": 3, "n_trees": 2}}.get(structure, {})
    return fitted(CountForestClassifier(epsilon=2, structure=structure, **shape), source, schema, **more)


@cache
def known(name: str) -> Any:
    """A model of other rows."""
    schema = NUMBERS if name == "age" else SCHEMA
    kind = BoostingRegressor if name == "age" else BoostingClassifier
    return kind(epsilon=3, random_state=1).fit(protected(people(1500, seed=9), schema))


def selected(source: Any, **more: Any) -> str:
    grid = {"max_depth": [2, 4], "structure": ["bojarski"]}
    return fitted(PrivateSelection(CountForestClassifier(random_state=1), grid, epsilon=6), source, **more)


def selected_number(source: Any, **more: Any) -> str:
    candidates = [CountForestRegressor(max_depth=depth, random_state=1) for depth in (2, 3)]
    return fitted(PrivateRegressorSelection(candidates, epsilon=6), source, NUMBERS, **more)


def scored(label: str, metric: str, source: Any, **more: Any) -> str:
    rows = protected(source, NUMBERS if label == "age" else SCHEMA, **more)
    found = private_score(known(label), rows, metric=metric, epsilon=1)
    return repr((found.value, found.interval, found.curve))


def answers(source: Any, **more: Any) -> list[Any]:
    """Answers to what learners do not ask, and some of few columns."""
    rows = protected(source, **more)
    rows.noisy_count("age >= 37 and town = north", epsilon=1)
    found = [
        rows.noisy_count(epsilon=1),
        rows.noisy_column_rows(["town", "ill"], "height > 1", epsilon=1),
        rows.choose(["age < 30", "town = west"], "ward = 1", epsilon=1),
        rows.choose_item("town", "ill", epsilon=1),
        rows.noisy_quantile("pulse", "0.5", "town", epsilon=1),
        rows.noisy_moments("age", "town", epsilon=1),
        rows.noisy_moments("pulse", rho="0.1"),
        rows.noisy_label_rows(rho="0.1"),
        rows.noisy_sure_rows(known("ill").model_.predictor, (0.5, 0.8), epsilon=1),
    ]
    return [each.values.tolist() for each in found]


STRUCTURES = ("bojarski", "fletcher-islam", "jagannathan")
OPENLY = ("boosting", "count-forest", "greedy-tree", "greedy-forest")

WORK: dict[str, Work] = {
    **{name: partial(learner, name) for name in CLASSIFIERS},
    **{f"count-forest, {structure}": partial(structured, structure) for structure in STRUCTURES},
    "count-forest, sparse": partial(structured, "jagannathan", schema=WIDE),
    **{f"{name}, numbers": partial(learner, name, schema=NUMBERS) for name in REGRESSORS},
    **{f"{name}, open": partial(learner, name, schema=OPEN) for name in OPENLY},
    "a start": lambda source, **more: fitted(
        BoostingClassifier(epsilon=2), source, start=lambda: {"start": known("ill")}, **more
    ),
    "a start, numbers": lambda source, **more: fitted(
        BoostingRegressor(epsilon=2), source, NUMBERS, lambda: {"start": known("age")}, **more
    ),
    "selection": selected,
    "selection, numbers": selected_number,
    **{
        f"{metric}, of {label}": partial(scored, label, metric)
        for label, metrics in METRICS.items()
        for metric in metrics
    },
    "answers": answers,
}
"""What each of them says of rows must be the same wherever these lie."""

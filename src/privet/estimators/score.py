"""How good a released model is, asked of held-out rows at a price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from privet.checks import Number
from privet.errors import QuestionError, SchemaError
from privet.estimators.base import PrivateEstimator
from privet.learners.elsewhere import Elsewhere
from privet.learners.learner import written
from privet.learners.score import ask_score, check_metric, usual_metric
from privet.learners.score_estimate import CurvePoint
from privet.model import Model, released
from privet.privacy import Account, Budget, Ledger, Protected, protect
from privet.schema import Schema
from privet.soundness import check_predictor


@dataclass(frozen=True)
class PrivateScore:
    """A score of a model on rows that paid for it.

    Attributes
    ----------
    metric : str
    value : float
    interval : (float, float)
        Holds the score on the population of the rows in at least about 95 % of all cases: it allows for
        the noise, whose law is known, for the sample, and for what bins may have hidden.
    noisy_rows : float
        About how many rows were scored; persons, where each counts as one row.
    epsilon : str
        What it cost the rows, exactly.
    account, receipt : str
        Data set charged, and the ledger's hash at that charge.
    private : bool
        False where the noise can be repeated, as in studies and tests.
    counted : str
        What was counted: rows, or persons.
    curve : sequence of CurvePoint
        The calibration curve that a calibration error was worked out of; empty for other metrics.
    """

    metric: str
    value: float
    interval: tuple[float, float]
    noisy_rows: float
    epsilon: str
    account: str
    receipt: str
    private: bool = True
    counted: str = "rows"
    curve: Sequence[CurvePoint] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the score as plain data."""
        return asdict(self) | {"curve": [point._asdict() for point in self.curve]}

    def __str__(self) -> str:
        low, high = self.interval
        promise = "" if self.private else ", NOT PRIVATE: repeatable noise"
        return (
            f"{self.metric} {self.value:.4f}, 95 % interval {low:.4f} to {high:.4f} "
            f"(about {self.noisy_rows:,.0f} {self.counted}; ε={self.epsilon} charged "
            f"to {self.account!r}{promise})"
        )


def private_score(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    metric: str | None = None,
    epsilon: Number,
    schema: Any = None,
    account: Account | None = None,
    unit: Any = None,
    key: str | None = None,
) -> PrivateScore:
    """Score a released model on held-out rows, and charge them for it.

    Parameters
    ----------
    model : a fitted estimator of this package, or a released model
    X : frame, Arrow table, array, path of a CSV or Parquet file, `Protected`, or a table of `connect`
    y : array-like, optional
        The label of each row, where it does not stand in the table.
    metric : str, optional
        Of labels "accuracy", "balanced_accuracy", "f1" (of the second of two labels, else the mean over all),
        "log_loss" (a row's loss is cut at 7 nats: a share below 0.0009 counts as that), "brier" (half the
        squared distance of the shares from the label), "calibration_error" (over ten equal bins of the
        second of two labels' share, or of the predicted label's), "auc" and "average_precision" (of more
        than two labels the mean, each against the rest). A label is predicted that has the largest share,
        also where an estimator draws its predictions. Of numbers "r2", "mae" or "rmse", the last two in the
        target's unit; errors are cut where next to none was found to be larger, which the interval does not
        allow for. By default accuracy, or R².
    epsilon : float
        Privacy budget of the score.
    schema : Schema, path or dict, optional
        By default the model's. Another may differ in ``max_rows`` and ``unit`` alone.
    account : Account, optional
        Account of a `Ledger` to charge; by default a ledger of this score alone. `Protected` rows have
        their own.
    unit : str or array-like, optional
        Whose each row is: a column's name, or an identifier for each row; by default what the schema says.
    key : str, optional
        Column that says which row is which, where rows lie in a database: see `protect`.

    Returns
    -------
    PrivateScore

    Privacy
    -------
    ε-DP for the rows in ``X`` under adding or removing one, or one person with all theirs where the schema
    has a unit. Accuracy, log loss and Brier score are sums of losses, F1 and balanced accuracy rows by
    prediction, the calibration error shares by bin: one question each. Areas are two in sequence: a fifth
    of ε finds where the scores lie, the rest counts rows by bin of the score and label. Errors of numbers
    likewise: a fifth of ε finds how large they are. Proof notes: *Losses of a model*, *Rows by prediction*,
    *Shares by bin*, *Rows by score*, *Errors of numbers*.

    Examples
    --------
    >>> import numpy as np
    >>> from privet import BoostingClassifier, Continuous, Label, Schema, private_score
    >>> schema = Schema([Continuous("x", 0, 1), Continuous("z", 0, 1)], Label("y", [0, 1]))
    >>> X = np.random.default_rng(0).random((20_000, 2))
    >>> y = (X.sum(axis=1) > 1).astype(int)
    >>> model = BoostingClassifier(epsilon=1.0, schema=schema, random_state=0).fit(X[:15_000], y[:15_000])
    >>> score = private_score(model, X[15_000:], y[15_000:], metric="auc", epsilon=0.5)
    >>> bool(score.value > 0.9), score.epsilon
    (True, '0.5')
    """
    if metric is not None:
        check_metric(metric)
    found = released_model(model)
    metric = metric or usual_metric(found.schema)
    check_metric(metric, found.schema)
    if isinstance(X, Elsewhere):
        if any(given is not None for given in (y, schema, account, unit, key)):
            raise QuestionError(
                "a table that lies elsewhere has labels, a schema, a unit and an account of its own.",
                "leave these out.",
            )
        return _told(X.score(found, metric, epsilon=written(epsilon)))
    protected = held_out(X, y, found.schema, schema, account, Budget(epsilon), unit, key)
    check_predictor(found.scored, protected.schema)
    estimate = ask_score(protected, found.scored, metric, Budget(epsilon).epsilon)
    receipt = protected.receipt
    return PrivateScore(
        metric,
        estimate.value,
        (estimate.low, estimate.high),
        estimate.noisy_rows,
        written(epsilon),
        protected.account_name,
        receipt.hash if receipt else "",
        protected.private,
        protected.schema.counted,
        estimate.curve,
    )


def _told(told: Mapping[str, Any]) -> PrivateScore:
    """A score that was worked out elsewhere."""
    names = ("metric", "value", "epsilon", "account", "receipt", "counted")
    interval, curve = (told["low"], told["high"]), [CurvePoint(**point) for point in told["curve"]]
    return PrivateScore(
        **{name: told[name] for name in names}, interval=interval, noisy_rows=told["rows"], curve=curve
    )


def released_model(model: Any) -> Model:
    """What an estimator released, or a released model itself."""
    if isinstance(model, PrivateEstimator):
        check_is_fitted(model)
    try:
        return released(model)
    except QuestionError:
        pass
    raise QuestionError(
        f"a {type(model).__name__} cannot be scored behind the wall: its predictions are not arrays.",
        "give an estimator of privet, or a model that load_model returned.",
    )


def held_out(
    X: Any,
    y: Any,
    known: Schema,
    schema: Any,
    account: Account | None,
    budget: Budget,
    unit: Any,
    key: str | None,
) -> Protected:
    """Rows read as the model's were: what its contract left open is as it was found then."""
    if not isinstance(X, Protected):
        contract = _as_learnt(known if schema is None else _read_schema(schema), known)
        own = account or Ledger().create("held-out rows", budget)
        return protect(X, contract, own, y, unit=unit, key=key)
    if any(given is not None for given in (y, account, schema, unit, key)):
        raise QuestionError(
            "protected rows have labels, a schema, a unit and an account of their own.", "leave these out."
        )
    contract = _as_learnt(X.schema, known)
    return X if contract == X.schema else X.under(contract)


def _read_schema(schema: Any) -> Schema:
    if isinstance(schema, Mapping):
        return Schema.from_dict(schema)
    return Schema.load(schema) if isinstance(schema, str | Path) else schema


def _as_learnt(schema: Schema, known: Schema) -> Schema:
    """A contract with what the model's found; codes mean the same to both only if columns are alike."""
    given, model = schema.declared, known.declared
    if (given.features, given.label) != (model.features, model.label):
        raise SchemaError(
            "the rows are read under another schema than the model's.",
            "encode them as the model's rows were.",
        )
    return replace(schema, features=known.features, label=known.label)

"""A threshold between two labels that held-out rows choose, at a price."""

from __future__ import annotations

from typing import Any

from privet.checks import Number
from privet.errors import QuestionError
from privet.estimators.score import held_out, released_model
from privet.learners.learner import written
from privet.learners.threshold import ask_threshold, check_aim
from privet.model.labels import LabelModel
from privet.privacy import Account, Budget
from privet.soundness import check_predictor


def private_threshold(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    metric: str = "f1",
    epsilon: Number,
    schema: Any = None,
    account: Account | None = None,
    unit: Any = None,
    key: str | None = None,
) -> LabelModel:
    """Choose the share above which a model names the second of two labels, and charge held-out rows for it.

    Parameters
    ----------
    model : a fitted estimator of this package, or a released model
    X : frame, Arrow table, array, path of a CSV or Parquet file, or `Protected`
    y : array-like, optional
        The label of each row, where it does not stand in the table.
    metric : {"f1", "balanced_accuracy", "accuracy"}
        What is to be largest; F1 is that of the second label.
    epsilon : float
        Privacy budget of the choice.
    schema, account, unit, key :
        As for `private_score`.

    Returns
    -------
    released model
        The same model with its threshold, which ``predict`` keeps to and the card names; shares stay as they
        are. ``from_model`` of the estimator makes an estimator of it. How good it is, `private_score` tells
        on rows that did not choose.

    Privacy
    -------
    ε-DP for the rows in ``X``: rows by score and label, as for the area under a curve; a fifth of ε finds
    where the scores lie. The threshold is post-processing. Proof note: *Rows by score*. Who is among these
    rows and among those that the model learnt from has the sum of both costs.

    Examples
    --------
    >>> import numpy as np
    >>> from privet import BoostingClassifier, Continuous, Label, Schema, private_threshold
    >>> schema = Schema([Continuous("x", 0, 1)], Label("y", [0, 1]))
    >>> random = np.random.default_rng(0)
    >>> X = random.random((20_000, 1))
    >>> y = (random.random(20_000) < 0.3 * X[:, 0]).astype(int)
    >>> model = BoostingClassifier(epsilon=1.0, schema=schema).fit(X[:10_000], y[:10_000])
    >>> bold = private_threshold(model, X[10_000:], y[10_000:], epsilon=1.0)
    >>> int(model.predict(X).sum()), bool(bold.predict(X).sum() > 3_000)
    (0, True)
    """
    check_aim(metric)
    found = released_model(model)
    if not isinstance(found, LabelModel) or found.schema.n_labels != 2:
        raise QuestionError("a threshold is between two labels.", "weigh more of them: model.weighed.")
    protected = held_out(X, y, found.schema, schema, account, Budget(epsilon), unit, key)
    check_predictor(found.scored, protected.schema)
    threshold = ask_threshold(protected, found.scored, metric, Budget(epsilon).epsilon)
    receipt = protected.receipt
    return found.with_threshold(
        threshold,
        **{
            "by": metric,
            "epsilon": written(epsilon),
            "account": protected.account_name,
            "receipt": receipt.hash if receipt else "",
            "private": protected.private,
            "same account": protected.account_name == found.card.account,
        },
    )

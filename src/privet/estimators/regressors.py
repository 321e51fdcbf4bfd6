"""The regressors: learners that predict numbers, behind the same edge."""

from __future__ import annotations

from dataclasses import dataclass

from privet.estimators.base import PrivateRegressor
from privet.estimators.batched import BatchedEstimator
from privet.estimators.start import StartedEstimator
from privet.learners.boosting import Boosting
from privet.learners.number_forest import NumberForest


@dataclass(eq=False, repr=False)
class BoostingRegressor(StartedEstimator, PrivateRegressor, Boosting):
    """Shapes and interaction trees of a number, boosted from a handful of noisy answers.

    The learner of `BoostingClassifier` with another loss: squared residuals, clipped at a width that is found
    from noisy sizes of residuals.

    Parameters
    ----------
    epsilon : float
        Privacy budget of the fit.
    delta : float
        0 for pure ε; a small number, say 1e-6, for less noise under a slightly weaker promise.
    passes : int, optional
        Most questions to ask after the first one; each reads all rows once. By default as many as the number
        of rows and the budget make worthwhile.
    schema : Schema, path, dict or "from-data"
        The public contract, with a `Target`. "from-data" reads it from the rows, which no budget covers.
    random_state : int, RandomState or None
        Fixes the structure of the trees alone. Noise always comes from the operating system.
    account : Account, optional
        Account of a `Ledger` to charge; by default a ledger of this fit alone.
    verbose : bool
        Show progress.

    Attributes
    ----------
    feature_names_in_ : ndarray
    model_ : AdditiveNumbers
        What was released.
    privacy_card_ : PrivacyCard

    Privacy
    -------
    (ε, δ)-DP under adding or removing one row, and ε-DP with δ = 0. The questions are rows below and above a
    number, also by cell of every feature, sizes of residuals, and sums of clipped residuals by bin and by
    leaf; their costs add up to the budget. Proof notes: *Sums of gradients*, *Residuals*, *Sequence*.

    Examples
    --------
    >>> import numpy as np
    >>> from privet import BoostingRegressor, Continuous, Schema, Target
    >>> schema = Schema([Continuous("x", 0, 1), Continuous("z", 0, 1)], Target("y", 0, 2))
    >>> X = np.random.default_rng(0).random((20_000, 2))
    >>> y = X.sum(axis=1)
    >>> model = BoostingRegressor(epsilon=1.0, schema=schema, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.8)
    True
    """


@dataclass(eq=False, repr=False)
class CountForestRegressor(BatchedEstimator, PrivateRegressor, NumberForest):
    __doc__ = NumberForest.__doc__


REGRESSORS: dict[str, type[PrivateRegressor]] = {
    kind.name: kind for kind in (BoostingRegressor, CountForestRegressor)
}
"""All of them, by the name that models, cards and the command line give them."""

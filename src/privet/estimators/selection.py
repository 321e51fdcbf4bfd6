"""Choose among learners privately, where one would reach for GridSearchCV."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils.validation import check_is_fitted

from privet.errors import QuestionError
from privet.estimators.base import PrivateClassifier, PrivateEstimator, PrivateRegressor
from privet.learners.plan import FitPlan
from privet.learners.score import ask_score, check_metric, larger_is_better, usual_metric
from privet.privacy import Account, Cost, Protected
from privet.privacy.questions.runs import BestOfRuns, RunLaw
from privet.schema import Label, Schema, Target

RUNS_PER_CANDIDATE = 3
"""Mean number of runs for each candidate."""

HELD_OUT = Fraction(1, 5)
"""Share of the rows that a run is scored on."""

NOT_CHOSEN = ("epsilon", "delta", "schema", "account")
"""Parameters that no candidate has of its own: they are the selection's, or follow from it."""


class Selection(PrivateEstimator):
    """What selections among classifiers and among regressors have in common: see `PrivateSelection`."""

    name = "selection"

    def __init__(
        self,
        candidates: Any,
        param_grid: Any = None,
        *,
        epsilon: float = 1.0,
        metric: str | None = None,
        runs: int | None = None,
        eta: float = 1,
        schema: Any = None,
        account: Account | None = None,
        verbose: bool = False,
    ) -> None:
        self.candidates = candidates
        self.param_grid = param_grid
        self.epsilon = epsilon
        self.metric = metric
        self.runs = runs
        self.eta = eta
        self.schema = schema
        self.account = account
        self.verbose = verbose

    def predict(self, X: Any) -> np.ndarray:
        """What the best estimator predicts of each row."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict(X))

    def outline(self, schema: Schema, n_rows: float) -> FitPlan:
        """See `Learner.outline`."""
        candidates, runs = self._candidates()
        law, budget = RunLaw.of_mean(runs, self.eta), self.budget
        charge = BestOfRuns.plan(Cost.pure(self.epsilon), runs, len(candidates))
        facts = {
            "candidates": len(candidates),
            "runs, on average": runs,
            "epsilon of a run": float(budget.epsilon / law.factor),
            "rows that a run learns from": n_rows * float(1 - HELD_OUT),
        }
        return FitPlan(self.name, budget, n_rows, [charge], facts)

    def learn(self, protected: Protected) -> Any:
        """See `Learner.learn`."""
        candidates, runs = self._candidates()
        for estimator, _ in candidates:
            estimator.check_contract(protected.schema)
        stamp = self.stamp(protected)
        metric = self.metric or usual_metric(protected.schema)
        check_metric(metric, protected.schema)
        tried = tuple(partial(_run, estimator, metric) for estimator, _ in candidates)
        best = protected.ask(BestOfRuns(tried, runs, self.eta, HELD_OUT), Cost.pure(self.epsilon))
        self.best_estimator_, self.best_score_ = best.made, best.score
        self.best_index_, self.best_params_ = best.candidate, candidates[best.candidate][1]
        model = best.made.model_
        chosen = {
            "chosen from": len(candidates),
            "by": metric,
            "mean runs": runs,
            "eta": float(self.eta),
        }
        # The best run's model, under the card of the whole selection.
        card = replace(stamp({**model.card.learner, **chosen}), changes=model.card.changes)
        paid = {"epsilon": card.epsilon, "receipt": card.receipt}
        card = replace(card, batches=[{**batch, **paid} for batch in model.card.batches])
        best.made.model_ = released = replace(model, card=card)
        best.made.privacy_card_ = card
        return released

    def _candidates(self) -> tuple[list[tuple[PrivateEstimator, Mapping[str, Any]]], int]:
        """Estimators to choose from, what tells each from the others, and the mean number of runs."""
        if self.metric is not None:
            check_metric(self.metric)
        if not isinstance(self.candidates, Sequence):
            grid = list(ParameterGrid(self.param_grid or {}))
            _check_grid(grid)
            found = [(clone(self.candidates).set_params(**parameters), parameters) for parameters in grid]
        elif self.param_grid is None:
            found = [(estimator, _parameters(estimator)) for estimator in self.candidates]
        else:
            raise QuestionError("a grid needs a single estimator.", "give one, or a list without a grid.")
        if not found:
            raise QuestionError("there is no candidate to choose.", "give one at least.")
        for estimator, _ in found:
            _check_candidate(estimator, self.predicts)
        return found, RUNS_PER_CANDIDATE * len(found) if self.runs is None else self.runs


class PrivateSelection(Selection, PrivateClassifier):
    """The best of several learners, chosen and fitted within one budget.

    A random number of runs is made. Each draws a candidate, learns from four fifths of the rows and scores
    on the others. Only the best run is kept: its model, its parameters and its score. That costs three times
    what one run costs, however many candidates there are and however many runs are made (Liu and Talwar
    2019; Papernot and Steinke 2022).

    Every run therefore has a third of the budget and fewer rows. Before you choose, ask whether a good
    default with all of both would not win; mostly it does, unless ε times the rows is large or the
    candidates differ much.

    Parameters
    ----------
    candidates : estimator, or list of estimators
        Learners of this package. Their ``epsilon``, ``schema`` and ``account`` are not used.
    param_grid : dict or list of dicts, optional
        Parameters to try with a single estimator, as in scikit-learn's ``GridSearchCV``.
    epsilon : float
        Privacy budget of the whole: all runs, their scores, and the choice.
    metric : str
        What the best run is best in; see `private_score`.
    runs : int, optional
        Mean number of runs; by default three for each candidate. More cost time, not budget.
    eta : float
        Shape of the law of their number: 1 is geometric and costs three runs, 0 is logarithmic, costs two,
        and more often tries few candidates.
    schema : Schema, path, dict or "from-data"
        The public contract. "from-data" reads it from the rows, which no budget covers.
    account : Account, optional
        Account of a `Ledger` to charge; by default a ledger of this selection alone.
    verbose : bool
        Show progress while rows are read. Of the runs nothing is ever shown.

    Attributes
    ----------
    best_estimator_ : estimator
        Fitted by the best run. Its ``epsilon`` is that of a run; what the model cost is on its card.
    best_params_ : dict
        Parameters of the grid that it had, or all parameters where a list was given.
    best_index_ : int
        Which candidate it was.
    best_score_ : float
        Score that made it win; of a loss or an error, negated. It is the largest of several noisy scores, and
        too high for that: use `private_score` on other rows to know how good the model is.
    model_, classes_, privacy_card_ :
        As of any other estimator.

    Privacy
    -------
    ε-DP under adding or removing one row, charged once, before the first run. Candidates must be purely
    private: with a δ the proof does not hold, and they are refused. Proof notes: *Private selection*,
    *Parallel composition*.

    Examples
    --------
    >>> import numpy as np
    >>> from privet import Continuous, CountForestClassifier, Label, PrivateSelection, Schema
    >>> schema = Schema([Continuous("x", 0, 1), Continuous("z", 0, 1)], Label("y", [0, 1]))
    >>> X = np.random.default_rng(0).random((20_000, 2))
    >>> y = (X.sum(axis=1) > 1).astype(int)
    >>> grid = {"max_depth": [1, 6], "structure": ["bojarski"]}
    >>> search = PrivateSelection(CountForestClassifier(), grid, epsilon=3.0, schema=schema).fit(X, y)
    >>> sorted(search.best_params_), search.privacy_card_.epsilon
    (['max_depth', 'structure'], '3.0')
    """

    def _release(self, protected: Protected, y: np.ndarray | None) -> None:
        super()._release(protected, y)
        # The runs saw protected rows, not the caller's table: names and types of labels are known here alone.
        best = self.best_estimator_
        best.classes_, best._order, best.n_features_in_ = self.classes_, self._order, self.n_features_in_
        if not hasattr(self, "feature_names_in_"):
            del best.feature_names_in_


class PrivateRegressorSelection(Selection, PrivateRegressor):
    """The best of several regressors, chosen and fitted within one budget: `PrivateSelection` for numbers.

    Parameters
    ----------
    candidates : estimator, or list of estimators
        Regressors of this package. Their ``epsilon``, ``schema`` and ``account`` are not used.
    param_grid : dict or list of dicts, optional
        Parameters to try with a single estimator.
    epsilon : float
        Privacy budget of the whole: all runs, their scores, and the choice.
    metric : {"r2", "mae", "rmse"}, optional
        What the best run is best in; see `private_score`.
    runs : int, optional
        Mean number of runs; by default three for each candidate.
    eta : float
        Shape of the law of their number.
    schema : Schema, path, dict or "from-data"
    account : Account, optional
    verbose : bool

    Attributes
    ----------
    best_estimator_, best_params_, best_index_, best_score_ :
        As of `PrivateSelection`; errors are negated.
    model_, privacy_card_ :
        As of any other estimator.

    Privacy
    -------
    ε-DP under adding or removing one row, charged once, before the first run. Candidates must be purely
    private. Proof notes: *Private selection*, *Parallel composition*.
    """

    def _release(self, protected: Protected, y: np.ndarray | None) -> None:
        super()._release(protected, y)
        self.best_estimator_.n_features_in_ = self.n_features_in_
        if not hasattr(self, "feature_names_in_"):
            del self.best_estimator_.feature_names_in_


def _run(
    candidate: PrivateEstimator, metric: str, learnt: Protected, held_out: Protected, epsilon: Fraction
) -> tuple[PrivateEstimator, float]:
    """Fit a candidate on some rows and score it on others."""
    estimator = clone(candidate).set_params(epsilon=epsilon, account=None, verbose=False)
    if estimator.get_params().get("random_state", 0) is None:
        # numpy's own generator goes on from run to run: the best run's trees would tell of those before it.
        estimator.set_params(random_state=secrets.randbits(32)).fit(learnt).set_params(random_state=None)
    else:
        estimator.fit(learnt)
    found = estimator.model_.schema
    rows = held_out if found == held_out.schema else held_out.under(found)
    value = ask_score(rows, estimator.model_.scored, metric, epsilon).value
    return estimator, larger_is_better(metric, value)


def _parameters(estimator: Any) -> Mapping[str, Any]:
    _check_candidate(estimator)
    return {name: value for name, value in estimator.get_params().items() if name not in NOT_CHOSEN}


def _check_grid(grid: Sequence[Mapping[str, Any]]) -> None:
    for name in {name for parameters in grid for name in parameters}.intersection(NOT_CHOSEN):
        raise QuestionError(
            f"{name} cannot be chosen: it is the same for all runs.", "take it out of the grid."
        )


def _check_candidate(estimator: Any, predicts: type[Label | Target] | None = None) -> None:
    if not isinstance(estimator, PrivateEstimator) or isinstance(estimator, Selection):
        raise QuestionError(
            f"a {type(estimator).__name__} cannot be chosen privately.", "candidates are learners of privet."
        )
    if predicts not in (None, estimator.predicts):
        raise QuestionError(
            f"a {type(estimator).__name__} predicts something else.",
            "choose among classifiers by PrivateSelection, among regressors by PrivateRegressorSelection.",
        )
    if getattr(estimator, "delta", 0):
        raise QuestionError(
            "candidates with a delta cannot be chosen: the proof is for pure epsilon.", "set delta=0."
        )

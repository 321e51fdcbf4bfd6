"""The scikit-learn edge: tables in, protected rows to a learner, what it released kept."""

from privet.estimators.classifiers import (
    CLASSIFIERS,
    BoostingClassifier,
    CountingTreeClassifier,
    GreedyForestClassifier,
    GreedyTreeClassifier,
    MajorityForestClassifier,
)
from privet.estimators.count_forest import CountForestClassifier
from privet.estimators.regressors import REGRESSORS, BoostingRegressor, CountForestRegressor
from privet.estimators.score import PrivateScore, private_score
from privet.estimators.selection import PrivateRegressorSelection, PrivateSelection
from privet.estimators.threshold import private_threshold

__all__ = [
    "CLASSIFIERS",
    "REGRESSORS",
    "BoostingClassifier",
    "BoostingRegressor",
    "CountForestClassifier",
    "CountForestRegressor",
    "CountingTreeClassifier",
    "GreedyForestClassifier",
    "GreedyTreeClassifier",
    "MajorityForestClassifier",
    "PrivateRegressorSelection",
    "PrivateScore",
    "PrivateSelection",
    "private_score",
    "private_threshold",
]

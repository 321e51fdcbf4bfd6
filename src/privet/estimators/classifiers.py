"""The classifiers: a learner each, behind the same edge. Their parameters are declared with the learner."""

from __future__ import annotations

from dataclasses import dataclass

from privet.estimators.base import PrivateClassifier
from privet.estimators.count_forest import CountForestClassifier
from privet.estimators.start import StartedEstimator
from privet.estimators.weighted import WeightedClassifier
from privet.learners.boosting import Boosting
from privet.learners.counting_tree import CountingTree
from privet.learners.greedy_forest import GreedyForest
from privet.learners.greedy_tree import GreedyTree
from privet.learners.majority_forest import MajorityForest


@dataclass(eq=False, repr=False)
class BoostingClassifier(StartedEstimator, WeightedClassifier, Boosting):
    __doc__ = Boosting.__doc__


@dataclass(eq=False, repr=False)
class CountingTreeClassifier(WeightedClassifier, CountingTree):
    __doc__ = CountingTree.__doc__


@dataclass(eq=False, repr=False)
class GreedyForestClassifier(WeightedClassifier, GreedyForest):
    __doc__ = GreedyForest.__doc__


@dataclass(eq=False, repr=False)
class GreedyTreeClassifier(WeightedClassifier, GreedyTree):
    __doc__ = GreedyTree.__doc__


@dataclass(eq=False, repr=False)
class MajorityForestClassifier(PrivateClassifier, MajorityForest):
    __doc__ = MajorityForest.__doc__


CLASSIFIERS: dict[str, type[PrivateClassifier]] = {
    kind.name: kind
    for kind in (
        BoostingClassifier,
        CountForestClassifier,
        CountingTreeClassifier,
        GreedyForestClassifier,
        GreedyTreeClassifier,
        MajorityForestClassifier,
    )
}
"""All of them, by the name that models, cards and the command line give them."""

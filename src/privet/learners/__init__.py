"""Learners, each written in the questions of the wall and nothing else."""

from privet.learners.boosting import BoostingClassifier
from privet.learners.majority_forest import MajorityForestClassifier

__all__ = ["BoostingClassifier", "MajorityForestClassifier"]

"""Learners, each written in the questions of the wall and nothing else."""

from privet.learners.boosting import BoostingClassifier
from privet.learners.count_forest import CountForestClassifier
from privet.learners.counting_tree import CountingTreeClassifier
from privet.learners.greedy_forest import GreedyForestClassifier
from privet.learners.greedy_tree import GreedyTreeClassifier
from privet.learners.majority_forest import MajorityForestClassifier
from privet.learners.score import PrivateScore, private_score
from privet.learners.selection import PrivateSelection

__all__ = [
    "BoostingClassifier",
    "CountForestClassifier",
    "CountingTreeClassifier",
    "GreedyForestClassifier",
    "GreedyTreeClassifier",
    "MajorityForestClassifier",
    "PrivateScore",
    "PrivateSelection",
    "private_score",
]

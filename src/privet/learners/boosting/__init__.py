"""The recommended learner: few questions, each asked of everything at once. One file a stage."""

from privet.learners.boosting.learner import Boosting

__all__ = ["Boosting"]

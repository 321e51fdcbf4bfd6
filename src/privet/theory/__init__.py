"""Formulas of the papers as plain functions of public quantities, one module a paper.

Nothing here reads a row. ``docs/theory.md`` says what each formula means for a user and where a paper's
statement does not hold.
"""

from __future__ import annotations

from privet.theory.bojarski import best_number_of_trees
from privet.theory.bound import Bound, Guarantee, fewest_rows
from privet.theory.fletcher_islam import fletcher_islam_depth, published_label_loss, smooth_sensitivity
from privet.theory.jagannathan import jagannathan_height
from privet.theory.voting import private_vote_bound

__all__ = [
    "Bound",
    "Guarantee",
    "best_number_of_trees",
    "fewest_rows",
    "fletcher_islam_depth",
    "jagannathan_height",
    "private_vote_bound",
    "published_label_loss",
    "smooth_sensitivity",
]

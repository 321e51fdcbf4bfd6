"""The wall: noise, selection, budget, ledger, and the questions that may cross it.

Nothing outside this package may see an exact count or draw noise.
"""

from privet.privacy.answers import NoisyChoices, NoisyTable
from privet.privacy.bits import SecureBits, StudyBits
from privet.privacy.budget import Budget, Cost, in_parallel, in_sequence
from privet.privacy.charges import Charge, Receipt
from privet.privacy.gradients import BIN_ROWS, LABEL_ROWS, NoisySums
from privet.privacy.ledger import Account, Ledger
from privet.privacy.protected import NEIGHBOURS, Protected, protect
from privet.privacy.score_questions import LOSSES, SCORE_ROWS
from privet.privacy.selection_questions import BestRun
from privet.privacy.sparse import sparse_threshold
from privet.privacy.split_questions import ChosenSplits, open_leaf_rows, split_choice, split_rows
from privet.privacy.tree_questions import (
    NoisyCells,
    Parts,
    frequent_cells,
    label_charge,
    leaf_rows,
    random_parts,
)
from privet.privacy.wall import NoisyCounts, check_noise

__all__ = [
    "BIN_ROWS",
    "LABEL_ROWS",
    "LOSSES",
    "NEIGHBOURS",
    "SCORE_ROWS",
    "Account",
    "BestRun",
    "Budget",
    "Charge",
    "ChosenSplits",
    "Cost",
    "Ledger",
    "NoisyCells",
    "NoisyChoices",
    "NoisyCounts",
    "NoisySums",
    "NoisyTable",
    "Parts",
    "Protected",
    "Receipt",
    "SecureBits",
    "StudyBits",
    "check_noise",
    "frequent_cells",
    "in_parallel",
    "in_sequence",
    "label_charge",
    "leaf_rows",
    "open_leaf_rows",
    "protect",
    "random_parts",
    "sparse_threshold",
    "split_choice",
    "split_rows",
]

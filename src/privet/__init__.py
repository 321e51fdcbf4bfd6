"""PRIVET – private ensembles of trees.

Learn decision trees and forests from rows about people without giving any one of them away.
"""

from privet.errors import (
    BudgetError,
    BudgetExceeded,
    DataError,
    LedgerTampered,
    ModelFileError,
    PrivacyLeakWarning,
    PrivetError,
    QuestionError,
    SchemaError,
    UnknownAccount,
)
from privet.estimators import (
    BoostingClassifier,
    CountForestClassifier,
    CountingTreeClassifier,
    GreedyForestClassifier,
    GreedyTreeClassifier,
    MajorityForestClassifier,
    PrivateScore,
    PrivateSelection,
    private_score,
)
from privet.model import (
    AdditiveModel,
    CountForest,
    LabelForest,
    PrivacyCard,
    RuleForest,
    UnionForest,
    load_model,
)
from privet.pictures.report import explain
from privet.pictures.tree import export_text, plot_tree
from privet.privacy import Budget, Ledger, Protected, protect
from privet.schema import Categorical, Continuous, Label, Schema, Target
from privet.version import __version__

__all__ = [
    "AdditiveModel",
    "BoostingClassifier",
    "Budget",
    "BudgetError",
    "BudgetExceeded",
    "Categorical",
    "Continuous",
    "CountForest",
    "CountForestClassifier",
    "CountingTreeClassifier",
    "DataError",
    "GreedyForestClassifier",
    "GreedyTreeClassifier",
    "Label",
    "LabelForest",
    "Ledger",
    "LedgerTampered",
    "MajorityForestClassifier",
    "ModelFileError",
    "PrivacyCard",
    "PrivacyLeakWarning",
    "PrivateScore",
    "PrivateSelection",
    "PrivetError",
    "Protected",
    "QuestionError",
    "RuleForest",
    "Schema",
    "SchemaError",
    "Target",
    "UnionForest",
    "UnknownAccount",
    "__version__",
    "explain",
    "export_text",
    "load_model",
    "plot_tree",
    "private_score",
    "protect",
]

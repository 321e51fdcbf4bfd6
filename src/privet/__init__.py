"""PRIVET – private ensembles of trees.

Learn decision trees and forests from rows about people without giving any one of them away.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from privet.version import __version__

if TYPE_CHECKING:
    from privet.client import connect
    from privet.data.text import TextFile
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
        BoostingRegressor,
        CountForestClassifier,
        CountForestRegressor,
        CountingTreeClassifier,
        GreedyForestClassifier,
        GreedyTreeClassifier,
        MajorityForestClassifier,
        PrivateRegressorSelection,
        PrivateScore,
        PrivateSelection,
        private_score,
        private_threshold,
    )
    from privet.exports import export_onnx, export_sql
    from privet.model import (
        AdditiveModel,
        AdditiveNumbers,
        CountForest,
        LabelForest,
        PrivacyCard,
        RuleForest,
        UnionForest,
        load_model,
        predict_into,
    )
    from privet.pictures.report import explain
    from privet.pictures.tree import export_text, plot_tree
    from privet.privacy import Budget, Ledger, Protected, protect
    from privet.schema import Categorical, Continuous, Date, DateTime, Integer, Label, Schema, Target

__all__ = [
    "AdditiveModel",
    "AdditiveNumbers",
    "BoostingClassifier",
    "BoostingRegressor",
    "Budget",
    "BudgetError",
    "BudgetExceeded",
    "Categorical",
    "Continuous",
    "CountForest",
    "CountForestClassifier",
    "CountForestRegressor",
    "CountingTreeClassifier",
    "DataError",
    "Date",
    "DateTime",
    "GreedyForestClassifier",
    "GreedyTreeClassifier",
    "Integer",
    "Label",
    "LabelForest",
    "Ledger",
    "LedgerTampered",
    "MajorityForestClassifier",
    "ModelFileError",
    "PrivacyCard",
    "PrivacyLeakWarning",
    "PrivateRegressorSelection",
    "PrivateScore",
    "PrivateSelection",
    "PrivetError",
    "Protected",
    "QuestionError",
    "RuleForest",
    "Schema",
    "SchemaError",
    "Target",
    "TextFile",
    "UnionForest",
    "UnknownAccount",
    "__version__",
    "connect",
    "explain",
    "export_onnx",
    "export_sql",
    "export_text",
    "load_model",
    "plot_tree",
    "predict_into",
    "private_score",
    "private_threshold",
    "protect",
]


def __getattr__(name: str) -> Any:
    """A name when it is first asked for: scikit-learn, Arrow and numba take seconds to load."""
    for home in _homes() if not name.startswith("_") else ():
        value = home if home.__name__ == f"privet.{name}" else getattr(home, name, None)
        if value is not None and (value is home or name in __all__):
            globals()[name] = value
            return value
    raise AttributeError(f"module 'privet' has no attribute {name!r}")


def _homes() -> Iterator[ModuleType]:
    """Where names are found, those first that load fastest, each loaded if none before it had the name."""
    yield import_module("privet.errors")
    yield import_module("privet.schema")
    yield import_module("privet.data.text")
    yield import_module("privet.privacy")
    yield import_module("privet.model")
    yield import_module("privet.estimators")
    yield import_module("privet.pictures.report")
    yield import_module("privet.pictures.tree")
    yield import_module("privet.parties")
    yield import_module("privet.exports")
    yield import_module("privet.client")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

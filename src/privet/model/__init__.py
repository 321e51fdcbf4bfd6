"""What was released: arrays and a privacy card. Nothing here can reach a row."""

from privet.model.additive import AdditiveModel
from privet.model.card import PrivacyCard
from privet.model.counts import CountForest
from privet.model.forest import LabelForest
from privet.model.load import load_model
from privet.model.rule_forest import RuleForest
from privet.model.union import UnionForest

__all__ = [
    "AdditiveModel",
    "CountForest",
    "LabelForest",
    "PrivacyCard",
    "RuleForest",
    "UnionForest",
    "load_model",
]

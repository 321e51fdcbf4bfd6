"""What was released: arrays and a privacy card. Nothing here can reach a row."""

from privet.model.additive import AdditiveModel, AdditiveNumbers
from privet.model.card import PrivacyCard
from privet.model.counts import CountForest
from privet.model.forest import LabelForest
from privet.model.kinds import MODELS, load_model, released
from privet.model.number_forest import NumberForest
from privet.model.protocol import Model
from privet.model.rule_forest import RuleForest
from privet.model.streaming import predict_into
from privet.model.union import UnionForest

__all__ = [
    "MODELS",
    "AdditiveModel",
    "AdditiveNumbers",
    "CountForest",
    "LabelForest",
    "Model",
    "NumberForest",
    "PrivacyCard",
    "RuleForest",
    "UnionForest",
    "load_model",
    "predict_into",
    "released",
]

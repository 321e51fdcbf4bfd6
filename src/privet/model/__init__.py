"""What was released: arrays and a privacy card. Nothing here can reach a row."""

from privet.model.card import PrivacyCard
from privet.model.forest import LabelForest, load_model

__all__ = ["LabelForest", "PrivacyCard", "load_model"]

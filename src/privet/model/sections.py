"""What a page can show of a model, as plain data: a model says which of these it has, a page draws them.

A kind of model that has nothing new to show needs nothing new here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privet.model.effects import Effects
from privet.model.rules import Rules
from privet.model.tree import ShownTree
from privet.schema import Schema
from privet.structure import Bins

MOST_RULES = 12
ONE_TREE = "Its first levels. Colours lean to a label as far as noise lets a node speak."
"""What forests say of the tree that stands for all."""


@dataclass(frozen=True)
class Section:
    """A heading and a paragraph."""

    title: str
    text: str


@dataclass(frozen=True)
class LabelShares(Section):
    """The share of each label in general."""

    labels: Sequence[str]
    shares: np.ndarray


@dataclass(frozen=True)
class Sizes(Section):
    """A bar for every feature; marks are what noise alone would do."""

    features: Sequence[str]
    sizes: np.ndarray
    marks: np.ndarray | None = None


@dataclass(frozen=True)
class FeatureShapes(Section):
    """What every feature alone does to a prediction, with its noise.

    Attributes
    ----------
    schema : Schema
    bins : Bins
    bin_shares : float64 (bins,)
        Noisy share of the rows in each bin of a feature.
    effects : Effects
    """

    schema: Schema
    bins: Bins
    bin_shares: np.ndarray
    effects: Effects


@dataclass(frozen=True)
class FeaturePairs(FeatureShapes):
    """What pairs of features do beyond what each does alone."""


@dataclass(frozen=True)
class RuleList(Section):
    """Some rules, best first."""

    rules: Rules


@dataclass(frozen=True)
class TreePicture(Section):
    """A tree."""

    tree: ShownTree

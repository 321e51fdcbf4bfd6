"""Fletcher and Islam 2015 as published, on the stand: too many questions, and a sensitivity from noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

from privet.audit.accounting import verdict_on_charges
from privet.audit.exact import Worst, compare, pairs, tables
from privet.audit.exponentials import Exponentials, exponential
from privet.audit.trial import Effort, from_laws
from privet.audit.verdict import Verdict
from privet.privacy import Charge, Cost

Node = Sequence[tuple[int, ...]]
"""Rows of a node: values of two attributes, and the label."""

DEPTH, N_TREES = 5, 4
"""As in the paper's experiments."""

NOISY = (50, 50)
"""A noisy histogram that says what the paper asks for before it splits: a hundred rows."""


def path_charges(budget: Fraction) -> list[Charge]:
    """What their algorithm 1 asks of the nodes on one path of every tree.

    Nodes of a level are disjoint, so a row pays for the nodes on its own path. A node asks for its class
    histogram and, while its level is at most the depth, for an attribute; ε = β/(τ(2δ − 1)) each.
    """
    price = Cost.pure(budget / (N_TREES * (2 * DEPTH - 1)))
    charges = []
    for level in range(1, DEPTH + 2):
        charges.append(Charge(f"class histogram, level {level}", price))
        if level <= DEPTH:
            charges.append(Charge(f"splitting attribute, level {level}", price))
    return charges * N_TREES


def accounted_path(name: str, epsilon: Fraction, effort: Effort) -> Verdict:
    """Their forest at depth δ: 2δ + 1 questions a path, paid as 2δ − 1."""
    return verdict_on_charges(name, path_charges(epsilon), epsilon)


def published_sensitivity(noisy_rows: int) -> Fraction:
    """Their theorem 1, at the number of rows that the noisy histogram says."""
    n = Fraction(noisy_rows)
    return 1 - (n / (n + 1)) ** 2 - (1 / (n + 1)) ** 2


def gini(node: Node, attribute: int) -> Fraction:
    """Their equation 4: minus the weighted impurity of an attribute's parts."""
    score = Fraction(0)
    for value in {row[attribute] for row in node}:
        labels = [row[-1] for row in node if row[attribute] == value]
        squares = sum(Fraction(labels.count(label), len(labels)) ** 2 for label in set(labels))
        score -= Fraction(len(labels), len(node)) * (1 - squares)
    return score


def choice_weights(node: Node, epsilon: Fraction) -> list[Exponentials]:
    """Weights of the two attributes in their exponential mechanism."""
    rate = epsilon / (2 * published_sensitivity(sum(NOISY)))
    return [exponential(-rate * gini(node, attribute)) for attribute in (0, 1)]


def histogram_weight(node: Node, epsilon: Fraction) -> Exponentials:
    """Weight of the noisy histogram, in discrete Laplace noise."""
    counts = [sum(row[-1] == label for row in node) for label in (0, 1)]
    return exponential(epsilon * sum(abs(a - b) for a, b in zip(NOISY, counts, strict=True)))


def exact_node(name: str, epsilon: Fraction, effort: Effort) -> Verdict:
    """Histogram and attribute of one node, paid with 2ε, over all nodes of one to three rows.

    The noisy histogram says that the node holds a hundred rows, and theorem 1 is applied to that.
    """
    neighbouring: Any = pairs(tables(list(product((0, 1), repeat=3)), 3))
    found = [_compared(node, fewer, epsilon) for node, fewer in neighbouring if fewer]
    worst = max(found, key=lambda each: each.loss)
    keeps = all(each.keeps for each in found)
    return from_laws(name, 2 * epsilon, replace(worst, keeps=keeps, pairs=len(found)))


def _compared(node: Node, fewer: Node, epsilon: Fraction) -> Worst:
    """Joint probabilities of the histogram and the attribute, brought to one denominator."""
    both = {tuple(node): tuple(fewer), tuple(fewer): tuple(node)}
    laws: dict[Any, Any] = {}
    for each, other in both.items():
        total = sum(choice_weights(other, epsilon), Exponentials({}))
        shown = histogram_weight(each, epsilon) * total
        weights = enumerate(choice_weights(each, epsilon))
        laws[each] = {f"{NOISY} and attribute {a}": weight * shown for a, weight in weights}
    return compare(laws, [(tuple(node), tuple(fewer))], 2 * epsilon, one_total=True)

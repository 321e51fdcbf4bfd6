"""What the scores of many learners on many tables come to."""

from collections.abc import Mapping

import numpy as np
from scipy.stats import wilcoxon

from bench.report import spread

RATES = ("DP-EBM", "DP-EBM 0.03", "DP-EBM 0.1")
PRIOR = "class prior"

Scores = Mapping[tuple[str, float | None, str], Mapping[str, list[float]]]
"""Scores of every fold by table, ε (None without privacy) and learner."""


def row(key, score):
    table, epsilon, learner = key
    return {
        "table": table,
        "ε": epsilon,
        "learner": learner,
        "accuracy": spread(score["accuracy"]),
        "AUC": spread(score["auc"]),
        "log loss": spread(score["log loss"]),
        "s": round(float(np.mean(score["seconds"])), 2),
    }


def notes(scores: Scores, epsilons):
    """Means over the tables of two labels, pairs by fold, and the worst case beside the class prior."""
    binary = [t for t in _tables(scores) if (t, epsilons[0], RATES[0]) in scores]
    if binary:
        yield from _means(scores, binary, epsilons)
        yield from (_paired(scores, binary, epsilons, rival) for rival in RATES)
        yield "Pairs of a table share rows, so each p is lower than that of as many tables would be."
    for learner in ("boosting", "boosting δ"):
        yield _worst(scores, epsilons, learner)


def _tables(scores):
    return list(dict.fromkeys(table for table, _, _ in scores))


def _means(scores, binary, epsilons):
    named = {
        "boosting δ": ["boosting δ"],
        "DP-EBM, its best learning rate for each table and ε picked on the test folds": RATES,
        "boosting, pure ε": ["boosting"],
        "DP-EBM, its defaults": RATES[:1],
        "2 passes δ": ["2 passes δ"],
        "2 passes, pure ε": ["2 passes"],
    }
    at = "/".join(f"{epsilon:g}" for epsilon in epsilons)
    yield f"Mean AUC and mean log loss over {len(binary)} tables of two labels at ε = {at}:"
    for name, learners in named.items():
        auc = [np.mean([_best(scores, t, e, learners, "auc") for t in binary]) for e in epsilons]
        loss = [np.mean([-_best(scores, t, e, learners, "log loss", -1) for t in binary]) for e in epsilons]
        yield f"{name}: {_listed(auc)}; log loss {_listed(loss)}."


def _best(scores, table, epsilon, learners, measure, sign=1):
    return max(sign * np.mean(scores[table, epsilon, learner][measure]) for learner in learners)


def _listed(values):
    return "/".join(f"{value:.3f}" for value in values)


def _paired(scores, binary, epsilons, rival):
    """How far boosting with a δ is ahead of a rival, by table and ε."""

    def gap(table, epsilon):
        ours, theirs = (scores[table, epsilon, learner]["auc"] for learner in ("boosting δ", rival))
        return np.mean(ours) - np.mean(theirs)

    gaps = np.array([[gap(table, epsilon) for epsilon in epsilons] for table in binary])
    ahead = (gaps.mean(axis=1) > 0).sum()
    return (
        f"AUC of boosting δ less that of {rival}: {gaps.mean():+.4f} over {gaps.size} pairs of table and ε, "
        f"ahead in {(gaps > 0).sum()}, Wilcoxon p = {wilcoxon(gaps.ravel()).pvalue:.2g}; on average ahead in "
        f"{ahead} of {len(binary)} tables."
    )


def _worst(scores, epsilons, learner):
    ratios = {
        (table, epsilon): np.divide(
            scores[table, epsilon, learner]["log loss"], scores[table, None, PRIOR]["log loss"]
        )
        for table in _tables(scores)
        for epsilon in epsilons
    }
    mean = max(ratios, key=lambda key: ratios[key].mean())
    fit = max(ratios, key=lambda key: ratios[key].max())
    above = sum(ratio.mean() > 1.05 for ratio in ratios.values())
    return (
        f"Log loss of {learner} beside that of the class prior: at worst {ratios[mean].mean():.3f} times "
        f"({mean[0]}, ε = {mean[1]:g}), in a single fold {ratios[fit].max():.3f} times ({fit[0]}, ε = "
        f"{fit[1]:g}); above 1.05 in {above} of {len(ratios)} pairs of table and ε."
    )

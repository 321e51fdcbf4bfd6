"""Ways of voting over the same noisy counts, structures of every depth, and the majority forest.

Real tables with two labels; every way is paired with adaptive trees and posterior voting, fold by fold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.stats import wilcoxon
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from privet.data import encode, open_table
from privet.estimators import CountForestClassifier, MajorityForestClassifier
from privet.kernels.predict import row_shares
from privet.model import CountForest
from privet.model.voting import leaf_values
from privet.privacy import Budget, Ledger, protect
from privet.schema import Schema
from privet.structure import LeafVotes
from privet.studies.datasets import real_table
from privet.studies.study import Study

NAMES = ("adult", "magic", "bank_marketing", "credit_default", "acs_income_ne")
EPSILONS = (0.1, 0.5, 1.0, 2.0)
VOTINGS = ("posterior", "sum", "majority", "threshold")
DEPTHS = (4, 6, 8, 10, 12)
SURE = 1e-4


Fit = dict[str, tuple[float, ...]]
"""AUC, accuracy and log loss of every way, from one fold."""


def run(
    names: tuple[str, ...] = NAMES,
    epsilons: tuple[float, ...] = EPSILONS,
    folds: int = 3,
    depths: tuple[int, ...] = DEPTHS,
) -> Iterator[dict[str, Any]]:
    """One row an ε: means over all tables and folds, and how surely adaptive posterior voting is ahead."""
    tables = [(name, *real_table(name)) for name in names]
    for epsilon in epsilons:
        fits = [fit for _, schema, table in tables for fit in _fits(schema, table, epsilon, folds, depths)]
        yield {"epsilon": epsilon, **_summary(fits)}


def _fits(
    schema: Schema, table: pa.Table, epsilon: float, folds: int, depths: tuple[int, ...]
) -> Iterator[Fit]:
    y = table.column(schema.label.name).to_numpy(zero_copy_only=False)
    X = table.drop_columns([schema.label.name])
    split = StratifiedKFold(folds, shuffle=True, random_state=0).split(y, y)
    for seed, (train, test) in enumerate(split):
        rows, truth = X.take(test), y[test] == schema.classes[1]
        # Read once for all fits: each is charged, to a budget that has room for all.
        account = Ledger().create("study", Budget(1000))
        protected = protect(X.take(train), schema, account, y[train])
        model: Any = CountForestClassifier(epsilon, random_state=seed).fit(protected).model_
        shares = {voting: model.with_voting(voting).shares(rows) for voting in VOTINGS}
        codes = encode(open_table(rows, schema), schema, with_label=False).features
        for voting in VOTINGS[1:]:
            shares[f"{voting}, not pruned"] = row_shares(_not_pruned(model, voting), codes, 2)
        papers = MajorityForestClassifier(epsilon, random_state=seed).fit(protected)
        shares["majority forest"] = papers.model_.shares(rows)
        for name, options in fixed_structures(depths).items():
            fixed = CountForestClassifier(epsilon, random_state=seed, **options).fit(protected)
            shares[name] = fixed.model_.shares(rows)
        yield {name: _scores(truth, share[:, 1]) for name, share in shares.items()}


def _not_pruned(model: CountForest, voting: str) -> LeafVotes:
    """Votes of all leaves, thin ones too."""
    return LeafVotes(model.trees, leaf_values(model.counts, model.variance, model.prior, voting))


def fixed_structures(depths: tuple[int, ...]) -> dict[str, dict[str, Any]]:
    """Parameters of structures whose depth does not follow from the noise."""
    named: dict[str, dict[str, Any]] = {"fletcher-islam": {"structure": "fletcher-islam"}}
    for structure in ("fletcher-islam", "bojarski"):
        for depth in depths:
            named[f"{structure}, depth {depth}"] = {"structure": structure, "max_depth": depth}
    return named


def as_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """The table, within eighty columns."""
    lines = [
        "Ways of voting with adaptive trees; posterior voting with other trees.",
        "Means over tables and folds; p: paired against the first line (Wilcoxon).",
        f"{'ε':<5}{'voting or structure':<26}{'AUC':>8}{'p':>8}{'accuracy':>10}{'log loss':>10}{'p':>8}",
    ]
    for row in rows:
        for name, means in row.items():
            if name != "epsilon":
                ps = [f"{means[p]:.1g}" if p in means else "" for p in ("p, AUC", "p, log loss")]
                scores = f"{means['AUC']:>8.4f}{ps[0]:>8}{means['accuracy']:>10.4f}{means['log loss']:>10.4f}"
                lines.append(f"{row['epsilon']:<5}{name:<26}{scores}{ps[1]:>8}".rstrip())
    return "\n".join([*lines, ""])


def _scores(truth: np.ndarray, share: np.ndarray) -> tuple[float, ...]:
    guess = share > 0.5
    loss = log_loss(truth, share.clip(SURE, 1 - SURE))
    return float(roc_auc_score(truth, share)), float(accuracy_score(truth, guess)), float(loss)


def _summary(fits: list[Fit]) -> dict[str, Any]:
    summary: dict[str, Any] = {}
    best = np.array([fit["posterior"] for fit in fits])
    for name in fits[0]:
        scores = np.array([fit[name] for fit in fits])
        means = dict(zip(("AUC", "accuracy", "log loss"), scores.mean(axis=0).tolist(), strict=True))
        if name != "posterior":
            means["p, AUC"] = float(wilcoxon(best[:, 0], scores[:, 0]).pvalue)
            means["p, log loss"] = float(wilcoxon(best[:, 2], scores[:, 2]).pvalue)
        summary[name] = means
    return summary


def _run(quick: bool) -> Iterator[dict[str, Any]]:
    return run(("magic", "acs_income_ne"), (1.0,), depths=(8,)) if quick else run()


STUDY = Study("voting", _run, as_text, draw=None, real=True)

"""Ways of voting over the same noisy counts, structures of every depth, and the majority forest.

Real tables with two labels; every way is paired with adaptive trees and posterior voting, fold by fold.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

from privet.data import encode, open_table
from privet.estimators import CountForestClassifier, MajorityForestClassifier
from privet.kernels.predict import row_shares
from privet.model import CountForest
from privet.model.voting import leaf_values
from privet.structure import LeafVotes
from privet.studies.claims import ahead, beyond
from privet.studies.study import Found, Quick, Study
from privet.studies.ways import cut, public

NAMES = ("adult", "magic", "bank_marketing", "credit_default", "acs_income_ne")
EPSILONS = (0.1, 0.5, 1.0, 2.0)
VOTINGS = ("posterior", "sum", "majority", "threshold")
DEPTHS = (4, 6, 8, 10, 12)
SURE = 1e-4


def scores(data: str, epsilon: float, repeat: int, fold: int, folds: int) -> Found:
    """AUC, accuracy and log loss of every way on one fold."""
    table, seed = public(data), repeat * folds + fold
    schema = table.schema
    train, test = cut(table.labels, repeat, fold, folds)
    rows, truth = table.rows.take(test), table.labels[test] == schema.classes[1]
    protected = table.walled(train, seed)
    model: Any = CountForestClassifier(epsilon, random_state=seed).fit(protected).model_
    shares = {voting: model.with_voting(voting).shares(rows) for voting in VOTINGS}
    codes = encode(open_table(rows, schema), schema, with_label=False).features
    for voting in VOTINGS[1:]:
        shares[f"{voting}, not pruned"] = row_shares(_not_pruned(model, voting), codes, 2)
    papers = MajorityForestClassifier(epsilon, random_state=seed).fit(protected)
    shares["majority forest"] = papers.model_.shares(rows)
    for name, options in fixed_structures(DEPTHS).items():
        fixed = CountForestClassifier(epsilon, random_state=seed, **options).fit(protected)
        shares[name] = fixed.model_.shares(rows)
    return {name: _scores(truth, share[:, 1]) for name, share in shares.items()}


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


def _scores(truth: np.ndarray, share: np.ndarray) -> dict[str, float]:
    return {
        "AUC": float(roc_auc_score(truth, share)),
        "accuracy": float(accuracy_score(truth, share > 0.5)),
        "log loss": float(log_loss(truth, share.clip(SURE, 1 - SURE))),
    }


STUDIES = [
    Study(
        "ours/voting",
        "Ways of voting over the same noisy counts, structures of every depth, and the majority forest",
        scores,
        [{"data": NAMES, "epsilon": EPSILONS}],
        folds=3,
        quick=Quick({"data": ("acs_income_ne",), "epsilon": (1.0,)}),
        panel="",
        x="epsilon",
        quantity="ε",
        score="AUC",
        claims=(
            beyond(ahead("The posterior is ahead of sums", "posterior", "sum")),
            beyond(ahead("It is ahead of the majority forest", "posterior", "majority forest")),
        ),
    )
]

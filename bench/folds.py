"""Cross-validation that ours and rivals share: the same folds, the same scores."""

import time
import warnings

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold

FOLDS = 5
SURE = 1e-6
"""Log loss takes no probability for nearer to 0 or 1 than this."""


def draw_folds(labels: np.ndarray, repeats: int, n_folds: int = FOLDS) -> np.ndarray:
    """Fold of every row in every repeat, ``(repeats, rows)``."""
    folds = np.empty((repeats, len(labels)), np.int8)
    # Nursery has a label that two rows carry: they are in two of the folds.
    warnings.filterwarnings("ignore", "The least populated class", UserWarning)
    for repeat in range(repeats):
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=repeat)
        for fold, (_, test) in enumerate(splitter.split(labels, labels)):
            folds[repeat, test] = fold
    return folds


def cross_validate(probabilities, labels: np.ndarray, folds: np.ndarray) -> dict[str, list[float]]:
    """Accuracy, log loss, processor seconds and AUC of every fold.

    AUC of several labels is that of each against the rest, on average.

    ``probabilities(train, test, seed)`` has a column for each label code.
    """
    scores: dict[str, list[float]] = {"accuracy": [], "auc": [], "log loss": [], "seconds": []}
    n_folds = int(folds.max()) + 1
    for repeat, fold_of_row in enumerate(folds):
        for fold in range(n_folds):
            train, test = fold_of_row != fold, fold_of_row == fold
            start = time.process_time()
            shares = probabilities(train, test, repeat * n_folds + fold)
            scores["seconds"].append(time.process_time() - start)
            for name, value in _judge(labels[test], shares).items():
                scores[name].append(value)
    return scores


def _judge(labels, shares):
    # A rival whose numbers overflow says nothing of a row: all labels alike.
    shares = np.where(np.isfinite(shares).all(axis=1, keepdims=True), shares, 1 / shares.shape[1])
    kept = np.clip(shares, SURE, 1 - SURE)
    kept /= kept.sum(axis=1, keepdims=True)
    return {
        "accuracy": float((shares.argmax(axis=1) == labels).mean()),
        "log loss": float(log_loss(labels, kept, labels=np.arange(shares.shape[1]))),
        "auc": _auc(labels, shares),
    }


def _auc(labels, shares):
    if shares.shape[1] == 2:
        return float(roc_auc_score(labels, shares[:, 1]))
    # A label that no row of a fold carries has no AUC there.
    present = np.unique(labels)
    return float(np.mean([roc_auc_score(labels == label, shares[:, label]) for label in present]))

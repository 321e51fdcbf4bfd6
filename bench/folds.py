"""Cross-validation that ours and rivals share: the same folds, the same scores."""

import warnings

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

FOLDS = 5


def draw_folds(labels: np.ndarray, repeats: int) -> np.ndarray:
    """Fold of every row in every repeat, ``(repeats, rows)``."""
    folds = np.empty((repeats, len(labels)), np.int8)
    # Nursery has a label that two rows carry: they are in two of the folds.
    warnings.filterwarnings("ignore", "The least populated class", UserWarning)
    for repeat in range(repeats):
        splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=repeat)
        for fold, (_, test) in enumerate(splitter.split(labels, labels)):
            folds[repeat, test] = fold
    return folds


def cross_validate(probabilities, labels: np.ndarray, folds: np.ndarray) -> dict[str, list[float]]:
    """Accuracy and, of two labels, AUC on every fold.

    ``probabilities(train, test, seed)`` has a column for each label code.
    """
    scores: dict[str, list[float]] = {"accuracy": [], "auc": []}
    for repeat, fold_of_row in enumerate(folds):
        for fold in range(FOLDS):
            train, test = fold_of_row != fold, fold_of_row == fold
            shares = probabilities(train, test, repeat * FOLDS + fold)
            scores["accuracy"].append(float((shares.argmax(axis=1) == labels[test]).mean()))
            if shares.shape[1] == 2:
                scores["auc"].append(float(roc_auc_score(labels[test], shares[:, 1])))
    return scores

"""Log loss of boosting beside that of the class prior on one table; runs in a process of its own."""

import json
import sys
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from bench.folds import cross_validate, draw_folds
from bench.learners_job import fitted_shares, prior_shares, read_rows
from privet import BoostingClassifier, Schema
from privet.data import encode, open_table

DELTA = 1e-6
FOLDS, MOST_ROWS = 3, 10_000


def compare(job: dict) -> dict:
    """Ratio of the log losses in every fold, at every budget, with the number of rows stated or not."""
    X, y, schema = read_rows(job["table"], MOST_ROWS)
    unbounded = Schema(schema.features, schema.label)
    bounded = Schema(schema.features, schema.label, len(y))
    labels = encode(open_table(X, bounded), bounded, y).labels.astype(np.int64)
    folds = draw_folds(labels, job["repeats"], FOLDS)
    n_labels = len(bounded.label.values)
    prior = cross_validate(partial(prior_shares, labels, n_labels), labels, folds)["log loss"]
    found = []
    for epsilon, delta, stated in product(job["epsilons"], (0.0, DELTA), (False, True)):
        learner = partial(BoostingClassifier, epsilon, delta, schema=bounded if stated else unbounded)
        ours = cross_validate(partial(fitted_shares, learner, X, y), labels, folds)["log loss"]
        ratios = np.divide(ours, prior).tolist()
        case = {"table": job["table"], "epsilon": epsilon, "delta": delta, "stated": stated}
        found.append(case | {"ratios": ratios})
    return {"found": found}


if __name__ == "__main__":
    print(json.dumps(compare(json.loads(Path(sys.argv[1], "job.json").read_text()))))

"""Small tables: boosting beside a private logistic regression that knows more than anybody may.

The rival descends the logistic loss of one-hot codes by full batches of noisy gradients. Its bins, steps,
rate and clip are those of the best mean over the test folds, for each table and budget, and nobody pays for
that, nor for the number of rows. Its noise is floating-point.
"""

import json
import sys
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from bench.folds import cross_validate, draw_folds
from bench.learners_job import fitted_shares, prior_shares, read_rows
from bench.report import Result, spread
from bench.runner import ask_kept
from privet import BoostingClassifier
from privet.data import encode, open_table
from privet.studies.field_rivals import Task
from privet.studies.field_rivals.descent import CLIPS, N_BINS, RATES, STEPS, descended, one_hot, settings

DELTA = 1e-6
FOLDS, REPEATS, MOST_ROWS = 3, 5, 4_000
TABLES = (
    *("german_credit", "mammographic", "tic_tac_toe", "transfusion", "house_votes", "banknote"),
    *("employee_attrition", "compas_two_years", "spambase"),
)
EPSILONS = (0.1, 0.5, 1.0)


def run(quick: bool) -> Result:
    tables, epsilons = (TABLES[:1], EPSILONS[1:2]) if quick else (TABLES, EPSILONS)
    jobs = [{"table": table, "epsilon": epsilon} for table, epsilon in product(tables, epsilons)]
    found = [case for answer in ask_kept("bench.small", jobs) for case in answer["found"]]
    return Result("small tables", [_row(case) for case in found], [*_means(found), _told()])


def _row(case):
    row = {"table": case["table"], "ε": case["epsilon"], "δ": case["delta"]}
    for name, score in (("AUC", "auc"), ("loss/prior", "log loss")):
        row |= {name: spread(case["ours"][score]), f"rival's {name}": spread(case["rival"][score])}
    return row


def _means(found):
    for epsilon, delta in sorted({(case["epsilon"], case["delta"]) for case in found}):
        cases = [case for case in found if (case["epsilon"], case["delta"]) == (epsilon, delta)]
        means = {
            (who, score): np.mean([np.mean(case[who][score]) for case in cases])
            for who, score in product(("ours", "rival"), ("auc", "log loss"))
        }
        ahead = sum(np.mean(case["ours"]["auc"]) >= np.mean(case["rival"]["auc"]) for case in cases)
        yield (
            f"ε = {epsilon:g}, δ = {delta:g}: mean AUC {means['ours', 'auc']:.3f}, the rival's "
            f"{means['rival', 'auc']:.3f}; log loss beside the class prior's "
            f"{means['ours', 'log loss']:.3f}, the rival's {means['rival', 'log loss']:.3f}; ahead in AUC "
            f"on {ahead} of {len(cases)} tables."
        )


def _told():
    return (
        f"At most {MOST_ROWS:,} rows of a table, {FOLDS}-fold {REPEATS} times over, the same folds for both. "
        f"Rival: full-batch gradient descent on one-hot codes of {N_BINS} bins, {STEPS} steps at rates "
        f"{RATES}, clipped at {CLIPS}: of these {len(list(settings()))} the best on the test folds, for AUC "
        "and log loss apart. The best of so many is lucky too: where nothing is to be told, by .02 to .04."
    )


def compare(job: dict) -> dict:
    """Scores of all folds, ours and the rival's, at one budget without and with a δ."""
    X, y, schema = read_rows(job["table"], MOST_ROWS)
    codes = encode(open_table(X, schema), schema, y)
    labels = codes.labels.astype(np.int64)
    folds = draw_folds(labels, REPEATS, FOLDS)
    prior = np.array(cross_validate(partial(prior_shares, labels, 2), labels, folds)["log loss"])
    inputs = {n: one_hot(codes.features, schema, n) for n in N_BINS}
    found = []
    for delta in (0.0, DELTA):
        learner = partial(BoostingClassifier, job["epsilon"], delta, schema=schema)
        ours = cross_validate(partial(fitted_shares, learner, X, y), labels, folds)
        tried = [
            cross_validate(
                partial(descended_shares, inputs[n], labels, job["epsilon"], delta, setting), labels, folds
            )
            for n, *setting in settings()
        ]
        best = {
            "auc": _by_mean(tried, "auc", -1)[0]["auc"],
            "log loss": _by_mean(tried, "log loss", 1)[0]["log loss"],
        }
        case = {"table": job["table"], "epsilon": job["epsilon"], "delta": delta}
        for who, scores in (("ours", ours), ("rival", best)):
            case[who] = {"auc": scores["auc"], "log loss": (np.array(scores["log loss"]) / prior).tolist()}
        found.append(case)
    return {"found": found}


def _by_mean(tried, score, sign):
    return sorted(tried, key=lambda scores: sign * np.mean(scores[score]))


def descended_shares(inputs, labels, epsilon, delta, setting, train, test, seed):
    """What descent tells of the test rows."""
    none = np.empty(0)
    task = Task(none, labels, none, none, 2, np.flatnonzero(train), np.flatnonzero(test), seed)
    return descended(inputs, task, epsilon, delta, *setting)


if __name__ == "__main__":
    print(json.dumps(compare(json.loads(Path(sys.argv[1], "job.json").read_text()))))

"""Our learners beside other private ones, and one that is not private, on the same folds."""

import os

from bench.learners_job import DELTA, FEW_ROWS, FOLDS, REPEATS, SYNTHETIC
from bench.learners_notes import notes, row
from bench.report import Result, Skipped
from bench.runner import ask_kept

TABLES = ("adult", "bank_marketing", "magic", "acs_income_ne", "mushroom")
QUICK_TABLES, QUICK_ROWS = TABLES[:3], 15_000
EPSILONS = (0.1, 1.0)
ALL_TABLES = (
    *("adult", "bank_marketing", "credit_default", "magic", "mushroom", "acs_income_ne", SYNTHETIC),
    *("banknote", "german_credit", "house_votes", "mammographic", "tic_tac_toe", "transfusion"),
    *("covertype", "diabetes130", "connect4", "nursery", "pendigits", "car", "heart_cleveland"),
)
ALL_EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
ALL_ROWS = 60_000


def run(quick: bool) -> Result:
    if quick:
        return _compare(QUICK_TABLES, EPSILONS, QUICK_ROWS, one_hot=False)
    return _compare(TABLES, EPSILONS, ALL_ROWS, one_hot=True)


def run_all(quick: bool) -> Result:
    tables, rows = (("banknote", "car"), QUICK_ROWS) if quick else (ALL_TABLES, ALL_ROWS)
    return _compare(tables, ALL_EPSILONS, rows, one_hot=False)


def run_synthetic(quick: bool) -> Result:
    return _compare((SYNTHETIC,), ALL_EPSILONS, QUICK_ROWS if quick else ALL_ROWS, one_hot=False)


def _compare(tables, epsilons, most_rows, one_hot) -> Result:
    if "PRIVET_DATA" not in os.environ:
        raise Skipped("the tables are not here; set PRIVET_DATA to the folder that holds them.")
    common = {"most_rows": most_rows, "one_hot": one_hot}
    jobs = [{"table": table, "epsilon": epsilon} for table in tables for epsilon in (*epsilons, None)]
    answers = ask_kept("bench.learners_job", [job | common for job in jobs])
    scores = {
        (job["table"], job["epsilon"], learner): score
        for job, answer in zip(jobs, answers, strict=True)
        for learner, score in answer["scores"]
    }
    named = ", ".join(f"{name} {number}" for name, number in answers[0]["versions"].items())
    told = [*notes(scores, epsilons), *_told(most_rows, one_hot, named)]
    return Result(f"learners at {len(epsilons)} budgets", [row(*item) for item in scores.items()], told)


def _told(most_rows, one_hot, named):
    of_one_hot = ", or of one column a category (one-hot)," if one_hot else ""
    return [
        f"At most {most_rows:,} random rows of a table, the same for all; {FOLDS}-fold stratified "
        f"({SYNTHETIC}: 5), {REPEATS} times over for tables of fewer than {FEW_ROWS:,} rows, the same folds "
        "for all; mean±sd over the folds. AUC of more than two labels: "
        "each against the rest, mean. Log loss: probabilities kept within 1e-6 of 0 and 1. s: "
        "processor seconds of fit and predict, one fold, one thread; ours start from the frame and encode "
        "it, rivals from codes made beforehand.",
        f"{SYNTHETIC}: make_classification(30000, 10, n_informative=5, n_redundant=0, random_state=0), "
        "bounds ±5.",
        f"boosting, count forest, majority, greedy: pure ε. boosting δ, DP-EBM: δ = {DELTA:g}. 2 passes: "
        "passes=2, beside the rows by label. Ours are told the bound on the rows that the public schema has, "
        f"which is the size of the whole table; of {SYNTHETIC} it has none. class prior: "
        "shares of the labels in the training rows, exact, not private.",
        "DP-EBM: interpret's, its defaults (learning rate 0.01) or the learning rate named; it takes two "
        "labels only. It takes the number of rows, the categories and the labels that occur from the rows, "
        "unpriced; its noise is floating-point, and fits sums to which a row is added or from which one is "
        "removed, as ours. Which learning rate is best is known only afterwards, and no budget pays for it.",
        "dpl: diffprivlib, pure ε; forest of 100 trees, depth 5, rows shuffled; logistic regression of "
        f"codes{of_one_hot} scaled to [0, 1], the norm bounded by the root of the number of features. To "
        "its forest and to logistic regression of codes categories are numbers in the schema's order. "
        "LightGBM: no privacy, its defaults.",
        "Rivals see codes of the same public schema, missing values as a code of their own. " + named + ".",
    ]

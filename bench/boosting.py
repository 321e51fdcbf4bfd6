"""A whole fit of boosting, encoding and noise included, beside DP-EBM on the same arrays."""

from functools import partial

from sklearn.metrics import roc_auc_score

from bench import made
from bench.clock import seconds
from bench.report import Result, at_least, cores
from bench.runner import ask_rivals
from privet import BoostingClassifier

EPSILON, DELTA = 1.0, 1e-6
AIM = 5
LAWS = {"ours, pure ε": 0.0, "ours, δ": DELTA}


def run(quick: bool) -> Result:
    n_rows, repeats = (50_000, 1) if quick else (1_000_000, 3)
    X, y = made.rows(n_rows)
    X_new, y_new = made.rows(20_000, seed=1)
    job = {"epsilon": EPSILON, "delta": DELTA, "upper": [1] * made.WIDTH}
    rival = ask_rivals("fit_explainable", job, {"X": X, "y": y, "X_new": X_new, "y_new": y_new})
    rows = [_row("DP-EBM, its defaults, δ", n_rows, rival["seconds"], None, rival["auc"])]
    for name, delta in LAWS.items():
        learner = BoostingClassifier(EPSILON, delta, schema=made.schema(), random_state=0)
        learner.fit(X[:20_000], y[:20_000])  # the first fit loads compiled code
        for part in (n_rows // 4, n_rows // 2, n_rows):
            time = min(seconds(partial(learner.fit, X[:part], y[:part]), repeats))
            auc = float(roc_auc_score(y_new, learner.predict_proba(X_new)[:, 1]))
            rows.append(_row(name, part, time, rival["seconds"] / time if part == n_rows else None, auc))
    notes = [
        f"Rows x {made.WIDTH} floats, ε = {EPSILON:g}, {cores()} cores; best of {repeats} (DP-EBM 1). x = "
        "how many times as long as ours DP-EBM takes. AUC on 20,000 fresh rows.",
        f"interpret-core {rival['versions']['interpret-core']}, in the same run.",
    ]
    return Result("fit of boosting", rows, notes)


def _row(what, n_rows, time, ratio, auc):
    met = at_least(ratio, AIM) if ratio else {"aim": "", "met": ""}
    return {"fit": what, "rows": n_rows, "seconds": time, "x": ratio, **met, "AUC": auc}

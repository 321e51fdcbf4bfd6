"""A whole fit, encoding and noise included, beside rivals on the same arrays."""

from sklearn.ensemble import ExtraTreesClassifier

from bench import made
from bench.clock import seconds
from bench.report import Result, at_least, cores
from bench.runner import ask_rivals
from privet import MajorityForestClassifier

SHAPE = {"n_trees": 100, "max_depth": 12}
DIFFPRIVLIB_AIM, EXTRA_TREES_AIM = 4, 50


def run(quick: bool) -> Result:
    n_rows, repeats = (50_000, 2) if quick else (1_000_000, 5)
    X, y = made.rows(n_rows)
    X_new, y_new = made.rows(20_000, seed=1)
    forest = MajorityForestClassifier(schema=made.schema(), random_state=0, **SHAPE)
    forest.fit(X[:1000], y[:1000])
    ours = min(seconds(lambda: forest.fit(X, y), repeats))
    rows = [_row("ours, depth 12", ours, ours, float(forest.score(X_new, y_new)))]
    job = {"repeats": min(repeats, 3), "upper": [1] * made.WIDTH, "n_labels": 2}
    arrays = {"X": X, "y": y, "X_new": X_new, "y_new": y_new}
    for n_jobs in (1, -1):
        rival = ask_rivals("fit", {**job, "n_jobs": n_jobs}, arrays)
        what = f"diffprivlib forest, depth 5, n_jobs={n_jobs}"
        rows.append(_row(what, rival["seconds"], ours, rival["accuracy"], DIFFPRIVLIB_AIM))
    extra = ExtraTreesClassifier(100, max_depth=12, n_jobs=-1, random_state=0)
    (extra_s,) = seconds(lambda: extra.fit(X, y), 1)
    score = float(extra.score(X_new, y_new))
    rows.append(_row("ExtraTrees, depth 12, n_jobs=-1, no privacy", extra_s, ours, score, EXTRA_TREES_AIM))
    notes = [
        f"{n_rows:,} rows x {made.WIDTH} floats, 100 trees, ε = 1, {cores()} cores; best of {repeats} "
        f"(diffprivlib {job['repeats']}, ExtraTrees 1). x = how many times as long as ours it takes. "
        "Accuracy on 20,000 fresh rows.",
        f"diffprivlib {rival['versions']['diffprivlib']} runs with scikit-learn "
        f"{rival['versions']['scikit-learn']} and, like ours, gives each row to one tree.",
    ]
    return Result("fit of a majority forest", rows, notes)


def _row(what, time, ours, accuracy, aim=None):
    met = at_least(time / ours, aim) if aim else {"aim": "", "met": ""}
    return {"fit": what, "seconds": time, "x": time / ours, **met, "accuracy": accuracy}

"""A whole fit of a count forest whose trees each see all rows, beside learners without privacy."""

from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from bench import made
from bench.clock import seconds
from bench.report import Result, at_least, cores
from bench.runner import ask_rivals
from privet import CountForestClassifier

TREES, DEPTH = 100, 12
FOREST_AIM, BOOSTING_AIM = 50, 8


def run(quick: bool) -> Result:
    n_rows, repeats = (50_000, 2) if quick else (1_000_000, 5)
    X, y = made.rows(n_rows)
    X_new, y_new = made.rows(20_000, seed=1)

    def timed(what, model, n, ours=None, aim=None):
        time = min(seconds(lambda: model.fit(X, y), n))
        return _row(what, time, ours or time, roc_auc_score(y_new, model.predict_proba(X_new)[:, 1]), aim)

    rows = []
    for structure in ("fletcher-islam", "adaptive"):
        shape = {"n_trees": TREES, "max_depth": DEPTH, "structure": structure}
        forest = CountForestClassifier(1.0, schema=made.schema(), random_state=0, **shape)
        forest.fit(X[:1000], y[:1000])  # the first fit loads compiled code
        rows.append(timed(f"ours, {structure}", forest, repeats, rows[0]["seconds"] if rows else None))
    ours = rows[0]["seconds"]
    extra = ExtraTreesClassifier(TREES, max_depth=DEPTH, n_jobs=-1, random_state=0)
    rows.append(timed("ExtraTrees, same depth", extra, 1, ours, FOREST_AIM))
    histogram = HistGradientBoostingClassifier(max_iter=TREES, early_stopping=False, random_state=0)
    rows.append(timed("scikit-learn's boosting", histogram, min(repeats, 3), ours, BOOSTING_AIM))
    job = {"repeats": min(repeats, 3), "n_trees": TREES, "n_jobs": cores()}
    rival = ask_rivals("fit_lightgbm", job, {"X": X, "y": y, "X_new": X_new, "y_new": y_new})
    rows.append(_row("LightGBM", rival["seconds"], ours, rival["auc"], BOOSTING_AIM))
    notes = [
        f"{n_rows:,} rows x {made.WIDTH} floats, {TREES} trees of depth {DEPTH} that each count all rows, "
        f"ε = 1, encoding and noise included, {cores()} cores; best of {repeats} (boosting {job['repeats']}, "
        "ExtraTrees 1). x = how many times as long as our first it takes. AUC on 20,000 fresh rows.",
        f"The others are not private, use all cores and have {TREES} trees too; LightGBM "
        f"{rival['versions']['lightgbm']}.",
    ]
    return Result("fit of a count forest", rows, notes)


def _row(what, time, ours, auc, aim=None):
    met = at_least(time / ours, aim) if aim else {"aim": "", "met": ""}
    return {"fit": what, "seconds": time, "x": time / ours, **met, "AUC": float(auc)}

"""Other libraries on the stand of the auditor; membership attacks on ours and on one without privacy."""

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier

from bench import made
from bench.report import Result, Skipped
from bench.runner import RIVALS, ROOT
from privet import BoostingClassifier, CountForestClassifier, GreedyTreeClassifier, MajorityForestClassifier
from privet.audit.attack import attack_learner
from privet.audit.rivals import EPSILON, examine_rival

XGBOOST = ROOT / ".venv-rivals-xgboost" / "bin" / "python"
PYTHONS = {"diffprivlib": RIVALS, "dp-ebm": RIVALS, "dp-xgboost": XGBOOST}
OURS = (MajorityForestClassifier, CountForestClassifier, GreedyTreeClassifier, BoostingClassifier)


def run(quick: bool) -> Result:
    missing = [str(python) for python in PYTHONS.values() if not python.exists()]
    if missing:
        raise Skipped("the rivals have no environments yet; `make stand` builds them.")
    verdicts = [verdict for name, python in PYTHONS.items() for verdict in examine_rival(name, python)]
    rows = [
        {"on the stand": verdict.defendant, "looked at": verdict.method, "finding": verdict.text}
        for verdict in verdicts
    ]
    notes = [
        f"Two neighbouring made tables; ε = {EPSILON:g} was promised. Percent: how sure a finding is.",
        *(
            f"{verdict.defendant}, {verdict.method}: {_told(verdict)}."
            for verdict in verdicts
            if verdict.broken
        ),
    ]
    return Result("other libraries on the stand", rows, notes)


def run_attacks(quick: bool) -> Result:
    n_rows, fits = (200, 8) if quick else (500, 40)
    X, y = made.rows(n_rows)
    schema = made.schema()
    contestants = {
        "ExtraTrees, no privacy": lambda epsilon: ExtraTreesClassifier(100),
        **{make.__name__: lambda epsilon, make=make: make(epsilon, schema=schema) for make in OURS},
    }
    rows = [
        _attacked(name, make, X, y, epsilon, fits)
        for name, make in contestants.items()
        for epsilon in ((1.0,) if name.startswith("Extra") else (0.1, 1.0, 4.0))
    ]
    told = (
        f"{n_rows} people x {made.WIDTH} floats, each learnt from by their own coin; half of {fits} fits "
        "show how the probability of a person's own label varies, the other half are attacked. Advantage: "
        "true less false positives; allowed: (e^ε - 1)/(e^ε + 1)."
    )
    return Result("membership attacks", rows, [told])


def _attacked(name, make, X, y, epsilon, fits):
    def own_label(members):
        shares = make(epsilon).fit(X[members], y[members]).predict_proba(X)
        return shares[np.arange(len(y)), y]

    attack = attack_learner(own_label, len(y), epsilon, fits=fits)
    return {
        "learner": name,
        "ε": epsilon,
        "advantage": attack.advantage,
        "at least": attack.least,
        "allowed": attack.allowed,
    }


def _told(verdict):
    return "; ".join(f"{name}: {value}" for name, value in verdict.witness.items())

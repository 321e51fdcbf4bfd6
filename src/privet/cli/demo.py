"""``privet demo``: an owner and an analyst, played through on invented people."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.rule import Rule

from privet.cli.arguments import Json, ledger_path
from privet.cli.budget import account_table, history_table
from privet.cli.output import show_json, table
from privet.cli.picture import draw_accuracy
from privet.cli.population import SCHEMA, People, invent_people, write_people
from privet.data import encode, open_table
from privet.errors import BudgetExceeded
from privet.estimators import BoostingClassifier, MajorityForestClassifier
from privet.estimators.base import PrivateClassifier
from privet.model.protocol import Model
from privet.pictures.report import explain
from privet.pictures.style import require_matplotlib
from privet.privacy import Account, Budget, Ledger, protect
from privet.progress import progress_bar
from privet.schema import Continuous, Feature

EPSILON = 1.0
EPSILONS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
REPEATS = 3
LEARNERS: dict[str, Any] = {"boosting": BoostingClassifier, "random forest": MajorityForestClassifier}
"""What the demo compares: the flagship, and the forest of Fletcher and Islam (2017)."""

PATIENTS, FRESH = 60_000, 20_000


def demo(
    folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for the files and the picture.")
    ] = Path("privet-demo"),
    as_json: Json = False,
) -> None:
    """Play owner and analyst on invented people: schema, budget, fit, accuracy, refusal, picture."""
    require_matplotlib()
    folder.mkdir(parents=True, exist_ok=True)
    tell = Console(highlight=False, quiet=as_json)
    data, fresh = folder / "demo-patients.csv", folder / "demo-fresh.csv"
    truth = _invent(tell, data, fresh)
    account = _owner(tell, data, folder / "demo-schema.json")
    path = folder / "demo-model.privet"
    model = _analyst(tell, data, path, account)
    scores = _compare(tell, data, fresh, truth, model)
    refusal = _refusal(tell, data, account)
    _meaning(tell)
    curve = _picture(tell, data, fresh, truth, scores, folder / "demo-accuracy.png")
    page = _report(tell, model, path, folder / "demo-report.html")
    if as_json:
        told = {"accuracy": scores, "refusal": refusal, "curve": curve, "report": str(page)}
        show_json({**told, "folder": str(folder)})


def _head(tell: Console, text: str) -> None:
    tell.print()
    tell.print(Rule(f"[bold]{text}[/bold]", align="left", style="cyan"))


def _invent(tell: Console, data: Path, fresh: Path) -> np.ndarray:
    _head(tell, "The people")
    strangers = invent_people(FRESH, seed=2)
    write_people(invent_people(PATIENTS, seed=1), data)
    write_people(strangers, fresh)
    tell.print(
        f"A hospital holds {PATIENTS:,} patients, all of them invented here:\n  {data}", soft_wrap=True
    )
    tell.print(f"{FRESH:,} others, never seen in training, will judge the models:\n  {fresh}", soft_wrap=True)
    return _labels(strangers)


def _owner(tell: Console, data: Path, schema: Path) -> Account:
    _head(tell, "The owner writes a schema and sets a budget")
    SCHEMA.save(schema)
    tell.print(
        "The schema says what may stand in the table. It is public, so it is written from what anyone may "
        "know (a form, a code book), never from the rows."
    )
    rows = [(f.name, _domain(f)) for f in SCHEMA.features]
    tell.print(table(["feature", "public domain"], rows))
    tell.print(f"To be predicted: {SCHEMA.label.name} ({' or '.join(map(str, SCHEMA.classes))}).\n")
    path = ledger_path(data, None)
    path.unlink(missing_ok=True)
    account = Ledger(path).create(data.name, Budget(EPSILON), SCHEMA)
    _command(tell, f"privet budget create {data} --epsilon {EPSILON:g} \\\n    --schema {schema}")
    tell.print(account_table(account))
    return account


def _analyst(tell: Console, data: Path, path: Path, account: Account) -> Model:
    _head(tell, "The analyst fits a model and pays for it")
    estimator = BoostingClassifier(EPSILON, random_state=0).fit(protect(data, SCHEMA, account))
    model: Model = estimator.model_
    path.unlink(missing_ok=True)
    model.save(path)
    _command(tell, f"privet fit {data} --epsilon {EPSILON:g} … --out {path}")
    tell.print(
        "The learner never sees a patient. It asks how many there are in each range of a feature and how "
        "far they pull a prediction, gets noisy sums, and adds up a curve for every feature and small trees. "
        f"What comes out keeps {model.card.promise}."
    )
    return model


def _compare(tell: Console, data: Path, fresh: Path, truth: np.ndarray, model: Model) -> dict[str, float]:
    _head(tell, "How good is it, on people it has never seen?")
    twin, majority = _without_privacy(data, fresh, truth)
    (forest,) = _accuracies(data, fresh, truth, "random forest", [EPSILON]).mean(axis=1).tolist()
    scores = {
        "majority class": majority,
        "random forest": forest,
        "boosting": _accuracy(model, fresh, truth),
        "twin": twin,
    }
    names = {
        "majority class": "always the commoner answer",
        "random forest": f"random forest, ε = {EPSILON:g}",
        "boosting": f"this model, ε = {EPSILON:g}",
        "twin": "without privacy",
    }
    rows = [(names[name], *_bar(score)) for name, score in scores.items()]
    tell.print(table(["model", "accuracy", ""], rows, ["accuracy"]))
    tell.print(
        "Without privacy: scikit-learn's HistGradientBoostingClassifier on the same columns and all rows. "
        f"The forest is that of Fletcher and Islam (2017), the mean of {REPEATS}: it releases no more than a "
        "label a leaf."
    )
    return scores


def _refusal(tell: Console, data: Path, account: Account) -> str:
    _head(tell, "The analyst asks again, and is refused")
    tell.print("Every question was written to the ledger before a single row was read:")
    tell.print(history_table(account))
    _command(tell, f"privet fit {data} --epsilon 0.5 …")
    try:
        BoostingClassifier(0.5).fit(protect(data, SCHEMA, account))
    except BudgetExceeded as error:
        tell.print(f"[bold red]Error:[/bold red] {error.message}\n[bold cyan]Hint:[/bold cyan] {error.hint}")
        return error.message
    raise AssertionError("a spent budget allowed a fit")


def _meaning(tell: Console) -> None:
    _head(tell, f"What does ε = {EPSILON:g} mean?")
    factor = math.exp(EPSILON)
    tell.print(
        f"With any one patient in the table, no possible model is more than e^{EPSILON:g} = {factor:.2f} "
        "times as likely as without, nor less by more than that. Someone who gave it even odds that a "
        f"patient is in the table can be at most {factor / (1 + factor):.0%} sure after seeing the model, "
        "whatever else they know. The smaller ε, the stronger the promise."
    )


def _picture(
    tell: Console, data: Path, fresh: Path, truth: np.ndarray, scores: dict[str, float], path: Path
) -> dict[str, dict[str, float]]:
    _head(tell, "What would another ε have given?")
    tell.print("Invented people have no privacy to lose, so the demo may try them all:")
    shown = sys.stderr.isatty() and not tell.quiet
    found = {name: _accuracies(data, fresh, truth, name, EPSILONS, shown) for name in LEARNERS}
    draw_accuracy(path, EPSILONS, found, scores["twin"], scores["majority class"])
    means = {name: accuracies.mean(axis=1).tolist() for name, accuracies in found.items()}
    rows = [
        (f"{e:g}", *(f"{means[name][i]:.1%}" for name in LEARNERS), _bar(means["boosting"][i])[1])
        for i, e in enumerate(EPSILONS)
    ]
    tell.print(table(["ε", *LEARNERS, ""], rows, ["ε", *LEARNERS]))
    tell.print(f"Means of {REPEATS} fits. Picture: {path}", soft_wrap=True)
    names = [f"{e:g}" for e in EPSILONS]
    return {name: dict(zip(names, np.round(mean, 4).tolist(), strict=True)) for name, mean in means.items()}


def _accuracies(
    data: Path, fresh: Path, truth: np.ndarray, learner: str, epsilons: Sequence[float], shown: bool = False
) -> np.ndarray:
    """Of several fits of a learner, ``(epsilons, repeats)``."""
    account = Ledger().create("invented people", Budget(math.ceil(sum(epsilons) * REPEATS)))
    protected = protect(data, SCHEMA, account)
    accuracies = np.empty((len(epsilons), REPEATS))
    with progress_bar(f"fitting {learner}", shown) as progress:
        for done, (i, seed) in enumerate(np.ndindex(accuracies.shape), start=1):
            estimator: PrivateClassifier = LEARNERS[learner](epsilons[i], random_state=seed)
            accuracies[i, seed] = _accuracy(estimator.fit(protected).model_, fresh, truth)
            if progress is not None:
                progress(done / accuracies.size)
    return accuracies


def _report(tell: Console, model: Model, path: Path, page: Path) -> Path:
    _head(tell, "What has the model learnt?")
    explain(model, page)
    _command(tell, f"privet explain {path} --out {page}")
    first = ", ".join(list(model.importances())[:3])
    tell.print(
        f"Above all: {first}. The page shows every curve, and how far its noise lets it be believed. Open it "
        "in a browser:"
    )
    tell.print(f"  {page}", soft_wrap=True)
    return page


def _without_privacy(data: Path, fresh: Path, truth: np.ndarray) -> tuple[float, float]:
    """Accuracy of scikit-learn's boosted trees on the same coded columns, and of the commonest label."""
    from sklearn.ensemble import (
        HistGradientBoostingClassifier,
    )  # slow to import, and no other command needs it

    known = encode(open_table(data, SCHEMA), SCHEMA)
    new = encode(open_table(fresh, SCHEMA), SCHEMA, with_label=False)
    trees = HistGradientBoostingClassifier(random_state=0)
    predicted = trees.fit(known.features.T, known.labels).predict(new.features.T)
    commonest = np.bincount(known.labels).argmax() if known.labels is not None else 0
    return float((predicted == truth).mean()), float((truth == commonest).mean())


def _accuracy(model: Model, fresh: Path, truth: np.ndarray) -> float:
    return float((np.array(model.predict(fresh)) == np.array(SCHEMA.classes)[truth]).mean())


def _bar(score: float) -> tuple[str, str]:
    return f"{score:.1%}", "█" * round(36 * score)


def _labels(people: People) -> np.ndarray:
    values = list(SCHEMA.classes)
    return np.array([values.index(value) for value in people[SCHEMA.label.name]])


def _domain(feature: Feature) -> str:
    if isinstance(feature, Continuous):
        return f"{feature.lower:g} to {feature.upper:g}" + (", whole numbers" if feature.integer else "")
    return ", ".join(map(str, feature.categories))


def _command(tell: Console, text: str) -> None:
    tell.print(f"[dim]$ {text}[/dim]", soft_wrap=True)

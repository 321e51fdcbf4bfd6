"""``privet demo``: an owner and an analyst, played through on invented people."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Annotated

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
from privet.estimators import MajorityForestClassifier
from privet.model import LabelForest
from privet.pictures.style import require_matplotlib
from privet.privacy import Account, Budget, Ledger, protect
from privet.progress import progress_bar
from privet.schema import Continuous, Feature

EPSILON = 1.0
EPSILONS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
REPEATS = 8
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
    forest = _analyst(tell, data, folder / "demo-forest.privet", account)
    scores = _compare(tell, data, fresh, truth, forest)
    refusal = _refusal(tell, data, account)
    _meaning(tell)
    curve = _picture(tell, data, fresh, truth, scores, folder / "demo-accuracy.png")
    if as_json:
        show_json({"accuracy": scores, "refusal": refusal, "curve": curve, "folder": str(folder)})


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


def _analyst(tell: Console, data: Path, model: Path, account: Account) -> LabelForest:
    _head(tell, "The analyst fits a forest and pays for it")
    estimator = MajorityForestClassifier(EPSILON, random_state=0).fit(protect(data, SCHEMA, account))
    forest = estimator.model_
    forest.save(model)
    _command(tell, f"privet fit {data} --epsilon {EPSILON:g} … --out {model}")
    tell.print(
        f"{forest.card.learner['trees']} random trees, drawn without looking at anyone. Each patient goes "
        "to one tree; a leaf then releases one word, its most frequent label, chosen with noise. That is "
        f"all the analyst gets, and it keeps {forest.card.promise}."
    )
    return forest


def _compare(
    tell: Console, data: Path, fresh: Path, truth: np.ndarray, forest: LabelForest
) -> dict[str, float]:
    _head(tell, "How good is it, on people it has never seen?")
    twin, majority = _without_privacy(data, fresh, truth)
    scores = {"majority class": majority, "private forest": _accuracy(forest, fresh, truth), "twin": twin}
    names = {
        "majority class": "always the commoner answer",
        "private forest": f"private forest, ε = {EPSILON:g}",
        "twin": "non-private twin",
    }
    rows = [(names[name], *_bar(score)) for name, score in scores.items()]
    tell.print(table(["model", "accuracy", ""], rows, ["accuracy"]))
    tell.print(
        "The twin is scikit-learn's ExtraTreesClassifier: 100 trees fitted to the same columns and all rows, "
        "without any privacy."
    )
    return scores


def _refusal(tell: Console, data: Path, account: Account) -> str:
    _head(tell, "The analyst asks again, and is refused")
    tell.print("Every question was written to the ledger before a single row was read:")
    tell.print(history_table(account))
    _command(tell, f"privet fit {data} --epsilon 0.5 …")
    try:
        MajorityForestClassifier(0.5).fit(protect(data, SCHEMA, account))
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
) -> dict[str, float]:
    _head(tell, "What would another ε have given?")
    tell.print("Invented people have no privacy to lose, so the demo may try them all:")
    shown = sys.stderr.isatty() and not tell.quiet
    accuracies = _accuracies(data, fresh, truth, shown)
    draw_accuracy(path, EPSILONS, accuracies, scores["twin"], scores["majority class"])
    means = accuracies.mean(axis=1)
    rows = [
        (f"{e:g}", f"{score:.1%}", "█" * round(36 * score)) for e, score in zip(EPSILONS, means, strict=True)
    ]
    tell.print(
        table(["ε", f"accuracy (mean of {REPEATS})", ""], rows, ["ε", f"accuracy (mean of {REPEATS})"])
    )
    tell.print(f"Picture: {path}", soft_wrap=True)
    return {f"{e:g}": round(float(score), 4) for e, score in zip(EPSILONS, means, strict=True)}


def _accuracies(data: Path, fresh: Path, truth: np.ndarray, shown: bool) -> np.ndarray:
    account = Ledger().create("invented people", Budget(math.ceil(sum(EPSILONS) * REPEATS)))
    protected = protect(data, SCHEMA, account)
    accuracies = np.empty((len(EPSILONS), REPEATS))
    with progress_bar("fitting forests", shown) as progress:
        for done, (i, seed) in enumerate(np.ndindex(accuracies.shape), start=1):
            forest = MajorityForestClassifier(EPSILONS[i], random_state=seed).fit(protected).model_
            accuracies[i, seed] = _accuracy(forest, fresh, truth)
            if progress is not None:
                progress(done / accuracies.size)
    return accuracies


def _without_privacy(data: Path, fresh: Path, truth: np.ndarray) -> tuple[float, float]:
    """Accuracy of scikit-learn's random trees on the same coded columns, and of the commonest label."""
    from sklearn.ensemble import ExtraTreesClassifier  # slow to import, and no other command needs it

    known = encode(open_table(data, SCHEMA), SCHEMA)
    new = encode(open_table(fresh, SCHEMA), SCHEMA, with_label=False)
    trees = ExtraTreesClassifier(100, min_samples_leaf=5, n_jobs=-1, random_state=0)
    predicted = trees.fit(known.features.T, known.labels).predict(new.features.T)
    commonest = np.bincount(known.labels).argmax() if known.labels is not None else 0
    return float((predicted == truth).mean()), float((truth == commonest).mean())


def _accuracy(forest: LabelForest, fresh: Path, truth: np.ndarray) -> float:
    return float((forest.shares(fresh).argmax(axis=1) == truth).mean())


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

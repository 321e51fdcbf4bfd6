"""``privet audit``: proofs and tests of the promise."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from privet.audit.accounting import account_for
from privet.audit.attack import FEWEST_ROWS, table_attack
from privet.audit.defendants import defendant
from privet.audit.detectors import exact_counts_verdict, zeros_verdict
from privet.audit.page import attack_text, write_page
from privet.audit.program_trials import one_run_of, transcripts_of_schema
from privet.audit.report import Finding, audit, audit_all, to_json
from privet.audit.rivals import EPSILON, RIVALS, examine_rival
from privet.audit.trial import FULL, QUICK, Effort, timed
from privet.audit.verdict import HOLDS, NOT_REFUTED, Verdict
from privet.checks import exact
from privet.cli.arguments import Data, Json, SchemaFile
from privet.cli.output import facts, out, show_json, table
from privet.errors import QuestionError
from privet.estimators import CLASSIFIERS
from privet.model import load_model
from privet.privacy import Budget, Ledger
from privet.progress import progress_bar
from privet.schema import Schema

BROKEN_PROMISE = 6

app = typer.Typer(
    no_args_is_help=True,
    help="Does it keep its ε? Proofs on small tables, tests on many runs, accounts worked out anew.",
)

Quick = Annotated[bool, typer.Option("--quick", help="Look at less, in seconds rather than minutes.")]
Epsilon = Annotated[
    float | None, typer.Option(metavar="E", help="ε to be tried; by default several, or 1 with a schema.")
]

Page = Annotated[
    Path | None, typer.Option("--page", metavar="FILE", help="Also write a page with pictures (HTML).")
]


@app.command("mechanism")
def audit_mechanism(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A mechanism, or something known to be broken.")
    ],
    epsilon: Epsilon = None,
    quick: Quick = False,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Try a mechanism or a question of the wall, or one that is known not to keep its ε."""
    each = defendant(name, ("mechanism", "question", "published", "planted"))
    with _progress(as_json) as told:
        findings = audit([each], _effort(quick), _asked(epsilon), told)
    _report(findings, as_json, page)
    _leave([finding.verdict for finding in findings])


@app.command("learner")
def audit_learner(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A learner.")],
    schema: Annotated[
        Path | None, typer.Option("--schema", metavar="FILE", help="Draw tables over this schema.")
    ] = None,
    epsilon: Epsilon = None,
    delta: Annotated[float | None, typer.Option(metavar="D", help="With a schema: δ of the fit.")] = None,
    quick: Quick = False,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Try a learner: a small form of it on small tables, or all of it on tables drawn over a schema.

    No row of anyone is read.
    """
    with _progress(as_json) as told:
        if schema is None:
            findings = audit([defendant(name, ("learner",))], _effort(quick), _asked(epsilon), told)
        else:
            contract = Schema.load(schema)
            findings = _tried_on(name, contract, _asked(epsilon) or Fraction(1), delta, _effort(quick))
    _report(findings, as_json, page)
    _leave([finding.verdict for finding in findings])


@app.command("model")
def audit_model(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file written by fit.")],
    ledger: Annotated[
        Path | None, typer.Option("--ledger", metavar="FILE", help="The ledger that was charged.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DATA", help="The rows: are their counts in the file?")
    ] = None,
    as_json: Json = False,
) -> None:
    """Work out anew what a model cost, from its card and the ledger; a disagreement is an error.

    Looks also whether leaves stand in the file without noise: too many that are zero or, with the
    rows, too many that are as they were counted.
    """
    released = load_model(model)
    if ledger is not None and not ledger.exists():
        raise QuestionError(f"there is no ledger {str(ledger)!r}.", "check the path.")
    book = None if ledger is None else Ledger(ledger)
    verdict, checks = account_for(model.name, released.card, released.schema, book)
    looked = [zeros_verdict(model.name, released)]
    if data is not None:
        looked += [exact_counts_verdict(model.name, released, data)]
    verdicts = [verdict, *(each for each in looked if each is not None)]
    if as_json:
        told = [vars(check) for check in checks]
        show_json({**verdict.to_dict(), "checks": told, "file": [each.to_dict() for each in verdicts[1:]]})
    else:
        out.print(facts((("✓ " if c.agrees else "✗ ") + c.what, c.detail) for c in checks))
        for each in verdicts:
            out.print(f"{each.method}: {_line(each)}", soft_wrap=True)
    _leave(verdicts)


@app.command("attack")
def audit_attack(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A learner.")],
    data: Data,
    schema: SchemaFile,
    epsilon: Annotated[float, typer.Option(metavar="E")] = 1.0,
    delta: Annotated[float | None, typer.Option(metavar="D", help="δ of the fits.")] = None,
    fits: Annotated[int, typer.Option(min=8, help="Half of them are attacked.")] = 40,
    rows: Annotated[
        int, typer.Option(min=FEWEST_ROWS, help="Rows of DATA that toss a coin, at most.")
    ] = 1000,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Guess from models of a learner whose rows they were learnt from.

    Reads DATA without a charge: what comes out is for the owner of the rows alone.
    """
    promised, leeway = Budget(epsilon).epsilon, exact(delta or 0, "delta")
    estimator = _estimator(name, promised, delta)
    start = time.perf_counter()
    with _progress(as_json) as told:
        attack = table_attack(
            estimator, data, Schema.load(schema), promised, leeway, fits, rows, progress=told
        )
    verdict = attack.verdict(name, round(time.perf_counter() - start, 3))
    if page is not None:
        write_page(page, [verdict], {name: attack})
    if as_json:
        show_json(verdict.to_dict())
    else:
        out.print(f"{name} at ε={epsilon:g}: {attack_text(attack)}; {verdict.text}.", soft_wrap=True)
    _leave([verdict])


@app.command("rival")
def audit_rival(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of {', '.join(RIVALS)}.")],
    python: Annotated[
        Path, typer.Option("--python", metavar="FILE", help="Python of an environment that has it.")
    ],
    epsilon: Annotated[float, typer.Option(metavar="E")] = EPSILON,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Put another library's learner on the stand, in an environment of its own, on made tables."""
    verdicts = examine_rival(name, python, float(Budget(epsilon).epsilon))
    _report([Finding("rival", verdict, True) for verdict in verdicts], as_json, page)
    _leave(verdicts)


@app.command("all")
def audit_everything(quick: Quick = False, page: Page = None, as_json: Json = False) -> None:
    """Try everything: what is strict must hold, what is published or planted broken must be convicted."""
    with _progress(as_json) as told:
        findings = audit_all(_effort(quick), told)
    _report(findings, as_json, page)
    odd = [finding for finding in findings if not finding.expected]
    if not as_json:
        out.print(f"{len(findings)} trials, {len(odd)} of them not as they must be.")
    if odd:
        raise typer.Exit(BROKEN_PROMISE)


def _tried_on(
    name: str, schema: Schema, epsilon: Fraction, delta: float | None, effort: Effort
) -> list[Finding]:
    estimator, leeway = _estimator(name, epsilon, delta), exact(delta or 0, "delta")

    def program(protected: Any) -> Any:
        return estimator.fit(protected).model_

    trials = [
        lambda e, f: transcripts_of_schema(name, program, schema, e, f, leeway, estimator.accounting),
        lambda e, f: one_run_of(name, estimator, schema, e, f, leeway),
    ]
    verdicts = [timed(trial, epsilon, effort) for trial in trials]
    return [Finding("learner", verdict, not verdict.broken) for verdict in verdicts]


def _estimator(name: str, epsilon: Fraction, delta: float | None) -> Any:
    """A learner by its name, refused before any work where its budget makes no sense."""
    if name not in CLASSIFIERS:
        raise QuestionError(f"there is no learner {name!r}.", f"learners are {', '.join(CLASSIFIERS)}.")
    known = CLASSIFIERS[name]().get_params()
    if delta and "delta" not in known:
        raise QuestionError(f"{name} has no --delta.", "leave it out.")
    Budget(epsilon, exact(delta or 0, "delta"))
    parameters: dict[str, Any] = {"epsilon": epsilon, "delta": delta or 0, "random_state": 1}
    return CLASSIFIERS[name](**{key: value for key, value in parameters.items() if key in known})


def _effort(quick: bool) -> Effort:
    return QUICK if quick else FULL


def _asked(epsilon: float | None) -> Fraction | None:
    return None if epsilon is None else Budget(epsilon).epsilon


def _progress(as_json: bool) -> Any:
    return progress_bar("on the stand", sys.stderr.isatty() and not as_json)


def _report(findings: Sequence[Finding], as_json: bool, page: Path | None = None) -> None:
    if page is not None:
        write_page(page, [finding.verdict for finding in findings])
    if as_json:
        show_json(to_json(findings))
        return
    rows = [_row(finding) for finding in findings]
    out.print(table(["on the stand", "how", "ε", "verdict"], rows, numbers=["ε"]))
    # One sentence for each way in which something is broken: other ε repeat it.
    broken = {(f.verdict.defendant, f.verdict.method): f.verdict for f in findings if f.verdict.broken}
    for verdict in broken.values():
        out.print(_line(verdict), soft_wrap=True)


def _row(finding: Finding) -> tuple[str, str, str, str]:
    verdict = finding.verdict
    mark = "" if finding.expected else " (!)"
    return verdict.defendant, verdict.method, f"{verdict.epsilon:g}", verdict.text + mark


def _line(verdict: Verdict) -> str:
    """A broken promise in one sentence, with what anyone needs to see it again."""
    if verdict.outcome in (HOLDS, NOT_REFUTED):
        return f"{verdict.defendant}: {verdict.text}."
    witness = "; ".join(f"{name}: {value}" for name, value in verdict.witness.items())
    return f"{verdict.defendant} at ε={verdict.epsilon:g} ({verdict.method}): broken. {witness}"


def _leave(verdicts: Sequence[Verdict]) -> None:
    if any(verdict.broken for verdict in verdicts):
        raise typer.Exit(BROKEN_PROMISE)

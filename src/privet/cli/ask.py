"""``privet ask``: questions about a table without a model, each paid for."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from privet.answers import NoisyChoices, NoisyMoments, NoisyTable
from privet.cli.arguments import (
    Data,
    Encoding,
    Json,
    Key,
    LedgerFile,
    Name,
    SchemaFile,
    Separator,
    epsilon_of,
    number,
    open_account,
    open_place,
)
from privet.cli.budget import account_state, show_account
from privet.cli.output import out, plain, show_json, table
from privet.errors import QuestionError
from privet.privacy import Account, Protected, protect
from privet.schema import Schema

app = typer.Typer(
    help="Ask about a table without a model: counts and choices, with noise.", no_args_is_help=True
)

CONFIDENCE = 0.95
SHOWN = 60
"""Cells of a table that are shown to look at; JSON has all."""

BAR = 20

COUNTED = "Each number lies within ±{margin} of the exact one, with a probability of 95 %."
CHOSEN = "No other value has over {margin} rows {word}, with a probability of at least 95 %."
RANKED = "It misses the share by {margin} rows at most, with a probability of at least 95 %."

SHARED = "Values with fewer than {threshold} rows, with noise, are not shown."

Answer = NoisyTable | NoisyChoices

Epsilon = Annotated[Any, epsilon_of("Privacy budget of this question.")]
Where = Annotated[
    str | None, typer.Option(metavar="CONDITION", help="Only rows such as 'age >= 37 and town = north'.")
]
By = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="One answer a value; may be repeated.")]
Column = Annotated[str, typer.Option(metavar="COLUMN", help="The column asked about.")]
Bins = Annotated[int, typer.Option(metavar="N", min=1, help="Bins that a range is cut into.")]


@app.command()
def count(
    data: Data,
    schema: SchemaFile,
    epsilon: Epsilon,
    where: Where = None,
    by: By = None,
    bins: Bins = 10,
    separator: Separator = None,
    encoding: Encoding = None,
    key: Key = None,
    ledger: LedgerFile = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """How many rows there are, or how many fulfil a condition."""
    rows, account = _open(data, separator, encoding, key, schema, ledger, name)
    answer = rows.noisy_column_rows(by or (), where, bins=bins, epsilon=epsilon)
    _report(rows, account, answer, "rows", COUNTED, as_json)


@app.command()
def histogram(
    data: Data,
    schema: SchemaFile,
    column: Column,
    epsilon: Epsilon,
    where: Where = None,
    by: By = None,
    bins: Bins = 10,
    separator: Separator = None,
    encoding: Encoding = None,
    key: Key = None,
    ledger: LedgerFile = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """How many rows each value of a column has, empty ones included."""
    rows, account = _open(data, separator, encoding, key, schema, ledger, name)
    answer = rows.noisy_column_rows([*(by or ()), column], where, bins=bins, epsilon=epsilon)
    _report(rows, account, answer, "rows", COUNTED, as_json)


@app.command()
def most_frequent(
    data: Data,
    schema: SchemaFile,
    column: Column,
    epsilon: Epsilon,
    least: Annotated[bool, typer.Option("--least", help="The least frequent value instead.")] = False,
    where: Where = None,
    by: By = None,
    bins: Bins = 10,
    separator: Separator = None,
    encoding: Encoding = None,
    key: Key = None,
    ledger: LedgerFile = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Which value of a column most rows have."""
    rows, account = _open(data, separator, encoding, key, schema, ledger, name)
    answer = rows.choose_item(column, by or (), where, least=least, bins=bins, epsilon=epsilon)
    _report(rows, account, answer, column, CHOSEN.replace("{word}", "fewer" if least else "more"), as_json)


@app.command()
def quantile(
    data: Data,
    schema: SchemaFile,
    column: Column,
    epsilon: Epsilon,
    at: Annotated[
        str, typer.Option(metavar="SHARE", help="Share of rows below it; 0.5 is the median.")
    ] = "0.5",
    where: Where = None,
    by: By = None,
    bins: Bins = 10,
    separator: Separator = None,
    encoding: Encoding = None,
    key: Key = None,
    ledger: LedgerFile = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Below which value of a column a share of its rows lies."""
    rows, account = _open(data, separator, encoding, key, schema, ledger, name)
    answer = rows.noisy_quantile(column, at, by or (), where, bins=bins, epsilon=epsilon)
    _report(rows, account, answer, column, RANKED, as_json)


@app.command()
def values(
    data: Data,
    schema: SchemaFile,
    column: Column,
    epsilon: Epsilon,
    delta: Annotated[Any, typer.Option(metavar="D", parser=number, help="Chance that a rare value shows.")],
    separator: Separator = None,
    encoding: Encoding = None,
    key: Key = None,
    ledger: LedgerFile = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Which values of a column without a list many rows share, and how many; what few have is not shown."""
    rows, account = _open(data, separator, encoding, key, schema, ledger, name)
    if column not in rows.schema.feature_names:
        raise QuestionError(f"there is no feature {column!r}.", "name one of the schema.")
    place = rows.schema.feature_names.index(column)
    found = rows.common_values([place], epsilon=epsilon, delta=delta)
    shared = found.of(place)
    counts = np.array([n for _, n in shared], np.int64)
    answer = NoisyTable(counts, found.law, found.parameter, (column,), (tuple(text for text, _ in shared),))
    least = SHARED.format(threshold=f"{found.threshold:,}")
    _report(rows, account, answer, "rows", f"{COUNTED} {least}", as_json)


@app.command()
def mean(
    data: Data,
    schema: SchemaFile,
    column: Column,
    epsilon: Epsilon,
    where: Where = None,
    by: By = None,
    bins: Bins = 10,
    separator: Separator = None,
    encoding: Encoding = None,
    key: Key = None,
    ledger: LedgerFile = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Mean, sum and variance of a column of numbers, each with its range, for one price."""
    rows, account = _open(data, separator, encoding, key, schema, ledger, name)
    answer = rows.noisy_moments(column, by or (), where, bins=bins, epsilon=epsilon)
    _report_moments(rows, account, answer, as_json)


def _open(
    data: Path | str,
    separator: str | None,
    encoding: str | None,
    key: str | None,
    schema: Path,
    ledger: Path | None,
    name: str | None,
) -> tuple[Protected, Account]:
    contract = Schema.load(schema)
    place = open_place(data, separator, encoding)
    account = open_account(data, ledger, name)
    return protect(place, contract, account, key=key), account


def _report(rows: Protected, account: Account, answer: Answer, head: str, noise: str, as_json: bool) -> None:
    (charge,) = rows.asked
    margin = answer.margin(CONFIDENCE)
    if as_json:
        names = [*answer.columns, "answer"]
        show_json(
            {
                "question": charge.question,
                "answers": [dict(zip(names, row, strict=True)) for row in answer.rows()],
                "margin": margin,
                "confidence": CONFIDENCE,
                "cost": charge.to_dict(),
                "account": account_state(account),
            }
        )
        return
    out.print(Text(plain(charge.question[:1].upper() + charge.question[1:]), style="bold"))
    out.print(_cells(answer, head, margin))
    out.print(Text("  " + noise.format(margin=f"{margin:,}"), style="dim"))
    out.print(f"Cost {charge.cost}. On the account:")
    show_account(account)


def _report_moments(rows: Protected, account: Account, answer: NoisyMoments, as_json: bool) -> None:
    (charge,) = rows.asked
    told = {what: list(answer.rows(what, CONFIDENCE)) for what in ("mean", "sum", "variance", "count")}
    if as_json:
        names = [*answer.columns, "answer", "low", "high"]
        shown = {what: [dict(zip(names, row, strict=True)) for row in found] for what, found in told.items()}
        more = {"confidence": CONFIDENCE, "cost": charge.to_dict(), "account": account_state(account)}
        show_json({"question": charge.question, "answers": shown} | more)
        return
    out.print(Text(plain(charge.question[:1].upper() + charge.question[1:]), style="bold"))
    lines = [
        (*names, what, f"{value:,.6g}", f"{low:,.6g} … {high:,.6g}")
        for what, found in told.items()
        for *names, value, low, high in found
    ]
    out.print(table([*answer.columns, "", "answer", "95 % range"], lines, ["answer", "95 % range"]))
    out.print(
        Text("  A number beyond the public range counts as its end; missing ones are left out.", style="dim")
    )
    out.print(f"Cost {charge.cost}. On the account:")
    show_account(account)


def _cells(answer: Answer, head: str, margin: int) -> Table:
    """The cells of an answer to look at; counts with their range and a bar."""
    cells = list(islice(answer.rows(), SHOWN))
    more = answer.values.size - len(cells)
    last = [("…",) * len(answer.columns) + (f"{more:,} more: see --json",)] if more else []
    if isinstance(answer, NoisyChoices):
        return table([*answer.columns, head], [*((*names, _number(value)) for *names, value in cells), *last])
    longest = max([1, *(row[-1] for row in cells)])
    rows = [(*names, f"{n:,}", f"{n - margin:,} … {n + margin:,}", _bar(n, longest)) for *names, n in cells]
    return table([*answer.columns, head, "95 % range", ""], [*rows, *last], [head, "95 % range"])


def _number(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _bar(count: int, longest: int) -> str:
    return "▇" * round(BAR * max(count, 0) / longest)

"""``privet schema``: write the public contract of a table, and see what falls outside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from privet.cli.arguments import Data, Encoding, Json, SchemaFile, Separator, open_place
from privet.cli.output import out, plain, require_new_file, show_json, table, warn
from privet.data.draft import SampleDraft, draft_schema
from privet.data.header import (
    CATEGORY,
    INTEGER,
    NUMBER,
    HeaderDraft,
    declared_kinds,
    draft_from_header,
)
from privet.data.outside import NOT_A_DATE, NOT_A_NUMBER, TOO_MANY_ROWS, Outside, find_outside
from privet.data.text import Place
from privet.errors import SchemaError
from privet.notebook import plural
from privet.schema import Schema

app = typer.Typer(help="Draft and check a schema, the public contract of a table.", no_args_is_help=True)

PUBLIC_ONLY = (
    "Every bound, category and label value of this draft was read from the rows of the sample. "
    "If the sample is private, the draft gives parts of it away and no budget covers that.\n"
    "Draft from a [b]public[/b] sample only, then widen bounds and add categories by what is publicly known."
)
NO_UNIT = (
    "Without a [b]unit[/b] a schema protects rows, not persons: name the column that says whose a row is, "
    '"unit": "…".'
)

OWNER_ONLY = (
    "These are [b]exact counts[/b] of private rows: for the owner's eyes only. Do not pass them on, and do "
    "not fit a schema to them: widen it by what is publicly known."
)
REFUSED = (NOT_A_DATE, NOT_A_NUMBER, TOO_MANY_ROWS)


Columns = list[str] | None


def _columns(help: str) -> Any:
    return typer.Option(metavar="COLUMN", help=help + " may be repeated, or commas between names.")


@app.command()
def draft(
    data: Data,
    label: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column to predict; by default the last.")
    ] = None,
    values: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="All values of the label, as is publicly known.")
    ] = None,
    number: Annotated[Columns, _columns("A column of numbers;")] = None,
    integer: Annotated[Columns, _columns("A column of whole numbers;")] = None,
    category: Annotated[Columns, _columns("A column of categories;")] = None,
    others: Annotated[
        str | None, typer.Option(metavar="KIND", help="What all others hold: number, integer or category.")
    ] = None,
    omit: Annotated[Columns, _columns("Leave a column out;")] = None,
    from_values: Annotated[
        bool,
        typer.Option("--from-values", help="Read bounds and lists from the rows: of a PUBLIC sample only."),
    ] = False,
    out_file: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="New file; by default the terminal.")
    ] = None,
    separator: Separator = None,
    encoding: Encoding = None,
    as_json: Json = False,
) -> None:
    """Draft a schema from the header of a table: no row is read, ranges and lists are left open.

    With --from-values everything in the draft is read from the rows, and gives them away.
    """
    if out_file is not None:
        require_new_file(out_file)
    place, left_out = open_place(data, separator, encoding), _names(omit)
    if from_values:
        _refuse_kinds(values, number, integer, category, others)
        drafted: SampleDraft | HeaderDraft = draft_schema(place, label, left_out)
        warn("THE SAMPLE MUST BE PUBLIC", PUBLIC_ONLY)
    else:
        named = ((NUMBER, number), (INTEGER, integer), (CATEGORY, category))
        kinds = {name: kind for kind, names in named for name in _names(names)}
        drafted = _from_header(place, label, values, kinds | ({"*": others} if others else {}), left_out)
    for suspect in drafted.suspects:
        warn("LOOK AGAIN", escape(plain(suspect.told)))
    schema = drafted.schema
    if out_file is None:
        show_json(schema.to_dict())
        return
    schema.save(out_file)
    if as_json:
        show_json({"schema": str(out_file), "features": len(schema.features), "label": schema.label.name})
    else:
        told = f"Wrote {out_file}: {plural(len(schema.features), 'feature')}, label {schema.label.name!r}."
        out.print(plain(told))


def _from_header(
    place: Place, label: str | None, values: str | None, kinds: Mapping[str, str], omit: Sequence[str]
) -> HeaderDraft:
    label = label or [*declared_kinds(place)][-1]
    if values is None:
        raise SchemaError(
            f"the values of the label {label!r} must be public: no row is read for them.",
            "list them, as in --values no,yes; --from-values reads everything from a PUBLIC sample.",
        )
    return draft_from_header(place, label, values.split(","), kinds, omit)


def _refuse_kinds(*given: object) -> None:
    if any(given):
        raise SchemaError("--from-values reads all of that from the rows.", "leave one of both out.")


def _names(given: Sequence[str] | None) -> list[str]:
    return [name for each in given or () for name in each.split(",")]


@app.command()
def check(
    data: Data,
    schema: SchemaFile,
    separator: Separator = None,
    encoding: Encoding = None,
    as_json: Json = False,
) -> int:
    """Count what falls outside a schema, and say where (for the owner).

    Exit code 3 if a fit would refuse the table.
    """
    contract = Schema.load(schema)
    found = find_outside(open_place(data, separator, encoding), contract)
    counts, label = found.counts, contract.label.name
    refused = bool(found.wrong_lines) or _would_refuse(counts, label)
    warn("EXACT COUNTS: FOR THE OWNER'S EYES ONLY", OWNER_ONLY)
    if found.repeating:
        listed, repeat = ", ".join(map(repr, found.repeating)), "repeat" + "s" * (len(found.repeating) == 1)
        warn(
            "SEVERAL ROWS A PERSON?",
            f"{escape(plain(listed))} {repeat} as identifiers of persons do. {NO_UNIT}",
        )
    if as_json:
        told = {"exact_counts_for_the_owner_only": counts, "fit_would_refuse": refused}
        told["columns_that_may_be_identifiers"] = list(found.repeating)
        show_json(told | {_head(found): found.places, "wrong_lines": found.wrong_lines})
        return 3 if refused else 0
    if found.wrong_lines:
        out.print(_wrong(found))
    elif any(counts.values()):
        out.print(_counted(found, label))
    else:
        out.print("Every value lies within the schema.")
    if refused:
        out.print("A fit would refuse this table.", style="bold red")
    return 3 if refused else 0


def _counted(found: Outside, label: str) -> Table:
    rows = [
        (name, kind, f"{count:,}", _listed(found.places[name][kind], count), _meaning(kind, name == label))
        for name, of in found.counts.items()
        for kind, count in of.items()
    ]
    return table(
        ["column", "found", "rows", _head(found).replace("_", " "), "a fit makes of it"], rows, ["rows"]
    )


def _wrong(found: Outside) -> Table:
    rows = [(kind, ", ".join(map(str, lines))) for kind, lines in found.wrong_lines.items()]
    return table(["lines that cannot be read", _head(found).replace("_", " ")], rows)


def _head(found: Outside) -> str:
    return "first_lines" if found.in_lines else "first_rows"


def _listed(places: Sequence[int], count: int) -> str:
    return ", ".join(map(str, places)) + (" …" if places and count > len(places) else "")


def _would_refuse(counts: dict[str, dict[str, int]], label: str) -> bool:
    return any(_meaning(kind, name == label) == "refused" for name, found in counts.items() for kind in found)


def _meaning(kind: str, is_label: bool) -> str:
    if kind in ("below", "above"):
        return "clamped to the bound"
    if is_label or kind in REFUSED:
        return "refused"
    return "a code of its own" if kind == "missing" else "treated as unknown"

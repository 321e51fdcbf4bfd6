"""The fields of a plan: what each learner, question and metric takes, from their own declarations.

A field goes by the name of its parameter, after ``p.``: ``p.max_depth=6``. What is left empty is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Annotated, Any

from fastapi import Depends, Request

from privet.learners.parameters import Parameter, declared
from privet.schema import Schema
from privet.service.refusals import ServiceError
from privet.service.work import ASKS

PREFIX, MOST, LONGEST = "p.", 200, 4000
OWN = ("epsilon", "delta", "where", "model")
"""Parameters that have a place of their own in the form."""
LATER = ("random_state",)


@dataclass(frozen=True)
class FormField:
    """A field of the form.

    Attributes
    ----------
    name, label, told : str
        ``told`` says in a line what may stand there.
    kind : str
        number, text, flag, choice (one of ``options``), ticks (any of them), lines (one a line).
    options : sequence of (value, text)
    value : sequence of str
        What is chosen.
    needed : bool
        Whether nothing can be asked without it.
    """

    name: str
    label: str
    told: str
    kind: str
    options: Sequence[tuple[str, str]] = ()
    value: Sequence[str] = field(default_factory=list)
    needed: bool = False


def _given(request: Request) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in request.query_params.multi_items()[:MOST]:
        if name.startswith(PREFIX) and value.strip():
            found.setdefault(name.removeprefix(PREFIX)[:100], []).append(value.strip()[:LONGEST])
    return found


Given = Annotated[dict[str, list[str]], Depends(_given)]
"""What a form says of parameters: fields whose names are known only to their learner."""


def form_fields(kind: str, what: str, learner: Any, schema: Schema, given: Given) -> list[FormField]:
    """What a request takes besides ε, δ, a condition and a model."""
    if kind == "fit" and learner is not None:
        taken = [(each.name, each.default, parameter) for each, parameter in declared(learner)]
        taken.sort(key=lambda each: each[0] in LATER)
        return [_of_learner(*each, given.get(each[0], [])) for each in taken if each[0] not in OWN]
    if kind == "ask" and what in ASKS:
        asked: Any = ASKS[what]
        columns = [(each.name, each.name) for each in (*schema.features, schema.label)]
        return [
            _of_question(each.name, columns, given.get(each.name, []), each.default is MISSING)
            for each in fields(asked)
            if each.name not in OWN
        ]
    return []


def _of_learner(name: str, default: Any, parameter: Parameter, value: Sequence[str]) -> FormField:
    usual = "left to the learner" if default is None else f"{json.dumps(default)} if left out"
    if parameter.kind is bool:
        return FormField(
            name, _words(name), parameter.help, "flag", _choices(["true", "false"], usual), value
        )
    if parameter.kind is str:
        choices = _choices(parameter.among, usual)
        return FormField(name, _words(name), parameter.help, "choice", choices, value)
    told = f"{parameter.help} {parameter.words[0].upper()}{parameter.words[1:]}; {usual}.".strip()
    return FormField(name, _words(name), told, "number", (), value)


TAKEN = {
    "columns": ("ticks", "Columns, whose cells are counted."),
    "by": ("ticks", "By which groups; all together, if none."),
    "column": ("choice", "Of which column."),
    "candidates": ("lines", "Conditions to choose among, one a line."),
    "at": ("number", "Share of rows below it: 0.5 is the median."),
    "bins": ("number", "Into how many parts a range is cut."),
    "least": ("flag", "The rarest in place of the most frequent."),
}


def _of_question(
    name: str, columns: Sequence[tuple[str, str]], value: Sequence[str], needed: bool
) -> FormField:
    kind, told = TAKEN.get(name, ("text", ""))
    options = columns if kind == "ticks" else [("", "–"), *columns]
    if kind == "flag":
        options = _choices(["true", "false"], "false if left out")
    options = () if kind in ("number", "lines") else options
    return FormField(name, _words(name), told, kind, options, value, needed)


def _choices(values: Sequence[str], usual: str) -> list[tuple[str, str]]:
    return [("", usual), *((each, each) for each in values)]


def _words(name: str) -> str:
    words = name.replace("_", " ")
    return words.removeprefix("n ").capitalize()


def request_of(form: Mapping[str, str], taken: Sequence[FormField]) -> dict[str, Any]:
    """The request that a form tells."""
    params: dict[str, Any] = {
        name: form[name].strip() for name in OWN if name == "epsilon" or form[name].strip()
    }
    for each in taken:
        if each.needed and not each.value:
            raise ServiceError(f"{each.label.lower()} is left open.", "fill it in.")
        if each.value:
            params[each.name] = _read(each)
    return {"kind": form["kind"], "what": form["what"], "params": params}


def _read(given: FormField) -> Any:
    if given.kind == "ticks":
        return list(given.value)
    text = given.value[0]
    if given.kind == "lines":
        return [line.strip() for line in text.splitlines() if line.strip()]
    if given.kind == "flag" and text in ("true", "false"):
        return text == "true"
    if given.kind != "number":
        return text
    try:
        return int(text) if text.lstrip("+-").isdecimal() else float(text)
    except ValueError:
        raise ServiceError(f"{given.label.lower()} is no number.", "write 6, or 0.5.") from None

"""What an officer asks of a release: a record for a register of deployments, and questions of an evaluation.

The record has the sections of the public registry of deployments of differential privacy (OpenDP 2025); the
questions follow the parts of NIST SP 800-226. What the model cannot know is None, and listed as open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from privet.model.card import PrivacyCard, stated
from privet.model.protocol import Model

FORM = "privet deployment 1"

SIDES = (
    "Time and memory are not hidden: whoever lets analysts wait for an answer returns it at a fixed time. "
    "Exact counts are not wiped from memory."
)
FLOATS = "No float decides: noise is drawn by comparing integers, and costs are whole numbers on a grid."
GENERATOR = "The operating system's generator; no seed is kept, so that nothing can replay it."
AFTERWARDS = "Everything after the noisy answers is computed from them and the public schema alone."
MECHANISMS = (
    (
        "epsilon",
        "In ε: discrete Laplace noise, or a choice by permute-and-flip or the exponential mechanism.",
    ),
    ("rho", "In ρ: Gaussian noise rounded to whole numbers, or a choice by the exponential mechanism."),
)


def deployment(model: Model) -> dict[str, Any]:
    """A release as a record for officers: plain data, with None for what its owner has to say.

    Returns
    -------
    dict
        ``deployment`` (sections of a register), ``evaluation`` (questions and answers), ``open`` (the
        places of everything that is None), and the ``card`` itself.
    """
    record = {"deployment": _record(model), "evaluation": _evaluation(model)}
    return {"form": FORM, **record, "open": sorted(_open(record)), "card": model.card.to_dict()}


def deployment_text(model: Model) -> str:
    """The same in Markdown, for a file or a folder of paper."""
    told = deployment(model)
    lines = ["# A release under differential privacy", "", f"**{model.card.promise}**", ""]
    for section, facts in told["deployment"].items():
        lines += [f"## {_title(section)}", "", "| | |", "|---|---|"]
        lines += [f"| {_title(name)} | {_cell(value)} |" for name, value in facts.items()] + [""]
    lines += ["## Questions of an evaluation", "", "| | |", "|---|---|"]
    lines += [f"| {_cell(item['question'])} | {_cell(item['answer'])} |" for item in told["evaluation"]]
    return "\n".join([*lines, ""])


def _record(model: Model) -> dict[str, dict[str, Any]]:
    card, schema = model.card, model.schema
    pure = stated(card.delta) == 0
    return {
        "basic": {
            "name": None,
            "data_curators": None,
            "description": f"{model.title}, learnt by {card.learner.get('name')}, of {schema.label.name!r} "
            f"from {len(schema.features)} features.",
            "intended_use": None,
            "data_product_type": "Machine learning model",
            "data_product_region": None,
            "data_product_sector": None,
            "publication_date": None,
        },
        "dp_variant": {
            "variant_name": "Pure DP" if pure else "Approximate DP",
            "data_domain": "One table; columns, ranges, categories and labels are those of the public schema "
            f"{card.schema}.",
            "unprotected_quantities": _unprotected(schema.max_rows),
        },
        "privacy_loss": {
            "privacy_unit": _unit(card),
            "privacy_unit_details": f"Neighbours: {card.neighbours}.",
            "privacy_parameters": {"epsilon": card.epsilon, "delta": card.delta},
            "privacy_parameters_details": card.promise + "".join(f"; {c}" for c in card.caveats),
        },
        "deployment_model": {
            "model_name": "Central",
            "actors": "The owner holds rows and ledger; whoever gets the model sees the model alone.",
            "release_type": "One release" if len(card.batches) < 2 else "Many releases",
            "data_source_type": "Static" if len(card.batches) < 2 else "Dynamic",
            "access_type": "Non-interactive",
        },
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": None,
            "mechanisms": _mechanisms(card),
            "composition": f"{len(card.questions)} questions, charged to {card.account!r} before a row was "
            f"read; receipt {card.receipt or 'none'}.",
            "post_processing": AFTERWARDS,
            "floating_point": FLOATS,
            "side_channels": SIDES,
            "code_version": f"privet {card.version}",
            "justification": "Proof notes and tests of the library, by mechanism and rule of composition.",
        },
        "administrative": {"evidence_sources": None, "registry_authors": None},
    }


def _evaluation(model: Model) -> list[dict[str, Any]]:
    card = model.card
    asked = (
        ("What does ε (and δ) say?", card.promise),
        ("What is the unit of privacy?", f"{_unit(card)}: {card.neighbours}."),
        ("Which notion of neighbours?", f"{card.neighbours}, also called unbounded."),
        ("Is more of the same people released elsewhere?", None),
        ("Who is trusted?", "The owner, who runs the program, and code in the same process."),
        ("Who could attack?", "Whoever sees the model, whatever else they know, alone or together."),
        ("Is a person's contribution bounded?", f"Yes, by the unit: {_unit(card).lower()}."),
        ("Are bounds and categories public?", "They must be: they come from the schema, not from rows."
         if card.private else "; ".join(card.caveats)),
        ("Was the choice of parameters or learners paid for?", None),
        ("Are the mechanisms correct?", _mechanisms(card)),
        ("Is randomness secure?", GENERATOR if card.private else "; ".join(card.caveats)),
        ("Can floating-point numbers leak?", FLOATS),
        ("Can time or other side channels leak?", SIDES),
        ("Is accuracy good enough, and for every group of people?", None),
        ("How are the rows kept, and who may read them?", None),
        ("Did people agree, and how long are rows kept?", None),
    )  # fmt: skip
    return [{"question": question, "answer": answer} for question, answer in asked]


def _unprotected(max_rows: int | None) -> str:
    bound = "" if max_rows is None else f", and that there are at most {max_rows:,} rows"
    return f"The schema, the parameters of the learner{bound}."


def _unit(card: PrivacyCard) -> str:
    """What one neighbour has more than the other."""
    return "Person" if "person" in card.neighbours else "Row"


def _mechanisms(card: PrivacyCard) -> str:
    laws = {"rho" if asked["epsilon"] is None else "epsilon" for asked in card.questions}
    return " ".join(text for law, text in MECHANISMS if law in laws)


def _open(value: Any, place: str = "") -> Iterator[str]:
    """Places of all that is None."""
    if value is None:
        yield place
    parts = (
        value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    )
    for name, part in parts:
        yield from _open(part, f"{place}.{name}" if place else str(name))


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize().replace("Dp ", "DP ")


def _cell(value: Any) -> str:
    if value is None:
        return "*open: for the owner to say*"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {part}" for name, part in value.items())
    return (
        "".join(c if c.isprintable() else " " for c in str(value)).replace("\\", "\\\\").replace("|", "\\|")
    )

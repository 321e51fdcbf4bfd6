"""Other people's learners on the stand, each run in an environment of its own."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np

from privet.audit import rival_stand
from privet.audit.detectors import fields_verdict, names_verdict, replay_verdict
from privet.audit.statistical import lower_bound
from privet.audit.verdict import BROKEN, NOT_REFUTED, Verdict
from privet.errors import QuestionError

RIVALS = tuple(rival_stand.RIVALS)
EPSILON = 0.5
"""Asked of every rival: its promise must hold at any ε, and little ε needs few runs to refute."""


def examine_rival(name: str, python: str | Path, epsilon: float = EPSILON) -> list[Verdict]:
    """Findings about a rival that is installed where ``python`` runs.

    Parameters
    ----------
    name : str
        One of `RIVALS`.
    python : path
        Interpreter of an environment in which the rival is installed.
    epsilon : float
    """
    if name not in RIVALS:
        raise QuestionError(
            f"{name!r} is no rival that can be examined.", f"take one of {', '.join(RIVALS)}."
        )
    start = time.perf_counter()
    answer = _ask(name, python, epsilon)
    seconds = time.perf_counter() - start
    title = " ".join([name, next(iter(answer["versions"].values()))])
    fields, other = answer["fields"]
    verdicts = [
        fields_verdict(title, fields, other, epsilon, seconds),
        names_verdict(title, fields, other, rival_stand.RARE, epsilon, seconds),
    ]
    if answer["guesses"] is not None:
        verdicts.append(replay_verdict(title, answer["guesses"], epsilon, seconds))
    if answer["votes"] is not None:
        verdicts.append(_votes_verdict(title, answer["votes"], epsilon, seconds))
    return verdicts


def _ask(name: str, python: str | Path, epsilon: float) -> dict[str, Any]:
    command = [str(python), str(Path(rival_stand.__file__)), name, str(epsilon)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except OSError as error:
        raise QuestionError(f"cannot run {str(python)!r} ({error.strerror}).", "give a Python.") from None
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or ["no message"])[-1]
        raise QuestionError(f"{name} could not be examined: {last}", f"install {name} there.") from None
    return dict(json.loads(done.stdout))


def _votes_verdict(title: str, votes: list[list[list[int]]], epsilon: float, seconds: float) -> Verdict:
    """Whether trees told more of a table whose rows shift than disjoint parts would let them."""
    bound = lower_bound(np.array(votes[0]), np.array(votes[1]))
    return Verdict(
        title,
        "rows that shift",
        BROKEN if bound.epsilon > epsilon else NOT_REFUTED,
        epsilon,
        bound.epsilon,
        f"{bound.runs} models of each table",
        confidence=bound.confidence,
        witness={"event": bound.event, "seen": [bound.seen, bound.seen_other], "of": bound.tested},
        seconds=seconds,
    )

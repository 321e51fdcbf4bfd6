"""A table of a service, as an analyst has it: schema, rules, what is left, an invented sample, and jobs."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from privet.client.pending import Pending
from privet.client.wire import RemoteError, Wire
from privet.errors import BudgetError, QuestionError
from privet.learners.elsewhere import Elsewhere
from privet.model import load_model, released
from privet.model.protocol import Model
from privet.notebook import facts_html
from privet.privacy.questions import QUESTIONS as ALL
from privet.privacy.questions.columns import OfColumns
from privet.schema import Schema, Target

QUESTIONS = {
    name: [field.name for field in fields(kind)]  # type: ignore[arg-type]
    for name, kind in ALL.items()
    if issubclass(kind, OfColumns)
}
"""Questions by name, and the names of what they take."""

OVER = ("released", "refused", "failed", "lost", "cancelled")
Show = Callable[[str], None]
BYTES = {"content-type": "application/octet-stream"}


@dataclass(frozen=True)
class RemoteAnswer:
    """An answer: a value for every cell, and the margin within which each lies in 95 of 100 cases."""

    question: str
    cells: list[dict[str, Any]]
    margin: float | None

    @property
    def value(self) -> Any:
        """The only value, where there is one."""
        (cell,) = self.cells
        return cell["answer"]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """A row a cell: names of groups, and the answer."""
        return (tuple(cell.values()) for cell in self.cells)


class RemoteJob:
    """A job of a service."""

    def __init__(self, wire: Wire, told: Mapping[str, Any], show: Show) -> None:
        self._wire, self._told, self._show = wire, dict(told), show

    def __repr__(self) -> str:
        return f"<RemoteJob {self.words}>"

    @property
    def id(self) -> str:
        """Its identity."""
        return str(self._told["id"])

    @property
    def state(self) -> str:
        """Where it is: see the documentation of the service."""
        return str(self._told["state"])

    @property
    def words(self) -> str:
        """Its state in words."""
        told = self._told
        due = told.get("due")
        at = f", answer at {time.strftime('%H:%M:%S', time.localtime(due))}" if due and not self.over else ""
        why = f": {told['told']}" if told.get("told") else ""
        return f"job {told['number']} on {told['table']}, {told['cost']}: {self.state}{at}{why}"

    @property
    def over(self) -> bool:
        """Whether nothing more will come of it."""
        return self.state in OVER

    def refresh(self) -> RemoteJob:
        """Ask where it is now."""
        self._told = self._wire.ask("GET", f"/jobs/{self.id}")
        return self

    def cancel(self) -> RemoteJob:
        """Cancel it: what it cost is given back if it does not run yet."""
        self._told = self._wire.ask("DELETE", f"/jobs/{self.id}")
        return self

    def wait(self) -> RemoteJob:
        """Wait till it is over; refused where it was not released."""
        shown, pause = "", 0.2
        while True:
            if self.words != shown:
                shown = self.words
                self._show(shown)
            if self.over:
                break
            time.sleep(pause)
            pause = min(1.5 * pause, 5.0)
            self.refresh()
        if self.state == "refused":
            raise BudgetError(self._told["told"] or "the job was refused.", "ask the owner.")
        if self.state != "released":
            raise RemoteError(self._told["told"] or f"the job was {self.state}.", "it is never run again.")
        return self

    def model(self) -> Model:
        """Its model."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.privet"
            file.write_bytes(self._wire.fetch(f"/models/{self.id}/file"))
            return load_model(file)

    def answer(self) -> Mapping[str, Any]:
        """Its answer as plain data, of questions and scores."""
        return dict(self._told["answer"] or {})


class RemoteTable(Elsewhere):
    """A table of a service. Give it to ``fit`` in the place of a frame, or ask it questions by their names.

    Examples
    --------
    Of a house that `connect` reached::

        people = house.table("patients")
        model = privet.BoostingClassifier(epsilon=0.5).fit(people)
        people.noisy_count("age > 60", epsilon=0.1).value
    """

    def __init__(self, wire: Wire, name: str, me: str, pending: Pending, show: Show) -> None:
        self._wire, self.name, self._me, self._pending, self._show = wire, name, me, pending, show
        self._told = wire.ask("GET", f"/tables/{name}")
        self._schema = Schema.from_dict(
            {name: value for name, value in self._told["schema"].items() if name != "fingerprint"}
        )

    def __repr__(self) -> str:
        return f"<RemoteTable {self.name!r} of {self._wire.url}: {len(self.schema.features)} features>"

    def _repr_html_(self) -> str:
        facts = [("left", self.left()), *((f.name, f.told) for f in self.schema.features)]
        return facts_html(f"Table {self.name}", [*facts, (self.schema.label.name, self.schema.label.told)])

    def __getattr__(self, name: str) -> Callable[..., RemoteAnswer]:
        if name not in QUESTIONS:
            raise AttributeError(f"a table has no {name!r}: it answers {', '.join(QUESTIONS)}.")
        return partial(self._asked, name)

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *QUESTIONS]

    @property
    def schema(self) -> Schema:
        """The public contract of its rows."""
        return self._schema

    @property
    def rules(self) -> Mapping[str, Any]:
        """What may be asked of it."""
        return dict(self._told["rules"])

    def left(self) -> Mapping[str, float | None]:
        """What may still be spent, by unit."""
        return dict(self._wire.ask("GET", f"/tables/{self.name}")["purse"]["left"])

    def sample(self, n: int = 20) -> pa.Table:
        """Invented rows, drawn from the schema alone: to try programs on."""
        return pa.Table.from_pylist(self._wire.ask("GET", f"/tables/{self.name}/sample", params={"n": n}))

    def plan(self, kind: str, what: str, **params: Any) -> Mapping[str, Any]:
        """What a request would cost and tell; free."""
        body = {"kind": kind, "what": what, "params": params}
        return dict(self._wire.ask("POST", f"/tables/{self.name}/plans", json=body))

    def learn(self, learner: str, parameters: Mapping[str, Any]) -> Model:
        """See `Elsewhere`: what an estimator's ``fit`` calls."""
        return self._done("fit", learner, parameters, RemoteJob.model)

    def score(self, model: Any, metric: str | None = None, *, epsilon: Any) -> Mapping[str, Any]:
        """A score of a model at a price: its value and its margin; see also `privet.private_score`.

        Parameters
        ----------
        model : str, model or fitted estimator
            The id of a model of this service; or a model, which is brought there if it is none of its own.
        metric : str, optional
            By default accuracy of labels, R² of numbers.
        epsilon : number
        """
        metric = metric or ("r2" if isinstance(self.schema.label, Target) else "accuracy")
        id = model if isinstance(model, str) else self._id(released(model))
        return self._done("score", metric, {"model": id, "epsilon": str(epsilon)}, RemoteJob.answer)

    def _id(self, model: Model) -> str:
        for job in self._wire.ask("GET", "/jobs"):
            if model.card.receipt and (job["receipt"] or {}).get("hash") == model.card.receipt:
                return str(job["id"])
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.privet"
            model.save(file)
            told = self._wire.ask("POST", "/models", content=file.read_bytes(), headers=BYTES)
            return str(told["id"])

    def submit(self, kind: str, what: str, params: Mapping[str, Any]) -> RemoteJob:
        """A job, or the one that was submitted for the same request and is not over yet."""
        return self._submitted(kind, what, params)[0]

    def _asked(
        self, what: str, *args: Any, epsilon: Any = None, rho: Any = None, **more: Any
    ) -> RemoteAnswer:
        price = {n: str(v) for n, v in (("epsilon", epsilon), ("rho", rho)) if v is not None}
        names = QUESTIONS[what]
        if len(args) > len(names) or more.keys() - {*names[len(args) :], "delta"}:
            raise QuestionError(
                f"{what} takes {', '.join(names)}, and epsilon or rho.", "name what you give."
            )
        params = {**dict(zip(names, args, strict=False)), **more, **price}
        told = self._done("ask", what, params, RemoteJob.answer)
        return RemoteAnswer(told["question"], told["answers"], told["margin"])

    def _done(
        self, kind: str, what: str, params: Mapping[str, Any], taken: Callable[[RemoteJob], Any]
    ) -> Any:
        job, file = self._submitted(kind, what, params)
        try:
            done = taken(job.wait())
        except (BudgetError, RemoteError):
            if job.over:
                file.unlink(missing_ok=True)
            raise
        # Only now: whatever stops this program before, the answer can be had again.
        file.unlink(missing_ok=True)
        return done

    def _submitted(self, kind: str, what: str, params: Mapping[str, Any]) -> tuple[RemoteJob, Path]:
        body = {"kind": kind, "what": what, "params": dict(params)}
        key, file = self._pending.key(self._wire.url, self._me, self.name, request=body)
        path, headers = f"/tables/{self.name}/jobs", {"idempotency-key": key}
        try:
            told = self._wire.ask("POST", path, json=body, headers=headers)
        except (BudgetError, QuestionError, RemoteError) as error:
            if getattr(error, "status", 403) in range(400, 429):  # it was answered: the key is used up
                file.unlink(missing_ok=True)
            raise
        return RemoteJob(self._wire, told, self._show), file

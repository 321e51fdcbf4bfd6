"""Models: those that jobs released, and those that members brought; read from files, never a pickle."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privet.model import load_model
from privet.model.protocol import Model
from privet.service.house import House, one
from privet.service.refusals import no_such
from privet.service.who import Who, require


@dataclass(frozen=True)
class Entry:
    """A model as it is kept: where its file lies, whose it is, on which table it was fitted, and as what."""

    id: str
    member: str
    table: str | None
    file: Path
    made: int
    told: str = "brought"

    @property
    def title(self) -> str:
        """It, in a line."""
        return self.told if self.table is None else f"{self.told} on {self.table}"


def model_entry(house: House, who: Who, id: str) -> Entry:
    """A model that somebody may look at: one's own; owners and officers may look at all."""
    require(who, "read", "submit", "own", "audit")
    found = released_entry(house, id) or _uploaded(house, id)
    if found is None or (found.member != who.name and not (who.may("own") or who.may("audit"))):
        raise no_such("model", id)
    return found


def model_of(house: House, who: Who, id: str) -> Model:
    """The model itself."""
    return load_model(model_entry(house, who, id).file)


def model_bytes(house: House, who: Who, id: str) -> bytes:
    """Its file: the same bytes whenever they are asked for."""
    return model_entry(house, who, id).file.read_bytes()


def models(house: House, who: Who) -> list[Entry]:
    """All models that somebody may look at, newest first."""
    require(who, "read", "submit", "own", "audit")
    every = int(who.may("own") or who.may("audit"))
    mine = "WHERE member = ? OR 1 = ?"
    rows = house.read(f"SELECT id FROM job {mine} ORDER BY made DESC LIMIT 1000", who.name, every)
    brought = house.read(f"SELECT id FROM upload {mine} ORDER BY made DESC LIMIT 1000", who.name, every)
    found = [*(released_entry(house, id) for (id,) in rows), *(_uploaded(house, id) for (id,) in brought)]
    return sorted((each for each in found if each is not None), key=lambda each: -each.made)


def model_file(house: House, job: str) -> Path:
    """Where the model of a job lies."""
    return house.jobs / job / "model.privet"


def released_entry(house: House, id: str) -> Entry | None:
    """The model of a job, once its clock has run; before, nothing tells that there is one."""
    row = one(
        house.read("SELECT member, listed, outcome, due, state, request, cost FROM job WHERE id = ?", id)
    )
    if row is None or row[4] != "finished" or not row[2] or house.now() < row[3]:
        return None
    file: Any = model_file(house, id)
    if json.loads(row[2])["state"] != "released" or not file.exists():
        return None
    return Entry(id, row[0], row[1], file, row[3], f"{json.loads(row[5])['what']} ({row[6]})")


def _uploaded(house: House, id: str) -> Entry | None:
    row = one(house.read("SELECT member, made FROM upload WHERE id = ?", id))
    return None if row is None else Entry(id, row[0], None, house.uploads / f"{id}.privet", row[1])

"""All studies: what modules of this package declare under the names ``STUDIES`` and ``LEFT_OUT``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from importlib import import_module
from pkgutil import iter_modules

from privet import studies
from privet.errors import QuestionError
from privet.studies.study import Study


def catalogue() -> dict[str, Study]:
    """Every study by its name, papers together, in the order of their items."""
    return {study.name: study for module in _modules() for study in getattr(module, "STUDIES", ())}


def left_out() -> dict[str, str]:
    """Items of papers that cannot be had, and why."""
    found: dict[str, str] = {}
    for module in _modules():
        told: Mapping[str, str] = getattr(module, "LEFT_OUT", {})
        found.update(told)
    return found


def chosen(names: Iterable[str]) -> list[Study]:
    """Studies by name; the name of a paper stands for all its items, no name at all for everything."""
    known, picked = catalogue(), {}
    for name in names or known:
        found = [known[name]] if name in known else [s for s in known.values() if _is_of(s, name)]
        if not found:
            if name in left_out():
                raise QuestionError(f"{name} cannot be run: {left_out()[name]}.", "choose another.")
            near = get_close_matches(name, [*known, *(study.paper_name for study in known.values())], 1)
            hint = f"did you mean {near[0]}?" if near else "`privet study list` shows all."
            raise QuestionError(f"there is no study {name!r}.", hint)
        picked.update({study.name: study for study in found})
    return list(picked.values())


def _is_of(study: Study, name: str) -> bool:
    """Whether a name is that of its paper, or of an item of which it is a part."""
    rest = study.name.removeprefix(name)
    return name == study.paper_name or (
        rest != study.name and (rest.startswith("-") or (len(rest) == 1 and rest.isalpha()))
    )


def _modules() -> list[object]:
    found = sorted(
        module.name for module in iter_modules(studies.__path__) if not module.name.startswith("_")
    )
    return [import_module(f"privet.studies.{name}") for name in found]

"""A page a paper, from results that were kept: pictures, the paper's numbers beside ours, verdicts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from privet.errors import DataError
from privet.studies.claims import Verdict, verdict
from privet.studies.plots import draw, name_of
from privet.studies.results import Result
from privet.studies.study import Study, Value

MOST_CELLS = 160
"""A result of more points is shown by its picture alone."""

TITLES = {
    "friedman-schuster-2010": "Friedman and Schuster 2010",
    "jagannathan-2012": "Jagannathan, Pillaipakkamnatt and Wright 2012",
    "bojarski-2014": "Bojarski, Choromanska, Choromanski and LeCun 2014",
    "fletcher-islam-2015": "Fletcher and Islam 2015",
    "fletcher-islam-2017": "Fletcher and Islam 2017",
    "ours": "Studies of our own",
    "field": "The field",
}


INTRODUCED = {
    "field": """Our learners beside other people's private ones, on the same folds of the same public tables.
What each of them is, what it was told, and which are written down again from papers for this comparison alone
(noise from floats: they protect nobody) is told under [the field](../papers.md#the-field)."""
}
"""What a page says first, where a line for all does not do."""


def result_path(folder: Path, study: Study) -> Path:
    """Where a result is kept."""
    return folder / f"{study.name}.json"


def report(studies: Sequence[Study], left_out: Mapping[str, str], results: Path, pages: Path) -> list[Path]:
    """Write a page for every paper of which a result is kept, and draw all pictures.

    Parameters
    ----------
    studies : sequence of Study
    left_out : mapping
        Items that cannot be had, and why.
    results, pages : Path
        Folders of results, and of what is written.
    """
    written = []
    for paper in dict.fromkeys(study.paper_name for study in studies):
        items = [study for study in studies if study.paper_name == paper]
        kept = kept_results(items, results)
        if kept:
            for study in items:
                if study.name in kept:
                    draw(study, kept[study.name], result_path(results, study).with_suffix(".svg"))
            path = pages / f"{paper}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(page(items, kept, left_out, results, pages), encoding="utf-8")
            written.append(path)
    if not written:
        raise DataError(
            f"no result is kept in {str(results)!r}.", "run a study with --out, or name another folder."
        )
    return written


def kept_results(studies: Sequence[Study], results: Path) -> dict[str, Result]:
    """Results of some studies that lie in a folder, by the study's name."""
    paths = {study.name: result_path(results, study) for study in studies}
    return {name: Result.load(path) for name, path in paths.items() if path.exists()}


def page(
    items: Sequence[Study],
    kept: Mapping[str, Result],
    left_out: Mapping[str, str],
    results: Path,
    pages: Path,
) -> str:
    """The page of a paper: a line an item, then a section for each of which a result is kept."""
    paper = items[0].paper_name
    verdicts = {study.name: verdict(study, kept[study.name]) for study in items if study.name in kept}
    lines = [
        f"# {TITLES.get(paper, paper)}",
        "",
        "Written by `privet study report` from results that are kept; no number is typed by hand. "
        "What was changed, and why, is told in the [overview](../papers.md).",
        "",
        *([INTRODUCED[paper], ""] if paper in INTRODUCED else []),
        "| item | verdict |",
        "|---|---|",
        *(_line_of(study, verdicts.get(study.name)) for study in items),
        *(
            f"| {name.split('/')[1]} | left out: {why} |"
            for name, why in left_out.items()
            if name.startswith(f"{paper}/")
        ),
        "",
    ]
    for study in items:
        if study.name in kept:
            picture = _seen_from(result_path(results, study).with_suffix(".svg"), pages)
            lines += _section(study, kept[study.name], verdicts[study.name], picture)
    return "\n".join(lines).rstrip() + "\n"


def _seen_from(picture: Path, pages: Path) -> str:
    return os.path.relpath(picture, pages).replace(os.sep, "/")


def _line_of(study: Study, found: Verdict | None) -> str:
    item = study.name.split("/")[1]
    if found is None:
        return f"| {item} | no result is kept; run `privet study run {study.name}` |"
    return f"| [{item}](#{_anchor(study)}) | {found.outcome} |"


def _anchor(study: Study) -> str:
    return study.name.split("/")[1]


def _section(study: Study, result: Result, found: Verdict, picture: str) -> list[str]:
    item = study.name.split("/")[1]
    lines = [f"## {item}", "", f"**{study.title}**", "", f"![{study.title}]({picture})", ""]
    lines += [f"**Verdict: {found.outcome}.** {found.sentence[0].upper()}{found.sentence[1:]}", ""]
    if study.note:
        lines += [study.note, ""]
    for claim, judged in found.judged:
        whose = "Beyond the paper: " if claim.ours else ""
        mark = (
            "not measured" if judged is None else f"{'holds' if judged[0] else 'does not hold'}: {judged[1]}"
        )
        lines.append(
            f"- {whose}{claim.text[0].lower() if whose else claim.text[0]}{claim.text[1:]}: *{mark}*"
        )
    lines += [""] if found.judged else []
    if study.view:
        lines += [*study.view.lines(study, result), *(f"- {line}" for line in unmeasured(result)), ""]
    elif len(result.points) <= MOST_CELLS:
        lines += [*_table(study, result), ""]
    return [*lines, _made(study, result), ""]


def unmeasured(result: Result) -> Iterable[str]:
    """What could not be run, and what it printed."""
    for told in result.made.get("not run", {}).values():
        for why in dict.fromkeys(told.values()):
            yield f"Not run here: {', '.join(name for name in told if told[name] == why)}: `{why}`"
    for way, by_text in result.made.get("failed", {}).items():
        yield from (f"{way} failed on {', '.join(data)}: `{text}`" for text, data in by_text.items())


def _table(study: Study, result: Result) -> Iterable[str]:
    """Our means, and in brackets what the paper prints."""
    ways = list(dict.fromkeys(point.way for point in result.points))
    several = len(result.panels()) > 1
    head = [*([""] if several else []), study.quantity or study.x, *(name_of(study, way) for way in ways)]
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * (2 if several else 1)}{'--:|' * len(ways)}"
    by_place = {(point.panel, point.x, point.way): point for point in result.points}
    for panel, x in dict.fromkeys((point.panel, point.x) for point in result.points):
        cells = []
        for way in ways:
            point = by_place.get((panel, x, way))
            paper = study.paper.get((panel, x, way))
            told = "–" if point is None else _number(study, point.mean)
            cells.append(told if paper is None else f"{told} ({_number(study, paper)})")
        place = [*([panel] if several else []), _told(x)]
        yield f"| {' | '.join([*place, *cells])} |"


def _told(x: Value) -> str:
    return x if isinstance(x, str) else f"{x:,.0f}" if x == int(x) else f"{x:g}"


def _number(study: Study, value: float) -> str:
    return f"{100 * value:.1f}" if study.percent else f"{value:.5g}"


def _made(study: Study, result: Result) -> str:
    made = result.made
    folds = f", {made['folds']} folds" if made["folds"] else ""
    if made.get("folds measured", made["folds"]) < made["folds"]:
        folds = f", the first {made['folds measured']} of {made['folds']} folds"
    fewer = made["repeats"] < study.repeats or made["quick"]
    of = f" (the paper: {study.repeats})" if fewer else ""
    versions = ", ".join(f"{name} {number}" for name, number in made["versions"].items())
    commit = f", commit {made['commit']}" if made.get("commit") else ""
    fixed = "".join(f"; {part}: {_told(value)}" for part, value in made.get("fixed", {}).items())
    unit = f"{study.score} in %" if study.percent else study.score
    paper = "; in brackets what the paper prints" if study.paper else ""
    return (
        f"<small>Means of {unit}{paper}. {made['cells']} cells{folds}, "
        f"{made['repeats']} repetition{'s' if made['repeats'] > 1 else ''}{of}, seeds {made['seeds']}"
        f"{fixed}; {made['date']}, {versions}{commit}. `{made['command']}`</small>"
    )

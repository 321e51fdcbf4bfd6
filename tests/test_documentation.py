"""Every public name is documented, and what the documentation shows runs."""

from __future__ import annotations

import os
import re
import runpy
import shlex
import sys
import tomllib
from pathlib import Path

import pytest

import privet
from bench.pages import BEGIN, written
from privet.cli.app import run
from privet.model import MODELS
from privet.model.voting import WAYS
from privet.privacy.questions import QUESTIONS

ROOT = Path(privet.__file__).parents[2]
SOURCE = ROOT / "src" / "privet"
CODE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def page(name):
    """A page with what is put into it when the documentation is built."""
    text = (ROOT / "docs" / name).read_text()
    for key, value in runpy.run_path(str(ROOT / "docs" / "conf.py"))["myst_substitutions"].items():
        text = text.replace("{{ " + key + " }}", value)
    return text


@pytest.fixture(scope="module")
def reference():
    return page("api.md")


@pytest.mark.parametrize("name", privet.__all__)
def test_public_names_are_documented(name, reference):
    assert re.search(rf"\b{name}\b", reference)
    assert name.startswith("__") or getattr(privet, name).__doc__


def test_the_reference_names_every_model_and_way_of_voting(reference):
    for model in MODELS:
        assert f".{model.__name__}\n" in reference
    for name, way in WAYS.items():
        assert f"| `{name}` | of leaves | {way.words} |" in reference


def test_the_reference_names_every_question(reference):
    for name, kind in QUESTIONS.items():
        assert f".{kind.__name__}\n" in reference and f"``{name}``" in reference
        assert "Privacy\n" in kind.__doc__


ELSEWHERE = {"docs/service.md"}
"""Pages whose examples need a service that runs."""
PAGES = ["README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]
EXAMPLES = [name for name in PAGES if CODE.search((ROOT / name).read_text()) and name not in ELSEWHERE]


def test_what_a_page_says_was_measured_is_what_was_kept():
    text = (ROOT / "docs" / "regression.md").read_text()
    assert BEGIN in text and written(text) == text, "run python -m bench.pages"
    assert len(re.findall(r"^\| [\d.]+ \|", text, re.MULTILINE)) >= 6


@pytest.mark.parametrize("page", EXAMPLES)
def test_examples_run_as_they_stand(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = CODE.findall((ROOT / page).read_text())
    assert blocks
    exec(compile("\n".join(blocks), page, "exec"), {"__name__": "example"})


BESIDE = {"onnxruntime", "pyspark"}
"""What pages say how to install where they need it."""


def test_what_examples_import_comes_with_everything():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needs = [*project["dependencies"], *project["optional-dependencies"]["all"]]
    installed = {re.match(r"[\w-]+", need).group().replace("scikit-learn", "sklearn") for need in needs}
    imported = {
        name
        for page in EXAMPLES
        for block in CODE.findall((ROOT / page).read_text())
        for name in re.findall(r"^\s*(?:import|from) (\w+)", block, re.MULTILINE)
    }
    assert {"pandas", "sklearn"} <= imported
    assert imported - sys.stdlib_module_names - {"privet"} <= installed | BESIDE


def test_commands_about_places_run_as_they_stand(tmp_path, monkeypatch, postgres):
    """Each after the Python that stands before it, with the server of the tests for the one of the page."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "places.md").read_text()
    blocks = re.findall(r"^```(python|sh)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    known, n_commands = {"__name__": "example"}, 0
    for language, block in blocks:
        if language == "python":
            exec(compile(block, "places.md", "exec"), known)
            continue
        postgres.write(known["people"].to_pandas(), "people")
        for line in block.replace("\\\n", " ").splitlines():
            command, *arguments = shlex.split(
                line.replace("//reader@host/clinic?", postgres.address()[11:] + "&")
            )
            if command == "export":
                assert arguments == ["PGPASSWORD"] and os.environ["PGPASSWORD"]
                continue
            assert command == "privet" and run(arguments) == 0, line
            n_commands += 1
    assert n_commands > 8


def test_proof_notes_named_in_the_code_exist():
    code = "\n".join(p.read_text() for p in (ROOT / "src").rglob("*.py"))
    notes = set(re.findall(r"docs/proofs/(\w+)\.md", code))
    assert notes >= {"sampling", "mechanisms", "sparse", "composition"}
    text = "\n".join((ROOT / "docs" / "proofs" / f"{note}.md").read_text() for note in notes)
    groups = re.findall(r"Proof: ((?:\*[^*]+\*(?:, )?)+)", re.sub(r"\s+", " ", code))
    named = {title for group in groups for title in re.findall(r"\*([^*]+)\*", group)}
    assert {"Permute-and-flip", "Parallel composition"} <= named
    for title in named:
        assert re.search(rf"^#+ .*{re.escape(title)}", text, re.MULTILINE), title


def test_proof_notes_are_tied_to_code_that_exists():
    """Files and names after ``Code:``, up to the tests or the end of the paragraph."""
    files = {p.relative_to(ROOT / "src" / "privet").as_posix(): p.read_text() for p in SOURCE.rglob("*.py")}
    code, named = "\n".join(files.values()), 0
    for note in (ROOT / "docs" / "proofs").glob("*.md"):
        for paragraph in re.findall(r"Code: (.*?)(?:Tests?[:,]|\n\n|\Z)", note.read_text(), re.DOTALL):
            for name in re.findall(r"`([\w./]+)[^`]*`", paragraph):
                last = re.escape(name.split(".")[-1])
                defined = rf"(?:def|class) {last}\b|^\s*{last}\b.* = |= \"{last}\""
                folder = SOURCE / name.removeprefix("privet.")
                known = name in files or folder.is_dir() or re.search(defined, code, re.MULTILINE)
                assert known, (note.name, name)
                named += 1
    assert named > 60


def test_proof_notes_are_tied_to_tests_that_exist():
    tests = "\n".join(p.read_text() for p in (ROOT / "tests").glob("test_*.py"))
    for note in (ROOT / "docs" / "proofs").glob("*.md"):
        for name in re.findall(r"\btest_\w+", note.read_text()):
            assert f"def {name}(" in tests or (ROOT / "tests" / f"{name}.py").exists(), (note.name, name)

"""Every public name is documented, and what the documentation shows runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import privet

ROOT = Path(privet.__file__).parents[2]
CODE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", privet.__all__)
def test_public_names_are_documented(name):
    assert re.search(rf"\b{name}\b", (ROOT / "docs" / "api.md").read_text())
    assert name.startswith("__") or getattr(privet, name).__doc__


EXAMPLES = (
    "README.md",
    "docs/tutorial.md",
    "docs/understanding.md",
    "docs/asking.md",
    "docs/choosing.md",
    "docs/parties.md",
    "docs/auditing.md",
)


@pytest.mark.parametrize("page", EXAMPLES)
def test_examples_run_as_they_stand(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = CODE.findall((ROOT / page).read_text())
    assert blocks
    exec(compile("\n".join(blocks), page, "exec"), {"__name__": "example"})


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


def test_proof_notes_are_tied_to_tests_that_exist():
    tests = "\n".join(p.read_text() for p in (ROOT / "tests").glob("test_*.py"))
    for note in (ROOT / "docs" / "proofs").glob("*.md"):
        for name in re.findall(r"\btest_\w+", note.read_text()):
            assert f"def {name}(" in tests or (ROOT / "tests" / f"{name}.py").exists(), (note.name, name)

"""Nothing outside the wall counts rows or draws noise: contracts, a lint, and attempts."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import privet
from privet import Ledger, protect
from privet.noise.bits import SecureBits
from privet.privacy import Mechanisms
from privet.privacy.wall import Wall

PACKAGE = Path(privet.__file__).parent
ROOT = PACKAGE.parents[1]

MAY_DRAW = {
    "audit/attack.py": "who is learnt from in an attack",
    "audit/floats.py": "textbook noise, to be convicted",
    "audit/one_run.py": "which canaries are in",
    "audit/persons.py": "invented rows",
    "audit/program_trials.py": "invented rows",
    "audit/programs.py": "invented rows, public structure",
    "audit/published_2017.py": "a published mechanism, to be convicted",
    "audit/rival_stand.py": "made tables and coins, outside the library",
    "audit/ranges.py": "answers that a mechanism might give to an invented table",
    "audit/search.py": "tables to try",
    "audit/transcripts.py": "answers that a mechanism might give to an invented table",
    "noise/bits.py": "secure bits, and the repeatable ones of studies",
    "service/fresh.py": "secrets of tokens, names of jobs",
    "service/sample.py": "invented rows",
    "privacy/chain.py": "salts, so that no hash can be recomputed",
    "keys.py": "names of files while they are written",
    "learners/random_trees.py": "public structure",
    "learners/boosting/fit.py": "public structure",
    "learners/boosting/learner.py": "public structure",
    "learners/boosting/trees.py": "public structure",
    "learners/boosting/merge.py": "made-up rows, by which scores of two models are cut into cells",
    "learners/majority_forest.py": "public structure",
    "learners/forest_plan.py": "public structure",
    "learners/count_forest.py": "public structure",
    "learners/number_forest.py": "public structure",
    "estimators/count_forest.py": "the draws of probabilistic voting",
    "learners/count_structure.py": "public structure",
    "estimators/selection.py": "seeds of public structures",
    "parties/structure.py": "public structure",
    "learners/multiway_trees.py": "public structure",
    "learners/score_estimate.py": "draws of what noise may do to a score",
    "cli/population.py": "invented people",
    "studies/bands.py": "invented rows",
    "studies/bojarski_2014.py": "public data",
    "studies/field.py": "public data",
    "studies/field_rivals/__init__.py": "public data",
    "studies/field_rivals/descent.py": "public data",
    "studies/field_rivals/diprime.py": "public data",
    "studies/field_rivals/installed.py": "public data",
    "studies/field_rivals/lumberjack.py": "public data",
    "studies/field_rivals/privatree.py": "public data",
    "studies/fletcher_islam_2017.py": "public data",
    "studies/concepts.py": "invented points",
    "studies/friedman_schuster_2010.py": "invented points",
    "studies/greedy_shares.py": "public data",
    "studies/jagannathan_2012.py": "public data",
}
GENERATORS = {
    "random",
    "secrets",
    "urandom",
    "getrandbits",
    "default_rng",
    "RandomState",
    "check_random_state",
}


def random_names(source: str) -> set[str]:
    """Names of random generators that a module imports, calls or reaches through an attribute."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            names = {alias.name.split(".")[0] for alias in node.names} | set(module.split("."))
            found |= names & GENERATORS
        elif isinstance(node, ast.Attribute) and node.attr in GENERATORS:
            found.add(node.attr)
        elif isinstance(node, ast.Name) and node.id in GENERATORS - {"random"}:
            found.add(node.id)
    return found


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_named_modules_touch_random_generators(path):
    if str(path.relative_to(PACKAGE)) not in MAY_DRAW:
        assert random_names(path.read_text()) == set()


def test_whoever_may_draw_does():
    idle = {name for name in MAY_DRAW if not random_names((PACKAGE / name).read_text())}
    assert idle == set()


@pytest.mark.parametrize(
    "line",
    [
        "import random",
        "from numpy.random import default_rng",
        "import numpy as np; np.random.laplace()",
        "import os; os.urandom(8)",
        "from secrets import randbits",
        "from sklearn.utils import check_random_state",
    ],
)
def test_the_lint_sees_every_way_to_draw(line):
    assert random_names(line)


SIMULATING = {"score_estimate.py", "merge.py"}
"""What draws answers anew to see how far noise may have moved them, and invented rows."""


def test_learners_draw_no_noise():
    """What learners draw is structure: they may not name a law of noise."""
    for path in (PACKAGE / "learners").rglob("*.py"):
        if path.name in SIMULATING:
            continue
        words = {n.attr for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Attribute)}
        assert not words & {"laplace", "normal", "geometric", "exponential", "standard_normal", "gumbel"}


BEHIND = {"_engine", "_account", "_mechanisms", "_planned", "_instead", "_pay", "_quietly", "_give_back"}
BEHIND |= {"_cancel", "_book", "_bits", "_permute_and_flip", "_exponential"}


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_nobody_reaches_through_the_wall(path):
    """The wall's own attributes are named nowhere else."""
    if path.parent.name == "privacy":
        return
    names = {n.attr for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Attribute)}
    assert not names & BEHIND


def test_the_names_behind_the_wall_are_those_that_there_are():
    own = {name for kind in (Wall, Ledger, Mechanisms) for name in vars(kind)} | {
        *vars(Mechanisms(SecureBits())),
        *vars(Ledger()),
    }
    assert own > BEHIND


def broken_by(tmp_path: Path, file: str, line: str) -> str:
    """What the import contracts say of a copy of the package with one line more."""
    shutil.copytree(PACKAGE, tmp_path / "src" / "privet")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    target = tmp_path / "src" / "privet" / file
    target.write_text(target.read_text() + f"\n{line}\n")
    code = (
        "import sys; sys.path.insert(0, 'src'); from importlinter.cli import lint_imports_command as m; m()"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, "--no-cache"], cwd=tmp_path, capture_output=True, text=True
    )
    assert "Contracts:" in run.stdout, run.stdout + run.stderr
    return run.stdout


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("engines/memory.py", "from privet.privacy import Budget"),
        ("noise/samplers.py", "from privet.privacy import Budget"),
        ("schema.py", "from privet.data import encode"),
        ("kernels/route.py", "from privet.privacy import Budget"),
    ],
)
def test_a_forbidden_import_breaks_the_contract(tmp_path, file, line):
    assert "0 broken" not in broken_by(tmp_path, file, line)


def test_the_package_as_it_is_keeps_the_contracts(tmp_path):
    assert "0 broken" in broken_by(tmp_path, "schema.py", "")


def test_what_a_learner_is_given_shows_no_row(schema, account, people):
    """Every public attribute of protected rows, called without an ε where it can be, is harmless."""
    protected = protect(pd.DataFrame(people)[:489], schema, account)
    protected.noisy_count(epsilon=1)
    for name in dir(protected):
        if name.startswith("_"):
            continue
        value = getattr(protected, name)
        assert not isinstance(value, np.ndarray)
        assert "489" not in repr(value).replace(protected.receipt.hash, "")
    questions = [n for n in dir(protected) if n.startswith(("noisy_", "choose"))]
    assert questions
    for name in questions:
        with pytest.raises((TypeError, privet.QuestionError)):
            getattr(protected, name)()
    assert account.spent().epsilon == 1

"""Who may import what, and what must be right for ε to hold: a breach of either is seen."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from tools import contracts, trust
from tools.source import Module, Package


@pytest.fixture(scope="module")
def rules():
    return contracts.Contracts.read()


@pytest.fixture
def faults_after(rules, tmp_path):
    """The faults of a module once a line has been added to it."""

    def changed(name, line):
        module = rules.package.modules[name]
        path = tmp_path / module.path.name
        path.write_text(f"{module.text}\n\n{line}\n")
        package = Package({**rules.package.modules, name: Module(name, path)})
        return list(replace(rules, package=package).faults_in(package.modules[name]))

    return changed


def test_the_tree_keeps_its_contracts(rules):
    assert list(rules.faults()) == []


LEARNER = "privet.learners.majority_forest"
BREACHES = {
    "rows are encoded by a learner": (LEARNER, "from privet.data import encode"),
    "rows are encoded at the edge": ("privet.estimators.base", "from privet.data import encode"),
    "an engine in a learner": (LEARNER, "from privet.engines import MemoryEngine"),
    "a kernel that counts in a learner": (LEARNER, "from privet.kernels.count import count_leaves"),
    "a sampler in a learner": (LEARNER, "from privet.noise.samplers import discrete_laplace"),
    "a sampler at the edge": ("privet.estimators.base", "from privet.noise.samplers import discrete_laplace"),
    "a sampler in the command line": ("privet.cli.fit", "from privet.noise import samplers"),
    "a sampler in a model": ("privet.model.counts", "import privet.noise.samplers"),
    "a sampler in a study": ("privet.studies.ways", "from privet.noise.samplers import geometric"),
    "a counting kernel in a model": ("privet.model.counts", "from privet.kernels.count import count_leaves"),
    "random bits that a package offers": (LEARNER, "from privet.privacy import Secure"),
    "random bits as an attribute": (LEARNER, "import privet.privacy as wall\n\nwall.Secure()"),
    "a mechanism by way of a package": (LEARNER, "import privet\n\nprivet.privacy.mechanisms.Secure"),
    "a name of another module": ("privet.audit.trial", "from privet.privacy.wall import law_of"),
    "a name of another module, in its own room": (
        "privet.privacy.protected",
        "from privet.privacy.wall import law_of",
    ),
    "a name of another module, as an attribute": (
        "privet.audit.trial",
        "from privet.privacy import wall\n\nwall.law_of",
    ),
    "a name of another module, in quotes": (
        "privet.audit.trial",
        'from privet.privacy import wall\n\ngetattr(wall, "law_of")',
    ),
    "every name": ("privet.model.rules", "from privet.model.tree import *"),
    "the whole library from inside": (LEARNER, "from privet import Ledger"),
    "an import in a function": (LEARNER, "def late():\n    from privet.data.codes import encode"),
    "an import for types alone": (
        LEARNER,
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from privet.data.codes import Codes",
    ),
    "an import written as text": (
        LEARNER,
        'from importlib import import_module\nimport_module("privet.data.codes")',
    ),
    "an import that is worked out": (
        LEARNER,
        'import importlib\nimportlib.import_module("privet" + ".data.codes")',
    ),
    "an import by another name": (
        LEARNER,
        "from importlib import import_module as bring\nbring('privet.data.codes')",
    ),
    "an import handed on": (
        LEARNER,
        "import importlib\nbring = importlib.import_module\nbring('privet.data.codes')",
    ),
    "a name that is resolved": (LEARNER, "import pkgutil\npkgutil.resolve_name('privet.data:encode')"),
    "a relative import": (LEARNER, "from ..data.codes import encode"),
    "a relative import of a module": (LEARNER, "from ..noise import samplers"),
    "a package that offers what is not its own": (
        "privet.model",
        'from privet.schema import Schema\n__all__ += ["Schema"]',
    ),
    "setattr on a module": (
        "privet.audit.trial",
        'from privet.privacy import wall\nsetattr(wall, "KINDS", None)',
    ),
    "setattr on what is handed in": (
        "privet.audit.trial",
        "def change(it, name):\n    setattr(it, name, None)",
    ),
    "a function of a module": ("privet.audit.trial", "from privet.privacy import wall\nwall.KINDS = None"),
    "a method of a class": ("privet.audit.trial", "from privet.privacy import Ledger\nLedger.reserve = None"),
    "a method that is deleted": (
        "privet.audit.trial",
        "from privet.privacy import Ledger\ndel Ledger.reserve",
    ),
    "names of a module, as a dictionary": (
        "privet.audit.trial",
        'from privet.privacy import wall\nvars(wall)["KINDS"] = None',
    ),
    "a table of another module": (
        "privet.audit.trial",
        "from privet.schema import Schema\nSchema['table'] = None",
    ),
    "all modules": ("privet.audit.trial", "import sys\nsys.modules['privet.privacy.wall']"),
    "a tool of tests": ("privet.audit.trial", "from unittest.mock import patch"),
}


@pytest.mark.parametrize("breach", BREACHES)
def test_a_breach_is_seen(breach, rules, faults_after):
    name, line = BREACHES[breach]
    assert faults_after(name, "NOTHING_OF_NOTE = 1") == []
    last = len(rules.package.modules[name].text.splitlines()) + 1
    found = faults_after(name, line)
    assert found
    assert all(fault.split(":")[1] == "1" or int(fault.split(":")[1]) > last for fault in found)


def test_a_name_with_an_underscore_stays_at_home(rules, faults_after):
    modules = rules.package.modules
    room = [name for name in modules if name.startswith("privet.model.")]
    home, name = next((m, n) for m in room for n in sorted(modules[m].defined) if n.startswith("_"))
    [fault] = faults_after(next(m for m in room if m != home), f"from {home} import {name}")
    assert f"{name} is private" in fault


def test_stars_are_told_from_names_that_moved(faults_after):
    [fault] = faults_after("privet.model.rules", "from privet.model.tree import *")
    assert "not written out" in fault


@pytest.mark.parametrize(
    "line",
    [
        "from privet.privacy import Protected\n\ndef learn(protected: Protected):\n    protected.it = 1",
        "class Plain:\n    def __init__(self):\n        object.__setattr__(self, 'x', 1)\n        self.y = 2",
        "from privet.schema import Schema\n\nschema = Schema.load",
        "from privet.model import effects\n\neffects.effects",
    ],
)
def test_what_is_allowed_is_no_breach(line, faults_after):
    assert faults_after(LEARNER, line) == []


FOUND = "def found(name):\n    return importlib.import_module({})"


@pytest.mark.parametrize("name", ['f"privet.studies.{name}"', '"privet.studies." + name + "_2"'])
def test_what_is_discovering_may_work_out_names_of_its_own_package(name, faults_after):
    line = "import importlib\n" + FOUND.format(name)
    assert faults_after("privet.studies.catalogue", line) == []
    for elsewhere in (LEARNER, "privet.studies.ways", "privet.studies"):
        [fault] = faults_after(elsewhere, line)
        assert "is worked out" in fault


@pytest.mark.parametrize(
    "line",
    [
        "import importlib\n" + FOUND.format(name)
        for name in (
            "name",
            'f"{name}.studies"',
            'f"privet.{name}"',
            'f"privet.studies{name}"',
            'f"privet.privacy.{name}"',
            'f".{name}"',
            '"privet.studies.{}".replace("studies", name)',
            'name + "privet.studies."',
            'name or "privet.studies."',
        )
    ]
    + [
        'def found(name):\n    return __import__(f"privet.studies.{name}")',
        'import runpy\n\ndef found(name):\n    return runpy.run_module(f"privet.studies.{name}")',
    ],
)
def test_what_is_discovering_stays_in_its_own_package(line, faults_after):
    [fault] = faults_after("privet.studies.catalogue", line)
    assert "is worked out" in fault


def test_the_whole_package_is_no_package_to_discover_in(rules, tmp_path):
    path = tmp_path / "schema.py"
    path.write_text("import importlib\n" + FOUND.format('f"privet.{name}"'))
    module = Module("privet.schema", path)
    package = Package({**rules.package.modules, module.name: module})
    told = replace(rules, package=package, discovering=["privet.schema"])
    [fault] = told.faults_in(module)
    assert "is worked out" in fault


def test_a_room_must_be_in_the_table(rules, tmp_path):
    path = tmp_path / "attic.py"
    path.write_text("")
    package = Package({**rules.package.modules, "privet.attic": Module("privet.attic", path)})
    told = replace(rules, package=package)
    assert any("is in no room" in fault for fault in told.faults())


def test_what_is_open_to_the_whole_package_is_open_to_its_own_file_alone(rules):
    closed = {"privet.privacy.budget": ["privet"]}
    told = replace(rules, closed=closed)
    modules = rules.package.modules
    assert list(told.faults_in(modules["privet"])) == []
    assert list(told.faults_in(modules["privet.privacy.wall"]))


def test_the_table_names_modules_that_exist(rules):
    told = replace(rules, everywhere=["privet.cellar"])
    assert any("there is no privet.cellar" in fault for fault in told.faults())


def test_the_check_fails_by_its_exit_code(rules, tmp_path, capsys):
    shutil.copytree(
        contracts.SOURCE / "privet", tmp_path / "privet", ignore=shutil.ignore_patterns("__pycache__")
    )
    assert contracts.main(["--source", str(tmp_path)]) == 0
    with (tmp_path / "privet" / "learners" / "majority_forest.py").open("a") as file:
        file.write("\nfrom privet.data import encode\n")
    assert contracts.main(["--source", str(tmp_path)]) == 1
    assert "majority_forest.py" in capsys.readouterr().err


SMALL = {
    "__init__.py": "from small.far import everything\n",
    "far.py": "everything = 1\n",
    "wall/__init__.py": '"""Names."""\n\nfrom small.wall.door import open\n',
    "wall/door.py": '''"""What opens.

More.
"""

import json
from typing import TYPE_CHECKING

import numpy

if TYPE_CHECKING:
    from small import types


# Not code.
def open():
    """Not code either."""
    from small import late

    return late, """this
    is"""
''',
    "late.py": "x = 1\n",
    "types.py": "x = 1\n",
}
TABLE = """
start = "small.wall.door"
libraries = ["numpy"]
[lines]
all = {all}
"small.wall" = 10
[trusted]
"small.late" = "being late"
"small.wall" = "names"
{more}
"""


@pytest.fixture
def small(tmp_path):
    for name, text in SMALL.items():
        path = tmp_path / "small" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def check(*options, total=11, more='"small.wall.door" = "opening"'):
        table = tmp_path / "trust.toml"
        if "--kept" not in options:
            table.write_text(TABLE.format(all=total, more=more))
        rest = [option for option in options if option != "--kept"]
        return trust.main(["--source", str(tmp_path), "--table", str(table), *rest])

    return check


def test_the_tree_is_trusted_with_what_the_table_says():
    assert trust.main(["--quiet"]) == 0


def test_trust_follows_what_runs(small, capsys):
    assert small() == 0
    told = capsys.readouterr().out
    assert "small.late" in told and "being late" in told and "numpy" in told
    assert "small.far" not in told and "small.types" not in told and "json" not in told


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"total": 10}, "11 lines of code, 10 allowed"),
        ({"total": 12}, "lower the number"),
        ({"more": ""}, "small.wall.door has come to be trusted"),
        ({"more": '"small.wall.door" = ""\n"small.types" = ""'}, "small.types is not trusted any more"),
    ],
)
def test_trust_that_grew_or_shrank_unsaid_is_a_fault(small, capsys, change, word):
    assert small(**change) == 1
    assert word in capsys.readouterr().err


def test_a_library_that_comes_to_be_trusted_is_a_fault(small, tmp_path, capsys):
    (tmp_path / "small" / "late.py").write_text("import scipy.stats\n")
    assert small() == 1
    assert "numpy, scipy" in capsys.readouterr().err


def test_raising_writes_what_there_is(small, capsys):
    assert small("--raise", total=3, more="") == 0
    assert small("--kept") == 0
    told = capsys.readouterr().out
    assert "being late" in told and "What opens." in told and "11 of 11" in told

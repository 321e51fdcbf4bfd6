"""What is added touches few files: done on copies of the package in which only these differ."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import privet

SOURCE = Path(privet.__file__).parent

BEGINNING = """
import numpy as np, pandas as pd
from fractions import Fraction
from privet import *
from privet.privacy import Cost, Repeatable
schema = Schema([Continuous("x", 0, 1)], Label("y", [0, 1]))
frame = pd.DataFrame({"x": np.linspace(0, 1, 400), "y": [0, 1] * 200})
people = Ledger().create("people", Budget(10, "1e-6"))
rows = protect(frame, schema, people, mechanisms=Repeatable(1))
"""

QUESTION = '''

@dataclass(frozen=True)
class Pairs(Counts):
    """Rows by feature and label, each row counted for every feature."""

    method = "noisy_pairs"
    text = "rows by feature and label"

    def sizes(self, schema):
        return (len(schema.features),)

    def tally(self, batch, terms):
        counts = np.bincount(batch.labels, minlength=terms.schema.n_labels)
        return np.tile(counts, (len(terms.schema.features), 1))
'''

ASKED = """
from privet.privacy.questions.boosting import Pairs
answer = rows.noisy_pairs(epsilon=1)
assert abs(answer.values - 200).max() < 30 and answer.parameter == 1
assert rows.asked[-1].noise_sd == Pairs.plan(Cost.pure(1), 1).noise_sd
assert people.ledger.history("people")[-1]["charges"][0]["question"] == "rows by feature and label"
"""

CHOSEN = """
from privet.cli.main import main
import contextlib, io
forest = MajorityForestClassifier(n_trees=3, max_depth=1, schema=schema, thrift=2)
assert forest.get_params()["thrift"] == 2
with contextlib.redirect_stdout(io.StringIO()) as out:
    assert main(["fit", "--help"]) == 0
assert "--thrift" in out.getvalue()
try:
    forest.set_params(thrift=0).fit(frame[["x"]], frame["y"])
except QuestionError as error:
    assert str(error).startswith("thrift must be a whole number of at least 1")
else:
    raise AssertionError
"""

EVEN = """

def twice_geometric(scale, size, bits):
    return 2 * discrete_laplace(scale, size, bits)


ADDITIVE["even"] = Additive(
    lambda l1, _, epsilon: 2 * l1 / epsilon,
    lambda scale: check_rate(1 / scale),
    twice_geometric,
    lambda scale: 4 * _laplace_variance(scale),
    lambda scale, rest: 2 * _laplace_margin(scale, rest),
)
"""

DRAWN = """
answer = rows.noisy_label_rows(epsilon=1)
assert answer.law == "even" and (answer.values % 2 == 0).all() and answer.margin() % 2 == 0
assert answer.variance > 4
"""

ENGINE = '''

from privet.engines.memory import MemoryEngine


class Backwards(MemoryEngine):
    """Rows that are read from the last batch on."""

    def _read(self):
        return reversed(list(super()._read()))
'''

READ = """
from privet.engines.backwards import Backwards
assert type(rows._engine) is Backwards
assert abs(rows.noisy_label_rows(epsilon=1).values - 200).max() < 30
"""

ADDED = {
    "a question": ({"privacy/questions/boosting.py": (None, QUESTION)}, ASKED),
    "a parameter": (
        {
            "learners/majority_forest.py": (
                "    random_state: Any = seed()\n",
                "    random_state: Any = seed()\n    thrift: int = whole(1, 1, help='Thrift.')\n",
            )
        },
        CHOSEN,
    ),
    "a law of noise": (
        {
            "noise/samplers.py": (None, EVEN),
            "privacy/laws.py": ("else (LAPLACE, cost.epsilon)", 'else ("even", cost.epsilon)'),
        },
        DRAWN,
    ),
    "an engine": (
        {
            "engines/backwards.py": (None, ENGINE),
            "engines/opened.py": (
                "from privet.engines.memory import MemoryEngine\n",
                "from privet.engines.backwards import Backwards as MemoryEngine\n",
            ),
        },
        READ,
    ),
}


@pytest.mark.parametrize("what", ADDED)
def test_what_is_added_touches_these_files_alone(what, tmp_path):
    changes, trial = ADDED[what]
    copy = tmp_path / "src" / "privet"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for name, (old, new) in changes.items():
        path = copy / name
        text = path.read_text() if path.exists() else ""
        assert old is None or old in text
        path.write_text(text + new if old is None else text.replace(old, new))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src"), "COLUMNS": "300"}
    run = [sys.executable, "-c", BEGINNING + trial]
    done = subprocess.run(run, capture_output=True, encoding="utf-8", env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr

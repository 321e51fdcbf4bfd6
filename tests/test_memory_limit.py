"""Tables that do not fit into the memory that a process may have are learnt from all the same."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

WIDTH, ROWS, PIECE = 12, 2_500_000, 1 << 17
TABLE_MB = ROWS * WIDTH * 8 / 1e6
MORE_MB = 110
"""What a process may hold beside what it holds before it begins: less than the table takes."""

PROGRAM = textwrap.dedent(
    """
    import json, resource, sys
    import numba
    import numpy as np
    import pyarrow.parquet as pa_parquet
    from privet import Budget, Continuous, Label, Ledger, Schema, protect
    from privet.engines import spill
    from privet.estimators import CLASSIFIERS
    from privet.errors import PrivetError

    path, learner, held = sys.argv[1:4]
    width, more = map(int, sys.argv[4:])
    numba.set_num_threads(1)
    spill.ROOM = 0
    schema = Schema([Continuous(f"x{j}", 0, 1) for j in range(width)], Label("y", [0, 1]))

    def fit(source):
        account = Ledger().create("rows", Budget(10))
        return CLASSIFIERS[learner](epsilon=2).fit(protect(source, schema, account))

    small = path + ".small"
    few = pa_parquet.ParquetFile(path).read_row_group(0).slice(0, 1000)
    pa_parquet.write_table(few, small + ".parquet")
    fit(small + ".parquet")
    status = open("/proc/self/status").read().splitlines()
    now = next(int(line.split()[1]) for line in status if line.startswith("VmData")) * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (now + more * 10**6,) * 2)
    try:
        source = pa_parquet.read_table(path) if held == "held" else path
        print(json.dumps(bool(fit(source).privacy_card_.private)))
    except (MemoryError, PrivetError) as error:
        print(json.dumps(type(error).__name__))
    """
)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "large.parquet"
    random = np.random.default_rng(0)
    kinds = pa.schema([*((f"x{j}", pa.float64()) for j in range(WIDTH)), ("y", pa.int64())])
    with pa_parquet.ParquetWriter(path, kinds, compression="none", use_dictionary=False) as writer:
        for _ in range(0, ROWS, PIECE):
            numbers = random.random((WIDTH, PIECE))
            columns = {f"x{j}": numbers[j] for j in range(WIDTH)}
            writer.write_table(pa.table({**columns, "y": (numbers[0] > 0.5).astype(int)}, kinds))
    return path


def told(table, learner, held):
    arguments = [str(table), learner, held, str(WIDTH), str(MORE_MB)]
    run = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_a_table_that_is_larger_than_what_may_be_held_is_learnt_from(table):
    assert MORE_MB < TABLE_MB
    assert told(table, "boosting", "read on") is True


def test_the_same_table_does_not_come_into_memory_under_that_limit(table):
    assert told(table, "majority-forest", "held") != True  # noqa: E712 - it names an error

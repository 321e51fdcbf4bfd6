"""A Spark of our own for tests, with executors that are processes of their own."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from tests.servers.java import java_home

ROOT = Path(__file__).parents[2]

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "3",
    "spark.default.parallelism": "3",
    "spark.executor.memory": "512m",
    "spark.driver.memory": "768m",
    "spark.speculation": "true",
    "spark.python.worker.reuse": "true",
    "spark.log.level": "OFF",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "600",
}


@contextmanager
def started(master: str = "local-cluster[2,1,512]", folder: Path | None = None) -> Iterator[Any]:
    """A session; Spark's own files go into a folder."""
    from pyspark.sql import SparkSession

    with java_home() as home, _spark_home() as spark:
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
        there = {
            "JAVA_HOME": str(home),
            "SPARK_HOME": str(spark),
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": path,
        }
        there |= {"SPARK_LOCAL_IP": "127.0.0.1"}
        if folder is not None:
            there |= {"SPARK_LOCAL_DIRS": str(folder)}
        with mock.patch.dict(os.environ, there):
            builder = SparkSession.builder.master(master).appName("privet's tests")
            for name, value in SETTINGS.items():
                builder = builder.config(name, value)
            if folder is not None:
                builder = builder.config("spark.sql.warehouse.dir", str(folder / "tables"))
            builder = builder.config("spark.executorEnv.PYTHONPATH", path)
            session = builder.config("spark.executorEnv.NUMBA_NUM_THREADS", "1").getOrCreate()
            try:
                yield session
            finally:
                session.stop()


@contextmanager
def _spark_home() -> Iterator[Path]:
    """The package's files under another folder: executors write beside them, and may not."""
    import pyspark

    with tempfile.TemporaryDirectory(prefix="spark-", ignore_cleanup_errors=True) as folder:
        for part in Path(pyspark.__file__).parent.iterdir():
            if part.name != "work":
                (Path(folder) / part.name).symlink_to(part)
        yield Path(folder)

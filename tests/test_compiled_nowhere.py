"""Where nothing may be written, kernels are compiled by each process, and kept nowhere."""

from __future__ import annotations

import subprocess
import sys

CODE = """
from numba.core import caching
class Nowhere:
    @classmethod
    def from_function(cls, *_): return None
caching.CacheImpl._locator_classes = [Nowhere]
import numpy as np, privet
from privet.kernels.count import count_leaves
from privet.data.lines import _walk
assert not privet.compiled.OPTIONS["cache"]
print("imported")
"""


def test_a_place_without_a_cache_is_no_fault():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.stdout == "imported\n", done.stderr

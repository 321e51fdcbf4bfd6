"""Time a call: the best of several shows the code, the median the machine."""

import time
from collections.abc import Callable
from statistics import median
from typing import Any


def seconds(call: Callable[[], Any], repeats: int) -> list[float]:
    """Wall-clock times of a call, one after the other."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return times


def best_and_median(times: list[float]) -> dict[str, float]:
    return {"best": min(times), "median": median(times)}

"""How kernels are compiled, and how threads share their work.

What is compiled may be seen: it takes seconds and leaves files. So it must follow from the schema and the
structure alone, never from the number of rows. A kernel has therefore one form for few rows and for many,
compiled for contiguous arrays, and is told from where to where to work: threads call it side by side, each
with a range of its own. No slice of rows is handed over, since its layout could be another.

Arrays are copied in loops there: ``a[:] = b`` takes a second to compile, for its error message.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numba
import numpy as np


def _kept() -> bool:
    """Whether what is compiled can be kept on disk; where nothing may be written each process compiles."""
    try:
        numba.njit(cache=True)(_kept)
    except RuntimeError:
        return False
    return True


OPTIONS: dict[str, Any] = {"cache": _kept(), "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

Room = Callable[[], tuple[np.ndarray, ...]]

quiet = np.errstate(all="ignore")
"""Decorates what does arithmetic on rows with numpy: a warning about an odd value would tell of a row."""


def compiled(function: Callable[..., Any]) -> Any:
    """A kernel that makes no arrays. It holds no lock, so that threads run it side by side, and never raises.

    Nor does it count who holds the arrays that it is lent, as numba does by default: where a small function
    is called for every row, counting takes several times as long as what it does.
    """
    njit: Any = numba.njit  # numba does not publish the type of the option
    return njit(function, _nrt=False, **OPTIONS)


def part(function: Callable[..., Any]) -> Any:
    """A part of kernels, which Python itself never calls: that saves the time to compile how it would.

    It may not return an array, whose holders are not counted here.
    """
    njit: Any = numba.njit
    return njit(function, _nrt=False, no_cpython_wrapper=True, **OPTIONS)


def compiled_with_room(function: Callable[..., Any]) -> Any:
    """A kernel that makes arrays of its own to work in."""
    return numba.njit(function, **OPTIONS)


def run(kernel: Callable[..., Any], size: int, grain: int, *arguments: Any, room: Room = tuple) -> None:
    """Call ``kernel(first, last, *arguments)`` for ranges that together are 0 … size, each in its own thread.

    ``grain`` is the least for which another thread is worth waking. What the kernel writes for one range, it
    must not read or write for another. ``room`` makes arrays for a thread to work in, which stand before the
    arguments: a kernel that makes its own takes half a second longer to compile.
    """
    given = [_contiguous(argument) for argument in arguments]
    _share(lambda first, last: kernel(first, last, *room(), *given), size, grain)


def total(
    kernel: Callable[..., Any],
    size: int,
    grain: int,
    shape: tuple[int, ...],
    *arguments: Any,
    room: Room = tuple,
) -> np.ndarray:
    """Sum over such ranges of what ``kernel(first, last, sums, *arguments)`` adds to ``sums``, int64."""
    given = [_contiguous(argument) for argument in arguments]

    def part(first: int, last: int) -> np.ndarray:
        sums = np.zeros(shape, np.int64)
        kernel(first, last, sums, *room(), *given)
        return sums

    sums, *others = _share(part, size, grain)
    for other in others:
        sums += other
    return sums


def _contiguous(argument: Any) -> Any:
    """The argument itself, but for an array that is not contiguous; those written into always are."""
    return np.ascontiguousarray(argument) if isinstance(argument, np.ndarray) else argument


def _share(work: Callable[[int, int], Any], size: int, grain: int) -> list[Any]:
    parts = max(1, min(numba.get_num_threads(), size // max(grain, 1)))
    ends = [size * part // parts for part in range(parts + 1)]
    others = [_threads(os.getpid()).submit(work, *ends[part : part + 2]) for part in range(1, parts)]
    return [work(0, ends[1]), *(other.result() for other in others)]


@lru_cache(maxsize=1)
def _threads(process: int) -> ThreadPoolExecutor:
    """Threads of this process: none of them lives on in one that is forked from it."""
    return ThreadPoolExecutor(os.cpu_count(), "privet")

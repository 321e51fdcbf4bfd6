"""Work that goes ahead of who asks for it: the order of what comes out is that of what went in."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numba

Item = TypeVar("Item")
Made = TypeVar("Made")

MOST = 8
"""Threads at most: each of them holds some rows."""


def in_order(work: Callable[[Item], Made], items: Iterable[Item]) -> Iterator[Made]:
    """What becomes of each item, made by several threads, of which few are ahead of who asks."""
    n_threads = min(numba.get_num_threads(), MOST)
    with ThreadPoolExecutor(n_threads, "privet-read", numba.set_num_threads, (1,)) as pool:
        waiting: deque[Future[Made]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def ahead(items: Iterator[Item]) -> Iterator[Item]:
    """The same items, each made while the one before it is worked on."""
    nothing: list[Item] = []

    def following() -> list[Item]:
        return [item] if (item := next(items, None)) is not None else nothing

    with ThreadPoolExecutor(1, "privet-ahead") as pool:
        coming = pool.submit(following)
        while found := coming.result():
            coming = pool.submit(following)
            yield found[0]

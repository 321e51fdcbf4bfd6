"""Reading rows without a word about them: no warning passes, and no error keeps what went wrong."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from privet.errors import DataError, PrivetError

Result = TypeVar("Result")

_lock = threading.Lock()
_readers: list[warnings.catch_warnings[None]] = []


@contextmanager
def discreet() -> Iterator[None]:
    """Let no warning pass while rows are read: which of them appear depends on values.

    Filters of warnings belong to the whole process. The first of several readers at a time therefore
    puts them aside and the last one puts them back, so that no reader restores what another has set.
    """
    with np.errstate(all="ignore"):
        _enter()
        try:
            yield
        finally:
            _leave()


def _enter() -> None:
    with _lock:
        _readers.append(warnings.catch_warnings())
        if len(_readers) == 1:
            _readers[0].__enter__()
            warnings.simplefilter("ignore")


def _leave() -> None:
    with _lock:
        if len(_readers) == 1:
            _readers[0].__exit__(None, None, None)
        # The first stays first: it knows the filters to put back.
        _readers.pop()


def _forget_others() -> None:
    """A forked child has none of the threads that may have been reading, and could wait for them for ever."""
    global _lock
    _lock = threading.Lock()
    if _readers:
        _readers[0].__exit__(None, None, None)
        _readers.clear()


os.register_at_fork(after_in_child=_forget_others)


def attempt(call: Callable[[], Any], kinds: tuple[type[Exception], ...], error: PrivetError) -> Any:
    """Call, or raise an error that keeps nothing of what went wrong, not even as its context."""
    try:
        return call()
    except kinds:
        pass
    raise error


def read_discreetly(
    call: Callable[[], Result], failure: PrivetError | None = None, revealing: bool = False
) -> Result:
    """Call what reads rows; only errors of ours come out, without a context or frames that hold rows.

    Any other error becomes ``failure``. Where the rows are nobody's, as in studies and tests, ``revealing``
    lets it keep what went wrong.
    """
    try:
        with discreet():
            return call()
    except PrivetError as error:
        refused = error.with_traceback(None)
        refused.__context__ = refused.__cause__ = None
        refused.__notes__ = []
    except Exception as error:
        refused = failure or DataError(
            "the table could not be read through its schema.",
            "give columns of numbers, text or truth values; convert dates and other types.",
        )
        refused.__cause__ = error if revealing else None
    raise refused

"""Codes cut into batches of one size, and joined again; which rows of a batch are drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from privet.data import Codes
from privet.engines.protocol import Batch, Draws

BATCH = 1 << 18


def split(codes: Codes) -> list[Batch]:
    """Batches of codes that are all in memory; one without rows where there are none."""
    assert codes.labels is not None
    starts = range(0, codes.n_rows, BATCH) or [0]  # some of the rows may be none of them
    ends = [min(first + BATCH, codes.n_rows) for first in starts]
    return [batch(cut(codes, i, end), i) for i, end in zip(starts, ends, strict=True)]


def batch(codes: Codes, first: int, kept: dict[str, Any] | None = None) -> Batch:
    """A batch of rows that have their keys, or this identity and the ones behind it."""
    assert codes.labels is not None
    rows = np.arange(first, first + codes.n_rows) if codes.keys is None else codes.keys
    return Batch(codes.features, codes.labels, rows, {} if kept is None else kept, codes.texts)


def cut(codes: Codes, first: int, end: int) -> Codes:
    """Some rows of some codes."""
    assert codes.labels is not None
    texts = {j: values[first:end] for j, values in codes.texts.items()}
    # Contiguous each, as they would be if they were alone: kernels are compiled for one layout.
    keys = None if codes.keys is None else codes.keys[first:end]
    persons = None if codes.persons is None else codes.persons[first:end]
    features = np.ascontiguousarray(codes.features[:, first:end])
    return Codes(features, codes.labels[first:end], texts, persons, keys)


def drawn(batch: Batch, draws: Draws, bound: int, taken: range) -> Codes:
    """Rows of a batch whose draw is among some."""
    own = draws.below(bound, batch.rows)
    kept = (own >= taken.start) & (own < taken.stop)
    texts = {j: values[kept] for j, values in (batch.texts or {}).items()}
    keys = batch.rows[kept] if batch.rows.dtype == np.uint64 else None
    return Codes(batch.features[:, kept], batch.labels[kept], texts, keys=keys)


def joined(parts: Sequence[Codes]) -> Codes:
    """Rows of several codes, one after the other."""
    labels = np.concatenate([part.labels for part in parts if part.labels is not None])
    texts = {j: np.concatenate([part.texts[j] for part in parts]) for j in parts[0].texts}
    keys = [part.keys for part in parts if part.keys is not None]
    persons = [part.persons for part in parts if part.persons is not None]
    features = np.concatenate([part.features for part in parts], axis=1)
    return Codes(features, labels, texts, _whole(persons), _whole(keys))


def _whole(parts: Sequence[np.ndarray]) -> np.ndarray | None:
    return np.concatenate(parts) if parts else None


def regrouped(parts: Iterable[Codes]) -> Iterator[Codes]:
    """The same rows in codes of the size of a batch, but for the last."""
    held: list[Codes] = []
    for part in parts:
        held.append(part)
        n_rows = sum(each.n_rows for each in held)
        if n_rows >= BATCH:
            whole = joined(held)
            yield from (cut(whole, i, i + BATCH) for i in range(0, n_rows - BATCH + 1, BATCH))
            held = [cut(whole, n_rows - n_rows % BATCH, n_rows)]
    if held and (whole := joined(held)).n_rows:
        yield whole

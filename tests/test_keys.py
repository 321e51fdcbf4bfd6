"""A row's key is a function of one value, and what a row draws is a function of its key."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from privet.data.keys import row_keys
from privet.errors import DataError
from privet.noise.bits import RowDraws, siphash

KEY = bytes(range(16))


def objects(*values):
    return np.array(values, object)


@pytest.mark.parametrize(
    "column",
    [
        np.array([0, 17, 5]),
        np.array([0, 17, 5], np.uint8),
        np.array([0.0, 17.0, 5.0]),
        pa.chunked_array([pa.array([0, 17], pa.int64()), pa.array([5], pa.int64())]),
        pa.chunked_array([pa.array(["0", "17", "5"])]),
        pa.chunked_array([pa.array(["0", "17", "5"]).dictionary_encode()]),
        pa.chunked_array([pa.array([Decimal("0.00"), Decimal("17.00"), Decimal("5.00")])]),
        objects("0", 17, 5.0),
    ],
    ids=str,
)
def test_a_key_is_the_same_whatever_type_it_comes_in(column):
    assert row_keys(column, "id").tolist() == [0, 17, 5]


@pytest.mark.parametrize("odd", [-1, 2**63, 2**64 - 1])
def test_a_key_does_not_depend_on_other_rows(odd):
    alone = row_keys(np.array([7], np.int64), "id")[0]
    column = np.array([7, odd], np.uint64 if odd > 0 else np.int64)
    beside = row_keys(column, "id")
    assert beside[0] == alone and beside[1] == row_keys(objects(str(odd)), "id")[0] >= 2**63


def test_texts_that_are_no_numbers_have_keys_apart_from_numbers():
    keys = row_keys(objects("a", "017", "1e3", " 17", "١٧", None, "", "9" * 30), "id")
    assert len(set(keys.tolist())) == 7 and (keys >= 2**63).all() and keys[5] == keys[6]


def test_a_key_that_holds_values_is_refused():
    with pytest.raises(DataError, match="'id' holds no keys"):
        row_keys(objects([1], 2), "id")


def test_the_hash_is_siphash():
    """The authors' test vector for the eight bytes 0 … 7 under the key 0 … 15."""
    word = np.array([0x0706050403020100] * 2, np.uint64)
    assert siphash(KEY, word).tolist() == [0x93F5F5799A932462] * 2


def test_a_draw_is_that_of_its_key_in_whatever_company():
    draws, rows = RowDraws(KEY), np.arange(50, dtype=np.uint64) ** np.uint64(9)
    together = draws.below(10, rows)
    assert together.tolist() == [draws.below(10, rows[i : i + 1])[0] for i in range(50)]
    assert (together != RowDraws(KEY[::-1]).below(10, rows)).any()


def test_keys_draw_evenly_and_apart_from_places():
    rows = np.arange(20_000)
    drawn = RowDraws(KEY).below(3, rows.astype(np.uint64))
    assert np.abs(np.bincount(drawn) - 20_000 / 3).max() < 5 * np.sqrt(20_000 * 2 / 9)
    assert 0.6 < (drawn != RowDraws(KEY).below(3, rows)).mean() < 0.73

"""Schemas that leave ranges and categories open: how rows are read under them, and read again."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from privet import Budget, Categorical, Continuous, Label, Ledger, Schema
from privet.data import encode, open_table
from privet.data.line import line_cells
from privet.engines import MemoryEngine
from privet.errors import QuestionError, SchemaError
from privet.noise.bits import RowDraws
from privet.privacy import Charge, Cost, Repeatable, protect
from privet.privacy.questions.columns import RowCount
from privet.schema import Integer

OPEN = Schema([Continuous("income"), Integer("n"), Categorical("town")], Label("ill", ["no", "yes"]))
FILLED = OPEN.filled(
    {
        0: Continuous("income", 0, 100, declared=OPEN.features[0]),
        1: Continuous("n", 0, 9, integer=True, declared=OPEN.features[1]),
        2: Categorical("town", ["b", "1"], declared=OPEN.features[2]),
    }
)
ROWS = {
    "income": np.array([-2.5, 0.0, 37.0, math.inf, math.nan]),
    "n": np.array([1, 2, 3, 4, 50]),
    "town": np.array(["b", "a", None, 1, 1.0], object),
    "ill": ["no", "yes", "no", "yes", "no"],
}
ODD = [0.0, -0.0, 5e-324, -5e-324, 1.0, -1.0, 1.0625, -1.0625, 1e308, -1e308, 1.7976931348623157e308]


def table():
    return open_table(pd.DataFrame(ROWS), OPEN)


@pytest.mark.parametrize("values", [ODD, np.random.default_rng(1).standard_cauchy(1000) ** 3])
def test_a_number_is_in_the_cell_of_the_line_whose_edges_enclose_it(values):
    line = Continuous("x")
    for value, cell in zip(values, line_cells(np.array(values, np.float64)), strict=True):
        assert 0 <= cell < line.n_cells
        assert line.edge(cell) <= value
        assert value < line.edge(cell + 1) or cell == line.n_cells - 1


def test_infinities_are_at_the_ends_of_the_line_and_missing_behind_it():
    n_cells = Continuous("x").n_cells
    assert line_cells(np.array([-math.inf, math.inf, math.nan])).tolist() == [0, n_cells - 1, n_cells]


def test_open_features_are_read_as_cells_of_the_line_and_as_texts():
    codes = encode(table(), OPEN)
    assert codes.features[0].tolist() == line_cells(ROWS["income"]).tolist()
    assert codes.features[2].tolist() == [1, 1, 0, 1, 1]
    assert codes.texts[2].tolist() == ["b", "a", None, "1", "1"]


@pytest.mark.parametrize("values", [["b", "1", "b"], ["b", 1, "b"], ["b", 1.0, "b"]])
def test_texts_of_a_row_do_not_depend_on_how_it_is_handed_in(values):
    schema = Schema([Categorical("town")], Label("ill", [0, 1]))
    columns = [np.array(values, object), pd.Series(values, dtype="category")]
    if values[1] == "1":
        columns += [np.array(values), pa.chunked_array([values]), pa.array(values).dictionary_encode()]
    for column in columns:
        frame = pa.table({"town": column}) if isinstance(column, pa.Array) else {"town": column}
        source = pd.DataFrame(frame) if isinstance(frame, dict) else frame
        assert encode(open_table(source, schema), schema, [0, 1, 0]).texts[0].tolist() == ["b", "1", "b"]


def test_rows_read_again_keep_their_identity_also_in_parts():
    rows = MemoryEngine.of(table(), OPEN)
    draws = RowDraws(b"0" * 32)
    whole = rows.under(FILLED).sum(lambda batch: batch.features.copy())
    assert whole[0].tolist() == [0, 0, 24247, 65534, 65535]
    assert whole[2].tolist() == [0, 3, 2, 1, 1]
    part = rows.part(draws, 2, range(1))
    kept = draws.below(2, np.arange(5)) == 0
    assert part.under(FILLED).sum(lambda batch: batch.features).tolist() == whole[:, kept].tolist()
    assert (
        part.sum(lambda batch: batch.texts[2].tolist()) == np.array(["b", "a", None, "1", "1"])[kept].tolist()
    )
    assert part.under(FILLED).under(OPEN).sum(lambda batch: batch.features).shape == (3, kept.sum())


def protected(budget=10):
    account = Ledger().create("people", Budget(budget))
    return protect(pd.DataFrame(ROWS), OPEN, account, mechanisms=Repeatable(0)), account


def test_rows_are_read_under_their_own_contract_alone():
    rows, _ = protected()
    for other in (
        Schema(OPEN.features, Label("ill", ["yes", "no"])),
        Schema([Continuous("income", 0, 100), *OPEN.features[1:]], OPEN.label),
        Schema(OPEN.features[:2], OPEN.label),
    ):
        with pytest.raises(SchemaError, match="own contract"):
            rows.under(other)


def test_what_is_asked_under_a_schema_that_was_found_is_charged_under_the_contract():
    rows, account = protected()
    rows.noisy_count("income >= 30", epsilon=1)
    rows.under(FILLED).noisy_count("town = b", epsilon=1)
    assert account.spent().epsilon == 2
    charged = [event for event in account.ledger.events() if event["kind"] == "charge"]
    assert {event["schema"] for event in charged} == {OPEN.fingerprint}


def count(epsilon):
    return RowCount().charge(OPEN, Cost.pure(epsilon))


def test_what_is_left_of_a_plan_goes_along_and_pays_for_one_plan():
    rows, account = protected()
    first, rest = count(1), Charge("the rest", Cost.pure(2))
    rows.reserve([first, rest])
    rows.noisy_count(epsilon=1)
    again = rows.under(FILLED)
    assert again.asked == rows.asked and again.receipt == rows.receipt
    with pytest.raises(QuestionError, match="is left of the plan"):
        again.reserve([count(3)])
    with pytest.raises(QuestionError, match="one plan"):
        again.reserve([first], instead=[first])
    again.reserve([first, first])
    assert account.spent().epsilon == 3
    again.noisy_count(epsilon=1)
    again.noisy_count(epsilon=1)
    assert account.spent().epsilon == 3
    for asked, spent in ((rows, 4), (again, 5)):
        asked.noisy_count(epsilon=1)
        assert account.spent().epsilon == spent
    assert len(again.asked) == len(rows.asked) == 5


def test_a_question_alone_is_paid_by_what_is_left_of_a_plan():
    rows, account = protected()
    rows.reserve([count(1), Charge("the rest", Cost.pure(2))])
    rows.noisy_count(epsilon=1)
    rows.under(FILLED).noisy_count("town = b", epsilon=2)
    assert account.spent().epsilon == 3


@pytest.mark.parametrize("text", ["town = b", "income >= inf"])
def test_conditions_that_need_what_is_open_are_refused_before_they_cost(text):
    rows, account = protected()
    with pytest.raises(QuestionError):
        rows.noisy_count(text, epsilon=1)
    with pytest.raises(QuestionError, match="open"):
        rows.noisy_column_rows("town", epsilon=1)
    with pytest.raises(QuestionError, match="open"):
        rows.noisy_column_rows("income", epsilon=1)
    assert not account.spent().rho_units


def test_the_quantile_of_an_open_column_is_found_on_the_whole_line():
    values = np.random.default_rng(0).lognormal(10, 0.3, 4000)
    schema = Schema([Continuous("income")], Label("ill", [0, 1]))
    account = Ledger().create("people", Budget(10))
    rows = protect(values[:, None], schema, account, values > 20_000, Repeatable(0))
    assert float(rows.noisy_quantile("income", 0.5, epsilon=5).values) == pytest.approx(np.exp(10), rel=0.1)

"""Wherever rows lie, every learner and every question say the same of them, bit for bit."""

from __future__ import annotations

import gc
import os
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from privet import Budget, Ledger, protect
from privet.data.sources import FileSource, files
from privet.data.sources.duckdb import DuckSource
from privet.data.sources.postgresql import PostgresSource
from privet.engines import batches, spill, stream
from privet.errors import DataError, SchemaError, SourceError
from privet.estimators import CLASSIFIERS
from tests.places import N_ROWS, PLACES, SCHEMA, digest, people, protected, write_parquet, write_postgres

ALL_PLACES = [*PLACES, "PostgreSQL"]
SPILLED = [("in memory", "Parquet"), ("read again", "Parquet"), ("read again", "CSV")]


@pytest.fixture(scope="module")
def rows():
    return people()


@pytest.fixture(scope="module")
def places(rows, tmp_path_factory, postgres):
    """Where the rows lie, by the name of the place."""
    files = {name: write(rows, tmp_path_factory.mktemp("place")) for name, write in PLACES.items()}
    return {**files, "PostgreSQL": write_postgres(rows, postgres)}


@pytest.fixture
def read(monkeypatch):
    """Columns of every pass over a place."""
    passes = []
    for kind in (FileSource, DuckSource, PostgresSource):

        def noted(self, columns, real=kind.read):
            passes.append(columns)
            return real(self, columns)

        monkeypatch.setattr(kind, "read", noted)
    return passes


@pytest.fixture(params=[*(("in a file", place) for place in ALL_PLACES), *SPILLED], ids=" ".join)
def lies(request, monkeypatch, places):
    """A place, read in small batches, of which nothing, or all, is put into the file."""
    how, place = request.param
    monkeypatch.setattr(batches, "BATCH", 1000)
    monkeypatch.setattr(files, "ROWS", 300)
    if how == "in a file":
        monkeypatch.setattr(spill, "ROOM", 0)
    return places[place], {"spill": how != "read again"}


@pytest.mark.parametrize("learner", CLASSIFIERS)
def test_a_model_is_the_same_wherever_rows_lie(learner, lies, rows):
    source, more = lies
    assert fit(learner, source, **more) == fit(learner, rows)


def fit(learner, source, schema=SCHEMA, **more):
    estimator = CLASSIFIERS[learner](epsilon=2)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=3)
    return digest(estimator.fit(protected(source, schema, **more)).model_)


def asked(rows):
    """Answers to questions of every kind that no learner asks, and of some that look at few columns."""
    rows.noisy_count("age >= 37 and town = north", epsilon=1)
    return [
        rows.noisy_count(epsilon=1).values,
        rows.noisy_column_rows(["town", "ill"], "height > 1", epsilon=1).values,
        rows.choose(["age < 30", "town = west"], "ward = 1", epsilon=1).values,
        rows.choose_item("town", "ill", epsilon=1).values,
        rows.noisy_quantile("pulse", "0.5", "town", epsilon=1).values,
        rows.noisy_label_rows(epsilon=1).values,
    ]


def test_an_answer_is_the_same_wherever_rows_lie(lies, rows):
    source, more = lies
    found, expected = asked(protected(source, **more)), asked(protected(rows))
    assert all(map(np.array_equal, found, expected))


def test_one_row_a_person_is_the_same_wherever_rows_lie(lies, rows, monkeypatch):
    source, more = lies
    monkeypatch.setattr(stream, "AT_A_TIME", 1000)
    by_person = SCHEMA.by("patient")
    if "table=" in str(source):
        with pytest.raises(SchemaError, match="order in which"):
            fit("count-forest", source, by_person, **more)
    more["key"] = "id"
    assert fit("count-forest", source, by_person, **more) == fit("count-forest", rows, by_person, key="id")


@pytest.mark.parametrize("schema", [SCHEMA, SCHEMA.by("patient")], ids=["rows", "persons"])
def test_with_a_key_the_order_of_rows_does_not_matter(schema, lies, rows):
    source, more = lies
    shuffled = rows.sample(frac=1, random_state=1)
    assert fit("majority-forest", source, schema, key="id", **more) == fit(
        "majority-forest", shuffled, schema, key="id"
    )


def test_a_selection_holds_out_the_same_rows_wherever_they_lie(lies, rows):
    place, more = lies

    def best(source, **more):
        candidates = [lambda a, b, e: (a.noisy_count(epsilon=e).values[0], 1.0)]
        return protected(source, **more).choose_run(candidates, 2, epsilon=3).made

    assert best(place, **more) == best(rows)


@pytest.mark.parametrize("place", ALL_PLACES)
def test_only_columns_that_a_question_looks_at_are_read(place, places, read):
    rows = protected(places[place])
    rows.noisy_column_rows("town", "age < 30", epsilon=1)
    rows.noisy_label_rows(epsilon=1)
    assert [set(columns) for columns in read] == [{"town", "age", "ill"}, {"ill"}]


def test_a_learner_of_one_pass_puts_nothing_away(places, monkeypatch):
    put = []
    monkeypatch.setattr(spill.Spill, "put", lambda *_: put.append(1))
    fit("majority-forest", places["Parquet"])
    assert not put


def test_a_learner_of_many_passes_reads_its_place_once(places, read):
    fit("boosting", places["Parquet"])
    assert len(read) == 1


def rewritten(path):
    """The same file, written anew with other rows."""
    frame = people(N_ROWS + 1)
    PLACES["CSV" if path.suffix == ".csv" else "Parquet"](frame, path.parent)


def replaced(path):
    """Another file under its name."""
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    other.replace(path)


def cut(path):
    os.truncate(path, path.stat().st_size // 2)


def removed(path):
    path.unlink()


@pytest.mark.parametrize("place", ["Parquet", "CSV"])
@pytest.mark.parametrize("change", [rewritten, replaced, cut, removed])
def test_a_file_that_changes_between_passes_is_refused_and_the_charge_kept(place, change, rows, tmp_path):
    path = PLACES[place](rows, tmp_path)
    behind = protected(path, spill=False)
    behind.noisy_count(epsilon=1)
    change(path)
    with pytest.raises(SourceError, match="written to or replaced") as found:
        behind.noisy_count(epsilon=1)
    assert found.value.__context__ is None and len(behind.asked) == 2


@pytest.mark.parametrize("place", ["Parquet", "CSV"])
def test_a_file_that_changes_during_a_pass_is_refused_and_the_charge_kept_once(
    place, rows, tmp_path, monkeypatch
):
    path = PLACES[place](rows, tmp_path)
    monkeypatch.setattr(batches, "BATCH", 1000)
    ledger = Ledger()
    account = ledger.create("people", Budget(1))
    behind = protect(path, SCHEMA, account)
    seen, real = [], stream.batch

    def meanwhile(*args):
        if not seen:
            replaced(path)
        seen.append(args)
        return real(*args)

    monkeypatch.setattr(stream, "batch", meanwhile)
    with pytest.raises(SourceError, match="written to or replaced"):
        behind.noisy_count(epsilon="0.25")
    assert seen and account.spent().epsilon == Fraction(1, 4)


def test_files_that_lack_a_column_or_have_another_type_are_refused_while_it_is_free(rows, tmp_path):
    write_parquet(rows, tmp_path)
    for wrong in (rows.drop(columns="pulse"), rows.assign(pulse=rows["pulse"].astype("float32"))):
        pa_parquet.write_table(pa.Table.from_pandas(wrong), tmp_path / "wrong.parquet")
        with pytest.raises(DataError, match="'pulse'"):
            protected(tmp_path)


def test_a_label_that_does_not_fit_is_the_owners_to_mend_and_costs_nothing(rows, tmp_path):
    rows = rows.assign(ill=[*rows["ill"][:-1], "perhaps"])
    behind = protected(write_parquet(rows, tmp_path))
    with pytest.raises(DataError, match="'ill'") as found:
        behind.noisy_count(epsilon=1)
    assert not behind.asked and "perhaps" not in str(found.value)


def test_no_room_for_the_file_is_said_in_our_words(places, monkeypatch, tmp_path):
    monkeypatch.setattr(spill, "ROOM", 0)
    behind = protected(places["Parquet"], spill=tmp_path / "nowhere")
    with pytest.raises(SourceError, match="could not be written"):
        CLASSIFIERS["boosting"](epsilon=2).fit(behind)


def test_the_file_of_codes_has_no_name_and_is_closed_with_the_rows(places, monkeypatch, tmp_path):
    monkeypatch.setattr(spill, "ROOM", 0)
    opened, real = [], spill._nameless
    monkeypatch.setattr(spill, "_nameless", lambda folder: opened.append(real(folder)) or opened[-1])
    behind = protected(places["Parquet"], spill=tmp_path)
    CLASSIFIERS["boosting"](epsilon=2).fit(behind)
    (number,) = opened
    assert (
        not list(tmp_path.iterdir())
        and os.fstat(number).st_nlink == 0
        and os.fstat(number).st_mode & 0o77 == 0
    )
    del behind
    gc.collect()
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(number)


def test_what_was_put_away_comes_back_as_it_was(monkeypatch):
    monkeypatch.setattr(spill, "ROOM", 100)
    kept, values = (
        spill.Spill(),
        [{"a": np.arange(n), "b": (b"x" * n, np.ones((2, n), "F"))} for n in range(30)],
    )
    places = [kept.put(value) for value in values]
    for number in (3, 20):
        values[number] = {"a": np.arange(50)}
        places[number] = kept.put(values[number], places[number])
    for value, place in zip(values, places, strict=True):
        np.testing.assert_equal(kept.get(place), value)

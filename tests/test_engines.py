"""Wherever rows lie, every learner and every question say the same of them, bit for bit."""

from __future__ import annotations

import gc
import os
import resource
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from privet import Budget, Ledger, protect
from privet.cli.arguments import ledger_path
from privet.data import table_files
from privet.data.sources import FileSource, files
from privet.data.sources.duckdb import DuckSource
from privet.data.sources.postgresql import PostgresSource
from privet.engines import batches, spill, stream
from privet.errors import DataError, QuestionError, SchemaError, SourceError
from privet.estimators import CLASSIFIERS, REGRESSORS
from privet.privacy.questions import QUESTIONS
from privet.privacy.wall import Wall
from tests.places import N_ROWS, PLACES, SCHEMA, people, write_parquet, write_postgres
from tests.work import NUMBERS, WORK, learner, protected

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


@pytest.fixture(scope="module")
def expected(rows):
    """What work says of the rows in memory."""
    return cache(lambda name: WORK[name](rows))


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


@pytest.mark.parametrize("name", WORK)
def test_all_work_says_the_same_wherever_rows_lie(name, lies, expected):
    source, more = lies
    assert WORK[name](source, **more) == expected(name)


def test_no_question_and_no_learner_is_left_out(rows, monkeypatch):
    asked, learnt, real = set(), set(), Wall.ask

    def ask(self, question, cost):
        asked.add(type(question).method)
        return real(self, question, cost)

    for kind in (*CLASSIFIERS.values(), *REGRESSORS.values()):

        def learn(self, *args, own=kind.learn, **more):
            learnt.add(type(self))
            return own(self, *args, **more)

        monkeypatch.setattr(kind, "learn", learn)
    monkeypatch.setattr(Wall, "ask", ask)
    for work in WORK.values():
        work(rows)
    assert asked == set(QUESTIONS)
    assert learnt == {*CLASSIFIERS.values(), *REGRESSORS.values()}


def test_one_row_a_person_is_the_same_wherever_rows_lie(lies, rows, monkeypatch):
    source, more = lies
    monkeypatch.setattr(stream, "AT_A_TIME", 1000)
    by_person = SCHEMA.by("patient")
    if "table=" in str(source):
        with pytest.raises(SchemaError, match="order in which"):
            learner("count-forest", source, by_person, **more)
    for name, schema in (("count-forest", by_person), ("boosting", NUMBERS.by("patient"))):
        found = learner(name, source, schema, key="id", **more)
        assert found == learner(name, rows, schema, key="id")


@pytest.mark.parametrize("schema", [SCHEMA, SCHEMA.by("patient")], ids=["rows", "persons"])
def test_with_a_key_the_order_of_rows_does_not_matter(schema, lies, rows):
    source, more = lies
    shuffled = rows.sample(frac=1, random_state=1)
    assert learner("majority-forest", source, schema, key="id", **more) == learner(
        "majority-forest", shuffled, schema, key="id"
    )


@pytest.mark.parametrize("place", ALL_PLACES)
def test_only_columns_that_a_question_looks_at_are_read(place, places, read):
    rows = protected(places[place])
    rows.noisy_column_rows("town", "age < 30", epsilon=1)
    rows.noisy_label_rows(epsilon=1)
    assert [set(columns) for columns in read] == [{"town", "age", "ill"}, {"ill"}]


def test_a_learner_of_one_pass_puts_nothing_away(places, monkeypatch):
    put = []
    monkeypatch.setattr(spill.Spill, "put", lambda *_: put.append(1))
    learner("majority-forest", places["Parquet"])
    assert not put


def test_a_learner_of_many_passes_reads_its_place_once(places, read):
    learner("boosting", places["Parquet"])
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


@pytest.mark.parametrize("name", ["day=*/*.parquet", "day=[01]/part?.parquet", "**/p*.parquet"])
def test_a_pattern_may_stand_for_folders_as_well(name, rows, tmp_path):
    above = tmp_path / "of[a]"
    for i in range(2):
        folder = above / f"day={i}"
        folder.mkdir(parents=True)
        half = rows[i * N_ROWS // 2 : (i + 1) * N_ROWS // 2]
        pa_parquet.write_table(pa.Table.from_pandas(half), folder / "part0.parquet")
    assert learner("majority-forest", str(above / name)) == learner("majority-forest", rows)
    with pytest.raises(QuestionError, match="where their ledger is"):
        ledger_path(str(above / name), None)
    with pytest.raises(DataError, match="there is no table"):
        protected(str(above / "day=[2-9]" / "*.parquet"))


@pytest.mark.parametrize("name", ["a[1].parquet", "50% of *?.parquet", "a b#c.parquet"])
def test_a_file_that_is_called_like_a_pattern_is_itself(name, rows, tmp_path):
    path = write_parquet(rows, tmp_path).replace(tmp_path / name)
    assert table_files(path) == [path] and ledger_path(path, None) == Path(f"{path}.ledger")
    assert learner("majority-forest", str(path)) == learner("majority-forest", rows)


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "stream.arrow"])
def test_a_file_of_many_small_groups_is_read_in_few_pieces(suffix, rows, tmp_path):
    path, table = tmp_path / f"small.{suffix}", pa.Table.from_pandas(rows, preserve_index=False)
    writers = {
        "parquet": pa_parquet.ParquetWriter,
        "arrow": pa.ipc.new_file,
        "stream.arrow": pa.ipc.new_stream,
    }
    with writers[suffix](str(path), table.schema) as writer:
        for first in range(0, len(rows), 2):
            writer.write_table(table.slice(first, 2))
    source = FileSource([path], SCHEMA)
    pieces = list(source.read(SCHEMA.feature_names))
    assert len(pieces) <= 1024 and sum(len(each) for piece in pieces for each in piece()) == len(rows)
    assert learner("boosting", path) == learner("boosting", rows)


def test_files_are_opened_as_often_as_they_have_to_be(rows, tmp_path, monkeypatch):
    path, real, opened = write_parquet(rows, tmp_path), pa_parquet.ParquetFile, []
    monkeypatch.setattr(
        pa_parquet, "ParquetFile", lambda *a, **k: opened.append(k.get("metadata")) or real(*a, **k)
    )
    source = FileSource([path], SCHEMA)
    monkeypatch.setattr(files, "ROWS", 1000)
    assert sum(len(each) for piece in source.read(["age"]) for each in piece()) == len(rows)
    assert len(opened) == 5 and None not in opened[1:]  # groups of 700 rows, two at a time


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


def test_a_folder_that_is_full_is_said_in_our_words_and_the_charge_kept(places, monkeypatch, tmp_path):
    monkeypatch.setattr(spill, "ROOM", 0)
    account = Ledger().create("people", Budget(2))
    behind = protect(places["Parquet"], SCHEMA, account, spill=tmp_path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.raises(SourceError, match="could not be written") as found:
            CLASSIFIERS["boosting"](epsilon=2).fit(behind)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert found.value.__context__ is None and account.spent().epsilon == 2


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

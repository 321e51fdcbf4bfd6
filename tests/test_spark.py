"""Rows that lie in Spark, whose executors are processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pyarrow.parquet as pa_parquet
import pytest

from privet import (
    BoostingClassifier,
    Budget,
    Categorical,
    Continuous,
    CountForestClassifier,
    Label,
    Ledger,
    Schema,
    load_model,
    predict_into,
    protect,
)
from privet.data.header import draft_from_header
from privet.data.outside import find_outside
from privet.engines import spark as engine
from privet.errors import BudgetExceeded, DataError, QuestionError, SchemaError, SourceError
from privet.privacy import Repeatable
from tests.places import SCHEMA, people
from tests.servers.spark import started
from tests.servers.tasks import EXECUTOR, WORKER, KilledOnce
from tests.work import NUMBERS, WORK, learner, protected

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    with started(folder=tmp_path_factory.mktemp("spark")) as running:
        yield running


@pytest.fixture(scope="module")
def rows():
    return people(2000)


@pytest.fixture(scope="module")
def frame(session, rows):
    found = session.createDataFrame(rows).repartition(3)
    found.createOrReplaceTempView("people")
    return found


@pytest.mark.parametrize("name", WORK)
def test_all_work_says_the_same_in_spark(name, frame, rows):
    assert WORK[name](frame, key="id") == WORK[name](rows, key="id")


def test_a_model_of_persons_is_the_same_in_spark(frame, rows):
    for name, schema in (("count-forest", SCHEMA.by("patient")), ("boosting", NUMBERS.by("patient"))):
        assert learner(name, frame, schema, key="id") == learner(name, rows, schema, key="id")
    with pytest.raises(SchemaError, match="order in which"):
        protected(frame, SCHEMA.by("patient"))


def test_answers_are_the_same_by_address_and_by_query(frame, rows):
    assert WORK["answers"]("spark:people") == WORK["answers"](rows)
    some = protected("spark:?query=SELECT * FROM people WHERE ill = 'yes'").noisy_label_rows(epsilon=100)
    assert some.values[0] < 5 < some.values[1]


def test_totals_of_many_partitions_are_added_up_by_tasks(frame, rows, monkeypatch):
    monkeypatch.setattr(engine, "FEW_PARTS", 0)
    expected = protected(rows).noisy_column_rows("town", epsilon=1).values
    assert (protected(frame).noisy_column_rows("town", epsilon=1).values == expected).all()


def test_an_open_contract_is_read_twice_and_parts_need_a_key(frame):
    features = [feature for feature in SCHEMA.features if feature.name != "town"]
    schema = Schema([*features, Categorical("town")], SCHEMA.label)
    account = Ledger().create("people", Budget(1000, "1e-6", "1e-7"))
    rows = protect(frame, schema, account, mechanisms=Repeatable(7))
    found = rows.common_values([schema.feature_names.index("town")], epsilon=10, delta="1e-7")
    assert found is not None and account.spent().delta
    with pytest.raises(DataError, match="no fixed order"):
        engine.SparkEngine(frame, schema).part(Repeatable(1).row_draws(), 10, range(5))
    part = engine.SparkEngine(frame, SCHEMA).part(Repeatable(1).row_draws(), 10, range(5))
    with pytest.raises(QuestionError, match="no fixed order"):
        part.under(SCHEMA)


def test_an_estimator_learns_from_a_frame_and_predicts_elsewhere(frame, rows, tmp_path):
    model = BoostingClassifier(epsilon=2.0, schema=SCHEMA, passes=1).fit(frame)
    model.model_.save(tmp_path / "model.privet")
    assert (load_model(tmp_path / "model.privet").predict(rows) == model.predict(rows)).all()
    with pytest.raises(DataError, match="do not leave"):
        model.predict(frame)


def test_an_owner_drafts_and_checks_in_spark(frame, rows):
    odd = frame.selectExpr(
        "*", "array(age) AS several", "INTERVAL 1 DAY AS while", "date'2020-01-01' AS born"
    )
    drafted = draft_from_header(odd, "ill", ["no", "yes"], {"ward": "category"}, ["patient"])
    assert drafted.schema.feature_names == ["height", "age", "town", "ward", "pulse"]
    assert [each.kind for each in drafted.suspects] == ["identifier", "odd type", "odd type", "date"]
    narrow = Schema([Continuous("height", 0, 1), Categorical("town", ["north"])], Label("ill", ["no"]))
    found, expected = find_outside("spark:people", narrow), find_outside(rows, narrow)
    assert (found.counts, found.repeating) == (expected.counts, expected.repeating)
    assert find_outside(odd, narrow).counts == expected.counts


def test_predictions_come_from_spark_and_go_into_it(session, frame, rows, tmp_path):
    model = CountForestClassifier(epsilon=2, schema=SCHEMA, random_state=0).fit(rows)
    expected = sorted(zip(rows["id"], model.predict(rows), strict=True))
    assert predict_into(model, frame, tmp_path / "told.parquet", keep="id") == len(rows)
    told = pa_parquet.read_table(tmp_path / "told.parquet")
    assert sorted(zip(told["id"].to_pylist(), told["prediction"].to_pylist(), strict=True)) == expected
    assert predict_into(model, "spark:people", "spark:told", keep="id") == len(rows)
    assert sorted((row.id, row.prediction) for row in session.table("told").collect()) == expected
    with pytest.raises(DataError, match="there already"):
        predict_into(model, frame, "spark:told", keep="id")
    assert session.table("told").count() == len(rows)


def test_nothing_is_left_in_spark_of_predictions_that_were_stopped(session, frame, rows, tmp_path):
    model = CountForestClassifier(epsilon=2, schema=SCHEMA, random_state=0).fit(rows)
    odd = frame.selectExpr("id", "height", "age", "town", "ward", "CAST(town AS DOUBLE) AS pulse", "ill")
    session.conf.set("spark.sql.ansi.enabled", "true")
    try:
        for into in ("spark:stopped", tmp_path / "stopped.csv"):
            with pytest.raises(SourceError, match="to their end") as error:
                predict_into(model, odd, into)
            assert "north" not in str(error.value) and error.value.__context__ is None
    finally:
        session.conf.unset("spark.sql.ansi.enabled")
    assert not session.catalog.tableExists("stopped") and not list(tmp_path.iterdir())


def test_what_does_not_fit_is_refused_before_it_is_charged(frame):
    account = Ledger().create("people", Budget(1))
    lists = frame.drop("pulse").selectExpr("*", "array(age) AS pulse")
    for wrong, told in (
        (frame.drop("town"), "not a column"),
        (frame.selectExpr("*", "age AS AGE"), "more than one column"),
        (lists, "numbers"),
        (frame.drop("ill").selectExpr("*", "array(ward) AS ill"), "ill"),
    ):
        with pytest.raises(DataError, match=told):
            protect(wrong, SCHEMA, account)
    assert not account.ledger.history("people")[1:]


@pytest.mark.parametrize("wrong", ["ill", "more"])
def test_what_tasks_find_comes_as_an_error_of_ours_that_quotes_nothing(frame, wrong):
    secret = frame.selectExpr("id", "height", "age", "town", "ward", "pulse", "'secret-77' AS ill")
    schema = SCHEMA if wrong == "ill" else Schema(SCHEMA.features, SCHEMA.label, max_rows=10)
    with pytest.raises(DataError) as error:
        protected(secret if wrong == "ill" else frame, schema).noisy_label_rows(epsilon=1)
    assert "secret" not in str(error.value) and error.value.__context__ is None


def test_a_task_that_ends_oddly_is_an_error_that_keeps_the_charge(session, frame):
    """A value that Spark itself cannot work out: its error quotes it."""
    odd = frame.selectExpr("id", "height", "age", "town", "ward", "CAST(town AS DOUBLE) AS pulse", "ill")
    account = Ledger().create("people", Budget(1))
    session.conf.set("spark.sql.ansi.enabled", "true")
    try:
        with pytest.raises(SourceError) as error:
            protect(odd, SCHEMA, account).noisy_label_rows(epsilon="0.25")
    finally:
        session.conf.unset("spark.sql.ansi.enabled")
    assert "north" not in str(error.value) and error.value.__context__ is None
    assert account.spent().epsilon == 0.25


@pytest.mark.parametrize("change", ["twice", "missing"])
def test_a_partition_that_comes_twice_or_not_at_all_is_refused(frame, monkeypatch, change):
    rows = protected(frame)
    rows.noisy_label_rows(epsilon=1)
    real = engine._collected
    wrong = (lambda found: [*found, found[0]]) if change == "twice" else (lambda found: found[1:])
    monkeypatch.setattr(engine, "_collected", lambda found: wrong(real(found)))
    with pytest.raises(SourceError):
        rows.noisy_label_rows(epsilon=1)


def processes(session, told: str) -> list[int]:
    """Those of this session, and of no other one, whose command says something."""
    listed = subprocess.run(["ps", "-ewwo", "pid=,ppid=,args="], capture_output=True, text=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    own, found = [session.sparkContext._gateway.proc.pid], []
    for parent in own:  # which grows
        children = [(int(pid), command) for pid, above, command in rows if int(above) == parent]
        own += [pid for pid, _ in children]
        found += [pid for pid, command in children if told in command]
    return found


@pytest.mark.parametrize("who", [WORKER, EXECUTOR])
def test_whoever_is_killed_while_rows_are_encoded_is_tried_again_and_the_sum_is_exact(
    who, frame, rows, tmp_path
):
    killed = KilledOnce(str(tmp_path / "marker"), who)
    behind, memory = protected(frame.mapInArrow(killed.rows, frame.schema)), protected(rows)
    asked = [place.noisy_column_rows("town", epsilon=1).values for place in (behind, memory)]
    assert (tmp_path / "marker").exists() and (asked[0] == asked[1]).all()


def test_a_worker_that_is_killed_while_it_counts_is_tried_again(frame, rows, tmp_path):
    behind = engine.SparkEngine(frame, SCHEMA)
    found = behind.sum(KilledOnce(str(tmp_path / "marker"), WORKER))
    assert (tmp_path / "marker").exists()
    assert found.tolist() == [(rows["ill"] == label).sum() for label in ("no", "yes")]


def test_an_executor_that_is_killed_while_it_counts_takes_codes_along_which_is_told(frame, tmp_path):
    behind = engine.SparkEngine(frame, SCHEMA)
    with pytest.raises(SourceError, match="to their end"):
        behind.sum(KilledOnce(str(tmp_path / "marker"), EXECUTOR))
    assert (tmp_path / "marker").exists()


def test_workers_that_are_killed_are_tried_again_and_the_sum_is_exact(session, frame, rows):
    spark, memory = protected(frame), protected(rows)
    for place in (spark, memory):
        place.noisy_label_rows(epsilon=1)
    workers = processes(session, "pyspark.daemon")
    assert workers
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    asked = [place.noisy_column_rows("town", epsilon=1).values for place in (spark, memory)]
    assert (asked[0] == asked[1]).all()


def test_codes_that_are_lost_with_an_executor_are_an_error_and_charged_once(session, frame, tmp_path):
    """Kept codes are never worked out anew."""
    account = Ledger(tmp_path / "people.ledger").create("people", Budget(1))
    rows = protect(frame, SCHEMA, account)
    rows.noisy_label_rows(epsilon="0.25")
    for executor in processes(session, "CoarseGrainedExecutorBackend"):
        os.kill(executor, signal.SIGKILL)
    time.sleep(1)
    with pytest.raises(SourceError, match="to their end"):
        rows.noisy_label_rows(epsilon="0.25")
    read_anew = Ledger(tmp_path / "people.ledger")
    assert [event["kind"] for event in read_anew.history("people")] == ["budget", "charge", "charge"]
    assert read_anew.account("people").spent().epsilon == 0.5
    with pytest.raises(BudgetExceeded):
        rows.noisy_label_rows(epsilon="0.75")

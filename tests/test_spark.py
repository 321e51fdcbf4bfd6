"""Rows that lie in Spark, whose executors are processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest

from privet import BoostingClassifier, Budget, Categorical, Ledger, Schema, load_model, protect
from privet.engines import spark as engine
from privet.errors import BudgetExceeded, DataError, QuestionError, SchemaError, SourceError
from privet.estimators import CLASSIFIERS
from privet.privacy import Repeatable
from tests.places import SCHEMA, people, protected
from tests.servers.spark import started
from tests.test_engines import asked, fit

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


@pytest.mark.parametrize("learner", CLASSIFIERS)
def test_a_model_is_the_same_in_spark(learner, frame, rows):
    assert fit(learner, frame, key="id") == fit(learner, rows, key="id")


def test_a_model_of_persons_is_the_same_in_spark(frame, rows):
    by_person = SCHEMA.by("patient")
    assert fit("count-forest", frame, by_person, key="id") == fit("count-forest", rows, by_person, key="id")
    with pytest.raises(SchemaError, match="order in which"):
        protected(frame, by_person)


def test_answers_are_the_same_by_address_and_by_query(frame, rows):
    expected = [str(answer) for answer in asked(protected(rows))]
    assert [str(answer) for answer in asked(protected("spark:people"))] == expected
    some = protected("spark:?query=SELECT * FROM people WHERE ill = 'yes'").noisy_label_rows(epsilon=100)
    assert some.values[0] < 5 < some.values[1]


def test_totals_of_many_partitions_are_added_up_by_tasks(frame, rows, monkeypatch):
    monkeypatch.setattr(engine, "FEW_PARTS", 0)
    expected = protected(rows).noisy_column_rows("town", epsilon=1).values
    assert (protected(frame).noisy_column_rows("town", epsilon=1).values == expected).all()


def test_a_selection_holds_out_the_same_rows(frame, rows):
    def best(source):
        candidates = [lambda a, b, e: ((a.noisy_count(epsilon=e).values[0]), 1.0)]
        return protected(source, key="id").choose_run(candidates, 2, epsilon=3).made

    assert best(frame) == best(rows)


def test_an_open_contract_is_read_twice_and_parts_need_a_key(frame):
    features = [feature for feature in SCHEMA.features if feature.name != "town"]
    schema = Schema([*features, Categorical("town")], SCHEMA.label)
    account = Ledger().create("people", Budget(1000, "1e-6", "1e-7"))
    rows = protect(frame, schema, account, mechanisms=Repeatable(7))
    found = rows.common_values([schema.feature_names.index("town")], epsilon=10, delta="1e-7")
    assert found is not None and account.spent().delta
    part = engine.SparkEngine(frame, SCHEMA).part(Repeatable(1).row_draws(), 10, range(5))
    with pytest.raises(QuestionError, match="no fixed order"):
        part.under(SCHEMA)


def test_an_estimator_learns_from_a_frame_and_predicts_elsewhere(frame, rows, tmp_path):
    model = BoostingClassifier(epsilon=2.0, schema=SCHEMA, passes=1).fit(frame)
    model.model_.save(tmp_path / "model.privet")
    assert (load_model(tmp_path / "model.privet").predict(rows) == model.predict(rows)).all()
    with pytest.raises(DataError, match="do not leave"):
        model.predict(frame)


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


def executors() -> list[int]:
    found = subprocess.run(["pgrep", "-f", "CoarseGrainedExecutorBackend"], capture_output=True, text=True)
    return [int(line) for line in found.stdout.split()]


def python_workers() -> list[int]:
    found = subprocess.run(["pgrep", "-f", "pyspark.daemon|pyspark/daemon"], capture_output=True, text=True)
    return [int(line) for line in found.stdout.split()]


def test_workers_that_are_killed_are_tried_again_and_the_sum_is_exact(frame, rows):
    spark, memory = protected(frame), protected(rows)
    for place in (spark, memory):
        place.noisy_label_rows(epsilon=1)
    assert python_workers()
    for worker in python_workers():
        os.kill(worker, signal.SIGKILL)
    asked = [place.noisy_column_rows("town", epsilon=1).values for place in (spark, memory)]
    assert (asked[0] == asked[1]).all()


def test_codes_that_are_lost_with_an_executor_are_an_error_and_charged_once(frame):
    """Last, since it leaves other executors behind: kept codes are never worked out anew."""
    account = Ledger().create("people", Budget(1))
    rows = protect(frame, SCHEMA, account)
    rows.noisy_label_rows(epsilon="0.25")
    for executor in executors():
        os.kill(executor, signal.SIGKILL)
    time.sleep(1)
    with pytest.raises(SourceError, match="to their end"):
        rows.noisy_label_rows(epsilon="0.25")
    assert account.spent().epsilon == 0.5
    with pytest.raises(BudgetExceeded):
        rows.noisy_label_rows(epsilon="0.75")

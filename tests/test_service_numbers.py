"""A service with a table of numbers, in which a person has several rows: fits, scores and questions."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import privet
from houses import ADA, OLGA, hurried, make_house, serving
from privet import Budget, Categorical, Continuous, QuestionError, Schema, Target
from privet.service import members, people, tables

STAYS = Schema(
    [Continuous("age", 0, 120, integer=True), Categorical("ward", ["a", "b"])],
    Target("days", 0, 60),
    max_rows=5000,
    unit="patient",
)


@pytest.fixture(scope="module")
def stays(tmp_path_factory):
    house, rng = make_house(tmp_path_factory.mktemp("house")), np.random.default_rng(0)
    age, ward = rng.integers(20, 90, 4000), rng.choice(["a", "b"], 4000)
    days = np.clip(age / 3 + 10 * (ward == "b") + rng.normal(0, 2, 4000), 0, 60)
    patient = [f"p{i}" if i > 500 else "p0" for i in range(4000)]
    columns = {"patient": patient, "age": age, "ward": ward, "days": days}
    pa_csv.write_csv(pa.table(columns), house.tables / "stays.csv")
    people.create_people(house, OLGA, "inmates", Budget(20))
    people.set_cap(house, OLGA, "inmates", "ada", Budget(20))
    tables.register(house, OLGA, "stays", "inmates", "file:stays.csv", STAYS.to_dict(), None)
    with serving(house) as address, hurried(house):
        token, _ = members.make_token(house, ADA, "notebook")
        remote = privet.connect(
            address, token, state=tmp_path_factory.mktemp("state"), show=lambda line: None
        )
        yield remote.table("stays"), pa.table(columns)
        remote.close()


@pytest.mark.parametrize(
    ("learner", "least"), [(privet.BoostingRegressor, 0.7), (privet.CountForestRegressor, 0.1)]
)
def test_a_regressor_learns_by_person_from_a_table_elsewhere(stays, learner, least):
    table, rows = stays
    model = learner(epsilon=3, random_state=0).fit(table)
    assert "person" in model.privacy_card_.neighbours and model.privacy_card_.epsilon == "3.0"
    assert model.model_.score(rows) > least
    low, high = model.model_.predict_interval(rows, 0.9).T
    assert 0.75 < ((low <= rows["days"].to_numpy()) & (rows["days"].to_numpy() <= high)).mean() <= 1
    scored = table.score(model, epsilon="0.5")
    assert scored["low"] <= scored["value"] <= scored["high"]
    assert privet.private_score(model, table, epsilon=0.5).metric == "r2"
    error = privet.private_score(model, table, metric="mae", epsilon=0.5)
    assert 0 < error.value < 60 and error.account == "inmates"


def test_classifiers_are_refused_and_numbers_are_asked_about(stays):
    table, _ = stays
    with pytest.raises((QuestionError, privet.SchemaError), match="number"):
        privet.BoostingClassifier(epsilon=1).fit(table)
    (told,) = table.noisy_moments("days", epsilon=1).cells
    assert 20 < told["mean"]["value"] < 30
    assert table.noisy_count("days > 30", epsilon=1).value > 0

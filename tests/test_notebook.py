"""What a prompt and a notebook show: two lines, or a table of text."""

import warnings

import numpy as np
import pytest

from privet import (
    BoostingClassifier,
    Budget,
    Categorical,
    Continuous,
    CountForestClassifier,
    Integer,
    Label,
    Ledger,
    Schema,
    Target,
)
from privet.estimators import CLASSIFIERS

HOSTILE = "<script>alert('x')</script>"
SCHEMA = Schema(
    [Continuous("age", 0, 120), Categorical(HOSTILE, list("abcdefghijkl")), Integer("visits")],
    Label("ill", ["no", "yes"]),
    max_rows=5000,
)


@pytest.fixture(scope="module")
def forest():
    random = np.random.default_rng(0)
    schema = Schema(SCHEMA.features[:2], SCHEMA.label, 5000)
    X = np.column_stack([random.uniform(0, 99, 300).astype(object), random.choice(list("abc"), 300)])
    return CountForestClassifier(1.0, schema=schema, n_trees=2).fit(X, random.choice(["no", "yes"], 300))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_an_estimator_takes_two_lines_at_most(name):
    assert len(repr(CLASSIFIERS[name](schema=SCHEMA)).splitlines()) <= 2


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_notebook_shows_an_estimator_without_a_warning(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = CLASSIFIERS[name](schema=SCHEMA)._repr_html_()
    assert CLASSIFIERS[name].__name__ in page and "<script>alert" not in page


def test_models_plans_and_schemas_are_told_in_a_line(forest):
    told = [repr(forest.model_), repr(forest.plan(SCHEMA)), repr(SCHEMA)]
    assert told[0] == "<CountForest: ill from 2 features, 1.0-differential privacy>"
    assert told[1].startswith("<FitPlan: count-forest, ε=1, ")
    assert told[2] == "<Schema: 3 features → ill, at most 5,000 rows>"


def test_tables_for_notebooks_hold_text_alone(forest):
    for value in (SCHEMA, forest.model_, forest.privacy_card_, forest.plan(SCHEMA)):
        page = value._repr_html_()
        assert page.count("<table>") == 1 and "<script" not in page
    assert "differential privacy" in forest.model_._repr_html_()
    assert "&lt;script&gt;" in SCHEMA._repr_html_()


def test_columns_tell_what_may_stand_in_them():
    assert [feature.told for feature in SCHEMA.features] == [
        "number from 0 to 120, may be missing",
        "category: a, b, c, d, e, f, g, h and 4 more, may be missing",
        "whole number, its range to be found, may be missing",
    ]
    assert SCHEMA.label.told == "label: no, yes"
    assert Target("price", 0, 1_000_000, integer=True).told == "whole number from 0 to 1,000,000"
    ordered = Categorical("size", ["s", "m"], ordered=True, missing=False)
    assert ordered.told == "ordered category: s, m"


def test_a_prompt_shows_accounts_and_costs_in_words(tmp_path):
    ledger = Ledger(tmp_path / "people.ledger")
    account = ledger.create("people", Budget(1, 1e-6))
    assert (
        repr(ledger) == f"<Ledger: {tmp_path / 'people.ledger'}>" and repr(Ledger()) == "<Ledger: in memory>"
    )
    assert repr(account) == f"<Account: 'people' in {ledger!r}>"
    ledger.declare_batch("people", "spring")
    assert "batch 'spring'" in repr(account.batch("spring"))
    assert (repr(Budget(1, 1e-6)), repr(account.spent())) == ("<Budget: ε=1, δ=1e-06>", "<Cost: ε=0>")
    learner = repr(BoostingClassifier(epsilon=1, account=Ledger().create("people", Budget(1))))
    assert learner.count("\n") <= 1 and "0x" not in learner

"""Parties that predict a number: sums by leaf that add up exactly, what merged rows say, and refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from privet import (
    Budget,
    CountForestRegressor,
    Ledger,
    QuestionError,
    SchemaError,
    Target,
    load_model,
    protect,
)
from privet.audit.stand import Rows
from privet.audit.transcripts import compare_without
from privet.cli.main import main
from privet.data import encode, open_table
from privet.engines import Batch
from privet.errors import ModelFileError
from privet.parties import PublicStructure, SignedVector, draw_structure, merge, new_key, publish, unite
from privet.parties.numbers import ground_of
from privet.parties.vector import unit_of
from privet.privacy import Cost
from privet.privacy.question import Terms
from privet.privacy.questions.numbers import HALF
from tests.test_parties import Noted
from tests.test_regression import SCHEMA, people

NAMES = ("north", "south", "west")


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    return {name: new_key(folder / name) for name in NAMES}


def published(structure, tables, keys, mechanisms=None, **more):
    return [
        publish(
            structure,
            protect(table, structure.schema, Ledger().create(name, structure.budget), mechanisms=mechanisms),
            name,
            keys[name],
            **more,
        )
        for name, table in zip(NAMES, tables, strict=False)
    ]


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_merged_numbers_are_one_owners_up_to_the_noise_added(delta, keys):
    """Sums by leaf, and moments, are those of one table of all rows plus the noise of every party."""
    structure = draw_structure(SCHEMA, 2.0, delta, n_trees=7, max_depth=4, seed=3)
    tables, noted = [people(n, seed=seed) for seed, n in enumerate((200, 500, 90))], Noted()
    vectors = published(structure, tables, keys, noted)
    merged, codes = merge(structure, vectors), encode(open_table(pd.concat(tables), SCHEMA), SCHEMA)
    _, by_leaf = structure.questions()
    terms = Terms(SCHEMA, Cost.pure(1), None, None)
    exact = by_leaf.tally(rows_as_batch(codes), terms)
    moments, leaves = sum(noted.added[0::2]), sum(noted.added[1::2])
    np.testing.assert_array_equal(merged.rows * 2 * HALF, exact + leaves)
    assert all(noise.any() for noise in noted.added)
    (plan, one), laws = structure.plan(structure.budget), [v.noise for v in vectors]
    assert merged.sd == pytest.approx(np.sqrt(3) * one.noise_sd)
    assert all(law[1] == [one.law.name, str(one.law.parameter)] for law in laws)
    shared = sum(v.label_rows for v in vectors) - moments
    assert shared.sum() == 790 * round(1 / unit_of(plan))
    ground = ground_of(structure.middle, (shared + moments) * unit_of(plan), np.sqrt(3) * plan.noise_sd)
    assert ground == merged.ground


def rows_as_batch(codes):
    return Batch(np.ascontiguousarray(codes.features), codes.labels, np.arange(len(codes.labels)))


@pytest.mark.parametrize(("delta", "epsilon"), [(0, None), (0, "0.7"), (1e-6, None)])
def test_what_a_party_publishes_of_a_number_keeps_its_epsilon_against_every_neighbour(delta, epsilon, keys):
    structure = draw_structure(SCHEMA, 1.0, delta, n_trees=3, max_depth=3, seed=4)
    codes = encode(open_table(people(10), SCHEMA), SCHEMA)

    def program(rows):
        vector = publish(structure, rows, "north", keys["north"], epsilon=epsilon)
        return vector.label_rows, vector.counts, vector.noise, vector.card

    for row in range(10):
        found = compare_without(
            program, Rows(codes.features, codes.labels), row, SCHEMA, structure.budget, seed=row
        )
        assert found.keeps and found.answers == 2 and not found.leak and not found.broken
        if not delta:
            assert found.charged.epsilon == Fraction(epsilon or 1)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_merged_forest_of_numbers_learns_and_goes_on(delta, keys, tmp_path):
    structure = draw_structure(SCHEMA, 4.0, delta, n_trees=20, max_depth=5, seed=3)
    vectors = published(structure, [people(n, seed=n) for n in (6000, 9000, 3000)], keys)
    fresh = people(4000, seed=99)
    merged, alone = merge(structure, vectors), merge(structure, vectors[2:])
    assert merged.score(fresh) > 0.6 and merged.score(fresh) > alone.score(fresh) - 0.02
    assert merged.ground.mean == pytest.approx(fresh.price.mean(), abs=2)
    assert merged.ground.deviation == pytest.approx(fresh.price.std(), rel=0.3)
    assert merged.card.epsilon == "4" and [b["party"] for b in merged.card.batches] == list(NAMES)
    with pytest.raises(QuestionError, match="add a batch"):
        merged.predict_interval(fresh)
    merged.save(tmp_path / "m")
    again = CountForestRegressor.from_model(load_model(tmp_path / "m"), epsilon=1.0, delta=delta)
    again.partial_fit(people(4000, seed=5))
    assert Fraction(again.privacy_card_.epsilon) == 5
    low, high = again.predict_interval(fresh, 0.8).T
    assert abs(((low <= fresh.price) & (fresh.price <= high)).mean() - 0.8) < 0.15


def test_a_ground_is_told_however_noisy_the_moments_are():
    about = draw_structure(SCHEMA, 1).middle
    p = np.linspace(0.2, 0.4, 1000)
    sure = ground_of(about, np.array([((1 - p) ** 2).sum(), (2 * p * (1 - p)).sum(), (p**2).sum()]), 1e-6)
    assert sure.mean == pytest.approx(30, abs=0.01) and sure.deviation == pytest.approx(
        100 * p.std(), rel=0.01
    )
    for moments in ([-1e6, 1e6, -1e6], [0, 0, 0], [1e9, 0, 0], [0, 0, 5.0], [-3, -3, -3]):
        for sd in (1e-6, 1.0, 1e7):
            ground = ground_of(about, np.array(moments, float), sd)
            assert 0 <= ground.mean <= 100 and 0 < ground.deviation <= 51, (moments, sd)


def test_parties_with_other_numbers_are_refused_for_nothing(keys):
    structure = draw_structure(SCHEMA, 1, n_trees=2, max_depth=2)
    wider = replace(SCHEMA, label=replace(SCHEMA.target, upper=200))
    other = draw_structure(wider, 1, n_trees=2, max_depth=2)
    (vector,) = published(other, [people(50)], keys)
    with pytest.raises(SchemaError, match="another schema"):
        merge(structure, [vector])
    (deeper,) = published(draw_structure(SCHEMA, 1, n_trees=2, max_depth=3), [people(50)], keys)
    with pytest.raises(ModelFileError, match="another structure"):
        merge(structure, [deeper])
    account = Ledger().create("people", Budget(1))
    with pytest.raises(SchemaError, match="another schema"):
        publish(structure, protect(people(50), wider, account), "north", keys["north"])
    assert not account.spent().epsilon
    with pytest.raises(QuestionError, match="numbers are not"):
        draw_structure(SCHEMA, 1, voting="sum")
    with pytest.raises(SchemaError, match="open"):
        draw_structure(replace(SCHEMA, label=Target("price")), 1)
    (sound,) = published(structure, [people(50)], keys)
    with pytest.raises(QuestionError, match="labels"):
        unite({"a": merge(structure, [sound]), "b": merge(structure, [sound])})


def test_hospitals_merge_a_number_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    SCHEMA.save("schema.json")
    draw = ["party", "structure", "--schema", "schema.json", "--epsilon", "2", "--trees", "5", "--depth", "3"]
    assert (
        main([*draw, "--voting", "sum", "--out", "no"]) == 2 and "numbers are not" in capsys.readouterr().err
    )
    assert main([*draw, "--out", "s"]) == 0 and "voting" not in capsys.readouterr().out
    for seed, name in enumerate(NAMES[:2]):
        people(3000, seed=seed).to_csv(f"{name}.csv", index=False)
        assert (
            main(["party", "key", name]) == main(["budget", "create", f"{name}.csv", "--epsilon", "2"]) == 0
        )
        fill = ["party", "publish", "s", f"{name}.csv", "--party", name, "--key", f"{name}.key"]
        assert main([*fill, "--out", f"{name}.vector"]) == 0
    assert SignedVector.load("north.vector").label_rows.shape == (3,) and PublicStructure.load("s").is_drawn
    assert main(["party", "merge", "s", "north.vector", "south.vector", "--out", "m"]) == 0
    capsys.readouterr()
    assert main(["describe", "m", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["card"]["learner"]["parties"] == 2
    assert main(["predict", "m", "north.csv", "--out", "told.csv"]) == 0
    assert pd.read_csv("told.csv").iloc[:, -1].between(0, 100).all()
    assert main(["party", "merge", "--vertical", "m", "./m", "--out", "n"]) != 0
    assert "Traceback" not in capsys.readouterr().err

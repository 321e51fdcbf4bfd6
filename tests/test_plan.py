"""A plan tells what a fit then does: the same questions, costs, noise and sizes, from public quantities."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from costs import fills
from privet import (
    BoostingClassifier,
    Budget,
    Categorical,
    Continuous,
    CountForestClassifier,
    Label,
    Ledger,
    MajorityForestClassifier,
    Schema,
    protect,
)
from privet.cli.main import main
from privet.errors import QuestionError
from privet.learners import count_structure
from privet.learners.boosting.preview import _part_quantiles
from privet.learners.forest_plan import vote_bound
from privet.learners.multiway_trees import draw_levels, draw_nodes, node_volumes, path_volumes
from privet.learners.plan import QUANTILES, Leaves
from privet.learners.random_trees import fanned_ground, leaf_volumes, random_complete_trees
from privet.privacy import Charge, in_sequence
from privet.theory import private_vote_bound

FEATURES = [
    Continuous("age", 0, 99, integer=True),
    Continuous("dose", 0.0, 1.0, missing=False),
    Categorical("ward", ["a", "b", "c"], missing=False),
]
SCHEMA = Schema(FEATURES, Label("outcome", ["bad", "good"]))
SEVERAL = Schema(FEATURES, Label("outcome", ["bad", "fair", "good"]), max_rows=30_000)

LEARNERS = [
    BoostingClassifier(8.0),
    BoostingClassifier(8.0, 1e-6),
    BoostingClassifier(8.0, 1e-6, passes=2),
    CountForestClassifier(8.0),
    CountForestClassifier(8.0, 1e-6, rows="disjoint"),
    CountForestClassifier(8.0, structure="fletcher-islam", voting="majority"),
    CountForestClassifier(8.0, structure="bojarski", max_depth=4, n_trees=7),
    CountForestClassifier(8.0, structure="jagannathan"),
    MajorityForestClassifier(8.0),
]


def patients(n, schema):
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 100, n), rng.random(n), rng.choice(["a", "b", "c"], n)]
    labels = np.array(schema.label.values)[
        (columns[0] // 10 + rng.integers(0, 3, n)) % len(schema.label.values)
    ]
    return np.column_stack([column.astype(object) for column in columns]), labels


@pytest.mark.parametrize("schema", [SCHEMA, SEVERAL], ids=["two labels", "three labels"])
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_a_fit_asks_what_its_plan_says(learner, schema):
    """With ε = 8 the noisy number of rows is nearly exact, and no change of plan lies near."""
    n_rows = 20_000
    X, y = patients(n_rows, schema)
    account = Ledger().create("patients", Budget(8, 1e-6, accounting=learner.accounting))
    protected = protect(X, schema, account, y)
    learner.fit(protected)
    plan = learner.plan(schema, n_rows)
    asked = learner.privacy_card_.questions
    assert [charge.to_dict() for charge in plan.questions] == asked
    card = learner.privacy_card_.learner
    assert card["name"] == plan.learner
    assert card["trees"] == plan.facts["trees"] and card["depth"] == plan.facts["depth"]
    spent = in_sequence(q.cost.priced(plan.budget.accounting) for q in plan.questions)
    unit = "rho" if plan.budget.delta else "epsilon"
    assert fills(getattr(spent, unit), getattr(plan.budget, unit), len(plan.questions), unit)
    assert sum(share for _, _, share, _ in plan.shares()) == pytest.approx(1)


def test_a_plan_that_needs_no_delta_tells_its_shares_of_epsilon():
    few = Schema(FEATURES, SCHEMA.label, max_rows=300)
    plan = BoostingClassifier(0.05, 1e-6).plan(few)
    assert all(question.cost.epsilon for question in plan.questions)
    assert sum(share for _, _, share, _ in plan.shares()) == pytest.approx(1)


@pytest.mark.parametrize("epsilon", [0.5, 8.0])
@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("rows", ["all", "disjoint"])
def test_the_planned_noise_of_a_count_is_the_model_s(epsilon, delta, rows):
    """Discrete noise of a small scale is far smaller than real noise of the same."""
    forest = CountForestClassifier(epsilon, delta, rows=rows, schema=SCHEMA).fit(*patients(10_500, SCHEMA))
    planned = forest.plan(SCHEMA, 10_500).questions[-1].noise_sd
    assert planned == pytest.approx(forest.model_.variance**0.5, rel=1e-6)


def test_a_plan_of_trees_too_large_to_write_down_says_so(monkeypatch):
    monkeypatch.setattr(count_structure, "MAX_WRITTEN_LEAVES", 20)
    forest = CountForestClassifier(0.05, structure="jagannathan", max_depth=3, schema=SCHEMA, random_state=0)
    plan = forest.fit(*patients(2000, SCHEMA)).plan(SCHEMA, 2000)
    assert plan.questions[-1].question.startswith("frequent cells")
    assert [q.to_dict() for q in plan.questions] == list(forest.privacy_card_.questions)
    # Of 2,000 rows a leaf of 12 holds 167 in the mean: noise, not the threshold, is what they must outvote.
    assert "shown" in plan.leaves.why and plan.leaves.least > plan.leaves.rows[50] > 0
    assert 0.5 < plan.leaves.thin < 1


def test_a_plan_needs_a_public_number_of_rows_and_no_fit():
    with pytest.raises(QuestionError, match="needs a number of rows"):
        BoostingClassifier(1.0).plan(SCHEMA)
    with pytest.raises(QuestionError, match="at least 1"):
        BoostingClassifier(1.0).plan(SCHEMA, 0)
    assert BoostingClassifier(1.0).plan(SEVERAL).n_rows == 30_000
    assert BoostingClassifier(1.0).plan(SEVERAL, 10**6).n_rows == 30_000


@pytest.mark.parametrize(
    "learner",
    [
        CountForestClassifier(1.0, voting="loud"),
        MajorityForestClassifier(1.0, n_trees=0),
        BoostingClassifier(1.0, passes=0),
        BoostingClassifier(-1.0),
    ],
    ids=repr,
)
def test_what_a_fit_would_refuse_its_plan_refuses_too(learner):
    with pytest.raises(QuestionError):
        learner.plan(SCHEMA, 1000)


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_a_plan_can_be_read_and_stored(learner):
    plan = learner.plan(SCHEMA, 5000)
    text = str(plan)
    assert plan.learner in text and "5,000" in text and "of the budget" in text
    stored = json.loads(json.dumps(plan.to_dict()))
    assert len(stored["questions"]) == plan.facts["passes over the rows"]
    unit = "rho" if plan.budget.delta else "epsilon"
    asked = [Charge.from_dict(question) for question in stored["questions"]]
    total = sum(getattr(each.cost.priced(plan.budget.accounting), unit) for each in asked)
    assert fills(total, getattr(plan.budget, unit), len(stored["questions"]), unit)


@pytest.mark.parametrize("within_node", [True, False])
def test_leaf_volumes_are_what_evenly_spread_rows_find(within_node):
    from privet.kernels.route import route

    random = np.random.RandomState(3)
    trees = random_complete_trees(SCHEMA, 4, 5, random, within_node)
    volumes = leaf_volumes(trees, SCHEMA)
    assert volumes.sum(axis=1) == pytest.approx(np.ones(4), rel=1e-4)
    sizes = [101, FEATURES[1].n_cells, 3]
    codes = np.array([random.randint(0, size, 200_000) for size in sizes], np.uint16)
    shares = np.array([np.bincount(leaf, minlength=32) for leaf in route(trees, codes)]) / 200_000
    assert np.abs(shares - volumes).max() < 0.006


def test_volumes_of_multiway_trees_are_what_evenly_spread_rows_find():
    from privet.kernels.count import count_leaves

    random = np.random.RandomState(3)
    trees = draw_nodes(fanned_ground(SCHEMA, 6), 2, random)
    volumes = node_volumes(trees, SCHEMA)
    leaf = np.flatnonzero(trees.view < 0)
    assert np.bincount(trees.tree_of[leaf], volumes[leaf]) == pytest.approx(np.ones(6))
    sizes = [101, FEATURES[1].n_cells, 3]
    codes = np.array([random.randint(0, size, 200_000) for size in sizes], np.uint16)
    shares = count_leaves(trees, codes, np.zeros(200_000, np.uint16), 1)[:, 0] / 200_000
    assert np.abs(shares[trees.child[leaf]] - volumes[leaf]).max() < 0.006


def test_leaves_drawn_from_level_wise_trees_have_the_sizes_of_all_leaves():
    random = np.random.RandomState(5)
    few = Schema([Categorical(f"c{k}", [*"abcdefg"[:k]], missing=False) for k in (2, 3, 5, 7)], SCHEMA.label)
    trees = draw_levels(fanned_ground(few, 9), 2, random)
    drawn = path_volumes(trees, few, 4, random)
    assert drawn == pytest.approx(np.tile(1 / trees.radix.prod(axis=1), (4, 1)).T)
    cut = draw_levels(fanned_ground(SCHEMA, 50), 3, random)
    assert path_volumes(cut, SCHEMA, 4000, random).mean(axis=1) == pytest.approx(1 / 12, rel=0.1)


def test_parts_of_several_cuts_have_the_law_of_their_product():
    rng = np.random.default_rng(0)
    products = rng.uniform(0.1, 0.9, (200_000, 5)).prod(axis=1)
    inner = slice(5, 96)
    drawn = np.quantile(products, QUANTILES)[inner]
    assert _part_quantiles(5)[inner] == pytest.approx(drawn, rel=0.05)


def test_the_share_of_thin_leaves():
    leaves = Leaves.of(np.arange(1000.0), 250)
    assert leaves.thin == pytest.approx(0.25, abs=0.01)
    assert Leaves.of(np.arange(1000.0), 5000).thin == 1
    assert Leaves.of(np.arange(1000.0) + 10, 5).thin == 0


def test_the_bound_is_told_where_it_holds():
    assert "none is known for posterior" in vote_bound("posterior", 2, 10**6, 3, 100, 1.0).says
    assert "two labels" in vote_bound("majority", 3, 10**6, 3, 100, 1.0).says
    assert "more trees" in vote_bound("majority", 2, 10**6, 3, 5, 1.0).says
    thin = vote_bound("majority", 2, 10**5, 3, 1000, 1.0)
    assert "below about" in thin.says and thin.value.vacuous
    found = vote_bound("majority", 2, 10**9, 3, 1000, 1.0)
    assert found.value.failure <= 0.05
    assert found.value.error <= private_vote_bound("majority", 10**9, 3, 1000, 1.0, 0.1, 0.16, 100).error < 1
    assert f"{found.value.error:.0%}" in found.says


def test_no_bound_is_told_for_trees_that_look_at_rows():
    blind = CountForestClassifier(1.0, structure="bojarski", max_depth=2, n_trees=900, voting="majority")
    assert "below about" in blind.plan(SCHEMA, 20_000).bounds[0].says
    for changes in ({"structure": "adaptive"}, {"rows": "disjoint"}, {"delta": 1e-6}):
        bound = CountForestClassifier(**{**blind.get_params(), **changes}).plan(SCHEMA, 20_000).bounds[0]
        assert "none is known" in bound.says and bound.value is None


@pytest.fixture
def schema_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    SCHEMA.save("schema.json")
    return "schema.json"


@pytest.mark.parametrize("learner", ["boosting", "count-forest", "majority-forest"])
def test_the_command_shows_a_plan_and_draws_it(learner, schema_file, capsys):
    call = ["plan", schema_file, "--rows", "20000", "--epsilon", "1", "--learner", learner]
    assert main([*call, "--plot", "plan.png"]) == 0
    shown = capsys.readouterr().out
    assert "20,000 rows" in shown and "leaves too thin to speak" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert Path("plan.png").read_bytes().startswith(b"\x89PNG")
    assert main([*call, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["learner"] == learner and told["facts"]["rows"] == 20_000


def test_the_command_refuses_what_cannot_be_planned(schema_file, capsys):
    assert main(["plan", schema_file, "--epsilon", "1"]) == 2
    assert "needs a number of rows" in capsys.readouterr().err
    assert main(["plan", "nowhere.json", "--rows", "10", "--epsilon", "1"]) == 3
    assert main(["plan", schema_file, "--rows", "10", "--epsilon", "1", "--plot", schema_file]) == 2
    assert main(["plan", schema_file, "--rows", "10", "--epsilon", "1", "--plot", "a.docx"]) == 2
    assert main(["plan", schema_file, "--rows", "10", "--epsilon", "1", "--trees", "5"]) == 2
    assert main(["plan", schema_file, "--rows", "10", "--epsilon", "1", "--voting", "majority"]) == 2

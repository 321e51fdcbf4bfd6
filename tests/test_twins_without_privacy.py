"""The twin that is not private: exact, marked, and out of reach of owners' accounts."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from typer.testing import CliRunner

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
    load_model,
    protect,
)
from privet.cli.app import app
from privet.data import encode, open_table
from privet.errors import BudgetError, QuestionError
from privet.kernels.count import count_leaves
from privet.model.voting import node_sums
from privet.soundness import check_structure

SCHEMA = Schema(
    [Categorical("colour", [*"rgbcmyk"]), Categorical("size", [*"smlx"]), Continuous("weight", 0, 10)],
    Label("ripe", [0, 1]),
)


def fruits(n: int = 400, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"colour": rng.choice([*"rgb"], n), "size": rng.choice([*"sm"], n), "weight": rng.random(n) * 10}
    )
    return frame, (frame["colour"] == "r").astype(int).to_numpy()


def twin(**options) -> CountForestClassifier:
    return CountForestClassifier(math.inf, schema=SCHEMA, random_state=0, **options)


@pytest.mark.parametrize(
    ("structure", "rows"),
    [
        ("adaptive", "all"),
        ("fletcher-islam", "all"),
        ("bojarski", "all"),
        ("jagannathan", "all"),
        ("adaptive", "disjoint"),
    ],
)
def test_counts_are_exact(structure, rows):
    X, y = fruits()
    model = twin(structure=structure, rows=rows, max_depth=3).fit(X, y).model_
    assert model.variance == 0
    if rows == "disjoint":
        assert model.counts.sum() == len(y) and (model.counts >= 0).all()
        return
    codes = encode(open_table(X, SCHEMA), SCHEMA, y)
    assert (model.counts == count_leaves(model.trees, codes.features, codes.labels, 2)).all()


def test_the_card_and_the_repr_say_that_nothing_is_private():
    forest = twin().fit(*fruits())
    card = forest.privacy_card_
    assert not card.private and card.epsilon == "inf"
    assert "not private: counts are exact" in card.caveats
    assert card.promise.startswith("NONE") and "not private" in str(card)
    assert repr(forest).endswith("not private") and repr(clone(forest)).endswith("not private")
    assert "not private" not in repr(CountForestClassifier(1.0))


def test_a_delta_does_not_matter():
    forest = twin(delta=1e-6).fit(*fruits())
    assert forest.privacy_card_.delta == "0" and forest.model_.variance == 0


@pytest.mark.parametrize("where", ["memory", "file"])
@pytest.mark.parametrize("fit", ["fit", "partial_fit"])
def test_no_account_can_be_charged(where, fit, tmp_path):
    ledger = Ledger(tmp_path / "ledger" if where == "file" else None)
    account = ledger.create("fruits", Budget(10**6))
    ledger.declare_batch("fruits", "spring")
    for batch in (account, account.batch("spring")):
        with pytest.raises(BudgetError, match="infinite epsilon"):
            getattr(twin(account=batch), fit)(*fruits())
    assert account.spent().epsilon == 0 and len(ledger.history("fruits")) == 2


@pytest.mark.parametrize("fit", ["fit", "partial_fit"])
def test_protected_rows_are_never_answered_exactly(fit):
    X, y = fruits()
    account = Ledger().create("fruits", Budget(10**6))
    rows = protect(X, SCHEMA, account, y)
    with pytest.raises(BudgetError, match="infinite epsilon"):
        getattr(twin(), fit)(rows)
    assert account.spent().epsilon == 0 and rows.asked == ()


@pytest.mark.parametrize("epsilon", [math.inf, -math.inf, math.nan, "inf", np.float64("nan")])
def test_infinity_is_no_budget_elsewhere(epsilon):
    with pytest.raises(QuestionError):
        Budget(epsilon)
    for learner in (BoostingClassifier, MajorityForestClassifier):
        with pytest.raises(QuestionError):
            learner(epsilon, schema=SCHEMA).fit(*fruits())
    if epsilon != math.inf:
        with pytest.raises(QuestionError):
            CountForestClassifier(epsilon, schema=SCHEMA).fit(*fruits())
    with pytest.raises(QuestionError):
        CountForestClassifier(epsilon).plan(SCHEMA, 100)


def test_the_command_line_refuses_it(tmp_path):
    X, y = fruits()
    X.assign(ripe=y).to_csv(tmp_path / "t.csv", index=False)
    SCHEMA.save(tmp_path / "s.json")
    ledger = str(tmp_path / "l")
    run = CliRunner().invoke
    table, schema = str(tmp_path / "t.csv"), str(tmp_path / "s.json")
    run(app, ["budget", "create", table, "--schema", schema, "--epsilon", "1", "--ledger", ledger])
    command = ["fit", table, "--schema", schema, "--ledger", ledger, "--out", str(tmp_path / "m")]
    result = run(app, [*command, "--epsilon", "inf", "--learner", "count-forest"])
    assert result.exit_code != 0 and not (tmp_path / "m").exists()


def test_batches_with_a_twin_are_not_private():
    forest = CountForestClassifier(1.0, schema=SCHEMA, n_trees=5).partial_fit(*fruits(), batch="a")
    forest.set_params(epsilon=math.inf).partial_fit(*fruits(), batch="b")
    card = forest.privacy_card_
    assert card.epsilon == "inf" and not card.private
    assert [b["epsilon"] for b in card.batches] == ["1.0", "inf"]


def test_empty_subtrees_of_multiway_trees_are_pruned(tmp_path):
    X, y = fruits()
    model = twin(structure="jagannathan", max_depth=3).fit(X, y).model_
    trees = model.trees
    check_structure(trees, SCHEMA)
    full = CountForestClassifier(1.0, structure="jagannathan", max_depth=3, schema=SCHEMA, random_state=0)
    whole = full.fit(X, y).model_.trees
    assert len(trees.view) < len(whole.view) / 2 and trees.n_trees == whole.n_trees
    # Every row is counted once a tree, and no split is without rows.
    assert model.counts.sum() == len(y) * trees.n_trees
    assert node_sums(trees, model.counts, 0.0)[0][trees.view >= 0].any(axis=1).all()
    model.save(tmp_path / "m")
    assert (load_model(tmp_path / "m").shares(X) == model.shares(X)).all()
    assert json.loads(json.dumps(model.card.to_dict()))["epsilon"] == "inf"

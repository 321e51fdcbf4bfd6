import json
import math
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from privet import Continuous, CountForestClassifier, Label, MajorityForestClassifier, QuestionError, Schema
from privet.audit import rival_stand
from privet.audit.attack import allowed_advantage, attack_learner, epsilon_of
from privet.audit.detectors import (
    chance_of_no_noise,
    exact_counts_verdict,
    fields_verdict,
    file_fields,
    names_verdict,
    replay_verdict,
    telling_fields,
    zeros_verdict,
)
from privet.audit.page import audit_page
from privet.audit.rivals import examine_rival
from privet.audit.verdict import BROKEN, HOLDS, Verdict
from privet.cli.main import main
from privet.data import encode, open_table
from privet.kernels.count import count_leaves
from privet.model.file import read_model, write_model

SCHEMA = Schema([Continuous("a", 0, 1), Continuous("b", 0, 1)], Label("y", [0, 1]))
N = 200
X = np.random.default_rng(0).random((N, 2))
Y = (np.random.default_rng(1).random(N) < 0.5).astype(int)


def own_label(model):
    return model.predict_proba(X)[np.arange(N), Y]


def forest(epsilon=1.0, **options):
    return CountForestClassifier(epsilon, schema=SCHEMA, random_state=0, n_trees=3, max_depth=3, **options)


def test_an_attack_finds_the_members_of_a_learner_that_knows_them_by_heart():
    def by_heart(members):
        return np.where(members, 0.9, 0.5)

    attack = attack_learner(by_heart, N, 1.0, fits=12)
    assert attack.advantage > 0.95
    assert attack.verdict("by heart", 0.0).broken


def test_an_attack_gains_nothing_from_a_learner_that_knows_nobody():
    random = np.random.default_rng(2)
    attack = attack_learner(lambda members: random.random(N), N, 0.1, fits=12)
    assert not attack.verdict("nobody", 0.0).broken
    assert abs(attack.advantage) < 0.1


def test_an_attack_on_a_forest_stays_below_what_its_promise_allows():
    attack = attack_learner(lambda members: own_label(forest().fit(X[members], Y[members])), N, 1.0, fits=12)
    assert attack.least < attack.allowed
    assert len(attack.false_positives) == len(attack.true_positives)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_an_advantage_and_its_epsilon_are_each_other_s_inverse(epsilon):
    assert epsilon_of(allowed_advantage(epsilon, 1e-3), 1e-3) == pytest.approx(epsilon)


def saved(path, keep=slice(None), extra=None):
    forest().fit(X[keep], Y[keep]).model_.save(path)
    header, arrays = read_model(path)
    if extra:
        write_model(path, header | extra(X[keep]), arrays)
    return file_fields(path)


def test_a_number_of_rows_in_the_header_is_found_and_noisy_files_are_not_accused(tmp_path):
    path = tmp_path / "m.privet"
    honest = [[saved(path, keep) for _ in range(30)] for keep in (slice(None), slice(1, None))]
    assert not fields_verdict("ours", *honest, 0.5).broken
    telling = [
        [saved(path, keep, lambda rows: {"rows": len(rows)}) for _ in range(30)]
        for keep in (slice(None), slice(1, None))
    ]
    assert telling_fields(*telling)[0].field == ".rows"
    assert fields_verdict("with its rows", *telling, 0.1, doubt=1e-3).broken


def test_a_name_that_gets_into_the_model_is_found():
    named, other = [{".bins.violet": "3"}] * 60, [{".bins.red": "1"}] * 60
    assert names_verdict("named", named, other, "violet", 1.0).broken
    assert not names_verdict("not named", other, other, "violet", 1.0).broken


def test_guesses_that_are_always_right_convict_and_half_right_ones_do_not():
    assert replay_verdict("replayed", [True] * 60, 1.0).broken
    assert not replay_verdict("not replayed", [True, False] * 30, 0.1).broken


def test_a_public_seed_does_not_draw_the_noise_again():
    """Who knows ``random_state`` and the rows learns nothing about which table a model came from."""
    random, right = np.random.default_rng(3), []
    for _ in range(30):
        truth = int(random.integers(2))
        tables = [(X, Y), (X[1:], Y[1:])]
        counts = forest().fit(*tables[truth]).model_.counts
        again = [np.array_equal(forest().fit(*table).model_.counts, counts) for table in tables]
        right.append(again.index(True) == truth if any(again) else bool(random.integers(2)))
    assert not replay_verdict("ours", right, 0.1).broken


def test_counts_that_were_never_noised_are_found():
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": Y})
    model = forest(0.1, structure="bojarski").fit(X, Y).model_
    assert not exact_counts_verdict("ours", model, frame).broken
    assert not zeros_verdict("ours", model).broken
    codes = encode(open_table(frame, SCHEMA), SCHEMA)
    exact = count_leaves(model.trees, codes.features, codes.labels, 2)
    assert exact_counts_verdict("exact", replace(model, counts=exact), frame).broken
    sparse = np.where(exact == 0, 0, model.counts)
    assert zeros_verdict("empty leaves left out", replace(model, counts=sparse)).broken
    labels = MajorityForestClassifier(1.0, schema=SCHEMA, n_trees=2).fit(X, Y).model_
    assert exact_counts_verdict("labels", labels, frame) is None and zeros_verdict("labels", labels) is None


@pytest.mark.parametrize("variance", [0.5, 2.0, 100.0])
def test_the_chance_of_no_noise_is_that_of_its_law(variance):
    chance = chance_of_no_noise(variance)
    a = (1 - chance) / (1 + chance)
    assert 2 * a / (1 - a) ** 2 == pytest.approx(variance)


def test_fields_of_any_object_are_found_with_their_places():
    class Thing:
        def __init__(self):
            self.counts = np.array([1, 2])
            self.name = {"deep": ("x", None)}

    found = rival_stand.flat(Thing())
    assert found[".counts[1]"] == "2" and found[".name.deep[0]"] == "'x'"


def test_the_made_tables_of_the_stand_are_neighbours():
    for a, b in (rival_stand.made_tables(), rival_stand.shifted_tables()):
        assert all(np.array_equal(x[1:], y) for x, y in zip(a, b, strict=True))


def test_a_rival_that_is_not_there_is_an_error_in_words(tmp_path):
    with pytest.raises(QuestionError, match="no rival"):
        examine_rival("nobody", sys.executable)
    with pytest.raises(QuestionError, match="cannot run"):
        examine_rival("diffprivlib", tmp_path / "no-python")
    with pytest.raises(QuestionError, match="could not be examined"):
        examine_rival("dp-xgboost", sys.executable)


def test_the_command_line_attacks_a_learner_and_writes_a_page(tmp_path, capsys):
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": Y}).to_csv(tmp_path / "people.csv", index=False)
    SCHEMA.save(tmp_path / "schema.json")
    page = tmp_path / "page.html"
    arguments = ["audit", "attack", "count-forest", str(tmp_path / "people.csv"), "--json", "--fits", "8"]
    assert main([*arguments, "--schema", str(tmp_path / "schema.json"), "--page", str(page)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["method"] == "membership attack" and told["outcome"] == "not refuted"
    assert "Membership" in page.read_text() and "<svg" in page.read_text()


def test_an_attack_on_too_few_people_is_refused(tmp_path, capsys):
    pd.DataFrame({"a": X[:5, 0], "b": X[:5, 1], "y": Y[:5]}).to_csv(tmp_path / "few.csv", index=False)
    SCHEMA.save(tmp_path / "schema.json")
    arguments = ["audit", "attack", "count-forest", str(tmp_path / "few.csv")]
    assert main([*arguments, "--schema", str(tmp_path / "schema.json")]) not in (0, 6)
    assert "at least" in capsys.readouterr().err


def test_the_command_line_looks_into_a_model_file(tmp_path, capsys):
    data, path = tmp_path / "people.csv", tmp_path / "m.privet"
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": Y}).to_csv(data, index=False)
    forest().fit(X, Y).model_.save(path)
    assert main(["audit", "model", str(path), "--data", str(data), "--json"]) == 0
    methods = [verdict["method"] for verdict in json.loads(capsys.readouterr().out)["file"]]
    assert methods == ["leaves without noise", "counts without noise"]


def test_the_command_line_says_what_is_wrong_with_a_rival(capsys):
    assert main(["audit", "rival", "nobody", "--python", sys.executable]) != 0
    assert "no rival" in capsys.readouterr().err


def test_a_page_shows_the_most_telling_test_of_everyone():
    seen = {"seen": [30, 3], "of": 60}
    verdicts = [
        Verdict("broken", "statistical", BROKEN, 0.1, 1.0, "", confidence=0.99, witness=seen),
        Verdict("whole", "exact", HOLDS, 1.0, 1.0, "", witness={"event": "<script>"}),
        Verdict("open", "statistical", BROKEN, 1.0, math.inf, ""),
    ]
    page = audit_page(verdicts, {})
    assert page.count("<figure") == 2 and "<script>" not in page
    assert "1 holds exactly, 2 broken" in page

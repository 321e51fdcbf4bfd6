"""The record for officers: filled from what a model knows, open where it cannot know."""

import json
from dataclasses import replace
from importlib.resources import files

import jsonschema
import numpy as np
import pytest

from privet import BoostingClassifier, CountForestClassifier, Label, Schema, load_model
from privet.cli.main import main
from privet.model.deployment import deployment, deployment_text
from privet.schema import Continuous

SCHEMA = Schema([Continuous("a|b\n# x", 0, 1)], Label("ill", ["no", "yes"]), max_rows=5000)
FORM = json.loads(files("privet.model").joinpath("deployment.schema.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def models():
    random = np.random.default_rng(0)
    X = random.random((500, 1))
    y = np.where(X[:, 0] > 0.5, "yes", "no")
    learners = (
        BoostingClassifier(epsilon=1, delta=1e-6, schema=SCHEMA, passes=1),
        CountForestClassifier(epsilon=0.5, n_trees=2, schema=SCHEMA),
    )
    return [learner.fit(X, y).model_ for learner in learners]


@pytest.fixture(params=[0, 1])
def model(models, request):
    return models[request.param]


def test_a_record_has_the_form_that_is_promised(model):
    record = deployment(model)
    jsonschema.validate(json.loads(json.dumps(record)), FORM)
    assert record["deployment"]["privacy_loss"]["privacy_parameters"]["epsilon"] == model.card.epsilon
    assert record["card"] == model.card.to_dict()


def test_the_form_refuses_what_lacks_a_part(model):
    for section in ("deployment", "open", "card"):
        record = deployment(model)
        del record[section]
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(record, FORM)


def test_what_is_open_is_named_and_nothing_else(model):
    record = deployment(model)
    assert "deployment.basic.data_curators" in record["open"]
    for place in record["open"]:
        value = record
        for name in place.split("."):
            value = value[int(name) if name.isdigit() else name]
        assert value is None
    assert json.dumps({k: record[k] for k in ("deployment", "evaluation")}).count("null") == len(
        record["open"]
    )


def test_the_law_of_the_noise_is_told_from_what_was_asked(models):
    gaussian, laplace = (deployment(m)["deployment"] for m in models)
    assert "Gaussian" in gaussian["implementation"]["mechanisms"]
    assert "Gaussian" not in laplace["implementation"]["mechanisms"]
    assert (gaussian["dp_variant"]["variant_name"], laplace["dp_variant"]["variant_name"]) == (
        "Approximate DP",
        "Pure DP",
    )


def test_a_broken_promise_is_told_as_one(model):
    card = replace(model.card, private=False, caveats=["noise was drawn from a repeatable generator"])
    told = json.dumps(deployment(replace(model, card=card)))
    assert "NONE" in told and "no seed is kept" not in told and "repeatable generator" in told


def test_text_keeps_its_tables_whatever_names_hold(model):
    hostile = replace(model, card=replace(model.card, account="a|b\n# c\\"))
    table = [line for line in deployment_text(hostile).splitlines() if line.startswith("|")]
    assert all(line.replace("\\\\", "").replace("\\|", "").count("|") == 3 for line in table)
    assert "\n# c" not in deployment_text(hostile)


def test_the_command_writes_both(model, tmp_path, capsys):
    path = tmp_path / "m.privet"
    model.save(path)
    assert main(["describe", str(path), "--card", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == deployment(load_model(path))
    assert main(["describe", str(path), "--card", "md"]) == 0
    assert capsys.readouterr().out.startswith("# A release under differential privacy")
    assert main(["describe", str(path), "--card", "pdf"]) == 2

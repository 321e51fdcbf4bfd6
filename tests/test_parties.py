"""Parties: counts that add up exactly, files that cannot be altered, costs that are told."""

from __future__ import annotations

import contextlib
import io
import json
import math
import pickle
import re
import shlex
import shutil
import sys
import zipfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import privet
from privet import (
    Budget,
    Categorical,
    Continuous,
    CountForestClassifier,
    Label,
    Ledger,
    Schema,
    UnionForest,
    load_model,
    protect,
)
from privet.audit.stand import Rows
from privet.audit.transcripts import compare_without
from privet.cli.main import main
from privet.cli.population import SCHEMA as PEOPLE
from privet.cli.population import invent_people, write_people
from privet.data import encode, open_table
from privet.errors import (
    BudgetExceeded,
    DataError,
    ModelFileError,
    PrivetError,
    QuestionError,
    SchemaError,
)
from privet.kernels.count import count_leaves
from privet.kernels.predict import normalised, vote_shares
from privet.kernels.vote import vote
from privet.learners.count_forest import label_prior
from privet.model.file import from_bytes, read_model, to_bytes, write_model
from privet.parties import (
    PublicStructure,
    SignedVector,
    draw_structure,
    load_key,
    merge,
    new_key,
    public_key,
    publish,
    read_known_keys,
    unite,
)
from privet.parties.keys import open_signed, sign
from privet.parties.structure import KIND as STRUCTURE
from privet.privacy import Repeatable, Secure
from privet.privacy.budget import UNITS
from privet.soundness import check_predictor
from privet.structure import MultiwayTrees

SCHEMA = Schema(
    [Continuous("age", 0, 100, integer=True), Categorical("ward", ["a", "b", "c"])],
    Label("ill", ["no", "yes"]),
)
OTHER = Schema([Continuous("age", 0, 120, integer=True), SCHEMA.features[1]], SCHEMA.label)
SMALL = draw_structure(SCHEMA, n_trees=2, max_depth=2, seed=1)
LONG = Fraction(3**3000, 2 * 3**3000 + 1)
"""Hardly below one half, and too long to be stated."""


def patients(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.integers(0, 101, n), "ward": rng.choice(["a", "b", "c"], n)})
    return frame, np.where((frame["age"] > 60) ^ (frame["ward"] == "a"), "yes", "no")


def rows_of(seed: int, budget: Budget, schema: Schema = SCHEMA, n: int = 300, **more):
    account = Ledger().create("patients", budget)
    X, y = patients(n, seed)
    return protect(X, schema, account, y, **more), account


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    return {name: new_key(folder / name) for name in ("north", "south", "west", "thief")}


def vector_of(party, keys, structure=SMALL, seed=0, key=None, **more):
    budget = Budget(more.get("epsilon") or structure.budget.epsilon, structure.budget.delta)
    rows, _ = rows_of(seed, budget, structure.schema)
    return publish(structure, rows, party, keys[key or party], **more)


@pytest.fixture(scope="module")
def vectors(keys):
    return [vector_of(party, keys, seed=i) for i, party in enumerate(("north", "south", "west"))]


class Noted(Secure):
    """Writes down the noise that was really added, answer by answer."""

    def __init__(self):
        super().__init__()
        self.added = []

    def add(self, exact, law):
        values = super().add(exact, law)
        self.added.append(values - exact)
        return values


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_merged_parties_are_one_party_up_to_the_noise_added(delta, keys):
    structure = draw_structure(SCHEMA, 2.0, delta, n_trees=7, max_depth=4, seed=3)
    tables = [patients(n, seed) for seed, n in enumerate((200, 500, 90))]
    accounts = [Ledger().create("patients", structure.budget) for _ in tables]
    noted = Noted()
    vectors = [
        publish(structure, protect(X, SCHEMA, account, y, noted), party, keys[party])
        for (X, y), account, party in zip(tables, accounts, ("north", "south", "west"), strict=True)
    ]
    merged = merge(structure, vectors)
    X, y = pd.concat([X for X, _ in tables]), np.concatenate([y for _, y in tables])
    codes = encode(open_table(X, SCHEMA), SCHEMA, y)
    exact_counts = count_leaves(structure.trees, codes.features, codes.labels, 2)
    assert len(noted.added) == 6
    label_noise, leaf_noise = sum(noted.added[0::2]), sum(noted.added[1::2])
    assert (merged.counts == exact_counts + leaf_noise).all()
    assert any(noise.any() for noise in noted.added[1::2])
    whole = Ledger().create("all", structure.budget)
    rows = protect(X, SCHEMA, whole, y, noted)
    one = merge(structure, [publish(structure, rows, "north", keys["north"])])
    assert (merged.counts - leaf_noise == one.counts - noted.added[7]).all()
    assert np.isclose(merged.variance, 3 * one.variance)
    label_rows = np.bincount(codes.labels) + label_noise
    assert (label_rows == sum(v.label_rows for v in vectors)).all()
    law = vectors[0].noise[0]
    per_party = Fraction(law[1]) if delta else 2 * Fraction(law[1]) ** 2
    assert np.allclose(merged.prior, label_prior(label_rows, 3 * float(per_party)), atol=1e-3)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_party_pays_exactly_what_the_structure_says(delta, keys):
    structure = draw_structure(SCHEMA, "0.3", delta, n_trees=3, max_depth=2)
    rows, account = rows_of(0, structure.budget)
    vector = publish(structure, rows, "north", keys["north"])
    spent = account.spent()
    if delta:  # both questions' parts are rounded down
        assert 0 <= structure.budget.rho - spent.rho < Fraction(2, UNITS**2)
    else:
        assert spent.epsilon == Fraction(3, 10)
    assert vector.card.receipt == rows.receipt.hash
    assert [charge.to_dict() for charge in rows.asked] == vector.card.questions
    with pytest.raises(BudgetExceeded):
        publish(structure, rows, "north", keys["north"])


@pytest.mark.parametrize(("delta", "epsilon"), [(0, None), (0, "0.7"), (1e-6, None)])
def test_what_a_party_publishes_keeps_its_epsilon_against_every_neighbour(delta, epsilon, keys):
    structure = draw_structure(SCHEMA, 1.0, delta, n_trees=3, max_depth=3, seed=4)
    X, y = patients(12, 0)
    codes = encode(open_table(X, SCHEMA), SCHEMA, y)

    def program(rows):
        vector = publish(structure, rows, "north", keys["north"], epsilon=epsilon)
        return vector.label_rows, vector.counts, vector.noise, vector.card

    for row in range(12):
        found = compare_without(
            program, Rows(codes.features, codes.labels), row, SCHEMA, structure.budget, seed=row
        )
        assert found.keeps and found.answers == 2 and not found.leak
        assert found.loss.bound.rho == found.charged.rho if delta else not found.broken
        if not delta:
            assert found.loss.bound.epsilon == found.charged.epsilon == Fraction(epsilon or 1)


def test_what_anyone_merges_says_who_is_in_it(vectors):
    merged = merge(SMALL, vectors[:2])
    told = merged.card.batches
    assert [(b["party"], b["key"], b["receipt"]) for b in told] == [
        (v.party, v.key, v.card.receipt) for v in vectors[:2]
    ]
    assert merged.card.learner["identities"] == "not checked"
    assert "north: ε=1, key" in str(merged.card) and "west" not in str(merged.card)
    assert (merged.counts == vectors[0].counts + vectors[1].counts).all()


@pytest.mark.parametrize(
    ("declared", "epsilon"),
    [((True, True, True), "2"), ((False, False, False), "3.75"), ((True, False, True), "2.75")],
)
def test_declared_disjoint_people_cost_the_maximum_others_the_sum(declared, epsilon, keys):
    costs = (1, 0.75, 2)
    vectors = [
        vector_of(party, keys, epsilon=cost, disjoint=disjoint)
        for party, cost, disjoint in zip(("north", "south", "west"), costs, declared, strict=True)
    ]
    merged = merge(SMALL, vectors)
    assert merged.card.epsilon == epsilon
    assert sum(Fraction(q["epsilon"]) for q in merged.card.questions) == Fraction(epsilon)
    assert ("declare" in merged.card.neighbours) == all(declared)
    assert np.isclose(merged.variance, sum(merge(SMALL, [v]).variance for v in vectors))


def test_repeatable_noise_is_told_on_the_merged_card(keys, vectors):
    rows, _ = rows_of(5, Budget(1), mechanisms=Repeatable(0))
    studied = publish(SMALL, rows, "thief", keys["thief"])
    card = merge(SMALL, [*vectors, studied]).card
    assert not card.private and "repeatable" in card.caveats[0] and "NONE" in card.promise


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"schema": OTHER}, SchemaError),
        ({"party": "nor\nth"}, QuestionError),
        ({"party": ""}, QuestionError),
        ({"party": "\x1b[31mnorth"}, QuestionError),
        ({"party": None}, QuestionError),
        ({"key": "a password"}, QuestionError),
        ({"epsilon": 0}, QuestionError),
        ({"epsilon": 1e-12}, QuestionError),
        ({"epsilon": 9}, BudgetExceeded),
        ({"structure": draw_structure(SCHEMA, 1, LONG / 10**6, n_trees=2, max_depth=2)}, QuestionError),
        ({"label": "perhaps"}, DataError),
    ],
)
def test_a_mistake_costs_nothing(change, error, keys):
    account = Ledger().create("patients", Budget(2))
    X, y = patients(300, 0)
    y = [change["label"], *y[1:]] if "label" in change else y
    rows = protect(X, change.get("schema", SCHEMA), account, y)
    with pytest.raises(error):
        publish(
            change.get("structure", SMALL),
            rows,
            change.get("party", "north"),
            change.get("key", keys["north"]),
            epsilon=change.get("epsilon"),
        )
    assert account.spent().epsilon == 0


def test_an_epsilon_of_many_digits_is_rounded_down_and_stated_so(keys):
    rows, account = rows_of(0, Budget(1))
    vector = publish(SMALL, rows, "north", keys["north"], epsilon=LONG)
    stated, spent = Fraction(vector.card.epsilon), account.spent().epsilon
    assert 0 < LONG - stated < Fraction(1, UNITS)
    assert 0 <= stated - spent < Fraction(2, UNITS)
    assert merge(SMALL, [vector]).card.epsilon == vector.card.epsilon


def test_a_vector_altered_at_any_byte_or_cut_anywhere_is_refused(vectors):
    whole = vectors[0].signed
    assert SignedVector.from_bytes(whole, "v").party == "north"
    for place in range(len(whole)):
        altered = bytearray(whole)
        altered[place] ^= 1 << place % 8
        with pytest.raises(ModelFileError):
            SignedVector.from_bytes(bytes(altered), "v")
    for length in [*range(0, 200), *range(200, len(whole), 17), len(whole) - 1]:
        with pytest.raises(ModelFileError):
            SignedVector.from_bytes(whole[:length], "v")
    with pytest.raises(ModelFileError):
        SignedVector.from_bytes(whole + b"\0", "v")


def test_a_signature_of_another_vector_or_key_is_refused(vectors):
    one, other = vectors[0].signed, vectors[1].signed
    for end in (48, 112):
        with pytest.raises(ModelFileError, match="signature"):
            SignedVector.from_bytes(one[:end] + other[end:], "v")


def resigned(vector, key, header=None, arrays=None, drop=()):
    """What a party could sign itself, however little sense it makes."""
    _, payload = open_signed(vector.signed, "v")
    head, parts = from_bytes(payload, "v")
    head = {k: v for k, v in {**head, **(header or {})}.items() if k not in drop}
    return sign(to_bytes(head, {**parts, **(arrays or {})}), key)


@pytest.mark.parametrize(
    "change",
    [
        {"header": {"kind": "count-forest"}},
        {"header": {"kind": None}},
        {"header": {"structure": "0" * 64}},
        {"header": {"structure": 7}},
        {"header": {"party": "\x1b[2Jnorth"}},
        {"header": {"party": ["north"]}},
        {"header": {"party": "n" * 10_000}},
        {"header": {"disjoint": "yes"}},
        {"header": {"noise": [["laplace", "1"], ["laplace", "1"]]}},
        {"header": {"noise": "laplace"}},
        {"header": {"noise": [["laplace", "\x1b[2J"], ["laplace", "1"]]}},
        {"header": {"more": 1}},
        {"header": {"signed": "no"}},
        {"drop": ["card"]},
        {"drop": ["party"]},
        {"header": {"card": {}}},
        {"header": {"card": None}},
        {"arrays": {"counts": np.zeros((2, 4, 3), np.int64)}},
        {"arrays": {"counts": np.zeros((0, 4, 2), np.int64)}},
        {"arrays": {"counts": np.zeros((2, 4, 2))}},
        {"arrays": {"counts": np.full((2, 4, 2), 1 << 60)}},
        {"arrays": {"counts": np.full((2, 4, 2), -(1 << 63))}},
        {"arrays": {"label_rows": np.zeros(3, np.int64)}},
        {"arrays": {"label_rows": np.zeros((), np.int64)}},
        {"arrays": {"extra": np.zeros(3, np.int64)}},
    ],
)
def test_a_signed_file_that_makes_no_sense_is_refused(change, vectors, keys):
    data = resigned(vectors[0], keys["thief"], **change)
    with pytest.raises(ModelFileError):
        merge(SMALL, [SignedVector.from_bytes(data, "v")])


@pytest.mark.parametrize(
    "card",
    [
        {"epsilon": "0.5"},
        {"epsilon": "1e999999999"},
        {"epsilon": "-1"},
        {"epsilon": "nan"},
        {"epsilon": 1},
        {"epsilon": "1/0"},
        {"delta": "0.5"},
        {"delta": "2"},
        {"questions": []},
        {"questions": 7},
        {"private": "yes"},
        {"private": False},
        {"caveats": ["\x1b[2J"]},
        {"caveats": 3},
        {"receipt": None},
        {"schema": "0" * 32},
    ],
)
def test_a_signed_card_that_states_what_cannot_be_is_refused(card, vectors, keys):
    _, payload = open_signed(vectors[0].signed, "v")
    stated = from_bytes(payload, "v")[0]["card"]
    data = resigned(vectors[0], keys["thief"], {"card": {**stated, **card}})
    with pytest.raises((ModelFileError, SchemaError)):
        merge(SMALL, [SignedVector.from_bytes(data, "v")])


def test_other_files_are_no_vectors(tmp_path, keys):
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("counts", b"\0" * 10_000_000)
    payloads = [b"", b"\x80", pickle.dumps({"party": "north"}), zipped.getvalue(), b"{}"]
    for data in [*payloads, *(sign(payload, keys["north"]) for payload in payloads)]:
        (tmp_path / "v").write_bytes(data)
        with pytest.raises(ModelFileError):
            SignedVector.load(tmp_path / "v")
        with pytest.raises(ModelFileError):
            PublicStructure.load(tmp_path / "v")


def test_the_same_party_twice_is_refused(vectors, keys):
    again = vector_of("north", keys, seed=7)
    with pytest.raises(QuestionError, match="once"):
        merge(SMALL, [*vectors, again])
    with pytest.raises(QuestionError, match="same name"):
        merge(SMALL, [vectors[0], vector_of("North", keys, key="thief")])
    with pytest.raises(QuestionError, match="same key"):
        merge(SMALL, [vectors[0], vector_of("another", keys, key="north")])
    with pytest.raises(QuestionError, match="0 vectors"):
        merge(SMALL, [])


def test_known_keys_tell_an_impostor(tmp_path, vectors, keys):
    known = {name: public_key(keys[name]) for name in ("north", "south", "west")}
    assert merge(SMALL, vectors, known).card.learner["identities"] == "checked against known keys"
    impostor = vector_of("west", keys, key="thief")
    with pytest.raises(ModelFileError, match="another key"):
        merge(SMALL, [*vectors[:2], impostor], known)
    with pytest.raises(ModelFileError, match="no key is known"):
        merge(SMALL, [*vectors, vector_of("thief", keys)], known)
    (tmp_path / "keys").write_text("# parties\n\n" + "".join(f"{n} {k}\n" for n, k in known.items()))
    assert read_known_keys(tmp_path / "keys") == known
    (tmp_path / "keys").write_text(f"north  {'a' * 64} \nSt Mary\t{'b' * 64}")
    assert read_known_keys(tmp_path / "keys") == {"north": "a" * 64, "St Mary": "b" * 64}


@pytest.mark.parametrize("text", ["north", "north 12", f"north {'g' * 64}", "north " + "A" * 64, "a 1\n\0"])
def test_a_file_of_keys_that_is_none_is_refused(text, tmp_path):
    (tmp_path / "keys").write_text(text)
    with pytest.raises(QuestionError, match="line 1"):
        read_known_keys(tmp_path / "keys")


def test_a_file_of_keys_names_each_once(tmp_path):
    for second in (f"north {'b' * 64}", f"south {'a' * 64}"):
        (tmp_path / "keys").write_text(f"north {'a' * 64}\n{second}\n")
        with pytest.raises(QuestionError, match="line 2"):
            read_known_keys(tmp_path / "keys")
    with pytest.raises(QuestionError, match="cannot read"):
        read_known_keys(tmp_path / "nowhere")


def test_a_private_key_is_its_owners_alone(tmp_path):
    key = new_key(tmp_path / "k")
    assert (tmp_path / "k").stat().st_mode & 0o077 == 0
    assert public_key(load_key(tmp_path / "k")) == public_key(key)
    with pytest.raises(QuestionError, match="cannot write"):
        new_key(tmp_path / "k")
    (tmp_path / "other").write_text("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
    for path in ("other", "nowhere", "."):
        with pytest.raises(QuestionError):
            load_key(tmp_path / path)


def test_counts_for_another_structure_or_schema_are_refused(vectors):
    for seed, epsilon in ((2, 1), (1, 2)):
        with pytest.raises(ModelFileError, match="another structure"):
            merge(draw_structure(SCHEMA, epsilon, n_trees=2, max_depth=2, seed=seed), vectors)
    with pytest.raises(SchemaError, match="another schema"):
        merge(draw_structure(OTHER, n_trees=2, max_depth=2, seed=1), vectors)


def test_a_structure_is_the_same_wherever_it_is_drawn_or_read(tmp_path):
    SMALL.save(tmp_path / "s")
    read = PublicStructure.load(tmp_path / "s")
    again = draw_structure(SCHEMA, n_trees=2, max_depth=2, seed=1)
    assert SMALL.fingerprint == read.fingerprint == again.fingerprint
    assert read.describe() == SMALL.describe() and read.budget == SMALL.budget
    whole = (tmp_path / "s").read_bytes()
    for place in [*range(0, len(whole), 5), *range(len(whole) - 40, len(whole))]:
        altered = bytearray(whole)
        altered[place] ^= 1 << place % 8
        (tmp_path / "s").write_bytes(bytes(altered))
        with pytest.raises(ModelFileError):
            PublicStructure.load(tmp_path / "s")


def test_a_structure_that_was_altered_and_sealed_anew_has_another_fingerprint(tmp_path, vectors):
    SMALL.save(tmp_path / "s")
    header, arrays = read_model(tmp_path / "s")
    threshold = arrays["threshold"].copy()
    threshold[0, 1] ^= 1
    for head, parts in (
        (header, {**arrays, "threshold": threshold}),
        ({**header, "voting": "sum"}, arrays),
        ({**header, "epsilon": "2"}, arrays),
        ({**header, "seed": 2}, arrays),
    ):
        write_model(tmp_path / "s", head, parts)
        read = PublicStructure.load(tmp_path / "s")
        assert read.is_drawn == (parts is arrays and head["seed"] == 1)
        with pytest.raises(ModelFileError, match="another structure"):
            merge(read, vectors)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "count-forest"},
        {"depth": 99},
        {"depth": "2"},
        {"depth": 0},
        {"epsilon": "1e999999999"},
        {"epsilon": 1},
        {"epsilon": "0"},
        {"epsilon": "1e-9"},
        {"delta": "1"},
        {"voting": "loudest"},
        {"voting": ["sum"]},
        {"seed": -1},
        {"seed": True},
        {"seed": "1"},
        {"schema": None},
        {"schema": {"features": [], "label": {"name": "y", "values": [0, 1]}}},
        {"threshold": np.zeros((2, 4))},
        {"view": np.full((2, 4), 60_000, np.uint16)},
        {"view": np.zeros((0, 4), np.uint16), "threshold": np.zeros((0, 4), np.uint16)},
    ],
)
def test_an_unsound_structure_is_refused_before_anything_is_charged(change, tmp_path, keys):
    SMALL.save(tmp_path / "s")
    header, arrays = read_model(tmp_path / "s")
    write_model(
        tmp_path / "s",
        {**header, **{k: v for k, v in change.items() if not isinstance(v, np.ndarray)}},
        {**arrays, **{k: v for k, v in change.items() if isinstance(v, np.ndarray)}},
    )
    with pytest.raises(ModelFileError):
        PublicStructure.load(tmp_path / "s")


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_trees": 0},
        {"max_depth": 0},
        {"max_depth": 30},
        {"n_trees": 10**5, "max_depth": 20},
        {"voting": "loudest"},
        {"seed": -1},
        {"seed": 2**32},
        {"seed": None},
        {"seed": True},
        {"max_depth": True},
        {"epsilon": 0},
        {"delta": 1},
        {"epsilon": 1e-4, "delta": 1e-9},
    ],
)
def test_a_structure_that_nobody_could_fill_is_not_drawn(parameters):
    with pytest.raises(QuestionError):
        draw_structure(SCHEMA, **parameters)


def test_a_structure_of_numpy_numbers_is_the_same(tmp_path):
    drawn = draw_structure(SCHEMA, n_trees=np.int64(3), max_depth=np.uint8(2), seed=np.int64(7))
    assert drawn.fingerprint == draw_structure(SCHEMA, n_trees=3, max_depth=2, seed=7).fingerprint
    assert type(replace(drawn, seed=np.int64(7)).seed) is int


def test_a_structure_has_as_many_trees_as_its_budget_bears():
    assert draw_structure(SCHEMA, 0.1).trees.n_trees < draw_structure(SCHEMA, 4).trees.n_trees
    assert draw_structure(PEOPLE).trees.depth > 3


# Vertical parties


WIDE = Schema(
    [
        Continuous("age", 0, 100, integer=True),
        Categorical("ward", ["a", "b", "c"]),
        Continuous("dose", 0, 1),
        Categorical("town", ["x", "y"]),
    ],
    Label("ill", ["no", "yes"]),
)


def columns(n, seed):
    X, y = patients(n, seed)
    rng = np.random.default_rng(seed)
    X["dose"], X["town"] = rng.random(n), rng.choice(["x", "y"], n)
    return X, np.where(X["dose"] > 0.8, "yes", y)


def part(first, last, epsilon=2.0, **more):
    schema = Schema(WIDE.features[first:last], WIDE.label)
    X, y = columns(3000, 1)
    return CountForestClassifier(epsilon, schema=schema, random_state=first, **more).fit(
        X[schema.feature_names], y
    )


@pytest.fixture(scope="module")
def halves():
    return {
        "clinic": part(0, 2, n_trees=6, max_depth=5).model_,
        "lab": part(2, 4, epsilon=0.5, n_trees=9, max_depth=3).model_,
    }


@pytest.mark.parametrize("voting", ["sum", "majority", "threshold", "posterior"])
def test_a_union_adds_up_what_all_trees_of_all_parties_say(voting, halves):
    union = unite(halves, voting)
    X, _ = columns(400, 2)
    votes = 0
    for forest in halves.values():
        codes = encode(open_table(X, forest.schema), forest.schema, with_label=False)
        votes = votes + vote(forest.trees, codes.features, forest.with_voting(voting).values)
    prior = np.mean([forest.prior for forest in halves.values()], axis=0) if voting == "posterior" else None
    assert np.allclose(union.shares(X), vote_shares(votes, 15, prior))
    assert np.allclose(union.shares(X).sum(axis=1), 1)
    check_predictor(union.predictor, union.schema)


def test_a_union_knows_more_than_each_party(halves):
    X, y = columns(3000, 5)
    union = unite(halves)
    right = [np.mean(np.array(m.schema.label.values)[m.shares(X).argmax(1)] == y) for m in halves.values()]
    assert np.mean(np.array(["no", "yes"])[union.shares(X).argmax(1)] == y) > max(right)


def test_a_union_costs_the_sum_and_says_why(halves):
    card = unite(halves).card
    assert card.epsilon == "2.5" and card.delta == "0"
    assert "same people" in card.neighbours
    assert sum(Fraction(q["epsilon"]) for q in card.questions) == Fraction(5, 2)
    assert "clinic: ε=2" in str(card) and "lab: ε=0.5" in str(card)


def test_a_union_is_saved_and_loaded_as_it_is(tmp_path, halves):
    union = unite(halves)
    union.save(tmp_path / "u")
    loaded = load_model(tmp_path / "u")
    X, _ = columns(50, 3)
    assert isinstance(loaded, UnionForest) and (loaded.shares(X) == union.shares(X)).all()
    assert loaded.card == union.card and loaded.describe() == union.describe()
    assert loaded.describe()["depth"] == [5, 3] and loaded.describe()["trees"] == 15
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "u").read_bytes()
    assert (loaded.with_voting("sum").shares(X) != loaded.shares(X)).any()


def test_a_union_of_trees_with_a_child_for_every_category(tmp_path):
    made = {"clinic": part(0, 2, structure="jagannathan"), "lab": part(2, 4, structure="jagannathan")}
    forests = {name: fitted.model_ for name, fitted in made.items()}
    assert all(isinstance(forest.trees, MultiwayTrees) for forest in forests.values())
    union = unite(forests, "sum")
    X, _ = columns(300, 2)
    votes = 0
    for forest in forests.values():
        codes = encode(open_table(X, forest.schema), forest.schema, with_label=False)
        votes = votes + vote(forest.trees, codes.features, forest.with_voting("sum").values)
    assert np.allclose(union.shares(X), vote_shares(votes, 0))
    check_predictor(union.predictor, union.schema)
    union.save(tmp_path / "u")
    assert (load_model(tmp_path / "u").shares(X) == union.shares(X)).all()
    with pytest.raises(QuestionError, match="cannot be united"):
        unite({"clinic": forests["clinic"], "lab": part(2, 4, n_trees=2, max_depth=2).model_})


def test_a_union_with_a_twin_that_is_not_private_says_so(halves):
    card = unite({"clinic": halves["clinic"], "lab": part(2, 4, epsilon=math.inf, max_depth=3).model_}).card
    assert card.epsilon == "inf" and not card.private and "NONE" in card.promise


def test_a_mailed_forest_that_states_no_cost_is_refused(halves):
    lab = replace(halves["lab"], card=replace(halves["lab"].card, epsilon="1e999999999", private=False))
    with pytest.raises(QuestionError, match="stated"):
        unite({"clinic": halves["clinic"], "lab": lab})


@pytest.mark.parametrize(
    "change",
    [
        {"variance": "big"},
        {"variance": -1.0},
        {"variance": math.nan},
        {"variance": math.inf},
        {"variance": None},
        {"counts": np.zeros((9, 8, 2))},
        {"prior": np.zeros(2, np.int64)},
    ],
)
def test_a_mailed_forest_whose_counts_make_no_sense_is_refused(change, tmp_path, halves):
    halves["lab"].save(tmp_path / "m")
    header, arrays = read_model(tmp_path / "m")
    for name, value in change.items():
        (arrays if isinstance(value, np.ndarray) else header)[name] = value
    write_model(tmp_path / "m", header, arrays)
    with pytest.raises(ModelFileError, match="sound model"):
        load_model(tmp_path / "m")


def test_a_union_takes_arrays_in_the_order_of_its_features(halves):
    union = unite(halves)
    X, _ = columns(50, 3)
    assert (union.shares(X[["town", "age", "dose", "ward"]]) == union.shares(X)).all()
    assert (union.shares(X.to_numpy(object)) == union.shares(X)).all()


@pytest.mark.parametrize("change", ["schema", "wider", "voting", "forests", "arrays", "label"])
def test_a_union_that_is_not_sound_is_refused(change, tmp_path, halves):
    unite(halves).save(tmp_path / "u")
    header, arrays = read_model(tmp_path / "u")
    if change == "schema":
        header["schema"] = Schema(WIDE.features[::-1], WIDE.label).to_dict()
    elif change == "wider":
        header["schema"]["features"][1]["categories"].append("d")
    elif change == "label":
        header["forests"][0]["schema"]["label"]["name"] = "well"
    elif change == "voting":
        header["voting"] = "loudest"
    elif change == "forests":
        header["forests"] = header["forests"][:1]
    else:
        arrays.pop("1.counts")
    write_model(tmp_path / "u", header, arrays)
    with pytest.raises(ModelFileError, match="sound model"):
        load_model(tmp_path / "u")


def test_what_cannot_be_united_is_refused(halves):
    with pytest.raises(QuestionError, match="two forests"):
        unite({"clinic": halves["clinic"]})
    with pytest.raises(SchemaError, match="more than once"):
        unite({**halves, "again": part(1, 2, n_trees=2, max_depth=2).model_})
    flipped = Schema(WIDE.features[2:], Label("ill", ["yes", "no"]))
    X, y = columns(200, 1)
    other = CountForestClassifier(schema=flipped, n_trees=2, max_depth=2).fit(X[["dose", "town"]], y).model_
    with pytest.raises(SchemaError, match="label"):
        unite({"clinic": halves["clinic"], "lab": other})
    with pytest.raises(QuestionError, match="vote differently"):
        unite({"clinic": halves["clinic"], "lab": halves["lab"].with_voting("sum")})
    with pytest.raises(QuestionError, match="forests of counts"):
        unite({"clinic": halves["clinic"], "lab": unite(halves)})
    with pytest.raises(QuestionError, match="voting"):
        unite(halves, "loudest")


def test_merged_parties_can_be_one_side_of_a_union(keys):
    left, right = (Schema(WIDE.features[a:b], WIDE.label) for a, b in ((0, 2), (2, 4)))
    X, y = columns(400, 1)
    sides = {}
    for name, schema, parties in (("clinics", left, ("north", "south")), ("labs", right, ("west",))):
        structure = draw_structure(schema, n_trees=3, max_depth=3)
        vectors = []
        for party in parties:
            rows = protect(X[schema.feature_names], schema, Ledger().create("p", Budget(1)), y)
            vectors.append(publish(structure, rows, party, keys[party]))
        sides[name] = merge(structure, vectors)
    card = unite(sides).card
    assert card.epsilon == "2" and [len(b["parties"]) for b in card.batches] == [2, 1]
    assert all(f"– {party}: ε=1, key" in str(card) for party in ("north", "south", "west"))
    assert np.allclose(normalised(unite(sides).shares(X)).sum(axis=1), 1)


# The command line


def write_tables(folder):
    PEOPLE.save(folder / "schema.json")
    for seed, name in enumerate(("north", "south", "west")):
        write_people(invent_people(600, seed), folder / f"{name}.csv")
    people = invent_people(600, 9)
    for name, features in (("clinic", PEOPLE.features[:4]), ("insurer", PEOPLE.features[4:])):
        Schema(features, PEOPLE.label).save(folder / f"{name}.json")
        names = [*(feature.name for feature in features), PEOPLE.label.name]
        write_people({column: people[column] for column in names}, folder / f"{name}.csv")


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err and "unexpected" not in captured.err, captured.err
        return code, captured.out, captured.err

    return run


def spent(name):
    return Ledger(f"{name}.csv.ledger").account(f"{name}.csv").spent().epsilon


STORY = Path(privet.__file__).parents[2] / "docs" / "parties.md"


def test_the_story_in_the_documentation_runs_as_it_stands(call):
    write_tables(Path())
    blocks = re.findall(r"^```sh\n(.*?)^```", STORY.read_text(), re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines() if line]
    assert len(lines) > 12
    for line in lines:
        program, *arguments = shlex.split(line, comments=True)
        if program == "cat":
            *sources, arrow, target = arguments
            assert arrow == ">"
            Path(target).write_text("".join(Path(source).read_text() for source in sources))
            continue
        assert program == "privet"
        code, _, err = call(*arguments)
        assert code == 0, (line, err)
    assert spent("north") == spent("south") == Fraction(1, 2)
    assert load_model("all.privet").card.epsilon == "0.5"
    assert load_model("union.privet").card.epsilon == "1"


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A folder of three hospitals with keys and budgets that have all published."""
    folder = tmp_path_factory.mktemp("hospitals")
    write_tables(folder)
    steps = ["party structure --schema schema.json --epsilon 0.5 --trees 5 --depth 3 --out s"]
    for name in ("north", "south", "west"):
        steps += [f"party key {name}", f"budget create {name}.csv --epsilon 1"]
    for name in ("north", "south", "west"):
        steps.append(f"party publish s {name}.csv --party {name} --key {name}.key --out {name}.vector")
    with contextlib.chdir(folder):
        for step in steps:
            assert main([*step.split(), "--json"]) == 0
    known = "".join((folder / f"{name}.pub").read_text() for name in ("north", "south", "west"))
    (folder / "known").write_text(known)
    return folder


@pytest.fixture
def hospitals(call, published, tmp_path):
    shutil.copytree(published, tmp_path, dirs_exist_ok=True)
    return call


def test_three_hospitals(hospitals):
    assert all(spent(name) == Fraction(1, 2) for name in ("north", "south", "west"))
    vectors = ["north.vector", "south.vector", "west.vector"]
    code, text, err = hospitals("party", "merge", "s", *vectors, "--keys", "known", "--out", "all")
    assert code == 0 and "3 parties, 0.5-differential privacy" in text and not err
    assert all(f"{name}: ε=0.5, key" in text for name in ("north", "south", "west"))
    code, text, err = hospitals("party", "merge", "s", *vectors[:2], "--out", "two", "--json")
    assert code == 0 and "NOT CHECKED" in err
    assert [b["party"] for b in json.loads(text)["card"]["batches"]] == ["north", "south"]
    code, text, _ = hospitals("party", "merge", "s", vectors[2], "--out", "one")
    assert code == 0 and "1 party," in text
    code, text, _ = hospitals("describe", "all")
    assert (
        code == 0
        and "learner     name=count-forest" in text
        and "identities=checked" in text
        and "parallel over 3 parties" in text
    )
    code, text, _ = hospitals("predict", "all", "west.csv")
    assert code == 0 and len(text.splitlines()) == 601
    code, text, _ = hospitals("party", "show", "west.vector")
    assert code == 0 and "declared to be with no other party" in text
    code, text, _ = hospitals("party", "show", "s", "--json")
    assert code == 0 and json.loads(text)["kind"] == STRUCTURE


def test_hospitals_whose_people_overlap(hospitals):
    more = ["--party", "north", "--key", "north.key", "--epsilon", 0.25, "--overlapping"]
    assert hospitals("party", "publish", "s", "north.csv", *more, "--out", "n2")[0] == 0
    assert spent("north") == Fraction(3, 4)
    code, text, _ = hospitals("party", "merge", "s", "n2", "south.vector", "--out", "m", "--json")
    assert code == 0 and json.loads(text)["card"]["epsilon"] == "0.75"


@pytest.mark.parametrize(
    ("step", "code", "said"),
    [
        ("publish nowhere north.csv --party north --key north.key --out v", 5, "cannot read"),
        ("publish schema.json north.csv --party north --key north.key --out v", 5, "not a structure"),
        ("publish cut north.csv --party north --key north.key --out v", 5, "cut or edited"),
        ("publish north.vector north.csv --party north --key north.key --out v", 5, "not a structure"),
        ("publish s north.csv --party north --key schema.json --out v", 2, "Ed25519"),
        ("publish s north.csv --party north --key nowhere --out v", 2, "cannot read"),
        ("publish s north.csv --party north --key north.key --out north.vector", 2, "there already"),
        ("publish s north.csv --party # --key north.key --out v", 2, "name"),
        ("publish s north.csv --party north --key north.key --out v --epsilon 0", 2, "above 0"),
        ("publish s north.csv --party north --key north.key --out v --epsilon 3", 4, "remains"),
        ("publish s nowhere.csv --party north --key north.key --out v", 3, "nowhere.csv"),
        ("publish s known --party north --key north.key --out v", 3, "known"),
        ("publish other north.csv --party north --key north.key --out v", 4, "another schema"),
        ("merge s north.vector north.vector --out v", 2, "once"),
        ("merge s --out v", 2, "0 vectors"),
        ("merge s altered --out v", 5, "signature"),
        ("merge s s --out v", 5, "not a signed"),
        ("merge north.vector north.vector --out v", 5, "not a structure"),
        ("merge other north.vector --out v", 3, "another schema"),
        ("merge deeper north.vector --out v", 5, "another structure"),
        ("merge s west.vector --keys two --out v", 5, "no key is known"),
        ("merge s west.vector --keys mixed --out v", 5, "another key"),
        ("merge s west.vector --keys s --out v", 2, "s"),
        ("merge s west.vector --voting sum --out v", 2, "--voting"),
        ("merge --vertical s s --out v", 5, "holds a 'party-structure'"),
        ("merge --vertical all all --out v", 2, "same name"),
        ("merge --vertical all ./all2 --out v", 3, "more than once"),
        ("merge --vertical all all2 --keys known --out v", 2, "no signature"),
        ("show nowhere", 5, "cannot read"),
        ("show altered", 5, "signature"),
        ("show schema.json", 5, "not a structure"),
        ("key north", 2, "there already"),
        ("key '' --out k", 2, "name"),
        ("key east --out v.pub", 2, "beside the private one"),
    ],
)
def test_a_mistake_on_the_command_line_is_told_and_costs_nothing(step, code, said, hospitals):
    Path("cut").write_bytes(Path("s").read_bytes()[:-5])
    altered = bytearray(Path("west.vector").read_bytes())
    altered[-100] ^= 4
    Path("altered").write_bytes(bytes(altered))
    lines = Path("known").read_text().splitlines()
    Path("two").write_text("\n".join(lines[:2]))
    Path("mixed").write_text(lines[0].replace("north", "west"))
    wider = {**PEOPLE.to_dict(), "max_rows": 200_000}
    Path("wider.json").write_text(json.dumps(wider))
    draw_structure(Schema.load("wider.json"), 0.5, n_trees=5, max_depth=3).save("other")
    draw_structure(PEOPLE, 0.5, n_trees=5, max_depth=4).save("deeper")
    for name in ("all", "all2"):
        merge(PublicStructure.load("s"), [SignedVector.load("north.vector")]).save(name)
    found, _, err = hospitals("party", *shlex.split(step))
    assert found == code and said in err, (found, err)
    assert all(spent(name) == Fraction(1, 2) for name in ("north", "south", "west"))
    assert not Path("v").exists() and not Path("v.pub").exists()


def test_a_file_cannot_steer_the_terminal(hospitals, keys):
    vector = SignedVector.load("north.vector")
    Path("evil").write_bytes(resigned(vector, keys["thief"], {"\x1b[2J": 1}))
    code, text, err = hospitals("party", "show", "evil")
    assert code == 5 and "makes no sense" in err and "\x1b" not in text + err
    sparse = CountForestClassifier(schema=Schema([Continuous("a\x1b[2J", 0, 1)], Label("y", [0, 1])))
    sparse.fit(np.array([[0.1], [0.9]]), [0, 1]).model_.save("m")
    code, text, err = hospitals("describe", "m")
    assert code == 0 and "splits by feature" in text and "\x1b" not in text + err


def test_without_the_package_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric", None)
    for attempt in (lambda: new_key(tmp_path / "k"), lambda: load_key(tmp_path / "k")):
        with pytest.raises(PrivetError, match=r"privet\[parties\]"):
            attempt()
    assert not (tmp_path / "k").exists()

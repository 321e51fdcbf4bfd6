"""Model files: what goes in comes out, and nothing else gets in."""

from __future__ import annotations

import hashlib
import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

from privet import Continuous, Label, MajorityForestClassifier, Schema, load_model
from privet.errors import ModelFileError
from privet.model.file import MAGIC, read_model, write_model


@pytest.fixture(scope="module")
def fitted():
    schema = Schema([Continuous("x", 0, 1), Continuous("z", 0, 1)], Label("y", [0, 1]))
    rng = np.random.default_rng(0)
    X = rng.random((4000, 2))
    return MajorityForestClassifier(1.0, schema=schema, n_trees=20).fit(X, (X[:, 0] > X[:, 1]) * 1)


@pytest.fixture
def path(fitted, tmp_path):
    fitted.model_.save(tmp_path / "forest.privet")
    return tmp_path / "forest.privet"


def test_saving_and_loading_is_the_identity(fitted, path, tmp_path):
    loaded = load_model(path)
    X = np.random.default_rng(1).random((500, 2))
    assert (loaded.shares(X) == fitted.model_.shares(X)).all()
    assert loaded.card == fitted.privacy_card_
    assert loaded.schema == fitted.model_.schema
    loaded.save(tmp_path / "again.privet")
    assert (tmp_path / "again.privet").read_bytes() == path.read_bytes()


def test_a_card_names_a_question_once_however_often_it_was_asked(fitted):
    question = {"question": "rows by label", "composition": "sequence"}
    card = replace(fitted.privacy_card_, questions=[question, {**question, "question": "sums"}, question])
    assert card.asked == ["rows by label (sequence), 2 times", "sums (sequence)"]
    assert [value for name, value in card.rows() if name == "asked"] == card.asked


def test_describe_tells_the_structure(fitted, path):
    told = load_model(path).describe()
    assert told["trees"] == 20 and told["leaves"] == 20 * 2 ** told["depth"]
    assert sum(told["splits by feature"].values()) == 20 * (2 ** told["depth"] - 1)


def test_a_cut_file_is_refused_at_any_place(path):
    whole = path.read_bytes()
    for length in [0, 3, len(MAGIC), 20, 40, len(whole) // 2, len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(ModelFileError, match=r"cut or edited|not a privet model"):
            load_model(path)


def test_an_edited_file_is_refused_at_any_place(path):
    whole = path.read_bytes()
    for place in np.linspace(len(MAGIC) + 2, len(whole) - 1, 40).astype(int):
        edited = bytearray(whole)
        edited[place] ^= 1
        path.write_bytes(bytes(edited))
        with pytest.raises(ModelFileError):
            load_model(path)


def test_a_newer_format_is_refused_by_name(path):
    body = path.read_bytes()[:-32].replace(MAGIC + b"1\n", MAGIC + b"2\n", 1)
    path.write_bytes(body + hashlib.sha256(body).digest())
    with pytest.raises(ModelFileError, match="format 2; this version reads up to 1"):
        load_model(path)


def test_a_model_of_an_unknown_kind_is_refused(tmp_path):
    write_model(tmp_path / "m", {"kind": "oracle"}, {})
    with pytest.raises(ModelFileError, match="oracle"):
        load_model(tmp_path / "m")


def test_a_model_that_is_not_sound_is_refused_though_its_checksum_holds(path):
    header, arrays = read_model(path)
    for name, wrong in (
        ("view", arrays["view"] + np.uint16(500)),
        ("labels", arrays["labels"] + np.uint16(500)),
        ("labels", arrays["labels"][:, :-1]),
        ("start", arrays["start"] + 10**9),
        ("threshold", arrays["threshold"].astype(np.int64)),
    ):
        write_model(path, header, {**arrays, name: wrong})
        with pytest.raises(ModelFileError, match="sound model"):
            load_model(path)


@pytest.mark.parametrize(
    "wrong",
    [
        *({name: None} for name in ("neighbours", "schema", "account", "receipt", "version", "caveats")),
        {"account": ["patients"]},
        {"caveats": [[]]},
        {"private": 1},
        {"epsilon": "\x1b[31m"},
        {"delta": 0.5},
    ],
    ids=str,
)
def test_a_card_whose_parts_are_of_other_types_is_refused(path, tmp_path, wrong):
    header, arrays = read_model(path)
    write_model(tmp_path / "odd", {**header, "card": {**header["card"], **wrong}}, arrays)
    with pytest.raises(ModelFileError, match="sound model"):
        load_model(tmp_path / "odd")


@pytest.mark.parametrize("learner", [[], "", None])
def test_a_card_whose_learner_is_no_mapping_is_refused(path, learner):
    header, arrays = read_model(path)
    write_model(path, {**header, "card": {**header["card"], "learner": learner}}, arrays)
    with pytest.raises(ModelFileError, match="sound model"):
        load_model(path)


def sealed(body: bytes) -> bytes:
    return body + hashlib.sha256(body).digest()


@pytest.mark.parametrize(
    "rest",
    [
        b"",
        b"1",
        b"1\n",
        b"1\n9\n",
        b"1\nnine\n{}",
        b"1\n" + b"9" * 5000 + b"\n{}",
        b"1\n2\n{}",
        b"1\n2\n[]",
        b"1\n-2\n{}",
        b"9" * 5000 + b"\n2\n{}",
        b"1\n100000\n" + b"[" * 100_000,
    ],
)
def test_a_sealed_file_that_makes_no_sense_is_refused(tmp_path, rest):
    (tmp_path / "m").write_bytes(sealed(MAGIC + rest))
    with pytest.raises(ModelFileError):
        load_model(tmp_path / "m")


@pytest.mark.parametrize(
    "array",
    [
        {"name": "a", "dtype": "|O", "shape": [1]},
        {"name": "a", "dtype": "<V8", "shape": [1]},
        {"name": "a", "dtype": "<f8", "shape": [1 << 40]},
        {"name": "a", "dtype": "<f8", "shape": [1 << 32, 1 << 32]},
        {"name": "a", "dtype": "<f8", "shape": [10**30]},
        {"name": "a", "dtype": "<f8", "shape": [-1]},
        {"name": "a", "dtype": "<f8", "shape": "x"},
        {"name": "a", "dtype": 7, "shape": [1]},
        {"name": "a", "shape": [1]},
        {"dtype": "<f8", "shape": [1]},
        "a",
    ],
)
def test_a_sealed_file_with_arrays_that_are_none_is_refused(tmp_path, array):
    text = json.dumps({"kind": "label-forest", "arrays": [array]}).encode()
    (tmp_path / "m").write_bytes(sealed(MAGIC + f"1\n{len(text)}\n".encode() + text + b"12345678"))
    with pytest.raises(ModelFileError):
        load_model(tmp_path / "m")


@pytest.mark.parametrize("kind", [None, ["label-forest"], {"a": 1}, 3])
def test_a_model_whose_kind_is_no_name_is_refused(tmp_path, kind):
    write_model(tmp_path / "m", {"kind": kind}, {})
    with pytest.raises(ModelFileError):
        load_model(tmp_path / "m")


def test_other_files_are_refused(tmp_path):
    (tmp_path / "m").write_text(json.dumps({"kind": "label-forest"}))
    with pytest.raises(ModelFileError, match="not a privet model"):
        load_model(tmp_path / "m")
    with pytest.raises(ModelFileError, match="cannot read"):
        load_model(tmp_path / "nowhere")
    with pytest.raises(ModelFileError, match="cannot read"):
        load_model(tmp_path)


def test_a_file_that_cannot_be_written_leaves_nothing(fitted, tmp_path):
    with pytest.raises(ModelFileError, match="cannot write"):
        fitted.model_.save(tmp_path / "no" / "such" / "folder")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("dtype", ["<u2", ">u2", "<i4", "<f8", "|u1"])
def test_arrays_of_any_type_and_order_come_back(tmp_path, dtype):
    array = np.arange(24).reshape(2, 3, 4).astype(dtype)
    write_model(tmp_path / "m", {"kind": "x"}, {"a": array, "b": np.zeros((0, 5))})
    header, arrays = read_model(tmp_path / "m")
    assert header == {"kind": "x"}
    assert (arrays["a"] == array).all() and arrays["b"].shape == (0, 5)


def test_a_model_holds_neither_the_number_of_rows_nor_a_pickle(fitted, path):
    data = path.read_bytes()
    assert b"4000" not in data.split(b"arrays")[0]
    with pytest.raises(pickle.UnpicklingError):
        pickle.loads(data)

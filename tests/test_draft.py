"""Drafts of schemas: from a header without a row, and from values that a public file must not quote."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from privet import BoostingClassifier, Categorical, Continuous, Integer, Label, Schema
from privet.cli.main import main
from privet.data.draft import draft_schema
from privet.data.header import draft_from_header
from privet.data.outside import find_outside
from privet.data.suspects import suspect
from privet.errors import DataError, SchemaError
from privet.schema import Date

HEADER = "patient_id,age,income,town,zip,admitted,notes,smokes,ill\n"
KINDS = {"age": "integer", "income": "number", "*": "category"}


def written(path, rows=""):
    path.write_text(HEADER + rows)
    return path


def test_a_header_alone_is_enough(tmp_path):
    kinds = {**KINDS, "admitted": "category"}
    drafted = draft_from_header(written(tmp_path / "p.csv"), "ill", ["no", "yes"], kinds)
    assert drafted.schema == Schema(
        [
            Integer("age"),
            Continuous("income"),
            Categorical("town"),
            Categorical("zip"),
            Categorical("admitted"),
            Categorical("smokes"),
        ],
        Label("ill", ["no", "yes"]),
    )
    assert [(s.column, s.kind) for s in drafted.suspects] == [
        ("patient_id", "identifier"),
        ("zip", "ZIP code"),
        ("notes", "free text"),
    ]


@pytest.mark.parametrize("rows", ["", "1,2,3,4,5,6,7,8,9\n", 'x,"broken\n', "\x00\xff", "a,b\n" * 1000])
def test_no_row_changes_a_draft_from_a_header(rows, tmp_path):
    path = written(tmp_path / "p.csv", rows)
    again = draft_from_header(path, "ill", ["no", "yes"], KINDS)
    assert again == draft_from_header(written(tmp_path / "empty.csv"), "ill", ["no", "yes"], KINDS)


def test_types_that_a_table_declares_are_taken(tmp_path):
    table = pa.table(
        {
            "n": pa.array([], pa.int32()),
            "x": pa.array([], pa.float32()),
            "c": pa.array([], pa.string()),
            "d": pa.array([], pa.dictionary(pa.int8(), pa.string())),
            "b": pa.array([], pa.bool_()),
            "when": pa.array([], pa.timestamp("s")),
            "y": pa.array([], pa.string()),
        }
    )
    pa_parquet.write_table(table, tmp_path / "t.parquet")
    for source in (tmp_path / "t.parquet", table):
        schema, suspects = draft_from_header(source, "y", ["a", "b"])
        assert schema.features == (
            Integer("n"),
            Continuous("x"),
            Categorical("c"),
            Categorical("d"),
            Categorical("b", [False, True]),
        )
        assert [s.column for s in suspects] == ["when"] and "left out" in suspects[0].told


@pytest.mark.parametrize("odd", ["a", 5, None])
def test_a_column_of_objects_declares_nothing_whatever_stands_in_it(odd):
    """Its first values would tell, and one of them could change the draft."""
    frame = pd.DataFrame({"c": pd.Series(["a", "b", odd], dtype=object), "y": [0, 1, 0]})
    with pytest.raises(SchemaError, match="'c' hold"):
        draft_from_header(frame, "y", [0, 1])
    drafted = draft_from_header(frame, "y", [0, 1], {"c": "category"})
    assert drafted.schema.features == (Categorical("c"),)


def test_what_nothing_declares_must_be_said(tmp_path):
    path = written(tmp_path / "p.csv")
    with pytest.raises(SchemaError, match="'town', 'admitted', 'smokes' hold"):
        draft_from_header(path, "ill", [0, 1], {"age": "integer", "income": "number", "zip": "category"})
    with pytest.raises(SchemaError, match="holds one of"):
        draft_from_header(path, "ill", [0, 1], {"*": "text"})
    with pytest.raises(DataError, match="'height' is missing"):
        draft_from_header(path, "ill", [0, 1], {"height": "number"})


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("id", "identifier"),
        ("PatientID", "identifier"),
        ("e-mail", "identifier"),
        ("last_name", "identifier"),
        ("postal_code", "ZIP code"),
        ("dateOfBirth", "date"),
        ("free text", "free text"),
        ("width", None),
        ("idle", None),
        ("income", None),
        ("", "no name"),
    ],
)
def test_names_tell_what_a_draft_must_not_quote(name, kind):
    assert suspect(name) == kind


def test_values_of_identifiers_texts_and_codes_do_not_stand_in_a_draft():
    rng = np.random.default_rng(0)
    n = 200
    frame = pd.DataFrame(
        {
            "who": [f"secret{i}" for i in range(n)],
            "said": [f"{i % 50} long words about somebody that nobody should read " * 2 for i in range(n)],
            "area": [f"{90000 + i % 30}" for i in range(n)],
            "patient_id": np.arange(n) + 7_000_000,
            "since": ["2019-03-04", "2021-05-06"] * (n // 2),
            "age": rng.integers(0, 90, n),
            "ill": ["no", "yes"] * (n // 2),
        }
    )
    schema, suspects = draft_schema(frame)
    assert schema.feature_names == ["area", "since", "age"]
    assert schema.features[0].is_open and schema.features[1] == Date("since", "2019-01-01", "2021-12-31")
    assert {(s.column, s.kind) for s in suspects} == {
        ("who", "identifier"),
        ("said", "free text"),
        ("area", "ZIP code"),
        ("patient_id", "identifier"),
    }
    text = str(schema.to_dict())
    assert not any(told in text for told in ("secret", "somebody", "9000", "7000", "03-04", "05-06"))


def test_the_command_line_reads_no_row_unless_it_is_told_to(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    income = rng.lognormal(10, 1, 3000)
    frame = pd.DataFrame({"income": income, "town": rng.choice(["n", "s"], 3000)})
    frame.assign(ill=np.where(income > 22_000, "yes", "no")).to_csv("p.csv", index=False)
    draft = ["schema", "draft", "p.csv", "--values", "no,yes"]
    assert main([*draft, "--number", "income", "--others", "category", "--out", "s.json"]) == 0
    schema = Schema.load("s.json")
    assert [f.is_open for f in schema.features] == [True, True] and schema.label == Label(
        "ill", ["no", "yes"]
    )
    fitted = BoostingClassifier(epsilon=2.0, delta=1e-6, schema="s.json").fit("p.csv")
    assert sorted(fitted.model_.schema.features[1].categories) == ["n", "s"]
    capsys.readouterr()
    assert main(draft) == 3
    assert main(["schema", "draft", "p.csv", "--number", "income"]) == 3
    assert "--values" in capsys.readouterr().err
    assert main([*draft, "--from-values"]) == 3
    assert main(["schema", "draft", "p.csv", "--from-values"]) == 0
    assert "MUST BE PUBLIC" in capsys.readouterr().err


def test_common_values_can_be_asked_for_from_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    towns = ["north"] * 900 + ["south"] * 600 + [f"t{i}" for i in range(50)]
    pd.DataFrame({"town": towns, "ill": ["no", "yes"] * 775}).to_csv("p.csv", index=False)
    Schema([Categorical("town")], Label("ill", ["no", "yes"])).save("s.json")
    budget = ["budget", "create", "p.csv", "--epsilon", "2", "--delta", "1e-6", "--finding", "1e-7"]
    ask = ["ask", "values", "p.csv", "--schema", "s.json", "--column", "town", "--epsilon", "1"]
    assert main(budget) == 0
    capsys.readouterr()
    assert main([*ask, "--delta", "1e-7", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["town"] for row in told["answers"]] == ["north", "south"]
    assert main([*ask, "--delta", "1e-7"]) != 0
    assert main([*ask, "--delta", "0"]) == 2
    pd.DataFrame({"town": [f"t{i}" for i in range(9)], "ill": ["no"] * 9}).to_csv("rare.csv", index=False)
    rare = [argument.replace("p.csv", "rare.csv") for argument in (*budget, *ask)]
    assert main(rare[: len(budget)]) == 0
    assert main([*rare[len(budget) :], "--delta", "1e-7"]) == 0  # none is found, and that is told
    assert "are not shown" in capsys.readouterr().out
    assert main([*ask[:-4], "--column", "height", "--epsilon", "1", "--delta", "1e-7"]) == 2


AGES = "age,ill\n" + "".join(f"{age},{'yes' if age > 60 else 'no'}\n" for age in range(20, 90))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (AGES.replace("\n30,", "\n30,40,"), "too many or too few fields in 12.*mend these lines"),
        ("name,ill\nMüller,yes\nMeier,no\n".encode("latin-1"), "not in UTF-8 in 2.*--encoding latin-1"),
        (AGES.encode("utf-16"), "latin-1 or utf-16"),
        (AGES.replace(",", ";") + "20;4,5\n", "separated by ';'"),
        (AGES.replace(",", ";"), "separated by ';'"),
        ("", "is empty"),
        ("age,ill\n", "the table has no rows"),
    ],
)
def test_a_sample_that_cannot_be_read_says_where_and_what_to_do(text, hint, tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises((DataError, SchemaError)) as refused:
        draft_schema(path)
    assert re.search(hint, str(refused.value), re.DOTALL)


def test_a_draft_leaves_out_what_no_fit_could_use(tmp_path):
    n = 60
    frame = pd.DataFrame(
        {
            "income": [f"{1000 * i:,}.50" for i in range(n)],
            "price": [f"{i},5 €" for i in range(n)],
            "share": [f"{i}%" for i in range(n)],
            "nothing": [None] * n,
            "age": [-999 if i % 5 == 0 else 20 + i % 40 for i in range(n)],
            "score": [999.0 if i % 7 == 0 else i / 10 for i in range(n)],
            "grade": [9 if i % 7 == 0 else i % 5 for i in range(n)],
            "figures": [str(i % 4) for i in range(n)],
            "ill": ["yes", "no"] * (n // 2),
        }
    )
    frame.to_csv(tmp_path / "rows.csv")  # with row numbers, which have no name
    drafted = draft_schema(tmp_path / "rows.csv")
    told = {suspect.column: suspect.kind for suspect in drafted.suspects}
    assert told == {
        "": "no name",
        **dict.fromkeys(("income", "price", "share"), "written number"),
        "nothing": "no values",
        **dict.fromkeys(("age", "score"), "code for missing"),
    }
    found = {feature.name: feature for feature in drafted.schema.features}
    assert set(found) == {"age", "score", "grade", "figures"}
    assert found["age"].lower >= 0 and found["score"].upper <= 10 and found["grade"].upper == 9
    # As text they are categories: nothing says that they are not.
    assert isinstance(draft_schema(frame[["figures", "ill"]].astype(object)).schema.features[0], Categorical)
    header = draft_from_header(tmp_path / "rows.csv", "ill", ["no", "yes"], {"*": "category"})
    assert ("", "no name") in header.suspects and suspect("Unnamed: 0") == "no name"


def test_a_table_with_other_separators_is_told_before_its_lines_are_looked_at(tmp_path):
    (tmp_path / "people.csv").write_text('age;note;ill\n20;"a;b";no\n')
    schema = Schema([Integer("age", 0, 120)], Label("ill", ["no", "yes"]))
    with pytest.raises(DataError, match="separated by ';'"):
        find_outside(tmp_path / "people.csv", schema)

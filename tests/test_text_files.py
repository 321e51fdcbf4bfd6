"""Files of text in other forms: separators, encodings, standard input; and where lines are wrong."""

import codecs
import contextlib
import csv
import encodings.aliases
import gzip
import io
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from privet import Budget, Categorical, Continuous, Label, Ledger, MajorityForestClassifier, Schema, TextFile
from privet.cli.main import main
from privet.data import encode, open_table
from privet.data.lines import LONGEST_LINE, Recoded
from privet.data.outside import find_outside, wrong_lines
from privet.data.table import csv_batches, csv_names, csv_types, damaged
from privet.errors import DataError, PrivetError
from privet.privacy import protect

SCHEMA = Schema([Continuous("age", 0, 120, integer=True), Categorical("town", ["Köln", "Łódź"])],
                Label("ill", ["no", "yes"]))  # fmt: skip
ROWS = [(f"p{i}", i % 121, ("Köln", "Łódź", "")[i % 3], ("no", "yes")[i % 2]) for i in range(500)]


def write(path, separator=",", encoding="utf-8", rows=ROWS, head=("id", "age", "town", "ill")):
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="\n").writerows([head, *rows])
    data = text.getvalue().encode(encoding)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def codes(source):
    return encode(open_table(source, SCHEMA), SCHEMA).features.tolist()


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", " ", ":"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "iso8859-2", "cp1250", "utf-16", "utf-32-be"])
def test_rows_are_the_same_however_a_file_is_written(separator, encoding, tmp_path):
    expected = codes(write(tmp_path / "plain.csv"))
    path = write(tmp_path / "other.csv", separator, encoding)
    file = TextFile(path, separator, encoding)
    assert codes(file) == expected
    account = Ledger().create("people", Budget(1000))
    schema = Schema(SCHEMA.features, SCHEMA.label, max_rows=len(ROWS))
    counted = protect(file, schema, account).noisy_column_rows(["town"], epsilon=900)
    assert np.abs(np.array([row[-1] for row in counted.rows()]) - [167, 167, 166]).max() <= 1
    assert find_outside(file, SCHEMA).wrong_lines == {}


@pytest.mark.parametrize("name", ["people.tsv", "people.tsv.gz"])
def test_a_name_says_that_tabs_separate(name, tmp_path):
    assert codes(write(tmp_path / name, "\t")) == codes(write(tmp_path / "plain.csv"))


def test_estimators_and_folders_take_files_of_text(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    write(folder / "1.csv", ";", "cp1250")
    write(folder / "2.csv", ";", "cp1250")
    model = MajorityForestClassifier(epsilon=1, n_trees=3, schema=SCHEMA)
    model.fit(TextFile(folder, ";", "cp1250"))
    assert len(model.predict(TextFile(folder / "1.csv", ";", "cp1250"))) == len(ROWS)
    with pytest.raises(DataError, match="is missing"):
        model.fit(folder)


NONE = [("separator", sign) for sign in ("ab", '"', "1", "")]
NONE += [("encoding", "none"), ("encoding", "base64"), ("path", "t.parquet")]


@pytest.mark.parametrize(("name", "value"), NONE)
def test_what_no_file_of_text_can_have_is_refused(name, value):
    with pytest.raises(DataError):
        TextFile(**{"path": "people.csv"} | {name: value})


def outcome(file):
    try:
        types = csv_types(["age", "town", "ill"], SCHEMA)
        return sum(map(len, csv_batches(file, types, damaged(file.place))))
    except PrivetError as error:
        return str(error)


LETTERS = [bytes([byte]) for byte in range(256)]
SHIFTS = [b"\x1b$B", b"\x1b(J", b"\x1b$)C", b"\x1b.A", b"\x1bN", b"\x0e", b"~{", b"+AAo-", b"\\u000a", b"\\n"]


def known_encodings():
    """All that Python has and that are taken, of letters of one byte or of any number of them."""
    for name in {*encodings.aliases.aliases.values()}:
        with contextlib.suppress(DataError):
            known = TextFile("t.csv", encoding=name).encoding
            if len("\n".encode(known)) == 1:
                yield known


@pytest.mark.parametrize("encoding", sorted({*known_encodings()}))
def test_no_letters_of_a_line_change_the_line_behind_it(encoding):
    """However a row is written, it takes no other away, and is one row."""
    random, decoder = np.random.default_rng(0), codecs.getincrementaldecoder(encoding)
    end, behind = "\n".encode(encoding), "ab,12\n".encode(encoding)
    for tried in range(1500):
        parts = random.choice(np.array([*LETTERS, *SHIFTS * 12], object), tried % 5)
        line = [*SHIFTS, b"\x1b.A\x1bN", b"~"][tried] if tried < len(SHIFTS) + 2 else b"".join(parts)
        with contextlib.suppress(UnicodeError):
            if end not in line:
                found = decoder().decode(line + end + behind, True)
                assert found.count("\n") == 2, (line, found)
                assert found.endswith("\n" + behind.decode(encoding)), (line, found)


@pytest.mark.parametrize(
    "encoding", ["hz", "utf-7", "iso2022_jp_2", "unicode_escape", "punycode", "undefined"]
)
def test_encodings_whose_lines_do_not_stand_by_themselves_are_refused(encoding):
    with pytest.raises(DataError, match="by itself"):
        TextFile("t.csv", encoding=encoding)


def test_what_is_not_in_the_encoding_is_refused_in_the_same_words_wherever_it_stands(tmp_path):
    path, told = tmp_path / "t.csv", set()
    lines = ["1,no,Köln".encode("cp1252")] * 40_000
    for encoding in ("utf-8", "utf-8-sig"):
        for at in (0, 1, 39_999):
            good = [b"1,no,a"] * 40_000
            good[at] = lines[at]
            path.write_bytes(b"\n".join([b"age,ill,town", *good]))
            told.add(outcome(TextFile(path, encoding=encoding)))
    assert len(told) == 1 and "not in UTF-8" in told.pop()


@pytest.mark.parametrize("cut", [0, 1, 5])
def test_a_file_cut_within_a_letter_is_refused(cut, tmp_path):
    path = write(tmp_path / "t.csv", encoding="utf-16-le")
    path.write_bytes(path.read_bytes()[: -1 - 2 * cut])
    assert "could not be read" in outcome(TextFile(path, encoding="utf-16-le"))


def test_recoded_bytes_come_in_pieces_of_any_size():
    text = "añ€𝄞\n" * 300
    for size in (1, 2, 3, 7, 4096):
        stream = Recoded(io.BytesIO(text.encode("utf-16")), "utf-16")
        pieces = list(iter(lambda stream=stream, size=size: stream.read(size), b""))
        assert b"".join(pieces).decode() == text and max(map(len, pieces)) <= size and stream.sound


def test_a_header_is_read_whatever_the_rows_are_written_in(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"age,town,ill\n1,K\xf6ln,no\n")
    assert csv_names(TextFile(path)) == ["age", "town", "ill"]
    path.write_bytes("größe,town\n".encode("latin-1"))
    with pytest.raises(DataError, match="latin-1"):
        csv_names(TextFile(path))
    assert csv_names(TextFile(path, encoding="latin-1")) == ["größe", "town"]


WRONG = {
    "1,a,no,1": "too many or too few fields",
    "1,a": "too many or too few fields",
    '1,"a,no': "a quote where none may stand",
    '1,a"b"a,no': "a quote where none may stand",
    '1,"a"a,no': "a quote where none may stand",
    "1," + "a" * LONGEST_LINE + ",no": "longer than a megabyte",
}  # fmt: skip


@pytest.mark.parametrize("line", WRONG, ids=range(len(WRONG)))
def test_an_owner_is_told_the_lines_that_no_fit_could_read(line, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"age,town,ill\n1,a,no\n\n{line}\r\n" + "1,a,no\r" * 10 + line)
    assert wrong_lines(TextFile(path)) == {WRONG[line]: [4, 15]}
    assert find_outside(path, SCHEMA).counts == {}
    assert "could not be read" in outcome(TextFile(path))


@pytest.mark.parametrize("line", ['1,"a",no', '"1","a,b",no', '1,"a""b",no', ",,", "1,ä,no"])
def test_lines_that_a_fit_reads_are_not_called_wrong(line, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("age,town,ill\n" + line + "\n")
    assert wrong_lines(TextFile(path)) == {} and outcome(TextFile(path)) == 1


def test_an_owner_is_told_the_lines_that_are_in_another_encoding(tmp_path):
    path = write(tmp_path / "t.csv", encoding="cp1250", rows=ROWS[:3])
    assert wrong_lines(TextFile(path)) == {"not in UTF-8": [2, 3]}


def test_places_are_lines_of_text_and_rows_of_other_tables(tmp_path):
    rows = [*ROWS[:3], ("x", 999, "Köln", "no"), ("y", 3, "Rom", "no")]
    path = tmp_path / "t.csv"
    path.write_text(write(path, rows=rows).read_text().replace("p2", "\n\np2"))
    found = find_outside(path, SCHEMA)
    assert found.in_lines and found.places["age"] == {"above": [7]} and found.places["town"]["unknown"] == [8]
    table = pa.table(dict(zip(("id", "age", "town", "ill"), map(list, zip(*rows, strict=True)), strict=True)))
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    for source in (table, tmp_path / "t.parquet"):
        found = find_outside(source, SCHEMA)
        assert not found.in_lines and found.places["age"] == {"above": [4]}


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    SCHEMA.save("schema.json")
    write(Path("people.csv"), ";", "cp1250")
    write(Path("people.tsv"), "\t")

    def run(*arguments, given=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


FORM = ("--separator", ";", "--encoding", "cp1250")


def test_commands_take_a_separator_an_encoding_and_standard_input(call):
    assert call("budget", "create", "people.csv", "--epsilon", "7/2")[0] == 0
    fit = ["fit", "people.csv", "--schema", "schema.json", "--epsilon", "1/3", "--learner", "majority-forest"]
    code, _, error = call(*fit, "--out", "m")
    assert code == 3 and "--separator" in error
    assert call(*fit, "--out", "m", *FORM)[0] == 0
    fit[1] = "-"
    given = Path("people.csv").read_bytes()
    assert call(*fit, "--out", "n", *FORM, given=given)[0] == 2
    whose = ("--ledger", "people.csv.ledger", "--name", "people.csv")
    assert call(*fit, "--out", "n", *FORM, *whose, given=given)[0] == 0
    ask = ["ask", "count", "people.csv", "--schema", "schema.json", "--epsilon", 1, *FORM, "--json"]
    code, text, _ = call(*ask)
    assert code == 0 and json.loads(text)["account"]["spent"]["epsilon"] == pytest.approx(5 / 3)
    score = ["score", "m", "people.csv", "--epsilon", 1, *FORM]
    assert call(*score)[0] == 0
    assert call("schema", "check", "people.csv", "--schema", "schema.json", *FORM)[0] == 0
    assert call("schema", "draft", "people.csv", "--from-values", "--omit", "id", *FORM)[0] == 0
    code, text, _ = call("schema", "check", "people.csv", "--schema", "schema.json", "--separator", ";")
    assert code == 3 and "not in UTF-8" in text


def test_predictions_carry_a_column_of_the_table(call):
    call("budget", "create", "people.tsv", "--epsilon", "1")
    call("fit", "people.tsv", "--schema", "schema.json", "--epsilon", 1, "--out", "m")
    tabs = Path("people.tsv").read_bytes()
    for arguments, given in [
        (("people.tsv",), b""),
        (("people.csv", *FORM), b""),
        (("-", "--separator", "tab"), tabs),
    ]:
        code, text, error = call("predict", "m", *arguments, "--id", "id", given=given)
        table = list(csv.DictReader(io.StringIO(text)))
        assert code == 0, error
        assert list(table[0])[:2] == ["id", "prediction"] and [r["id"] for r in table] == [r[0] for r in ROWS]
    code, text, _ = call("predict", "m", "people.tsv", "--id", "age", "--json")
    assert json.loads(text)[7]["age"] == 7
    code, _, error = call("predict", "m", "people.tsv", "--id", "key")
    assert code == 3 and "'key' is missing" in error

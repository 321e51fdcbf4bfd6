"""Studies run, and what they call as published is what the paper wrote."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from costs import fills
from laws import follows
from privet import Continuous, Label, Schema, studies
from privet.errors import DataError
from privet.estimators import BoostingClassifier
from privet.privacy import Cost, Repeatable
from privet.privacy.questions.boosting import LabelRows
from privet.privacy.questions.trees import SplitChoice
from privet.studies import __main__ as command
from privet.studies import (
    bands,
    bojarski_2014,
    curves,
    datasets,
    fletcher_islam_2015,
    fletcher_islam_2017,
    friedman_schuster_2010,
    greedy_shares,
    jagannathan_2012,
    private_id3,
    selection,
    voting,
)
from privet.studies.concepts import Node, random_concept, single_split
from privet.studies.curves import as_text, draw, summary
from privet.studies.fletcher_islam_2017 import published, run, strict
from privet.studies.ways import WeakerChoices, greedy


def test_the_published_mechanism_has_the_law_of_the_paper():
    """P(most frequent) ∝ exp(ε/(2·e^(−jε))): with a gap of one at ε = 1 the odds are exp(e/2)."""
    counts = np.tile([3, 2], (60_000, 1))
    odds = np.exp(np.e / 2)
    chosen = published(counts, np.random.default_rng(0))
    assert follows(chosen, {0: odds / (1 + odds), 1: 1 / (1 + odds)})
    sure = published(np.tile([40, 0], (10_000, 1)), np.random.default_rng(0))
    assert (sure == 0).all()
    assert (strict(counts, np.random.default_rng(0)) == 1).any()


def test_a_study_gives_a_row_a_table(monkeypatch):
    monkeypatch.setattr(datasets, "ROWS", 3000)
    (row,) = run(["SynthA"], folds=2, repeats=1)
    assert row["depth"] == 5 and row["AUC, paper"] == 0.877
    assert 0.5 < row["AUC, strict"] < 1 and 0 < row["empty leaves"] < 1


def test_the_command_prints_within_eighty_columns(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(fletcher_islam_2017, "SYNTHETIC", {"SynthA": (5, 0)})
    monkeypatch.setattr(sys, "argv", ["studies", "fletcher-islam-2017", "--quick", "--out", str(tmp_path)])
    command.main()
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("SynthA") for line in lines)
    assert max(map(len, lines[:4])) <= 80
    assert json.loads((tmp_path / "fletcher-islam-2017.json").read_text())[0]["data"] == "SynthA"


STUDIES = (
    "bands",
    "bojarski-2014",
    "fletcher-islam-2015",
    "fletcher-islam-2017",
    "friedman-schuster-2010",
    "greedy-shares",
    "jagannathan-2012",
    "private-id3",
    "selection",
    "voting",
)


@pytest.fixture
def ask(monkeypatch, capsys, tmp_path):
    """What the command prints, and the folder that it writes to."""

    def asked(*arguments):
        monkeypatch.setattr(sys, "argv", ["studies", *arguments, "--out", str(tmp_path / "out")])
        command.main()
        return capsys.readouterr().out, tmp_path / "out"

    return asked


@pytest.fixture
def add(monkeypatch, tmp_path):
    """Add a module to the package of studies."""

    def added(name, text):
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.setattr(studies, "__path__", [*studies.__path__, str(tmp_path)])

    yield added
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(f"privet.studies.{path.stem}", None)
        vars(studies).pop(path.stem, None)


def test_the_command_offers_all_studies(ask, capsys):
    with pytest.raises(SystemExit):
        ask("--help")
    assert f"{{{','.join(STUDIES)},[]}}" in capsys.readouterr().out


def test_a_study_is_added_by_one_file(ask, add):
    add(
        "dice",
        """
from privet.studies.curves import summary
from privet.studies.study import Study


def run(quick):
    for way in ("a", "b"):
        yield summary("Dice", "throws", 1 if quick else 6, way, [0.5])


STUDY = Study("dice", run, verdict=lambda rows: f"{len(rows)} ways\\n")
""",
    )
    told, out = ask("dice", "--quick")
    text = "Dice; accuracy in %, 1 runs\n  throws     a     b\n       1  50.0  50.0\n\n2 ways\n"
    files = f"Wrote {out}/dice.json\nWrote {out}/dice.txt and {out}/dice.png\n\n"
    assert told == text + files
    assert (out / "dice.txt").read_text() == text
    assert [row["way"] for row in json.loads((out / "dice.json").read_text())] == ["a", "b"]
    assert (out / "dice.png").stat().st_size > 3000


def test_a_study_may_have_a_table_or_tell_its_rows_itself(ask, add):
    add(
        "table",
        """
from privet.studies.study import Study

STUDY = Study("table", lambda quick: iter([{"x": 1}, {"x": 2}]), lambda rows: "".join(
    ["x\\n", *(f"{row['x']}\\n" for row in rows)]), lambda rows, path: path.write_text("a picture"))
""",
    )
    add(
        "teller",
        """
from privet.studies.study import Study, say


def tell(quick):
    say("one row\\n")
    yield {"x": 1}


STUDY = Study("teller", tell, text=None, draw=None)
""",
    )
    told, out = ask("table", "teller")
    table = f"x\n1\n2\nWrote {out}/table.json\nWrote {out}/table.txt\nWrote {out}/table.png\n\n"
    assert told == table + f"one row\nWrote {out}/teller.json\n\n"
    assert {path.name for path in out.iterdir()} == {"table.json", "table.txt", "table.png", "teller.json"}


def test_a_study_of_real_tables_is_left_out_without_them(ask, monkeypatch):
    monkeypatch.delenv("PRIVET_DATA", raising=False)
    told, out = ask("voting")
    left_out = "voting: left out, since PRIVET_DATA names no folder of data sets.\n"
    assert told == f"{left_out}Wrote {out}/voting.json\n\n"
    assert [path.name for path in out.iterdir()] == ["voting.json"]


def test_votings_are_compared_on_the_same_fits(data_dir):
    (row,) = voting.run(("magic",), (1.0,), folds=2, depths=(5,))
    fixed = {"fletcher-islam", "fletcher-islam, depth 5", "bojarski, depth 5"}
    unpruned = {f"{way}, not pruned" for way in voting.VOTINGS[1:]}
    assert set(row) == {"epsilon", *voting.VOTINGS, *unpruned, "majority forest", *fixed}
    assert row["posterior"]["AUC"] > 0.7 and 0 <= row["sum"]["p, AUC"] <= 1
    lines = voting.as_text([row]).splitlines()
    assert len(lines) == 3 + len(row) - 1 and max(map(len, lines)) <= 80


def test_choosing_is_compared_with_not_choosing(data_dir, monkeypatch):
    schema, table = datasets.real_table("adult")
    candidates = [BoostingClassifier(), BoostingClassifier(passes=1)]
    monkeypatch.setattr(selection, "real_table", lambda name: (schema, table.slice(0, 6000)))
    monkeypatch.setattr(selection, "choices", lambda: {"passes": candidates})
    rows = list(selection.run(quick=True))
    assert [row["way"] for row in rows] == ["default", "shared", "geometric", "logarithmic"]
    assert all(0.7 < row["accuracy"] < 0.9 for row in rows)
    assert "default" in as_text(rows)


def walk(node: Node, row) -> int:
    """A concept's label of one point, a step at a time."""
    while node.children:
        value = row[node.attribute]
        node = node.children[int(value) if node.threshold is None else int(value >= node.threshold)]
    return node.label


def paths(node: Node, used=()):
    if not node.children:
        yield used
    for child in node.children:
        yield from paths(child, (*used, (node.attribute, node.threshold)))


@pytest.mark.parametrize("n_numeric", [0, 3])
def test_concepts_are_the_random_trees_of_the_paper(n_numeric):
    lengths, numbers = [], []
    for seed in range(30):
        random = np.random.default_rng(seed)
        concept = random_concept(random, 5, n_numeric, n_values=3, n_labels=4)
        X, y = concept.sample(100, random)
        assert y.tolist() == [walk(concept.root, row) for row in X]
        for path in paths(concept.root):
            nominal = [attribute for attribute, _ in path if attribute < 10 - n_numeric]
            assert len(set(nominal)) == len(nominal)
            numbers += [cut for attribute, cut in path if attribute >= 10 - n_numeric]
            lengths.append(len(path))
        assert concept.schema(500).max_rows == 500 and concept.table(X).num_rows == 100
    # Levels one and two, the root and its children, are never leaves.
    assert min(lengths) == 2 and max(lengths) == 5
    assert bool(numbers) == bool(n_numeric) and all(0 < cut < 100 for cut in numbers)


def test_noise_redraws_values_and_labels():
    concept = single_split()
    random = np.random.default_rng(0)
    X, y = concept.sample(40_000, random, noise=0.2)
    # A label differs from its attribute if one of the two was redrawn and came out otherwise.
    assert abs((X[:, 0] != y).mean() - (1 - 0.8**2) / 2) < 0.01
    assert abs(X.mean() - 0.5) < 0.01
    X, y = single_split(n_numeric=3).sample(10_000, random)
    assert ((X[:, 9] >= 35) == y).all() and abs(X[:, 7:].mean() - 50) < 1


def test_friedman_and_schuster_in_small(data_dir):
    rows = list(friedman_schuster_2010.run(quick=True))
    found = {(row["figure"], row["way"]): row for row in rows}
    first = next(iter(found))[0]
    assert {way for figure, way in found if figure == first} == set(friedman_schuster_2010.TABLE_1)
    assert found[first, "Max"]["paper"] == 0.947 and found[first, "Max"]["runs"] == 2
    assert found["Figure 8: Adult, depth 5", "Max, ours"]["accuracy"] > 0.77
    assert all(0 <= row["accuracy"] <= 1 for row in rows)


def test_half_the_exponent_is_worse_at_the_same_price():
    """On the concept of table 1 at 700 rows, where the exponent decides."""
    halved = next(e for e in friedman_schuster_2010.EXPERIMENTS if "exponents" in e.figure)
    (*_, ours) = rows = list(replace(halved, sizes=(700,), runs=60).rows())
    accuracy = {row["way"]: row["accuracy"] for row in rows}
    assert accuracy["Gini"] > accuracy["Gini, half"] + 0.05
    assert ours["way"] == "Max, ours" and accuracy["Max, ours"] > 0.9


def test_private_id3_in_small(data_dir):
    rows = list(private_id3.run(quick=True))
    assert [(row["x"], row["way"], row["paper"]) for row in rows] == [
        ("house_votes", "sum queries", 0.4),
        ("house_votes", "greedy, max", None),
    ]
    assert rows[1]["accuracy"] > 0.8


def test_fletcher_and_islam_2015_in_small(data_dir):
    rows = list(fletcher_islam_2015.run(quick=True))
    assert {row["figure"] for row in rows} == {"car", "tic_tac_toe"}
    accuracy = {row["way"]: row["accuracy"] for row in rows if row["figure"] == "car"}
    assert set(accuracy) == set(fletcher_islam_2015.ways(100))
    assert accuracy["DiffPID3"] > 0.7 and accuracy["DPDF 1 tree"] > 0.7
    text = fletcher_islam_2015.verdict(rows)
    assert "/2 " in text and max(map(len, (text + as_text(rows)).splitlines())) <= 80


def test_weaker_choices_use_less_of_what_they_are_paid_for():
    concept = single_split()
    X, y = concept.sample(2000, np.random.default_rng(0))
    for way in (greedy("gini"), greedy("gini", Fraction(1, 1000))):
        tree = way.fit(concept.table(X), y, concept.schema(5000), 0, epsilon=1, max_depth=1)
        asked = [Fraction(question["epsilon"]) for question in tree.privacy_card_.questions]
        assert Fraction(tree.privacy_card_.epsilon) == 1 and not tree.privacy_card_.private
        assert fills(sum(asked), Fraction(1), len(asked))
    weak, full = WeakerChoices(0, Fraction(1, 1000)), Repeatable(0)
    choice = SplitChoice.plan(Cost.pure(1), 1, "gini", concept.schema(5000))
    assert weak.law_of(choice) == full.law_of(choice)._replace(parameter=full.law_of(choice).parameter / 1000)
    assert weak.law_of(LabelRows.plan(Cost.pure(1))) == full.law_of(LabelRows.plan(Cost.pure(1)))


def test_curves_as_text_and_picture(tmp_path):
    rows = [
        summary("Figure 1", "rows", x, way, [0.5, 0.7], paper)
        for x in (10, 100)
        for way, paper in (("a", None), ("b", 0.75))
    ]
    text = as_text(rows)
    assert "Figure 1; accuracy in %, 2 runs" in text and "60.0 (75.0)" in text
    assert [line.split() for line in text.splitlines()[1:3]] == [
        ["rows", "a", "b"],
        ["10", "60.0", "60.0", "(75.0)"],
    ]
    rows += [{**row, "figure": "Table 1", "quantity": "table", "x": f"of {row['x']}"} for row in rows]
    assert "of 10" in as_text(rows)
    draw(rows, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 5000


def test_jagannathan_in_small(data_dir, monkeypatch, tmp_path):
    monkeypatch.setattr(jagannathan_2012, "FIGURES", {"house_votes": "Figure 3"})
    monkeypatch.setattr(jagannathan_2012, "UPDATED", {"house_votes": "Figure 4"})
    rows = list(jagannathan_2012.run(quick=True))
    found = {(row["figure"], row["way"], row["x"]): row for row in rows}
    assert set(jagannathan_2012.VOTINGS) <= {way for figure, way, _ in found if figure == "Figure 4"}
    assert found["Figure 3", "private ID3", 0.5]["paper"] == 0.40
    assert found["Figure 3", "sum, not private", 5]["accuracy"] > 0.85
    assert found["Figure 3", "posterior", 5]["accuracy"] > 0.8
    least, _, middle, _, most = found["Figure 3", "sum", 5]["box"]
    assert least <= middle <= most
    curves.draw(rows, tmp_path / "p.png", ("sum",))
    assert (tmp_path / "p.png").stat().st_size > 10_000


def test_tables_are_prepared_as_jagannathan_et_al_did(data_dir):
    votes, mushroom = (jagannathan_2012.prepared(name) for name in ("house_votes", "mushroom"))
    assert sum(column.null_count for column in votes.rows.columns) == 0 and votes.schema.max_rows == 435
    assert len(mushroom.schema.features) == 21
    assert jagannathan_2012._joined(np.array([*"aaabbc"]), 2).tolist() == [*"aaabba"]


def test_bojarski_in_small(data_dir, monkeypatch, tmp_path):
    monkeypatch.setattr(bojarski_2014, "SMALL", ("house_votes",))
    rows = list(bojarski_2014.run(quick=True))
    assert [row["voting"] for row in rows] == ["majority", "threshold"]
    cell = rows[0]["not private"]
    assert (cell["trees"], cell["height"], cell["paper"]) == (19, 6, 9.05) and cell["errors"]["ours"] < 20
    errors = rows[0]["private"]["errors"]
    assert list(errors) == ["ours", "posterior", "published", "1/η"] and max(errors.values()) < 40
    assert rows[0]["chosen"]["trees"] in bojarski_2014.TREES
    assert max(map(len, bojarski_2014.as_text(rows).splitlines())) <= 80
    bojarski_2014.draw(rows, tmp_path / "p.png")
    assert (tmp_path / "p.png").stat().st_size > 10_000


def test_leaves_of_bojarski_et_al_draw_their_share_where_a_count_is_negative():
    counts = np.array([[[3, 1], [1, 3], [-1, 9], [0, 0]]] * 4000)
    random = np.random.RandomState(0)
    said = {
        voting: bojarski_2014.published_values(counts, voting, random) for voting in ("threshold", "majority")
    }
    assert (said["threshold"][:, :2] == [[0.75, 0.25], [0.25, 0.75]]).all()
    assert (said["majority"][:, :2] == [[1, 0], [0, 1]]).all()
    assert all(np.allclose(share.sum(axis=-1), 1) for share in said.values())
    assert np.allclose(said["threshold"][:, 2:, 1].std(), 12**-0.5, atol=0.01)
    assert np.allclose(said["majority"][:, 2:, 1].mean(), 0.5, atol=0.03)


def test_covertype_has_two_labels_as_bojarski_et_al_have_it(monkeypatch):
    schema = Schema([Continuous("x", 0, 9)], Label("label", [*"1234567"]))
    table = pa.table({"x": [*range(7)], "label": [*range(1, 8)]})
    monkeypatch.setattr(bojarski_2014, "real_table", lambda name: (schema, table))
    two, rows, labels = bojarski_2014.prepared("covertype")
    assert list(two.label.values) == ["other", "2"] and rows.column_names == ["x"]
    assert labels.tolist() == ["other", "2", *["other"] * 5]


def test_real_tables_need_a_folder(monkeypatch):
    for folder in datasets.FOLDERS:
        monkeypatch.delenv(folder, raising=False)
    with pytest.raises(DataError, match="PRIVET_DATA"):
        datasets.real("adult")


def test_complete_rows_are_those_without_missing_values(data_dir):
    assert datasets.real("adult", complete=True).features.shape[1] == 45_222


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_noise_bands_tell_how_far_shapes_vary_from_fit_to_fit(delta):
    for row in bands.run(((1.0, delta),), n_rows=8000, fits=5):
        assert row["covered"] > 0.9 and row["least covered"] > 0.8
        assert all(0.2 < ratio < 1.7 for ratio in row["spread / band"].values())


def test_shares_of_a_greedy_tree_are_compared_on_the_same_concepts():
    rows = list(greedy_shares.run(quick=True))
    assert len({row["figure"] for row in rows}) == 6
    assert {row["way"] for row in rows} >= {"paper", "0.1/0.3/1"}
    assert all(0.3 < row["accuracy"] <= 1 for row in rows)
    assert greedy_shares.verdict(rows).count("\n") == len({row["way"] for row in rows}) + 1

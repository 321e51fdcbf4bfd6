"""One person, any number of rows: which row stands for whom, and that nothing else depends on a person."""

from __future__ import annotations

import datetime
import itertools
import json
import warnings
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet import (
    BoostingClassifier,
    Budget,
    Categorical,
    Continuous,
    CountForestClassifier,
    Label,
    Ledger,
    MajorityForestClassifier,
    PrivateSelection,
    Schema,
    Target,
    private_score,
)
from privet.audit.persons import PERSON_MUTANTS, PERSON_PROGRAMS, compare_persons, person_rows
from privet.audit.programs import TOY, UNIVERSE
from privet.audit.transcripts import compare_without
from privet.audit.trial import FINDING
from privet.cli.main import main
from privet.data import Persons, open_table, read_codes
from privet.data.outside import find_outside
from privet.data.persons import NOBODY, own_rows
from privet.errors import BudgetError, DataError, QuestionError, SchemaError
from privet.privacy import Repeatable, protect

KEY = b"k" * 32
SCHEMA = Schema(
    [Continuous("age", 0, 120, integer=True), Categorical("town", ["north", "south"])],
    Label("ill", ["no", "yes"]),
    unit="patient",
)
ROW = st.tuples(st.integers(0, 120), st.sampled_from(["north", "south"]), st.sampled_from(["no", "yes"]))
WHO = st.sampled_from([None, "", "a", "b", "1", "01", 1, 2, 3.5, float("nan"), b"x", True, Decimal("7.0")])


def table(rows, who) -> pa.Table:
    age, town, ill = zip(*rows, strict=True) if rows else ((), (), ())
    columns = {"age": pa.array(age, pa.int64()), "town": pa.array(town, pa.string())}
    return pa.table({**columns, "ill": pa.array(ill, pa.string()), "patient": pa.array(who, pa.string())})


def codes(rows, who, key=KEY) -> list[tuple[int, ...]]:
    """Codes of the rows that stand for persons, in order."""
    persons = Persons("patient", key, list(who))
    found = read_codes(open_table(table(rows, [""] * len(rows)), SCHEMA), SCHEMA, None, persons)
    return list(zip(*found.features.tolist(), found.labels.tolist(), strict=True))


def without(rows, who, place) -> tuple[list, list]:
    """The neighbour that lacks the person at a place, with all rows that are theirs."""
    gone = identity(who[place])
    left = [i for i, each in enumerate(who) if (i != place if gone == NOBODY else identity(each) != gone)]
    return [rows[i] for i in left], [who[i] for i in left]


def identity(value) -> bytes:
    return Persons("patient", KEY, [value]).identities({}, 1).tobytes()


@settings(deadline=None)
@given(st.lists(st.tuples(ROW, WHO), min_size=2, max_size=12), st.data())
def test_a_person_who_goes_takes_one_row_along_and_changes_no_other(people, data):
    rows, who = map(list, zip(*people, strict=True))
    place = data.draw(st.integers(0, len(rows) - 1))
    fewer = without(rows, who, place)
    if not fewer[0]:
        return
    all_, left = codes(rows, who), codes(*fewer)
    assert len(left) == len(all_) - 1
    missing = next((i for i, (a, b) in enumerate(zip(all_, left, strict=False)) if a != b), len(left))
    assert all_[:missing] + all_[missing + 1 :] == left  # the others have the same codes, in the same order


@settings(deadline=None)
@given(st.lists(st.tuples(ROW, WHO), min_size=1, max_size=12), st.randoms())
def test_whose_rows_stand_between_a_persons_own_does_not_matter(people, random):
    shuffled = list(people)
    random.shuffle(shuffled)
    # Each person's rows stay in their order: only how they are mixed with others' changes.
    queues = {}
    for row, who in people:
        queues.setdefault(identity(who), []).append((row, who))
    mixed = [queues[identity(who)].pop(0) for _, who in shuffled]
    assert sorted(codes(*zip(*mixed, strict=True))) == sorted(codes(*zip(*people, strict=True)))


def test_every_row_of_a_person_is_drawn_as_often():
    rows = [(age, "north", "no") for age in (10, 20, 30)]
    drawn = [codes(rows, ["p"] * 3, n.to_bytes(32))[0][0] for n in range(3000)]
    counts = np.bincount(drawn)[[10, 20, 30]]
    assert counts.sum() == 3000
    assert (np.abs(counts - 1000) < 5 * np.sqrt(3000 * 2 / 9)).all()


def test_persons_draw_by_themselves():
    """Of persons with two rows each, all four pairs of choices come up as often."""
    rows = [(age, "north", "no") for age in (1, 2, 3, 4)]
    drawn = [tuple(c[0] for c in codes(rows, [7, 7, 8, 8], n.to_bytes(32))) for n in range(2000)]
    counts = np.array([drawn.count(pair) for pair in ((1, 3), (1, 4), (2, 3), (2, 4))])
    assert counts.sum() == 2000
    assert (np.abs(counts - 500) < 5 * np.sqrt(2000 * 3 / 16)).all()


def test_rows_without_an_identifier_are_a_person_each():
    rows = [(age, "north", "no") for age in range(6)]
    assert len(codes(rows, [None, "", " ", float("nan"), np.nan, pd.NA])) == 6


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, 1, 2, 2, 3]),
        pd.Series([1.0, 1.0, 2.0, 2.0, 3.0]),
        pd.Series(["1", "1", "2", "2", "3"]),
        pd.Series(["1", "1", "2", "2", "3"], dtype="category"),
        pd.Series([1, "1", 2, Decimal("2.00"), 3.0], dtype=object),
        pl.Series([1, 1, 2, 2, 3]),
        pa.array([1, 1, 2, 2, 3], pa.int8()),
        pa.array(["1", "1", "2", "2", "3"]).dictionary_encode(),
        np.array([1, 1, 2, 2, 3], np.uint64),
        np.array(["1", "1", "2", "2", "3"]),
        [1, "1", 2, 2.0, "3"],
    ],
)
def test_equal_identifiers_meet_whatever_type_they_come_in(column):
    persons = Persons("patient", KEY, column)
    assert persons.identities({}, 5).tolist() == Persons("p", KEY, [1, 1, 2, 2, 3]).identities({}, 5).tolist()


@pytest.mark.parametrize(
    "values",
    [
        [datetime.date(2020, 1, 2), datetime.date(2020, 1, 2), datetime.date(2021, 1, 2)],
        [UUID(int=5), UUID(int=5), UUID(int=6)],
        [b"\xff", b"\xff", b"\xfe"],
        ["\ud800", "\ud800", "\ud801"],
        [10**300, 10**300, 10**300 + 1],
        np.array(["2020-01-01", "2020-01-01", "NaT"], "datetime64[s]"),
        pa.array([datetime.datetime(2020, 1, 1)] * 2 + [None]),
        pd.Series(pd.to_datetime(["2020-01-01", "2020-01-01", "2021-01-01"])),
    ],
)
def test_identifiers_may_be_of_any_type(values):
    found = Persons("patient", KEY, values).identities({}, 3)
    assert len(own_rows(found)) == 2


def test_identifiers_that_hold_values_themselves_are_refused():
    with pytest.raises(DataError, match="identifiers"):
        Persons("patient", KEY, [[1], [1], [2]]).identities({}, 3)


def test_two_keys_give_other_identities_and_the_key_is_not_shown():
    one, two = (Persons("patient", key, ["a"]) for key in (KEY, b"j" * 32))
    assert (one.identities({}, 1) != two.identities({}, 1)).all()
    assert "kkk" not in repr(one) and "a" not in repr(one).replace("patient", "").replace("Persons", "")


def people(n_persons=400, rows=6, seed=0) -> pd.DataFrame:
    """Persons with up to some rows each, and one who has a thousand."""
    random = np.random.default_rng(seed)
    who = np.repeat(np.arange(n_persons), random.integers(1, rows + 1, n_persons))
    who = np.concatenate([who, np.full(1000, n_persons)])
    age = random.integers(0, 121, len(who))
    ill = np.where((age > 60) ^ (random.random(len(who)) < 0.1), "yes", "no")
    town = random.choice(["north", "south"], len(who))
    return pd.DataFrame({"patient": who, "age": age, "town": town, "ill": ill}).sample(frac=1, random_state=1)


def account(epsilon=1e5, schema=None):
    return Ledger().create("patients", Budget(epsilon), schema)


def exact_persons(source, schema=SCHEMA, **more) -> int:
    """The number of persons, at so large an ε that noise vanishes."""
    return int(protect(source, schema, account(), **more).noisy_count(epsilon=1000).values[0])


def test_counts_are_counts_of_persons_wherever_identifiers_stand(tmp_path):
    frame = people()
    frame.to_csv(tmp_path / "p.csv", index=False)
    pq.write_table(pa.table(frame), tmp_path / "p.parquet")
    n = frame.patient.nunique()
    assert n == 401 < len(frame)
    for source in (frame, pl.from_pandas(frame), pa.table(frame), tmp_path / "p.csv", tmp_path / "p.parquet"):
        assert exact_persons(source) == n
    without_column, rows = frame.drop(columns="patient"), SCHEMA.to_dict()
    del rows["unit"]
    assert exact_persons(without_column, unit=frame.patient) == n
    assert exact_persons(without_column, Schema.from_dict(rows), unit=frame.patient.tolist()) == n
    assert exact_persons(frame, Schema.from_dict(rows), unit="patient") == n
    assert exact_persons(frame, Schema.from_dict(rows)) == len(frame)


def test_one_who_has_a_thousand_rows_counts_once_in_every_answer():
    frame, rest = people(), people().query("patient != 400")
    for ask in (
        lambda p: p.noisy_count("age >= 37", epsilon=1000).values,
        lambda p: p.noisy_column_rows(["town", "ill"], epsilon=1000).values,
    ):
        full, fewer = (ask(protect(f, SCHEMA, account(), mechanisms=Repeatable(3))) for f in (frame, rest))
        assert np.abs(full - fewer).sum() <= 1


def test_parts_are_parts_of_persons():
    protected = protect(people(), SCHEMA, account())
    engine = protected._engine
    from privet.noise.bits import RowDraws

    draws = RowDraws(KEY)
    sizes = [engine.part(draws, 10, range(*ends)).sum(lambda b: len(b.labels)) for ends in ((0, 3), (3, 10))]
    assert sum(sizes) == 401


def test_max_rows_bounds_persons():
    frame = people()
    assert exact_persons(frame, Schema(SCHEMA.features, SCHEMA.label, 401, "patient")) == 401
    with pytest.raises(DataError, match="more persons"):
        exact_persons(frame, Schema(SCHEMA.features, SCHEMA.label, 400, "patient"))


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (lambda f: protect(f.drop(columns="patient"), SCHEMA, account()), DataError),
        (lambda f: protect(f[["age"]].to_numpy(), ONE_FEATURE, account(), f.ill), DataError),
        (lambda f: protect(f, SCHEMA, account(), unit="town2"), SchemaError),
        (lambda f: exact_persons(f, unit=f.patient[:-1]), DataError),
        (lambda f: protect(f, SCHEMA, account(), unit="age"), SchemaError),
        (lambda f: MajorityForestClassifier(schema=SCHEMA).fit(f, f.ill, unit="nobody"), DataError),
        (lambda f: MajorityForestClassifier(schema=SCHEMA).fit(f, f.ill, unit="age"), SchemaError),
        (lambda f: MajorityForestClassifier(schema=BY_ROW).fit(f, f.ill, unit="nobody"), DataError),
        (lambda f: MajorityForestClassifier(schema=BY_ROW).fit(f, f.ill, unit="age"), SchemaError),
        (lambda f: BoostingClassifier().fit(protect(f, SCHEMA, account()), unit=f.patient), QuestionError),
        (lambda f: read_codes(open_table(f, SCHEMA), SCHEMA), SchemaError),
        (lambda f: read_codes(open_table(f, BY_ROW), BY_ROW, None, Persons("patient", KEY)), SchemaError),
    ],
)
def test_what_does_not_say_whose_rows_are_is_refused(fault, error):
    with pytest.raises(error):
        fault(people(20))


@pytest.mark.parametrize("key", ["patient", "visit"])
@pytest.mark.parametrize("lies", ["memory", "Parquet", "DuckDB"])
def test_a_key_that_leaves_the_order_of_a_persons_rows_open_is_refused(key, lies, tmp_path):
    """What comes first in a database could depend on others: they would then decide which row stands."""
    frame = people(20).reset_index(drop=True)
    frame["visit"] = [*range(8), 7, *range(9, len(frame))]
    frame.loc[[7, 8], "patient"] = 1
    place = {
        "memory": frame,
        "Parquet": tmp_path / "p.parquet",
        "DuckDB": f"duckdb:///{tmp_path}/p.db?table=p",
    }
    frame.to_parquet(tmp_path / "p.parquet")
    with duckdb.connect(str(tmp_path / "p.db")) as made:
        made.execute("CREATE TABLE p AS SELECT * FROM frame")
    own = account()
    with pytest.raises(DataError, match="same key"):
        protect(place[lies], SCHEMA, own, key=key).noisy_count(epsilon=1)
    assert own.spent().epsilon == 0
    # Rows of two persons may have one key.
    frame.loc[7, "patient"] = 2
    if key == "visit":
        protect(frame, SCHEMA, own, key=key).noisy_count(epsilon="0.1")


BY_ROW = Schema(SCHEMA.features, SCHEMA.label)
ONE_FEATURE = Schema(SCHEMA.features[:1], SCHEMA.label, unit="patient")


def test_schemas_say_whose_rows_are(more_data_dir):
    entries = json.loads((more_data_dir / "schema.json").read_text())["datasets"]
    with_unit = {name: Schema.from_dict(e) for name, e in entries.items() if "unit" in e}
    assert {name: s.unit for name, s in with_unit.items()} == {
        "diabetes130_patients": "patient_nbr",
        "nlswork": "idcode",
        "star_students": "id",
        "german_health": "id",
        "parkinsons_telemonitoring": "subject",
    }
    for schema in with_unit.values():
        assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema
        assert schema.unit not in schema.feature_names
    assert isinstance(with_unit["nlswork"].label, Target)
    assert all(Schema.from_dict(e).unit is None for e in entries.values() if "unit" not in e)


def test_a_schema_by_person_is_another_contract():
    assert SCHEMA.fingerprint != BY_ROW.fingerprint
    assert BY_ROW.by("patient") == SCHEMA == SCHEMA.by("patient")
    assert (BY_ROW.counted, SCHEMA.counted) == ("rows", "persons")
    for bad in ("age", "ill", "", 3):
        with pytest.raises(SchemaError):
            Schema(SCHEMA.features, SCHEMA.label, unit=bad)
    patients = account(1, BY_ROW)
    with pytest.raises(BudgetError, match="another schema"):
        protect(people(), SCHEMA, patients).noisy_count(epsilon=0.5)


def test_cards_say_person():
    frame = people()
    model = MajorityForestClassifier(1.0, schema=SCHEMA, n_trees=2).fit(frame, frame.ill)
    assert "person with all their rows" in str(model.privacy_card_)
    assert "patient" not in model.feature_names_in_
    assert (model.predict(frame) == model.predict(frame.drop(columns="patient"))).all()


def test_estimators_take_a_unit_by_name_and_by_identifier():
    frame = people(3000)
    X, y = frame[["age", "town"]], frame.ill
    for learner in (BoostingClassifier, CountForestClassifier, MajorityForestClassifier):
        named = learner(50.0, schema=BY_ROW).fit(frame[["age", "town", "patient"]], y, unit="patient")
        beside = learner(50.0, schema=BY_ROW).fit(X, y, unit=frame.patient.to_numpy())
        rows = learner(50.0, schema=BY_ROW).fit(X, y)
        assert named.model_.schema == SCHEMA
        assert beside.model_.schema.unit == "person"
        assert rows.model_.schema.unit is None
        for model in (named, beside):
            assert (model.predict(X) == y).mean() > 0.8
            assert "person" in model.privacy_card_.neighbours


def test_forests_add_batches_of_persons():
    frame = people(300)
    forest = CountForestClassifier(20.0, schema=SCHEMA, random_state=0).fit(frame, frame.ill)
    forest.partial_fit(frame, frame.ill, batch="later")
    forest.partial_fit(frame[["age", "town", "ill"]], frame.ill, unit=frame.patient.to_numpy(), batch="last")
    assert "person" in forest.privacy_card_.neighbours


def test_scores_and_selections_count_persons():
    frame = people(2000)
    grid = {"n_trees": [4, 8]}
    search = PrivateSelection(CountForestClassifier(), grid, epsilon=30.0, schema=SCHEMA).fit(
        frame, frame.ill
    )
    assert search.model_.schema.unit == "patient"
    found = private_score(search, frame, frame.ill, epsilon=50)
    assert found.counted == "persons" and "persons" in str(found)
    assert abs(found.noisy_rows - frame.patient.nunique()) < 50
    by_row = private_score(search, frame, frame.ill, epsilon=50, schema=BY_ROW)
    assert abs(by_row.noisy_rows - len(frame)) < 50
    assert by_row.counted == "rows"


PARTITIONS = ((1, 2, 3), (1, 1, 2), (1, 2, 1), (1, 2, 2), (1, 1, 1))
"""All ways in which three rows can be persons'."""


def small_tables():
    """Every table of three rows of two kinds, however they are persons', and every person to leave out."""
    for kinds in itertools.combinations_with_replacement((UNIVERSE[0], UNIVERSE[7]), 3):
        for persons in PARTITIONS:
            yield from ((kinds, persons, person) for person in range(len(set(persons))))


ASKED = [
    (make, d, schema) for kind, of, d, schema in PERSON_PROGRAMS if kind == "question" for make in of.items()
]


@pytest.mark.parametrize(("make", "delta", "schema"), ASKED, ids=[make[0] for make, *_ in ASKED])
def test_no_person_moves_an_answer_further_than_was_paid_for(make, delta, schema):
    """Of every question, over all neighbours of all small tables; exact losses, no run is drawn."""
    budget = Budget(1, delta, FINDING if delta else 0)
    compared = compare_persons(make[1](Fraction(1)), schema, budget, list(small_tables()))
    assert len(compared) == 40
    for table, gone, comparison in compared:
        assert comparison.keeps, (table, gone, comparison)


@pytest.mark.parametrize("name", PERSON_MUTANTS)
def test_a_planted_fault_that_persons_show_is_convicted(name):
    compared = compare_persons(PERSON_MUTANTS[name](Fraction(1)), TOY, Budget(1), list(small_tables()))
    assert any(comparison.broken for *_, comparison in compared)
    single = [pair for pair in small_tables() if len(set(pair[1])) == 3]
    sound = compare_persons(PERSON_MUTANTS[name](Fraction(1)), TOY, Budget(1), single)
    assert not any(comparison.broken for *_, comparison in sound)  # where each has one row


def test_one_who_has_a_thousand_rows_moves_no_answer_further_than_one_who_has_one():
    """Of every question: the losses beside the neighbour without them are the same."""
    others = [UNIVERSE[i % 8] for i in range(6)]
    for make, delta, schema in ASKED:
        budget, losses = Budget(1, delta, FINDING if delta else 0), []
        for rows in (1, 1000):
            table, who = (*others, *[UNIVERSE[5]] * rows), (*range(6), *[9] * rows)
            stands = person_rows(table, who, schema)
            place = int(np.flatnonzero([(stands.person(i) == stands.who[-1]).all() for i in range(7)])[0])
            compared = compare_without(make[1](Fraction(1)), stands, place, schema, budget, 5)
            losses.append((compared.keeps, compared.loss.attained, compared.loss.rho))
        assert losses[0] == losses[1] and losses[0][0], make[0]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_owner_is_told_of_identifiers_that_repeat_and_nobody_else_is(suffix, tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 100, 600),
            "ill": rng.choice(["no", "yes"], 600),
            "person": [f"p{i}" for i in rng.integers(0, 200, 600)],
            "row": range(600),
            "weight": rng.choice(np.round(rng.normal(70, 9, 200), 1), 600),
            "ward": rng.choice(["a", "b"], 600),
        }
    )
    path, contract = tmp_path / f"t.{suffix}", tmp_path / "s.json"
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path, index=False)
    schema = Schema([Continuous("age", 0, 100)], Label("ill", ["no", "yes"]))
    assert find_outside(path, schema).repeating == ("person",)
    assert find_outside(frame, schema).repeating == ("person",)
    assert find_outside(path, schema.by("person")).repeating == ()
    schema.save(contract)
    main(["schema", "check", str(path), "--schema", str(contract)])
    assert "'person' repeat" in " ".join(capsys.readouterr().err.split())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        protect(path, schema, Ledger().create("x", Budget(1))).noisy_label_rows(epsilon=1)

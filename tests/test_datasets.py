"""Public tables: in folders, else in the cache, else fetched; what is not as pinned is refused."""

from __future__ import annotations

import gzip
import io
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from privet import datasets
from privet.datasets import fetch
from privet.errors import DataError

FETCHED = ("adult", "car", "clave", "house_votes", "mushroom", "transfusion")


def original(name: str, data_dir: Path) -> bytes:
    """An archive as the public source packs a table, made from the one that the folder has."""
    facts = fetch.listed()[name]
    lines = gzip.decompress((data_dir / f"{name}.csv.gz").read_bytes()).decode().splitlines()[1:]
    rows = [[value or "?" for value in line.split(",")] for line in lines]
    if facts.get("label") == "first":
        rows = [[row[-1], *row[:-1]] for row in rows]
    if "outputs" in facts:
        bits = np.eye(len(facts["outputs"]), dtype=int).tolist()
        rows = [[*row[:-1], *map(str, bits[facts["outputs"].index(row[-1])])] for row in rows]
    told = [(facts.get("separator") or " ").join(row) for row in rows]
    parts = [told[:32_561], [f"{line}." for line in told[32_561:]]] if name == "adult" else [told]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for member, part in zip(facts["members"], parts, strict=True):
            head = ["a head"] * facts.get("skip", 0) + ["|a line that is no row", ""] * (name == "adult")
            archive.writestr(member, "\n".join([*head, *part, ""]))
    return buffer.getvalue()


@pytest.fixture
def source(monkeypatch, tmp_path):
    """No folder, an empty cache, and a source that gives out what is put into it."""
    given: dict[str, bytes] = {}

    def retrieve(url, known_hash, downloader):
        name = next(name for name, facts in fetch.listed().items() if facts["url"] == url)
        if name not in given:
            raise OSError("no network")
        path = tmp_path / f"{name}.zip"
        path.write_bytes(given[name])
        return str(path)

    for folder in datasets.FOLDERS:
        monkeypatch.delenv(folder, raising=False)
    monkeypatch.setenv(fetch.CACHE, str(tmp_path / "cache"))
    monkeypatch.setattr("pooch.retrieve", retrieve)
    return given


@pytest.mark.parametrize("name", FETCHED)
def test_what_is_fetched_is_what_the_folders_have(name, source, data_dir, monkeypatch):
    source[name] = original(name, data_dir)
    found = datasets.load_codes(name)
    source.clear()
    assert (datasets.load_codes(name).labels == found.labels).all()  # from the cache
    monkeypatch.setenv("PRIVET_DATA", str(data_dir))
    known = datasets.load_codes(name)
    assert (found.features == known.features).all() and (found.labels == known.labels).all()
    assert found.schema.features == known.schema.features and found.schema.label == known.schema.label


def test_what_is_not_as_pinned_is_refused_and_not_kept(source, data_dir, tmp_path):
    packed = original("car", data_dir)
    with zipfile.ZipFile(io.BytesIO(packed)) as members:
        text = members.read("car.data").decode()
    for changed in (
        text.replace("vhigh,vhigh,2,2,small,low,unacc", "high,vhigh,2,2,small,low,unacc", 1),
        text[:-20],
    ):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("car.data", changed)
        source["car"] = buffer.getvalue()
        with pytest.raises(DataError, match="is not the 'car' that is pinned"):
            datasets.load("car")
    source["car"] = b"no archive"
    with pytest.raises(DataError, match=r"no archive with car\.data"):
        datasets.load("car")
    assert not list((tmp_path / "cache").iterdir())


def test_without_a_network_it_is_said_how_to_get_a_table(source, monkeypatch):
    with pytest.raises(DataError, match="could not be fetched") as refused:
        datasets.require(["SynthA", "adult"])
    assert "PRIVET_DATA" in refused.value.hint
    with pytest.raises(DataError, match="no source is known"):
        datasets.require(["connect4"])
    monkeypatch.setitem(sys.modules, "pooch", None)
    monkeypatch.delenv(fetch.CACHE)
    with pytest.raises(DataError, match="needs pooch"):
        datasets.require(["adult"])


def test_hashes_are_pinned_for_what_the_folders_have(data_dir):
    for name in ("banknote", "krkopt", "magic", "mammographic", "nursery", "pendigits", "tic_tac_toe"):
        facts, path = datasets.entry(name)
        fetch.verify(name, path, fetch.listed()[name])
        assert facts["file"]


def test_a_folder_without_a_list_of_its_tables_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("PRIVET_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"no schema\.json"):
        datasets.load("adult")


def test_complete_rows_are_those_without_missing_values(data_dir):
    assert datasets.load_codes("adult", complete=True).features.shape[1] == 45_222

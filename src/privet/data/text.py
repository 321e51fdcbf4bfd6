"""Files of text: what separates their fields, and how their letters are written."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from privet.errors import DataError

TAB_SUFFIXES = (".tsv", ".tsv.gz")
CSV_SUFFIXES = (".csv", ".csv.gz", *TAB_SUFFIXES)
OTHER_SUFFIXES = (".parquet", ".arrow", ".feather")
UTF8 = "utf-8"

NOT_BY_LINE = re.compile("hz|idna|iso2022.*|punycode|(raw-)?unicode-escape|undefined|utf-7")
"""Encodings in which letters may hide the end of a line, or stand for one: a row could take another away, or
be two."""

OFTEN = ";\t|"
"""Separators beside the comma that files often have."""


@dataclass(frozen=True)
class TextFile:
    """A file of text whose fields are not separated by commas, or whose letters are not in UTF-8.

    It is taken wherever the path of a file is.

    Parameters
    ----------
    path : str or Path
        Of a file, of a folder of them, or a pattern of their names.
    separator : str, optional
        One character; by default a tab in files named .tsv, a comma in all others.
    encoding : str
        Any that Python knows, such as ``latin-1`` or ``utf-16``.

    Examples
    --------
    >>> TextFile("people.tsv").separates == chr(9)
    True
    >>> TextFile("people.csv", separator=";", encoding="latin-1").separates
    ';'
    """

    path: str | Path
    separator: str | None = None
    encoding: str = UTF8

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))
        if self.separator is not None:
            _check_separator(self.separator)
        object.__setattr__(self, "encoding", _known_encoding(self.encoding))
        if self.place.name.endswith(OTHER_SUFFIXES):
            raise DataError(
                f"{self.place.name!r} is no file of text.", "leave out its separator and its encoding."
            )

    @property
    def place(self) -> Path:
        """Its path."""
        return Path(self.path)

    @property
    def separates(self) -> str:
        """What separates its fields."""
        by_name = "\t" if self.place.name.endswith(TAB_SUFFIXES) else ","
        return self.separator or by_name

    def at(self, path: Path) -> TextFile:
        """Another file that is written in the same way."""
        return replace(self, path=path)


Place = str | Path | TextFile
"""Where rows lie that are not at hand."""


def is_place(source: Any) -> bool:
    """Whether a source says where rows lie."""
    return isinstance(source, Place) or is_frame(source)


def is_frame(source: Any) -> bool:
    """Whether something is a DataFrame of Spark, connected or not; Spark itself is not loaded for it."""
    kind = type(source)
    return kind.__module__.startswith("pyspark.sql.") and kind.__name__ == "DataFrame"


def place_path(source: Place) -> Path:
    """Path of a file, or of several."""
    return source.place if isinstance(source, TextFile) else Path(source)


def text_file(source: Place) -> TextFile:
    """A file of text, as it is said or as its name says."""
    return source if isinstance(source, TextFile) else TextFile(source)


def likely_separator(names: list[str]) -> str:
    """A separator that seems to stand within names of columns, nothing if there is none."""
    found = [sign for sign in OFTEN if len(names) == 1 and sign in names[0]]
    return found[0] if found else ""


def spelt_otherwise(name: str, found: Iterable[str]) -> str:
    """What to do where another column seems to be meant: names of columns are public.

    >>> spelt_otherwise("age", ["id", "Age "])
    "the table has 'Age ': write the name there as in the schema, or here as there."
    """
    plain = {"".join(filter(str.isalnum, other.casefold())): other for other in sorted(found)}
    near = get_close_matches("".join(filter(str.isalnum, name.casefold())), plain, 1, 0.8)
    told = "the table has {!r}: write the name there as in the schema, or here as there."
    return told.format(plain[near[0]]) if near else ""


def _check_separator(separator: object) -> None:
    is_sign = isinstance(separator, str) and len(separator) == 1 and separator.isascii()
    if not is_sign or str(separator).isalnum() or str(separator) in "\"'\r\n.+-_\0":
        raise DataError(
            "a separator is one character that is no letter, digit, sign, point or quote.",
            "say ';', '|' or a tab.",
        )


def _known_encoding(encoding: str) -> str:
    try:
        found = codecs.lookup(encoding)
        is_by_line = not NOT_BY_LINE.fullmatch(found.name)
        if is_by_line:
            "".encode(encoding)
    except (LookupError, TypeError):
        raise DataError(f"there is no encoding {encoding!r}.", "say utf-8, latin-1 or utf-16.") from None
    if not is_by_line:
        raise DataError(
            f"a line in {encoding!r} does not stand by itself.", "write the file in utf-8, latin-1 or utf-16."
        )
    return UTF8 if found.name in (UTF8, "ascii", "utf-8-sig") else found.name

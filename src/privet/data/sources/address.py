"""Where rows lie, written in one line: the same for the library, the command line and whoever calls them.

==============================================  ====================================================
``people.parquet``, ``people.csv``              a file: Parquet, Arrow or CSV
``folder``, ``folder/*.parquet``                all tables in a folder, or those of a pattern
``duckdb:///people.db?table=people``            a table of a DuckDB file; four slashes for a path from /
``postgresql://host/db?table=clinic.people``    a table of PostgreSQL, with all that libpq reads behind ``?``
``spark:clinic.people``, ``spark:?query=…``     a table, or a query, of the Spark session of this process
==============================================  ====================================================

``query=SELECT …`` stands for ``table=``. A password has no place in an address: addresses are printed, and
kept in the history of shells. It comes from the environment (PGPASSWORD, PGPASSFILE).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from privet.errors import DataError

FILES, DUCKDB, POSTGRESQL, SPARK = "files", "duckdb", "postgresql", "spark"
SCHEMES = {"duckdb": DUCKDB, "postgresql": POSTGRESQL, "postgres": POSTGRESQL, "spark": SPARK}
OTHERS = (".arrow", ".feather")
SECRET = re.compile("password|secret|token", re.IGNORECASE)


@dataclass(frozen=True)
class Address:
    """Where rows lie, taken apart.

    Attributes
    ----------
    kind : str
        `FILES`, `DUCKDB`, `POSTGRESQL` or `SPARK`.
    place : str
        A path; or a host and a database, as an address without what stands behind ``?``.
    table, query : str, optional
        Exactly one of them, but for files.
    settings : mapping
        What else stands behind ``?``.
    """

    kind: str
    place: str
    table: str | None = None
    query: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What the rows are called where nobody says otherwise: it tells no host, user or query."""
        if self.table is not None:
            return self.table
        if self.kind == FILES:
            return Path(self.place).absolute().name
        raise DataError("rows of a query have no name.", "give their account one: --name.")

    @property
    def path(self) -> Path | None:
        """The file or folder, if it is one."""
        return Path(self.place) if self.kind in (FILES, DUCKDB) else None

    @property
    def is_one_file(self) -> bool:
        """Whether it is a file of Parquet or text, not a folder, a pattern or a database."""
        path = Path(self.place)
        return self.kind == FILES and path.is_file() and path.suffix not in OTHERS

    @property
    def uri(self) -> str:
        """The place with its settings, as drivers read it."""
        return self.place + (f"?{urlencode(self.settings, quote_via=quote)}" if self.settings else "")


def is_address(written: str) -> bool:
    """Whether what is written begins as an address of something else than files, known or not."""
    scheme, colon, _ = written.partition(":")
    return bool(colon) and (scheme.lower() in SCHEMES or ("://" in written and not Path(written).exists()))


def read_address(source: str | Path) -> Address:
    """Take an address apart; a `Path` is that of files, whatever it looks like."""
    written = str(source)
    scheme, _, rest = written.partition(":")
    if isinstance(source, Path) or not is_address(written) or scheme.lower() not in SCHEMES:
        if isinstance(source, str) and is_address(written):
            known = ", ".join(f"{name}:" for name in SCHEMES)
            raise DataError("rows cannot be read from such an address.", f"name files, or begin with {known}")
        return Address(FILES, written)
    kind = SCHEMES[scheme.lower()]
    rest, _, behind = rest.partition("?")
    settings = dict(parse_qsl(behind, keep_blank_values=True))
    table, query = settings.pop("table", None), settings.pop("query", None)
    query = query and query.rstrip("; \n\t\r")  # as it ends in a shell
    place = f"{kind}:{rest}"
    if kind == SPARK and rest.strip("/"):
        place, table = f"{kind}:", unquote(rest.strip("/")) if table is None else table
    elif kind == DUCKDB:
        place = unquote(rest.removeprefix("//").removeprefix("/") if rest.startswith("//") else rest)
    _check(kind, place, table, query, settings)
    return Address(kind, place, table, query, settings)


def _check(kind: str, place: str, table: str | None, query: str | None, settings: Mapping[str, str]) -> None:
    has_secret = kind == POSTGRESQL and urlsplit(place).password is not None
    if has_secret or any(SECRET.search(name) for name in settings):
        raise DataError(
            "an address must not hold a password: it is printed, and kept.",
            "set PGPASSWORD, or name a file in PGPASSFILE.",
        )
    if bool(table) == bool(query):
        raise DataError(
            "an address names one table or one query.",
            f"end it with ?table=NAME, as in {kind}:…?table=people.",
        )
    if kind == DUCKDB and (settings or not place):
        raise DataError("this is no address of a DuckDB file.", "write duckdb:///people.db?table=people.")

"""A house: one folder with a ledger, the tables of its owners, and all that a service keeps.

::

    DATA/
      tables/      what owners put there to be registered; addresses of files end below it
      house.toml   settings, databases by name: see `privet.service.config`
      private/     house.db (ledger and service in one database), its key, checked copies: never left
      work/        a folder a process, while it runs: all of the house that it sees
      jobs/        a folder a job: its model

Everything that is to be there exactly if a charge is, lies in the ledger's own database and is committed in
the charge's transaction. `House.read` and `House.write` are the only two ways to it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from privet.errors import QuestionError
from privet.privacy import Ledger, Transaction
from privet.service.config import Settings, read_settings
from privet.service.refusals import ServiceError, storable

VERSION = "1"
"""Of these tables; whoever changes them takes older ones over in `House`."""

TABLES = (
    "CREATE TABLE IF NOT EXISTS setting (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS member (name TEXT PRIMARY KEY, role TEXT NOT NULL, subject TEXT UNIQUE,"
    " made BIGINT NOT NULL, closed BIGINT)",
    "CREATE TABLE IF NOT EXISTS token (hash TEXT PRIMARY KEY, member TEXT NOT NULL, label TEXT NOT NULL,"
    " scopes TEXT NOT NULL, made BIGINT NOT NULL, expires BIGINT NOT NULL, used BIGINT, revoked BIGINT)",
    "CREATE TABLE IF NOT EXISTS link (hash TEXT PRIMARY KEY, member TEXT NOT NULL, expires BIGINT NOT NULL,"
    " used BIGINT)",
    "CREATE TABLE IF NOT EXISTS session (hash TEXT PRIMARY KEY, member TEXT NOT NULL,"
    " expires BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS people (name TEXT PRIMARY KEY, about TEXT NOT NULL, made BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS listed (name TEXT PRIMARY KEY, people TEXT NOT NULL, address TEXT NOT NULL,"
    " schema TEXT NOT NULL, rules TEXT NOT NULL, state TEXT NOT NULL, told TEXT NOT NULL,"
    " copy TEXT NOT NULL, made BIGINT NOT NULL, checked BIGINT)",
    "CREATE TABLE IF NOT EXISTS job (id TEXT PRIMARY KEY, number BIGINT NOT NULL, member TEXT NOT NULL,"
    " listed TEXT NOT NULL, people TEXT NOT NULL, request TEXT NOT NULL, key TEXT NOT NULL,"
    " cost TEXT NOT NULL, epsilon TEXT NOT NULL, seconds BIGINT NOT NULL, state TEXT NOT NULL,"
    " told TEXT NOT NULL, charge BIGINT, receipt TEXT NOT NULL, made BIGINT NOT NULL, started BIGINT,"
    " due BIGINT, outcome TEXT NOT NULL, settled TEXT NOT NULL, decided TEXT NOT NULL, UNIQUE (member, key))",
    "CREATE INDEX IF NOT EXISTS job_state ON job (state, made)",
    "CREATE TABLE IF NOT EXISTS done (member TEXT NOT NULL, key TEXT NOT NULL, request TEXT NOT NULL,"
    " PRIMARY KEY (member, key))",
    "CREATE TABLE IF NOT EXISTS upload (id TEXT PRIMARY KEY, member TEXT NOT NULL, made BIGINT NOT NULL,"
    " size BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS noted (number BIGINT PRIMARY KEY, made BIGINT NOT NULL, who TEXT NOT NULL,"
    " what TEXT NOT NULL, about TEXT NOT NULL, hash TEXT NOT NULL)",
)


class House:
    """See the module."""

    def __init__(
        self,
        data: str | Path,
        settings: Settings | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.data = Path(data).absolute()
        self.clock = clock
        self.burnt: dict[str, Any] = {}
        self.drawing = Lock()
        for folder in (self.data, self.private, self.copies, self.work, self.jobs, self.uploads):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.tables.mkdir(exist_ok=True)
        os.chmod(self.private, 0o700)  # noqa: PTH101 – also where it was there before
        self.settings = read_settings(self.data, settings)
        address, key = self.settings.ledger, self.private / "house.db.key"
        self.ledger = Ledger(self.private / "house.db" if address is None else address, key)
        with self.write() as at_once:
            for statement in TABLES:
                at_once.execute(statement)
            known = at_once.execute("SELECT value FROM setting WHERE name = 'version'")
            if not known:
                at_once.execute("INSERT INTO setting (name, value) VALUES ('version', ?)", (VERSION,))
            elif known[0][0] != VERSION:
                raise QuestionError("this house was kept by another version of privet.", "use that one.")

    @property
    def tables(self) -> Path:
        """What owners put there."""
        return self.data / "tables"

    @property
    def private(self) -> Path:
        """The ledger and its key."""
        return self.data / "private"

    @property
    def copies(self) -> Path:
        """Checked copies of tables."""
        return self.private / "copies"

    @property
    def work(self) -> Path:
        """A folder a process, while it runs."""
        return self.data / "work"

    @property
    def jobs(self) -> Path:
        """A folder a job: what it released."""
        return self.data / "jobs"

    @property
    def uploads(self) -> Path:
        """Models that members brought to be scored."""
        return self.data / "uploads"

    def now(self) -> int:
        """Seconds since 1970."""
        return int(self.clock())

    def read(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Rows of the service's tables; a text that none of them can hold is refused."""
        if not all(storable(value) for value in values if isinstance(value, str)):
            raise ServiceError("a name has characters that cannot be kept.", "leave out what is no text.")
        return self.ledger.execute(sql, values)

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """Change the service's tables, and the ledger with them: all of it, or nothing."""
        with self.ledger.transaction() as at_once:
            yield at_once

    def close(self) -> None:
        """Let the database go."""
        self.ledger.close()


def one(rows: Sequence[tuple[Any, ...]]) -> tuple[Any, ...] | None:
    """The only row, if there is one."""
    return rows[0] if rows else None

"""Keys of jobs, kept before they are sent and till they are over: a notebook that dies finds its job again.

A key is kept under what is asked, of whom and as whom. The same request finds it and resumes its job, which
costs nothing; once the answer is there the key is dropped, and the same request is a new job with a new
charge.
"""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from privet.errors import QuestionError


class Pending:
    """A folder of keys, one file each."""

    def __init__(self, folder: str | Path | None = None) -> None:
        home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        self.folder = Path(folder) if folder is not None else Path(home) / "privet"

    def key(self, *about: str, request: Mapping[str, Any]) -> tuple[str, Path]:
        """The key of a request, on disk when this returns, and where it is kept."""
        text = json.dumps([*about, request], sort_keys=True)
        file = self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not file.exists():
                self._write(file, {"key": str(uuid.uuid4()), "about": about, "request": request})
            return str(json.loads(file.read_text(encoding="utf-8"))["key"]), file
        except (OSError, ValueError, LookupError):
            raise QuestionError(
                f"the key of this request cannot be kept in {str(self.folder)!r}.",
                "without it a lost answer could not be had again: name another folder, state=.",
            ) from None

    def _write(self, file: Path, data: Mapping[str, Any]) -> None:
        part = file.with_name(f".{file.name}.{os.getpid()}")
        with part.open("w", encoding="utf-8") as opened:
            json.dump(data, opened)
            opened.flush()
            os.fsync(opened.fileno())
        part.replace(file)

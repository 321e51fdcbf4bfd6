"""Who says it: known public keys, and files that carry a signature over their exact bytes."""

from __future__ import annotations

import re
from pathlib import Path

from privet.errors import ModelFileError, QuestionError
from privet.keys import PrivateKey, public_key, signed_by

MAGIC = b"PRIVET SIGNED 1\n"
KEY_SIZE, SIGNATURE_SIZE = 32, 64
HEAD = len(MAGIC) + KEY_SIZE
MAX_NAME = 64


def read_known_keys(path: str | Path) -> dict[str, str]:
    """Public keys by party from a file with a line ``name key`` for each; lines with # are notes."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise QuestionError(f"cannot read {str(path)!r}.", "give a text file of names and keys.") from None
    known: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        *words, key = line.rsplit(None, 1)
        name = "".join(words)
        if not re.fullmatch("[0-9a-f]{64}", key) or name in known or key in known.values():
            raise QuestionError(
                f"line {number} of {str(path)!r} is not a party and its key, or repeats one.",
                "put the lines of the parties' .pub files into it, each once.",
            )
        known[check_party(name)] = key
    return known


def check_party(name: object) -> str:
    """Refuse a name that could be mistaken on a terminal or in a file of keys."""
    sound = isinstance(name, str) and 0 < len(name) <= MAX_NAME and name.isprintable()
    if not isinstance(name, str) or not sound or name != name.strip() or name.startswith("#"):
        raise QuestionError(
            f"a party's name must be 1 to {MAX_NAME} printable characters.", "say, north-hospital."
        )
    return name


def sign(payload: bytes, key: PrivateKey) -> bytes:
    """The payload after the public key and the signature: both are over its exact bytes."""
    head = MAGIC + bytes.fromhex(public_key(key))
    return head + bytes(key.sign(head + payload)) + payload


def open_signed(data: bytes, path: str | Path) -> tuple[str, bytes]:
    """Public key and payload of a signed file, verified before anything of it is read."""
    if not data.startswith(MAGIC):
        raise ModelFileError(
            f"{str(path)!r} is not a signed vector.", "give a file written by `privet party publish`."
        )
    head, rest = data[:HEAD], data[HEAD:]
    signature, payload = rest[:SIGNATURE_SIZE], rest[SIGNATURE_SIZE:]
    key = head[len(MAGIC) :]
    if not signed_by(key.hex(), signature, head + payload):
        raise ModelFileError(
            f"the signature of {str(path)!r} does not hold: it was cut or altered.",
            "ask the party to send it again.",
        )
    return key.hex(), payload

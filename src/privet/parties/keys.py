"""Who says it: Ed25519 keys, and files that carry a signature over their exact bytes."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from privet.errors import ModelFileError, PrivetError, QuestionError

PrivateKey = Any
"""An ``Ed25519PrivateKey`` of the package cryptography, which is an optional extra."""

MAGIC = b"PRIVET SIGNED 1\n"
KEY_SIZE, SIGNATURE_SIZE = 32, 64
HEAD = len(MAGIC) + KEY_SIZE
MAX_NAME = 64


def new_key(path: str | Path) -> PrivateKey:
    """Make a key and write it to a new file that its owner alone may read."""
    key = _ed25519().Ed25519PrivateKey.generate()
    from cryptography.hazmat.primitives import serialization as s

    pem = key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption())
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(pem)
    except OSError as error:
        raise QuestionError(f"cannot write {str(path)!r} ({error.strerror}).", "choose a new name.") from None
    return key


def load_key(path: str | Path) -> PrivateKey:
    """Read a private key from its file."""
    kind = _ed25519().Ed25519PrivateKey
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(Path(path).read_bytes(), None)
    except OSError as error:
        raise QuestionError(f"cannot read {str(path)!r} ({error.strerror}).", "check the path.") from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, kind):
        raise QuestionError(
            f"{str(path)!r} is not a private Ed25519 key.", "make one with `privet party key`."
        )
    return key


def public_key(key: PrivateKey) -> str:
    """The public half of a key, as 64 hexadecimal digits."""
    if not isinstance(key, _ed25519().Ed25519PrivateKey):
        raise QuestionError("this is not a private Ed25519 key.", "read one with load_key.")
    return str(key.public_key().public_bytes_raw().hex())


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
    ed25519 = _ed25519()
    from cryptography.exceptions import InvalidSignature

    if not data.startswith(MAGIC):
        raise ModelFileError(
            f"{str(path)!r} is not a signed vector.", "give a file written by `privet party publish`."
        )
    head, rest = data[:HEAD], data[HEAD:]
    signature, payload = rest[:SIGNATURE_SIZE], rest[SIGNATURE_SIZE:]
    key = head[len(MAGIC) :]
    try:
        ed25519.Ed25519PublicKey.from_public_bytes(key).verify(signature, head + payload)
    except (InvalidSignature, ValueError):
        raise ModelFileError(
            f"the signature of {str(path)!r} does not hold: it was cut or altered.",
            "ask the party to send it again.",
        ) from None
    return key.hex(), payload


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ModuleNotFoundError:
        raise PrivetError(
            "signatures need the package cryptography.", "pip install 'privet[parties]'"
        ) from None
    return ed25519

"""Ed25519 keys in files, by the package cryptography, which is an optional extra."""

from __future__ import annotations

import os
import secrets
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from privet.errors import PrivetError, QuestionError

PrivateKey = Any
"""An ``Ed25519PrivateKey``."""


def can_sign() -> bool:
    """Whether the package that signs is there."""
    return find_spec("cryptography") is not None


def new_key(path: str | Path) -> PrivateKey:
    """Make a key and write it to a new file that its owner alone may read, whole or not at all."""
    key = ed25519().Ed25519PrivateKey.generate()
    from cryptography.hazmat.primitives import serialization as s

    pem = key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption())
    path = Path(path)
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(pem)
            file.flush()
            os.fsync(file.fileno())
        try:
            path.hardlink_to(part)
        finally:
            part.unlink()
    except OSError as error:
        raise QuestionError(f"cannot write {str(path)!r} ({error.strerror}).", "choose a new name.") from None
    return key


def load_key(path: str | Path) -> PrivateKey:
    """Read a private key from its file."""
    kind = ed25519().Ed25519PrivateKey
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
    if not isinstance(key, ed25519().Ed25519PrivateKey):
        raise QuestionError("this is not a private Ed25519 key.", "read one with load_key.")
    return str(key.public_key().public_bytes_raw().hex())


def signed_by(public: str, signature: bytes, message: bytes) -> bool:
    """Whether a signature over a message holds under a public key in hexadecimal digits."""
    kind = ed25519().Ed25519PublicKey
    from cryptography.exceptions import InvalidSignature

    try:
        kind.from_public_bytes(bytes.fromhex(public)).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def ed25519() -> Any:
    """The module that signs."""
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ModuleNotFoundError:
        raise PrivetError(
            "signatures need the package cryptography.", "pip install 'privet[parties]'"
        ) from None
    return ed25519

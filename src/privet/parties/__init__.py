"""Several owners and no server: agree on a structure, publish signed counts, merge them, by files alone."""

from privet.parties.keys import PrivateKey, load_key, new_key, public_key, read_known_keys
from privet.parties.merge import merge
from privet.parties.structure import PublicStructure, draw_structure
from privet.parties.union import unite
from privet.parties.vector import SignedVector, publish

__all__ = [
    "PrivateKey",
    "PublicStructure",
    "SignedVector",
    "draw_structure",
    "load_key",
    "merge",
    "new_key",
    "public_key",
    "publish",
    "read_known_keys",
    "unite",
]

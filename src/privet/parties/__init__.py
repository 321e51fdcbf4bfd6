"""Several owners and no server: agree on a structure, publish signed counts, merge them, by files alone."""

from privet.keys import PrivateKey as PrivateKey
from privet.keys import load_key as load_key
from privet.keys import new_key as new_key
from privet.keys import public_key as public_key
from privet.parties.keys import read_known_keys
from privet.parties.merge import merge
from privet.parties.structure import PublicStructure, draw_structure
from privet.parties.union import unite
from privet.parties.vector import SignedVector, publish

__all__ = [
    "PublicStructure",
    "SignedVector",
    "draw_structure",
    "merge",
    "publish",
    "read_known_keys",
    "unite",
]

"""Columns that a draft must not quote, or cannot: who somebody is, free text, ZIP codes, dates, nothing."""

from __future__ import annotations

import re
from typing import NamedTuple

IDENTIFIER, FREE_TEXT, ZIP, TIME = "identifier", "free text", "ZIP code", "date"
UNNAMED, EMPTY, WRITTEN, CODE = "no name", "no values", "written number", "code for missing"
ODD = "odd type"

NAMES = {
    IDENTIFIER: (
        "id ids uid uuid guid key nr ssn passport iban email mail phone mobile telephone fax ip mac url "
        "username login surname lastname firstname forename fullname insurance licence license plate account "
        "nhs mrn pid"
    ),
    FREE_TEXT: (
        "comment comments note notes text freetext description remark remarks message memo narrative address "
        "street"
    ),
    ZIP: "zip zipcode postcode postal postalcode plz",
    TIME: "date dob birthday birthdate timestamp datetime",
}
"""Words of a column's name, by what they say that it holds."""

ADVICE = {
    IDENTIFIER: "looks like an identifier: left out. If it says whose a row is, make it the schema's unit",
    FREE_TEXT: "looks like free text: left out",
    ZIP: "looks like a ZIP code: its list is left open; shorten it to its first digits, or few will be found",
    UNNAMED: "is no name, as row numbers of a frame have none: left out. Write files without them",
    EMPTY: "holds no values: left out",
    WRITTEN: "looks like numbers with commas, points or signs in them: left out. Write them as 1234.5",
    CODE: "holds a number far from all others, perhaps a code for missing: left out of its range. Leave such "
    "fields empty, or they count as the end of the range",
    TIME: 'looks like dates: left out. State public bounds, as in {"type": "date", "lower": "2020-01-01", …}',
    ODD: "has a type that is not read: left out; convert it to numbers or text, as in a query",
}

_KNOWN = {word: kind for kind, words in NAMES.items() for word in words.split()}


class Suspect(NamedTuple):
    """A column, and what it looks like."""

    column: str
    kind: str

    @property
    def told(self) -> str:
        """What was done about it, and what to do."""
        return f"{self.column!r} {ADVICE[self.kind]}."


def suspect(name: str) -> str | None:
    """What a column looks like by its name alone, if that is something a draft must not quote.

    >>> suspect("patient_id"), suspect("zipCode"), suspect("age"), suspect("width")
    ('identifier', 'ZIP code', None, None)
    """
    parted = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name).lower()
    words = re.findall(r"[a-z]+", parted)
    together = "".join(words)
    if not name.strip() or re.fullmatch(r"unnamed \d+", parted.replace(":", "")):
        return UNNAMED
    return next((_KNOWN[word] for word in [*words, together] if word in _KNOWN), None)

"""What Bojarski et al. 2014 print in table 1, in percent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Printed:
    """A row of the table for a way of voting: errors, and the trees and height that go with them."""

    error: float
    n_trees: int
    height: int
    twin_error: float
    twin_trees: int
    twin_height: int


TABLE_1: Mapping[tuple[str, str], Printed] = {
    ("banknote", "majority"): Printed(5.44, 21, 11, 3.09, 21, 15),
    ("banknote", "threshold"): Printed(5.22, 7, 12, 3.46, 17, 9),
    ("transfusion", "majority"): Printed(23.42, 1, 14, 22.19, 1, 14),
    ("transfusion", "threshold"): Printed(23.42, 1, 13, 22.47, 1, 14),
    ("house_votes", "majority"): Printed(8.10, 15, 9, 9.05, 19, 6),
    ("house_votes", "threshold"): Printed(6.90, 15, 9, 5.95, 13, 9),
    ("mammographic", "majority"): Printed(16.95, 5, 12, 16.95, 9, 12),
    ("mammographic", "threshold"): Printed(17.37, 9, 8, 16.21, 19, 15),
    ("mushroom", "majority"): Printed(4.69, 3, 13, 0.83, 21, 15),
    ("mushroom", "threshold"): Printed(4.16, 3, 15, 0.26, 13, 14),
    ("adult", "majority"): Printed(22.18, 3, 11, 21.70, 3, 14),
    ("adult", "threshold"): Printed(21.72, 7, 11, 21.58, 3, 14),
    ("covertype", "majority"): Printed(38.75, 3, 13, 33.39, 21, 15),
    ("covertype", "threshold"): Printed(37.82, 3, 13, 30.80, 21, 15),
}

GREEDY_ERROR: Mapping[str, float] = {
    "banknote": 3.65,
    "transfusion": 18.92,
    "house_votes": 9.30,
    "mammographic": 21.88,
    "mushroom": 3.33,
    "adult": 17.75,
    "covertype": 26.90,
}
"""Of rpart, which knows no privacy."""

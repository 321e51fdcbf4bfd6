"""What Bojarski et al. 2014 print in table 1, in percent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Printed:
    """A row of the table for a way of voting: errors, half their intervals, the trees and height of each."""

    error: float
    interval: float
    n_trees: int
    height: int
    twin_error: float
    twin_interval: float
    twin_trees: int
    twin_height: int


TABLE_1: Mapping[tuple[str, str], Printed] = {
    ("banknote", "majority"): Printed(5.44, 1.2, 21, 11, 3.09, 0.92, 21, 15),
    ("banknote", "threshold"): Printed(5.22, 1.18, 7, 12, 3.46, 0.97, 17, 9),
    ("transfusion", "majority"): Printed(23.42, 3.03, 1, 14, 22.19, 2.98, 1, 14),
    ("transfusion", "threshold"): Printed(23.42, 3.03, 1, 13, 22.47, 2.99, 1, 14),
    ("house_votes", "majority"): Printed(8.10, 2.56, 15, 9, 9.05, 2.7, 19, 6),
    ("house_votes", "threshold"): Printed(6.90, 2.38, 15, 9, 5.95, 2.22, 13, 9),
    ("mammographic", "majority"): Printed(16.95, 2.37, 5, 12, 16.95, 2.37, 9, 12),
    ("mammographic", "threshold"): Printed(17.37, 2.4, 9, 8, 16.21, 2.33, 19, 15),
    ("mushroom", "majority"): Printed(4.69, 0.46, 3, 13, 0.83, 0.2, 21, 15),
    ("mushroom", "threshold"): Printed(4.16, 0.43, 3, 15, 0.26, 0.11, 13, 14),
    ("adult", "majority"): Printed(22.18, 0.45, 3, 11, 21.70, 0.45, 3, 14),
    ("adult", "threshold"): Printed(21.72, 0.45, 7, 11, 21.58, 0.45, 3, 14),
    ("covertype", "majority"): Printed(38.75, 0.13, 3, 13, 33.39, 0.12, 21, 15),
    ("covertype", "threshold"): Printed(37.82, 0.12, 3, 13, 30.80, 0.12, 21, 15),
}

GREEDY_ERROR: Mapping[str, tuple[float, float]] = {
    "banknote": (3.65, 0.99),
    "transfusion": (18.92, 2.81),
    "house_votes": (9.3, 2.73),
    "mammographic": (21.88, 2.61),
    "mushroom": (3.33, 0.39),
    "adult": (17.75, 0.42),
    "covertype": (26.9, 0.11),
}
"""Of rpart, which knows no privacy, and half its interval."""

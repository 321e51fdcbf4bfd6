"""Days and moments as numbers, read one by one: what a value says of time, and how a number is told as one.

A day is what is written, in the zone that the value itself has. A moment that has a zone is an instant, of
which UTC is taken; one that has none is taken as it stands.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from typing import Any

import numpy as np

ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)
"""ISO 8601 with all its signs: a date, or a date and a time, perhaps in a zone."""

DAY = 86_400
MILLION = 10**6
FIRST, LAST = dt.date.min.toordinal(), dt.date.max.toordinal()
EPOCH = dt.date(1970, 1, 1).toordinal()

PER_DAY = {"W": (1, 7), "D": (1, 1), "h": (24, 1), "m": (1440, 1), "s": (DAY, 1)}
PER_DAY |= {
    unit: (DAY * 1000**power, 1) for power, unit in enumerate(("ms", "us", "ns", "ps", "fs", "as"), 1)
}
"""How many of numpy's units make how many days."""

Clock = tuple[float, float]
"""Days since 1970 as they are written, and seconds since then as an instant."""


def clock(value: Any) -> Clock | None:
    """Day and instant of a value, NaN where it is missing, None where it is no date.

    >>> clock("2024-03-01"), clock("2024-03-01T00:30+01:00")
    ((19783.0, 1709251200.0), (19783.0, 1709249400.0))
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return math.nan, math.nan
    if isinstance(value, np.datetime64):
        days, seconds = clocks(np.array([value]))
        return float(days[0]), float(seconds[0])
    if isinstance(value, str):
        return _written(value.strip())
    if isinstance(value, dt.datetime):
        return _parts(value, value.hour, value.minute, value.second, value.microsecond, value.utcoffset())
    return _parts(value) if isinstance(value, dt.date) else None


def _written(text: str) -> Clock | None:
    found = ISO.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    micro = int((found[7] or "0").ljust(6, "0")[:6])
    try:
        return _parts(
            dt.datetime(year, month, day, hour, minute, second), hour, minute, second, micro, _zone(found[8])
        )
    except ValueError:
        return None


def _zone(text: str | None) -> dt.timedelta | None:
    if text in (None, "Z"):
        return None
    assert text is not None
    minutes = int(text[1:3]) * 60 + int(text[-2:] if len(text) > 3 else 0)
    return dt.timedelta(minutes=-minutes if text[0] == "-" else minutes)


def _parts(
    date: dt.date,
    hour: int = 0,
    minute: int = 0,
    second: int = 0,
    micro: int = 0,
    ahead: dt.timedelta | None = None,
) -> Clock:
    day = dt.date(date.year, date.month, date.day).toordinal() - EPOCH
    micros = ((day * 24 + hour) * 60 + minute) * 60 * MILLION + second * MILLION + micro
    micros -= 0 if ahead is None else round(ahead / dt.timedelta(microseconds=1))
    return float(day), _seconds(*divmod(micros, MILLION))


def _seconds(whole: Any, micros: Any) -> Any:
    """Seconds as a float, whatever they were counted in: equal moments are equal floats."""
    return whole + micros / MILLION


def clocks(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Days and instants of an array of numpy's dates, NaN where there is none."""
    unit, count = np.datetime_data(values.dtype)
    absent = np.isnat(values)
    raw = np.where(absent, 0, values.astype(np.int64))
    if unit in ("Y", "M"):
        months = [int(value) * count * (12 if unit == "Y" else 1) for value in raw.tolist()]
        days = np.array([_first_day(month) for month in months], np.float64)
        return np.where(absent, np.nan, days), np.where(absent, np.nan, days * DAY)
    if unit not in PER_DAY:  # nothing but NaT has no unit
        return np.full(len(raw), np.nan), np.full(len(raw), np.nan)
    units, of_days = PER_DAY[unit]
    if count != 1 or units > np.iinfo(np.int64).max:
        raw = raw.astype(object) * count
    if units <= DAY:
        days = raw.astype(np.float64) * of_days if units == 1 else (raw // units).astype(np.float64)
        seconds = raw.astype(np.float64) * (DAY // units * of_days)
    else:
        days, per_second = (raw // units).astype(np.float64), units // DAY
        whole, rest = raw // per_second, raw % per_second
        micros = rest // (per_second // MILLION) if per_second >= MILLION else rest * (MILLION // per_second)
        seconds = _seconds(whole.astype(np.float64), micros.astype(np.float64))
    return np.where(absent, np.nan, days), np.where(absent, np.nan, seconds)


def _first_day(month: int) -> float:
    """First day of a month that is so many after January 1970; infinite where no calendar has it."""
    year, place = divmod(month, 12)
    if not dt.MINYEAR <= 1970 + year <= dt.MAXYEAR:
        return math.copysign(math.inf, year)
    return float(dt.date(1970 + year, place + 1, 1).toordinal() - EPOCH)


def day_text(days: float) -> str:
    """A day, as ISO 8601 writes it.

    >>> day_text(19783)
    '2024-03-01'
    """
    return dt.date.fromordinal(int(min(max(EPOCH + days, FIRST), LAST))).isoformat()


def moment_text(seconds: float, unit: str = "microseconds") -> str:
    """A moment, as ISO 8601 writes it.

    >>> moment_text(1709251200.5), moment_text(1709251200.5, "minutes")
    ('2024-03-01T00:00:00.500000', '2024-03-01T00:00')
    """
    days, rest = divmod(seconds, DAY)
    if not FIRST <= EPOCH + days <= LAST:
        return day_text(days)
    midnight = dt.datetime.fromisoformat(day_text(days))
    return (midnight + dt.timedelta(microseconds=min(round(rest * MILLION), DAY * MILLION - 1))).isoformat(
        timespec=unit
    )

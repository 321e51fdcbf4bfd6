"""Charges of a ledger: how many a second, and how long one takes when the ledger is long."""

import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from bench.report import Result, at_least
from privet.keys import load_key
from privet.privacy import Budget, Charge, Cost, Ledger
from privet.privacy.chain import linked, sign, written

RATE_AIM, P99_AIM = 1000, 20
ANALYSTS = 20


def run(quick: bool) -> Result:
    n_charges, lengths = (500, (1_000,)) if quick else (5_000, (1_000, 100_000, 1_000_000))
    with tempfile.TemporaryDirectory() as folder:
        rows = []
        for length in lengths:
            ledger = grown(Path(folder) / f"{length}.ledger", length)
            rows.append(_row(f"after {length:,} events", *charged(ledger, n_charges, 1)))
            ledger.close()
        ledger = grown(Path(folder) / "threads.ledger", 1_000)
        rows.append(_row("8 threads", *charged(ledger, n_charges, 8)))
        rows.append(_row("an fsync of 4 kB alone", *synced(Path(folder) / "file", n_charges)))
    notes = [
        f"{n_charges:,} charges of one question, {ANALYSTS} analysts with caps, signed with Ed25519, each on "
        "disk (fsync) before it returns.",
    ]
    return Result("charges of a ledger", rows, notes)


def charged(ledger, n_charges, n_threads):
    """Seconds of each charge, and of all."""

    def charge(number):
        start = time.perf_counter()
        who = {"analyst": f"analyst {number % ANALYSTS}", "key": f"key {number} {start}"}
        ledger.reserve("people", [Charge("number of rows", Cost.pure("1e-6"))], **who)
        return time.perf_counter() - start

    start = time.perf_counter()
    with ThreadPoolExecutor(n_threads) as pool:
        times = list(pool.map(charge, range(n_charges)))
    return np.array(times), time.perf_counter() - start


def synced(path, n):
    """Seconds of each write that is on disk, and of all: what this disk allows."""
    times = []
    with path.open("wb") as file:
        for _ in range(n):
            start = time.perf_counter()
            file.write(bytes(4096))
            file.flush()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - start)
    return np.array(times), sum(times)


def grown(path, length):
    """A ledger that has so many events, written at once with the hashes and signatures of each."""
    ledger = Ledger(path)
    analysts = {f"analyst {number}": Budget(10**6) for number in range(ANALYSTS)}
    ledger.create("people", Budget(10**6), analysts=analysts)
    head, key = ledger.head(), load_key(path.with_name(path.name + ".key"))
    number, digest = head.number, head.hash
    plan = [Charge("number of rows", Cost.pure("1e-6")).to_dict()]
    with ledger.transaction() as at_once:
        while number < length:
            analyst = f"analyst {number % ANALYSTS}"
            event = {"kind": "charge", "account": "people", "batch": None, "schema": None, "charges": plan}
            body = written({**event, "analyst": analyst})
            number, digest = number + 1, linked(digest, body)
            at_once.execute(
                "INSERT INTO event (number, body, hash, signature, account, key) VALUES (?, ?, ?, ?, ?, ?)",
                (number, body, digest, sign(key, number, digest), "people", None),
            )
        at_once.execute("UPDATE head SET number = ?, hash = ?", (number, digest))
    ledger.close()
    opened = Ledger(path)
    opened.reserve("people", [Charge("number of rows", Cost.pure("1e-6"))])  # follows all events
    return opened


def _row(what, times, seconds):
    rate, p99 = len(times) / seconds, 1000 * float(np.quantile(times, 0.99))
    return {
        "charges": what,
        "a second": rate,
        **at_least(rate, RATE_AIM),
        "p99 ms": p99,
        "aim ms": f"<= {P99_AIM}",
        "met ms": "yes" if p99 <= P99_AIM else "no",
    }

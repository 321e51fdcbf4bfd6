"""Bulk noise: our exact samplers beside OpenDP's, draws a second."""

from fractions import Fraction

import numba
import opendp.prelude as opendp

from bench.clock import seconds
from bench.report import Result, at_least
from privet.noise.bits import SecureBits
from privet.noise.samplers import discrete_laplace, rounded_gaussian

LAWS = ("laplace", "gaussian")
WORDS = {"laplace": "discrete", "gaussian": "rounded"}
SCALES = (1, 10, 1000)
AIM = 50


def run(quick: bool) -> Result:
    draws, opendp_draws, repeats = (200_000, 2_000, 3) if quick else (1_000_000, 20_000, 5)
    opendp.enable_features("contrib")
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    rows = [_row(law, scale, draws, opendp_draws, repeats) for law in LAWS for scale in SCALES]
    numba.set_num_threads(threads)
    notes = [
        f"ns a draw on one core, best of {repeats}: {draws:,} of ours with bits of the operating system, "
        f"{opendp_draws:,} of OpenDP's vector mechanism. The scale of a Gaussian is its σ.",
        "The first call also builds the table of its law; the very first loads compiled code too.",
        "x = how many times as long as ours OpenDP takes.",
    ]
    return Result("exact noise in bulk", rows, notes)


def _row(law, scale, draws, opendp_draws, repeats):
    ours, theirs = _ours(law, scale, draws, SecureBits()), _theirs(law, scale, opendp_draws)
    (first,) = seconds(ours, 1)
    ours_ns = min(seconds(ours, repeats)) / draws * 1e9
    opendp_ns = min(seconds(theirs, repeats)) / opendp_draws * 1e9
    return {
        "law": f"{WORDS[law]} {law}",
        "scale": scale,
        "first call s": first,
        "ours ns": ours_ns,
        "OpenDP ns": opendp_ns,
        "x": opendp_ns / ours_ns,
        **at_least(opendp_ns / ours_ns, AIM),
    }


def _ours(law, scale, draws, bits):
    if law == "laplace":
        return lambda: discrete_laplace(Fraction(scale), draws, bits)
    return lambda: rounded_gaussian(Fraction(scale) ** 2, draws, bits)


def _theirs(law, scale, draws):
    vector = opendp.vector_domain(opendp.atom_domain(T=int))
    if law == "laplace":
        mechanism = opendp.m.make_laplace(vector, opendp.l1_distance(T=int), scale=float(scale))
    else:
        mechanism = opendp.m.make_gaussian(vector, opendp.l2_distance(T=float), scale=float(scale))
    zeros = [0] * draws
    return lambda: mechanism(zeros)

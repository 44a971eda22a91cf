#!/usr/bin/env python3
"""Fits the short polynomials of src/backend/cpu/kernels/narrow_tile_activation-inl.h and prints
narrow_tables.h: tools/fit-narrow-polynomials.py > src/backend/cpu/kernels/narrow_tables.h

The fits are fit-polynomials.py's (Lawson's iteration), of low degree: what they feed is rounded to
8 bits or fewer. Needs numpy and mpmath.
"""
import importlib.util
import pathlib

import mpmath as mp
import numpy as np

_spec = importlib.util.spec_from_file_location(
    "fit_polynomials", pathlib.Path(__file__).with_name("fit-polynomials.py"))
fit = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(fit)


def power(name, low, high):
    nodes = fit.chebyshev_nodes(low, high)
    target = fit.evaluate(lambda f: mp.power(2, f), nodes)
    coefficients, error = fit.lawson(nodes, target, 1 / target, low, high, 3)
    fit.show(name, f"2^f for {low} <= f <= {high}, least relative error.", coefficients, error)


def normal_tail():
    """log2 of the normal distribution's upper tail Q(t) = erfc(t / sqrt 2) / 2.

    The weight asks for relative accuracy of Q up to t = 3 and lets it fade beyond as t Q(t) fades."""
    high = 9.0
    nodes = fit.chebyshev_nodes(0, high, 3000)
    target = fit.evaluate(lambda t: mp.log(mp.erfc(t / mp.sqrt(2)) / 2, 2), nodes)
    tail = fit.evaluate(lambda t: t * mp.erfc(t / mp.sqrt(2)) / 2, nodes)
    at_3 = 3 * float(mp.erfc(3 / mp.sqrt(2)) / 2)
    weight = np.log(2) * np.where(nodes < 3, 1, np.maximum(tail / at_3, 1e-5))
    coefficients, error = fit.lawson(nodes, target, weight, 0, high, 5)
    # Further out it must go on falling, to minus infinity: there is no other bound on t.
    powers = np.array([float(c) for c in coefficients])
    slope = powers[1:] * np.arange(1, len(powers))
    t = np.linspace(0, 100, 100001)
    if not (powers[-1] < 0 and np.polyval(slope[::-1], t).max() < 0):
        raise SystemExit("the fit does not fall")
    fit.show("kShortTail",
             "log2 Q(t) for 0 <= t, Q the normal distribution's upper tail; falls for all t.",
             coefficients, error)


if __name__ == "__main__":
    print("#pragma once\n/// Made by tools/fit-narrow-polynomials.py, which says how.")
    print("namespace assay::backend::cpu {\n")
    power("kPowerAbove", 0, 1)
    power("kPowerAround", -0.5, 0.5)
    normal_tail()
    print("}  // namespace assay::backend::cpu")

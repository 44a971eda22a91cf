#!/usr/bin/env python3
"""Fits the polynomials of src/backend/cpu/kernels/vector_math-inl.h and prints
vector_math_tables.h: tools/fit-polynomials.py > src/backend/cpu/kernels/vector_math_tables.h

Each is a weighted minimax fit found by Lawson's iteration (Lawson 1961; Cline, "Rate of convergence
of Lawson's algorithm", 1972): least squares on Chebyshev nodes, reweighted by the error until the
error is level. The basis is Chebyshev's; only the final coefficients are converted to powers and
rounded to fp32. Needs numpy and mpmath.
"""
import mpmath as mp
import numpy as np
from numpy.polynomial import chebyshev

mp.mp.dps = 40


def lawson(nodes, target, weight, low, high, degree, iterations=3000):
    """Powers' coefficients, lowest first, of the polynomial that minimizes max |weight * error|."""
    basis = chebyshev.chebvander((2 * nodes - low - high) / (high - low), degree)
    mass = np.ones_like(nodes) / len(nodes)
    best, best_error = None, np.inf
    for _ in range(iterations):
        scale = weight * np.sqrt(mass)
        coefficients, *_ = np.linalg.lstsq(basis * scale[:, None], target * scale, rcond=None)
        error = np.abs(weight * (basis @ coefficients - target))
        if error.max() < best_error:
            best, best_error = coefficients, error.max()
        mass = mass * error
        mass /= mass.sum()
    powers = [mp.mpf(0)] * (degree + 1)
    slope, shift = mp.mpf(2) / (high - low), -mp.mpf(low + high) / (high - low)
    previous, current = [mp.mpf(1)], [shift, slope]
    for k in range(degree + 1):
        term = previous if k == 0 else current
        for i, value in enumerate(term):
            powers[i] += mp.mpf(float(best[k])) * value
        if k >= 1:
            following = [mp.mpf(0)] * (len(current) + 1)
            for i, value in enumerate(current):
                following[i] += 2 * shift * value
                following[i + 1] += 2 * slope * value
            for i, value in enumerate(previous):
                following[i] -= value
            previous, current = current, following
    return [np.float32(float(p)) for p in powers], best_error


def chebyshev_nodes(low, high, count=1500):
    k = np.arange(count)
    return (low + high) / 2 + (high - low) / 2 * np.cos(np.pi * (k + 0.5) / count)


def evaluate(function, nodes):
    return np.array([float(function(mp.mpf(float(x)))) for x in nodes])


def show(name, comment, coefficients, error):
    print(f"/// {comment}\n/// Fit error before rounding: {error:.2g}.")
    values = ", ".join(f"{float(c):.9g}F" for c in coefficients)
    print(f"inline constexpr float {name}[] = {{{values}}};\n")


def exp2_fraction():
    nodes = chebyshev_nodes(-0.5, 0.5)
    target = evaluate(lambda f: mp.expm1(f * mp.log(2)) / f, nodes)
    coefficients, error = lawson(nodes, target, np.abs(nodes) / 2**nodes, -0.5, 0.5, 5)
    show("kExp2", "h with 2^f = 1 + f h(f) for |f| <= 1/2, least relative error of 2^f.",
         coefficients, error)


def exp_remainder():
    bound = float(mp.log(2) / 2) * 1.0001
    nodes = chebyshev_nodes(-bound, bound)
    target = evaluate(lambda r: (mp.expm1(r) - r) / r**2, nodes)
    coefficients, error = lawson(nodes, target, nodes**2 / np.exp(nodes), -bound, bound, 4)
    show("kExp", "g with e^r = 1 + r + r^2 g(r) for |r| <= ln 2 / 2, least relative error of e^r.",
         coefficients, error)


def normal_tail():
    """log2 of the normal distribution's upper tail Q(t) = erfc(t / sqrt 2) / 2.

    The weight asks for relative accuracy of Q up to t = 2 and lets it fade beyond as t Q(t) itself
    fades (it is 3e-7 at t = 5.4), since t Q(t) is what GELU adds."""
    high = 13.0
    nodes = chebyshev_nodes(0, high)
    target = evaluate(lambda t: (mp.log(mp.erfc(t / mp.sqrt(2)) / 2, 2) + 1) / t, nodes)
    tail = evaluate(lambda t: t * mp.erfc(t / mp.sqrt(2)) / 2, nodes)
    weight = np.log(2) * nodes * np.maximum(np.minimum(1, tail / 0.05), 1e-6)
    coefficients, error = lawson(nodes, target, weight, 0, high, 10)
    last = -1 + high * np.polyval([float(c) for c in coefficients[::-1]], high)
    if not -127.4 < last < -126.6:
        raise SystemExit(f"at the end of the range 2^n must flush to 0 by rounding: {last}")
    show("kNormalTail",
         "q with log2 Q(t) = -1 + t q(t) for 0 <= t <= 13, Q the normal distribution's upper tail.",
         coefficients, error)


if __name__ == "__main__":
    print("#pragma once\n/// Made by tools/fit-polynomials.py, which says how.")
    print("namespace assay::backend::cpu {\n")
    exp2_fraction()
    exp_remainder()
    normal_tail()
    print("}  // namespace assay::backend::cpu")

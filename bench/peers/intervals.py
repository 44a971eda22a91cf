"""Medians and ratios with 95% intervals, from samples taken in rounds.

Calls of one round are alike (the same neighbours, the same moment), so rounds, not calls, are what
is drawn again: a percentile bootstrap over rounds (Efron, Tibshirani, "An Introduction to the
Bootstrap", chapters 8 and 13). For a ratio both sides draw the same rounds.
"""

import numpy as np

DRAWS = 2000


def _draws(rounds):
    return np.random.default_rng(20).integers(0, rounds, (DRAWS, rounds))


def _drawn_medians(samples):
    return np.median(samples[_draws(len(samples))].reshape(DRAWS, -1), axis=1)


def median(samples):
    """Median of `samples` [rounds, calls] and its interval."""
    low, high = np.percentile(_drawn_medians(samples), [2.5, 97.5])
    return float(np.median(samples)), [float(low), float(high)]


def ratio(above, below):
    """Median of `above` over the median of `below`, of the same rounds, and its interval."""
    low, high = np.percentile(_drawn_medians(above) / _drawn_medians(below), [2.5, 97.5])
    return float(np.median(above) / np.median(below)), [float(low), float(high)]

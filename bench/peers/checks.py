"""Whether all runners compute the same thing: looked at before anything is timed."""

import numpy as np

FP32_TOLERANCE = 1e-3


def _logits(runner, inputs):
    runner.load(inputs)
    return np.stack([runner.logits(i) for i in range(len(inputs))])


def _compare(logits, reference):
    return {"images": len(reference),
            "max_abs_diff": float(np.abs(logits - reference).max()),
            "agreement": float(np.mean(logits.argmax(1) == reference.argmax(1)))}


def check(runner, photos, photos_reference, noise, noise_reference):
    """How far the runner is from timm's fp32 on `photos`; then loads `noise`, which is timed.
    Raises where a fp32 runner is too far on either."""
    found = _compare(_logits(runner, photos), photos_reference)
    found["noise_max_abs_diff"] = _compare(_logits(runner, noise), noise_reference)["max_abs_diff"]
    worst = max(found["max_abs_diff"], found["noise_max_abs_diff"])
    if not np.isfinite(worst):
        raise ValueError("its logits are not finite")
    if runner.precision == "fp32" and worst > FP32_TOLERANCE:
        raise ValueError(f"its logits are {worst:.1e} from timm's, beyond {FP32_TOLERANCE:.0e}")
    return found

#!/usr/bin/env python3
"""Records at which of its values Lightning's EarlyStopping stops, for runtime/callbacks/early_stop_test.cpp: writes early_stop.json beside itself.

    python record_early_stop.py        needs pytorch_lightning 2.6

200 sequences of eighths, so that ties and values exactly `min_delta` apart are among them, with what is no number in between.
"""
import json
import math
import pathlib
import random

import torch
from pytorch_lightning.callbacks import EarlyStopping

draw = random.Random(12)
NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def stop_of(settings, values):
    """The place of the value at which it stops, from 0; -1 if it does not."""
    names = {"threshold": "stopping_threshold", "divergence": "divergence_threshold"}
    callback = EarlyStopping(monitor="x", **{names.get(name, name): value for name, value in settings.items()})
    for place, value in enumerate(values):
        if callback._evaluate_stopping_criteria(torch.tensor(NOT_FINITE.get(value, value), dtype=torch.float64))[0]:
            return place
    return -1


def case():
    settings = {"mode": draw.choice(["min", "max"]), "patience": draw.randint(1, 4), "min_delta": draw.choice([0, 0, 0.125, 0.25]),
                "check_finite": draw.random() < 0.5}
    sign = 1 if settings["mode"] == "min" else -1
    if draw.random() < 0.3:
        settings["threshold"] = sign * draw.choice([-1.5, -0.5])
    if draw.random() < 0.3:
        settings["divergence"] = sign * draw.choice([1.0, 1.5])
    values = []
    at = draw.randint(-4, 4) / 8
    for _ in range(20):
        at -= sign * draw.choice([-2, -1, -1, 0, 1, 1, 2]) / 8
        values.append(draw.choice(list(NOT_FINITE)) if draw.random() < 0.08 else at)
    return {"settings": settings, "values": values, "stops": stop_of(settings, values)}


cases = [case() for _ in range(200)]
with open(pathlib.Path(__file__).parent / "early_stop.json", "w") as file:
    file.write("[\n" + ",\n".join(json.dumps(one) for one in cases) + "\n]\n")

#!/usr/bin/env python3
"""What the six first examples reach, each planned, with the settings that they have: the shortest one; all of them by hand, since that
takes ten minutes of two cores:

    LTR_LONG=1 python3 tests/run/bars.py
"""
import csv
import math
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import EXAMPLES, build, check, finish, newest, run, scratch

# By example: what is added to `fit`, the series, and what its best value must be.
AT_LEAST, AT_MOST = (lambda value, bar: value >= bar), (lambda value, bar: value <= bar)
BARS = {
    "iris": ((), "val/acc", AT_LEAST, 0.93),
    "mnist": ((), "val/acc", AT_LEAST, 0.95),
    "forecast": ((), "val/mae", AT_MOST, 0.9),
    "keras_cnn": (("--epochs", 4), "val/acc", AT_LEAST, 0.97),
    "char_gpt": ((), "val/loss", AT_MOST, 1.95),
    "gan": (("--epochs", 3), "train/d_loss", AT_MOST, math.inf),
}
SHORT = ("iris",)

with scratch() as folder:
    for name in BARS if os.environ.get("LTR_LONG") else SHORT:
        options, series, fits, bar = BARS[name]
        program = build(EXAMPLES / f"{name}.ltr", folder)
        out = pathlib.Path(folder) / f"{name}-runs"
        result = run(program, "fit", "--no-bar", "--out", out, "--backend", "native", *options, cwd=EXAMPLES, timeout=1800)
        if not check(f"{name}: runs planned", result.returncode == 0, result.text):
            continue
        with open(newest(out) / "metrics.csv") as file:
            rows = [(int(row["step"]), float(row[series])) for row in csv.DictReader(file) if row.get(series)]
        values = [value for _, value in rows]
        check(f"{name}: all of {series} is finite", values and all(map(math.isfinite, values)), values[-3:])
        best = (max if fits is AT_LEAST else min)(values)
        check(f"{name}: {series} reaches {best:.4f}, wanted {bar}", fits(best, bar), values[-5:])
        if name == "char_gpt":
            early = [value for step, value in rows if step == 1000]
            check(f"{name}: {series} after 1,000 steps is {early[:1]}, wanted 2.1", early and early[0] <= 2.1, rows)
finish()

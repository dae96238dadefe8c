#!/usr/bin/env python3
"""Steps of every kind on 1, 2 and 3 ranks with one global batch: the same values of metrics.csv within 1e-5 relative.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import csv
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "support"))
from team import build, check, clean_up, finish, newest, run, scratch
from harness import result_of

GLOBAL = 24
TOLERANCE = 1e-5


def rows(runs):
    with open(newest(runs) / "metrics.csv") as file:
        return list(csv.DictReader(file))


def compare(title, one, other):
    worst = (0.0, "") if len(one) == len(other) else (float("inf"), f"{len(one)} and {len(other)} rows")
    for a, b in zip(one, other):
        for name in a:
            if a[name] != b[name]:
                both = bool(a[name]) and bool(b[name])
                difference = abs(float(a[name]) - float(b[name])) / max(abs(float(a[name])), 1e-12) if both else float("inf")
                worst = max(worst, (difference, f"{name} at step {a['step']}: {a[name]} and {b[name]}"))
    check(f"{title}: {worst[0]:.1e}", worst[0] <= TOLERANCE, worst[1])


with scratch() as name:
    folder = pathlib.Path(name).resolve()
    program = build(HERE / "kinds.ltr", folder)

    def fit(experiment, world, runs, *options):
        result = run(program, "fit", experiment, "--no-bar", "--threads", 1, "--nproc", world, "--size", GLOBAL // world, "--out", folder / runs,
                     *options, timeout=60)
        check(f"{experiment}: {world} ranks {' '.join(map(str, options))}", result.returncode == 0, result.text)

    for experiment in ("pair", "by_hand", "halves", "choosy"):
        for world in (1, 2, 3):
            fit(experiment, world, f"{experiment}-{world}")
        for world in (2, 3):
            compare(f"{experiment}: as one process", rows(folder / f"{experiment}-1"), rows(folder / f"{experiment}-{world}"))
    # Which batches are left out depends on what is one; but ranks that leave out different ones end with the same weights.
    for world in (2, 3):
        fit("leaving", world, f"leaving-{world}")
    fit("leaving", 2, "stopped", "--steps", 5)
    fit("leaving", 2, "stopped", "--resume", "last")
    check("and a run that was stopped with those of one that was not", result_of(newest(folder / "stopped")) == result_of(newest(folder / "leaving-2")))
    check("no rank is left", clean_up(program))
finish()

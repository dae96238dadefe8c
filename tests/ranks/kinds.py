#!/usr/bin/env python3
"""Steps of every kind on 1, 2 and 3 ranks with one global batch: the same values of metrics.csv within 1e-5 relative.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "support"))
from team import build, check, clean_up, compare, finish, newest, result_of, rows, run, scratch

GLOBAL = 24
TOLERANCE = 1e-5


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
            compare(f"{experiment}: as one process", rows(folder / f"{experiment}-{world}"), rows(folder / f"{experiment}-1"), TOLERANCE)
    # Which batches are left out depends on what is one; but ranks that leave out different ones end with the same weights.
    for world in (2, 3):
        fit("leaving", world, f"leaving-{world}")
    fit("leaving", 2, "stopped", "--steps", 5)
    fit("leaving", 2, "stopped", "--resume", "last")
    check("and a run that was stopped with those of one that was not", result_of(newest(folder / "stopped")) == result_of(newest(folder / "leaving-2")))
    check("no rank is left", clean_up(program))
finish()

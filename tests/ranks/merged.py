#!/usr/bin/env python3
"""Metrics whose states a function merges (`reduce merge`): of windows, epochs, rounds and tests, on 1, 2 and 3 ranks, of
which some have no record, over stops in an open epoch and with another number of ranks.

Tolerance: 1e-12 relative of what Python computes from the same records. What goes on ends in the same bytes.

  merged.py           LTRC and LTR_SOURCE say which compiler and sources, if not these
"""
import json
import math
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "support"))
from team import build, check, clean_up, finish, newest, result_of, rows, run, scratch

GLOBAL = 24
STEPS = 4  # of an epoch of 83 records
TOLERANCE = 1e-12


def point(i):
    return (i * i * 7 + 3 * i) % 17, 1000 + i % 5, (i * 5 + i * i) % 11


def moments(numbers):
    mean = math.fsum(numbers) / len(numbers)
    return mean, math.fsum((number - mean) ** 2 for number in numbers) / len(numbers)


def corr(records):
    first, _, y = zip(*map(point, records))
    (mean_x, var_x), (mean_y, var_y) = moments(first), moments(y)
    if var_x * var_y == 0:
        return math.nan
    return math.fsum((a - mean_x) * (b - mean_y) for a, b in zip(first, y)) / len(y) / math.sqrt(var_x * var_y)


def both(records):
    first, second, _ = zip(*map(point, records))
    return sum(moments(first)) + sum(moments(second))


def wanted_rows():
    rounds = {f"val/{name}/{what}": of(range(records)) for name, records in (("many", 61), ("lone", 1))
              for what, of in (("corr", corr), ("moments", both))}
    result = []
    for step in range(1, 2 * STEPS + 1):
        begin = (step - 1) % STEPS * GLOBAL
        row = {"train/corr_step": corr(range(begin, min(begin + GLOBAL, 83)))}
        if step % STEPS == 0:
            row |= {"train/corr_epoch": corr(range(83)), "train/moments": both(range(83)), **rounds}
        result.append(row)
    return result


def alike(found, wanted):
    return math.isnan(found) and math.isnan(wanted) or abs(found - wanted) <= TOLERANCE * max(abs(wanted), 1e-3)


def fit(program, runs, world, *options, batches=1):
    """`batches` of each rank are a window."""
    return run(program, "fit", "--no-bar", "--threads", 1, "--nproc", world, "--size", GLOBAL // world // batches, "--set",
               f"trainer.accumulate={batches}", "--out", runs, *options, timeout=120)


def same(title, runs):
    found, wanted = rows(runs), wanted_rows()
    off = [f"step {step}: {name} is {row.get(name)}, not {value}" for step, (row, values) in enumerate(zip(found, wanted), 1)
           for name, value in values.items() if name not in row or not alike(row[name], value)]
    check(title, len(found) == len(wanted) and not off, f"{len(found)} rows; " + "; ".join(off))


with scratch() as name:
    folder = pathlib.Path(name).resolve()
    program = build(HERE / "merged.ltr", folder)
    for world in (1, 2, 3):
        runs = folder / f"whole-{world}"
        result = fit(program, runs, world)
        if not check(f"{world} ranks train", result.returncode == 0, result.text):
            continue
        same(f"{world} ranks: windows, epochs and rounds", runs)
        result = run(program, "test", "--no-bar", "--nproc", world, "--size", GLOBAL // world, "--out", runs, timeout=120)
        table = newest(runs) / "eval/test-0001.json"
        values = json.loads(table.read_text())["streams"][0]["values"] if table.exists() else {}
        wanted = {"corr": corr(range(50)), "moments": both(range(50))}
        check(f"{world} ranks: test", result.returncode == 0 and values.keys() == wanted.keys()
              and all(alike(values[name], wanted[name]) for name in wanted), f"{values}\n{result.text}")

    # The last window before a stop is recorded, which a whole run does not do; it must not change the epoch's bits.
    few = ("--set", "trainer.log_every=3")
    result = fit(program, folder / "few", 1, *few, batches=3)
    check("few windows are recorded", result.returncode == 0, result.text)
    for world, batches, options, whole in ((1, 1, (), "whole-1"), (2, 1, (), "whole-2"), (1, 3, few, "few")):
        runs = folder / f"stopped-{whole}"
        # In the first epoch, in the second, and to its end.
        for limit in (("--steps", 2), ("--steps", STEPS + 3, "--resume", "last"), ("--resume", "last")):
            result = fit(program, runs, world, *options, *limit, batches=batches)
            check(f"{whole}: {' '.join(map(str, limit))}", result.returncode == 0, result.text)
        check(f"{whole}: stopped in open epochs, the same bytes", result_of(newest(runs)) == result_of(newest(folder / whole)))

    runs = folder / "worlds"
    for world, limit in ((3, ("--steps", 2)), (2, ("--steps", STEPS + 2, "--resume", "last")), (1, ("--resume", "last"))):
        result = fit(program, runs, world, *limit)
        check(f"goes on with {world}", result.returncode == 0, result.text)
    same("3 ranks, then 2, then 1, in open epochs", runs)

    result = run(program, "fit", "--no-bar", "--threads", 1, "--nproc", "1:2", "--restarts", 1, "--steps", 2, "--out", folder / "range", timeout=60)
    check("a test is not told to do with fewer ranks", result.returncode == 0 and re.search(r"test it: .* --nproc 2\b", result.text), result.text)

    runs = folder / "windows"
    result = fit(program, runs, 1, batches=3)
    check("windows of several batches", result.returncode == 0, result.text)
    same("are one value", runs)
    check("no process is left", clean_up(program))
finish()

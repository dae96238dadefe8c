#!/usr/bin/env python3
"""Random right programs: `ltrc check` accepts them, their C++ compiles, their tests hold what they are worth, and they train
a step. Fixed seeds; more by hand: `run.py --minutes 10`, one again: `run.py --seed 17 --keep FOLDER`.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import argparse
import collections
import os
import pathlib
import sys
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / "run/support"), str(pathlib.Path(__file__).parent)]
from harness import LTRC, check, finish, run, scratch  # noqa: E402
from program import Program  # noqa: E402


def fault_of(seed, folder, trains):
    """(what is wrong, text) of the program of that seed; ("", "") if nothing."""
    source = folder / f"p{seed}.ltr"
    source.write_text(Program(seed).text())
    result = run(LTRC, "check", source)
    if result.returncode != 0:
        return ("refused" if result.returncode == 1 else f"check ends with {result.returncode}"), result.text
    program = folder / f"p{seed}"
    result = run(LTRC, "build", source, "-O", 0, "-o", program)
    if result.returncode != 0:
        return "its C++ does not compile", result.text
    result = run(program, "__tests")
    if result.returncode != 0 or " 0 failed" not in result.text:
        return "a test does not hold", result.text
    if trains:
        result = run(program, "fit", "--no-bar", "--threads", 1, "--out", folder / "runs")
        if result.returncode != 0:
            return f"fit ends with {result.returncode}", result.text
    program.unlink()
    return "", ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, help="this one alone")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=4)
    parser.add_argument("--minutes", type=float, help="from --first on, as long as that")
    parser.add_argument("--keep", type=pathlib.Path, help="where the programs stay")
    options = parser.parse_args()
    found = collections.Counter()
    with scratch() as place:
        folder = options.keep or pathlib.Path(place)
        folder.mkdir(exist_ok=True)
        os.environ["LTR_CACHE_DIR"] = str(pathlib.Path(place) / "cache")
        end = time.monotonic() + 60 * (options.minutes or 0)
        seed, count = (options.seed, 1) if options.seed is not None else (options.first, options.count)
        tried = 0
        while time.monotonic() < end if options.minutes else tried < count:
            fault, text = fault_of(seed + tried, folder, trains=True)
            found[fault] += 1
            check(f"program {seed + tried}", not fault, f"{fault}\n{text}")
            tried += 1
    print(f"{tried} programs: " + (", ".join(f"{n} {fault or 'right'}" for fault, n in found.most_common())))
    finish()


main()

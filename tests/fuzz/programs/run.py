#!/usr/bin/env python3
"""Random right programs: `ltrc check` accepts them, their C++ compiles, their tests hold what they are worth, and they train
a step and predict. Fixed seeds; more by hand:

    tests/fuzz/programs/run.py --checks 100000 --count 500 --jobs 2    # so many are checked, so many of them compiled and run
    tests/fuzz/programs/run.py --minutes 10 --checks 20000      # as long as that, each compiled
    tests/fuzz/programs/run.py --seed 17 --keep FOLDER          # one again, and its smallest form that fails
    tests/fuzz/programs/run.py --coverage 36                    # what so many programs are made of, and what none has

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these. What the generator knows
of a program: program.py and values.py make what has a value, which tests hold; network.py, block.py and layers.py what has
a shape; variety.py and calls.py declarations, settings and calls of every kind.
"""
import argparse
import collections
import concurrent.futures
import functools
import os
import pathlib
import re
import sys
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / "run/support"), str(pathlib.Path(__file__).parent)]
from coverage import Coverage  # noqa: E402
from harness import LTRC, check, finish, run, scratch  # noqa: E402
from network import Network  # noqa: E402
from program import Program  # noqa: E402
from shrink import shrunk  # noqa: E402
from variety import Variety  # noqa: E402

BATCH = 100
KINDS = (lambda seed: {f"p{seed}.ltr": Program(seed).text()}, lambda seed: Network(seed).files(), lambda seed: Variety(seed, seed // 3).files())


def program_of(seed):
    """{file: text}, the program first: of values, of layers and of all forms in turns."""
    return KINDS[seed % len(KINDS)](seed)


def written(files, folder):
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder / next(iter(files))


def refusal(source):
    """What `ltrc check` has against a program."""
    result = run(LTRC, "check", "--message-format=short", source)
    if result.returncode == 0:
        return "", ""
    errors = [line for line in result.text.split("\n") if "error[" in line]
    return ("refused" if result.returncode == 1 else f"check ends with {result.returncode}"), "\n".join(errors) or result.text


def failure(source, program):
    """(what is wrong, text) with the program in C++ and in motion."""
    result = run(LTRC, "build", source, "-o", program)
    if result.returncode != 0:
        return "its C++ does not compile" if result.returncode == 70 else f"build ends with {result.returncode}", result.text
    result = run(program, "__tests")
    if result.returncode != 0 or " 0 failed" not in result.text:
        return "a test does not hold", result.text
    out = program.parent / "runs"
    result = run(program, "fit", "e", "--no-bar", "--threads", 1, "--out", out)
    if result.returncode != 0:
        return f"fit ends with {result.returncode}", result.text
    text = source.read_text()
    if "step predict" in text and "checkpoint = false" not in text:
        result = run(program, "predict", "e", "--weights", "last", "--no-bar", "--threads", 1, "--out", out, "--write", program.parent / "out.jsonl")
        if result.returncode != 0:
            return f"predict ends with {result.returncode}", result.text
    program.unlink()
    return "", ""


def fault_of(source):
    fault, text = refusal(source)
    return (fault, text) if fault else failure(source, source.with_suffix(""))


def same(one, other):
    """Whether two faults are one, whatever the names, numbers and places."""
    first = [re.sub(r"\d+", "", text.split("\n")[0].split("error")[-1]) for _, text in (one, other)]
    return one[0] == other[0] and first[0] == first[1]


def report(seed, fault, folder, shrinks=True):
    """Says what is wrong, with the smallest form, which takes minutes."""
    place = folder / f"small{seed}"
    place.mkdir(exist_ok=True)
    small = shrunk(program_of(seed), lambda files: same(fault_of(written(files, place)), fault)) if shrinks else {}
    written(small or program_of(seed), place)
    check(f"program {seed}", False, "\n".join([*fault, *(f"---- {name}\n{text}" for name, text in small.items())]))


def own_folder(place):
    """That of this process, since others may be beside it."""
    folder = place / str(os.getpid())
    folder.mkdir(exist_ok=True)
    return folder


def refused(seeds, place, keeps):
    """The seeds among them whose programs `ltrc check` does not take. Many at once; one by one where one is refused."""
    folder = own_folder(place)
    sources = {seed: written(program_of(seed), folder) for seed in seeds}
    is_right = run(LTRC, "check", "--message-format=short", *sources.values()).returncode == 0
    faults = {} if is_right else {seed: refusal(source) for seed, source in sources.items()}
    if not keeps:
        for file in folder.glob("*.ltr"):
            file.unlink()
    return {seed: fault for seed, fault in faults.items() if fault[0]}


def built(seed, place):
    """What is wrong with a program, compiled and run."""
    return fault_of(written(program_of(seed), own_folder(place)))


def cover(seeds, folder):
    """Every production, setting, hook, unit and function of the library stands in some of the programs."""
    coverage = Coverage()
    for seed in seeds:
        files = program_of(seed)
        written(files, folder)
        for name in files:
            if name.endswith(".ltr"):
                coverage.add(folder / name)
    for kind, names in coverage.missing().items():
        check(f"{len(seeds)} programs have all {kind}", not names, "\n".join(names))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, help="this one alone")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--checks", type=int, default=0, help="so many are checked, those that are compiled apart")
    parser.add_argument("--count", type=int, default=4, help="so many are compiled and run")
    parser.add_argument("--coverage", type=int, default=0, help="so many are read for what they are made of")
    parser.add_argument("--minutes", type=float, help="compiled from --first on, as long as that")
    parser.add_argument("--jobs", type=int, default=1, help="so many processes")
    parser.add_argument("--keep", type=pathlib.Path, help="where the programs stay")
    options = parser.parse_args()
    found = collections.Counter()
    with scratch() as place:
        folder = options.keep or pathlib.Path(place)
        folder.mkdir(exist_ok=True)
        os.environ["LTR_CACHE_DIR"] = str(pathlib.Path(place) / "cache")
        if options.coverage:
            cover(range(options.first, options.first + options.coverage), folder)
            return finish()
        with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
            batches = (range(first, min(first + BATCH, options.first + options.checks))
                       for first in range(options.first, options.first + options.checks, BATCH))
            for faults in pool.map(functools.partial(refused, place=folder, keeps=bool(options.keep)), batches):
                for seed, fault in faults.items():
                    found[fault[0]] += 1
                    report(seed, fault, folder, found.total() == 1)
            check(f"{options.checks} programs are checked", not found)
            end = time.monotonic() + 60 * (options.minutes or 0)
            seed, count = (options.seed, 1) if options.seed is not None else (options.first, options.count)
            tried = 0
            while time.monotonic() < end if options.minutes else tried < count:
                seeds = range(seed + tried, seed + tried + (options.jobs if options.minutes else count))
                for one, fault in zip(seeds, pool.map(functools.partial(built, place=folder), seeds)):
                    found[fault[0]] += 1
                    if fault[0]:
                        report(one, fault, folder, found.total() - found[""] == 1)
                    else:
                        check(f"program {one}", True)
                tried += len(seeds)
    print(f"{options.checks} checked, {tried} compiled: " + (", ".join(f"{n} {fault or 'right'}" for fault, n in found.most_common())))
    finish()


main()

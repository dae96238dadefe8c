#!/usr/bin/env python3
"""1, 2, 3 and 4 ranks with one global batch: the same losses, metrics and weights as one process, also where the run goes on
with another number of them. The data does not divide by any of these numbers.

Tolerance: 1e-5 relative in every value of metrics.csv, and of the largest weight in every weight of the last checkpoint, as
f32 sums in another order differ. Weights are the same bits on all ranks: each checkpoint compares them.

  equal.py            LTRC and LTR_SOURCE say which compiler and sources, if not these
"""
import array
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "support"))
from team import EXAMPLES, build, check, clean_up, compare, farthest, finish, newest, result_of, rows, run, scratch
from torch_file import tensors_of

GLOBAL = 48
TOLERANCE = 1e-5
# A value of single batches: it depends on which records are one.
OF_BATCHES = ("val/worst",)


def fit(program, runs, world, *options):
    return run(program, "fit", "--no-bar", "--threads", 1, "--nproc", world, "--size", GLOBAL // world, "--set",
               f"data.root={EXAMPLES / 'data/mnist-5k'}", "--out", runs, *options, timeout=120)


def weights(runs):
    """{name: numbers} of the last checkpoint."""
    found = tensors_of(newest(runs) / "checkpoints/last/weights.safetensors")
    return {name: array.array("f", data) for name, (_, _, data) in found.items()}


def same(title, runs, whole):
    """What was recorded and what was learned."""
    compare(title, rows(runs), rows(whole), TOLERANCE, without=OF_BATCHES)
    found, wanted = weights(runs), weights(whole)
    largest = max(abs(number) for numbers in wanted.values() for number in numbers)
    worst = max((abs(a - b) / largest, name) for name in wanted for a, b in zip(wanted[name], found[name], strict=True))
    check(f"{title}, weights: {worst[0]:.1e}", wanted.keys() == found.keys() and worst[0] <= TOLERANCE, worst)


with scratch() as name:
    folder = pathlib.Path(name).resolve()
    program = build(HERE / "digits.ltr", folder)
    for options in ((), ("--set", "trainer.weigh=batches"), ("--set", "trainer.accumulate=3")):
        # Weighed by batches the last one, which is short, counts as much as others: only whole ones compare.
        by_batches = "trainer.weigh=batches" in options
        shape = ("--limit-train", "50%", "--limit-val", 0) if by_batches else ()
        kind = options[-1] if options else "samples"
        alone = folder / f"{kind}-1"
        result = fit(program, alone, 1, *options, *shape)
        if not check(f"{kind}: one process", result.returncode == 0, result.text):
            continue
        for world in (2, 3, 4):
            if shape and world == 3:
                continue  # half of the batches is no whole number of turns
            runs = folder / f"{kind}-{world}"
            result = fit(program, runs, world, *options, *shape)
            if check(f"{kind}: {world} ranks", result.returncode == 0, result.text):
                same(f"{kind}: {world} ranks as one process", runs, alone)
    alone = folder / "samples-1"

    runs = folder / "again"
    fit(program, runs, 2)
    check("a run of 2 ranks repeats bit for bit", result_of(newest(runs)) == result_of(newest(folder / "samples-2")))
    # A machine with little shared memory: gradients go over Gloo.
    small = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=4k none /dev/shm && exec "$@"', "sh"]
    if run(*small, "true").returncode == 0:
        result = run(*small, program, "fit", "--no-bar", "--threads", 1, "--nproc", 2, "--size", GLOBAL // 2, "--set",
                     f"data.root={EXAMPLES / 'data/mnist-5k'}", "--out", folder / "gloo", timeout=120)
        check("without shared memory the same bits", result.returncode == 0 and result_of(newest(folder / "gloo")) == result_of(newest(folder / "again")), result.text)
    runs = folder / "resumed"
    for steps in ((13,), (22,), ()):
        limit = ("--steps", *steps) if steps else ()
        result = fit(program, runs, 2, *limit, *(("--resume", "last") if steps != (13,) else ()))
        check(f"{steps[0] if steps else 'all'} steps of it", result.returncode == 0, result.text)
    check("and as well when it was stopped twice", result_of(newest(runs)) == result_of(newest(folder / "samples-2")))

    runs = folder / "worlds"
    for world, steps in ((4, 7), (2, 16), (3, 25), (1, None)):
        limit = ("--steps", steps) if steps else ()
        result = fit(program, runs, world, *limit, *(("--resume", "last") if steps != 7 else ()))
        check(f"to step {steps} with {world}", result.returncode == 0, result.text)
    same("4 ranks, then 2, 3 and 1, see the same samples", runs, alone)

    half = ("--limit-train", "50%", "--limit-val", 0)
    for runs, world, limit in (("half-1", 1, ()), ("half", 2, ("--steps", 5)), ("half", 1, ("--resume", "last"))):
        result = fit(program, folder / runs, world, *half, *limit)
        check(f"half of each epoch with {world}", result.returncode == 0, result.text)
    same("2 ranks, then 1, end an epoch at its half", folder / "half", folder / "half-1")

    for world in (1, 2, 4):
        # 413 records in batches of 300, and 101: of some turns three ranks have none.
        result = run(program, "fit", "--no-bar", "--threads", 1, "--nproc", world, "--size", 300, "--set", f"data.root={EXAMPLES / 'data/mnist-5k'}",
                     "--set", f"trainer.accumulate={4 // world}", "--out", folder / f"few-{world}", timeout=120)
        check(f"fewer batches than {world} ranks", result.returncode == 0, result.text)

    tried = fit(program, folder / "tried", 2, "--set", "topology.bucket=auto", "--set", "trainer.deterministic=false")
    if check("where all gradients fit the smallest bucket, no size is tried", tried.returncode == 0 and tried.text.count("bucket = auto: ") == 1
             and "and none is tried" in tried.text, tried.text):
        same("which changes nothing", folder / "tried", folder / "samples-2")
    wide = build(HERE / "wide.ltr", folder)
    for bucket in ("25 MiB", "auto"):
        result = run(wide, "fit", "--no-bar", "--threads", 1, "--set", f"topology.bucket={bucket}", "--out", folder / f"wide-{bucket}", timeout=120)
        check(f"gradients of 9 MB, bucket = {bucket}", result.returncode == 0 and ("MiB from here on; " in result.text) == (bucket == "auto"), result.text)
    same("sizes of buckets that are tried change rounding alone", folder / "wide-auto", folder / "wide-25 MiB")

    reduced = fit(program, folder / "reduced", 2, "--set", "topology.precision.reduce=bf16")
    if check("gradients that travel in bf16", reduced.returncode == 0, reduced.text):
        difference, where = farthest(rows(folder / "reduced"), rows(folder / "samples-2"), without=OF_BATCHES)
        check(f"change a little: {difference:.1e}", 1e-6 < difference < 0.1, where)
    told = fit(program, folder / "told", 2, "--json", "--steps", 5)
    end = json.loads(told.text.splitlines()[-1]) if told.returncode == 0 else {}
    check("the last event says how long gradients were on their way", 0 <= end.get("exchange_wait_s", -1) and end["exchange_s"] > 0, told.text)
    loose = fit(program, folder / "loose", 2, "--set", "topology.sync_batchnorm=false")
    check("batch norm of each rank alone is warned of", loose.returncode == 0 and "sync_batchnorm = false" in loose.text, loose.text)
    check("no rank is left", clean_up(program) and clean_up(wide))
finish()

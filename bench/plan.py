#!/usr/bin/env python3
"""Measures runs of several processes on this machine and compares them with what `ltrc plan --measure` predicts.

    python bench/plan.py [--ltrc build/release/bin/ltrc] [--nproc 1 2 4] [--rounds 3]

One compute thread for each process. Two lengths are run, and the difference by the difference in steps is one step.
"""
import argparse
import json
import os
import pathlib
import statistics
import tempfile

from ltr import LTRC, SOURCE, answer, bare_fit, build, end_of

PROGRAMS = [("bench/mlp.ltr", "mlp", 100, 500), ("bench/lstm.ltr", "lstm", 30, 130), ("examples/keras_cnn.ltr", "keras_cnn", 10, 40)]


def measured_s(program, experiment, ranks, short, long, rounds, out):
    """Seconds of a step: the median over `rounds` of the difference of two runs."""
    def seconds(steps):
        return end_of(answer(*bare_fit(program, steps, experiment, "--mock-data", "--out", out, ranks=ranks)))["seconds"]

    return statistics.median((seconds(long) - seconds(short)) / (long - short) for _ in range(rounds))


def predicted_s(ltrc, source, experiment, ranks):
    plan = json.loads(answer(ltrc, "plan", source, experiment, "--devices", f"cpu[{ranks}]", "--measure", "--json"))
    wanted = "single" if ranks == 1 else "ddp"
    return next(row["update_s"] for row in plan["strategies"] if row["strategy"] == wanted)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ltrc", type=pathlib.Path, default=LTRC)
    parser.add_argument("--nproc", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    ltrc = given.ltrc.resolve()
    print(f"{os.cpu_count()} cores; more processes than cores share them, which the prediction does not know\n")
    print("| program | processes | measured | predicted | efficiency | predicted |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for source, experiment, short, long in PROGRAMS:
            program = build(SOURCE / source, folder, ltrc)
            first = None
            for ranks in given.nproc:
                times = (measured_s(program, experiment, ranks, short, long, given.rounds, folder), predicted_s(ltrc, SOURCE / source, experiment, ranks))
                first = first or times
                print(f"| {experiment} | {ranks} | {times[0] * 1e3:.2f} ms | {times[1] * 1e3:.2f} ms | "
                      f"{first[0] / times[0]:.0%} | {first[1] / times[1]:.0%} |", flush=True)


if __name__ == "__main__":
    main()

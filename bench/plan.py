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
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = [("bench/mlp.ltr", "mlp", 100, 500), ("bench/lstm.ltr", "lstm", 30, 130), ("examples/keras_cnn.ltr", "keras_cnn", 10, 40)]
LIMIT_S = 300  # of one run


def answer(command):
    """What a command prints; the end of the bench, with its words, if it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def measured_s(program, experiment, ranks, short, long, rounds, out):
    """Seconds of a step: the median over `rounds` of the difference of two runs."""
    def seconds(steps):
        several = ["--nproc", ranks] if ranks > 1 else []
        lines = answer([program, "fit", experiment, *several, "--bare", "--mock-data", "--json", "--threads", 1,
                        "--steps", steps, "--out", out]).splitlines()
        return json.loads(lines[-1])["seconds"]

    return statistics.median((seconds(long) - seconds(short)) / (long - short) for _ in range(rounds))


def predicted_s(ltrc, source, experiment, ranks):
    plan = json.loads(answer([ltrc, "plan", source, experiment, "--devices", f"cpu[{ranks}]", "--measure", "--json"]))
    wanted = "single" if ranks == 1 else "ddp"
    return next(row["update_s"] for row in plan["strategies"] if row["strategy"] == wanted)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ltrc", type=pathlib.Path, default=SOURCE / "build/release/bin/ltrc")
    parser.add_argument("--nproc", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    ltrc = given.ltrc.resolve()
    print(f"{os.cpu_count()} cores; more processes than cores share them, which the prediction does not know\n")
    print("| program | processes | measured | predicted | efficiency | predicted |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for source, experiment, short, long in PROGRAMS:
            program = pathlib.Path(folder) / experiment
            answer([ltrc, "build", SOURCE / source, "-o", program])
            first = None
            for ranks in given.nproc:
                times = (measured_s(program, experiment, ranks, short, long, given.rounds, folder), predicted_s(ltrc, SOURCE / source, experiment, ranks))
                first = first or times
                print(f"| {experiment} | {ranks} | {times[0] * 1e3:.2f} ms | {times[1] * 1e3:.2f} ms | "
                      f"{first[0] / times[0]:.0%} | {first[1] / times[1]:.0%} |", flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Measures steps of one and several processes on this machine and compares them with what `ltrc plan` predicts for it.

    python bench/plan.py [--ltrc build/release/bin/ltrc] [--nproc 1 2 4] [--rounds 3] [--only NAME …]
    python bench/plan.py --fit         # of one process alone; prints the row LTR_PLANNED that comes nearest to what it measured
    python bench/plan.py --record      # writes tests/tools/Inputs/plan_measured.json anew: on a quiet machine, once that row is right

One compute thread for each process; steps of one are measured planned and op by op, those of several have no plan. Two lengths are
run, and the difference by the difference in steps is one step. Batches come from files that cost little to read; those of keras_cnn, which moves and turns its images, are made up.
"""
import argparse
import array
import json
import os
import pathlib
import random
import statistics
import struct
import tempfile

from ltr import LTRC, SOURCE, answer, bare_fit, build, end_of

RECORD = SOURCE / "tests/tools/Inputs/plan_measured.json"

#            source, experiment, two lengths, options
PROGRAMS = [("bench/mlp.ltr", "mlp", 100, 500, ()),
            ("bench/lstm.ltr", "lstm", 20, 90, ()),
            ("examples/mnist.ltr", "mnist", 10, 60, ()),
            ("examples/keras_cnn.ltr", "keras_cnn", 5, 20, ("--mock-data",)),
            ("examples/char_gpt.ltr", "char_gpt", 10, 50, ()),
            ("examples/gan.ltr", "gan", 30, 150, ())]


# Planned alone: what else tells the constants of planned steps.
PLANNED = [("bench/tiny_mlp.ltr", "tiny_mlp", 1000, 9000, ("--mock-data",)),
           ("bench/forecast.ltr", "forecast", 50, 350, ("--mock-data",)),
           ("bench/embeddings.ltr", "embeddings", 100, 700, ("--mock-data",)),
           ("bench/unet.ltr", "unet", 5, 20, ("--mock-data",)),
           ("bench/resnet.ltr", "resnet", 3, 10, ("--mock-data",))]


def write_idx(path, code, shape, content):
    path.write_bytes(bytes([0, 0, code, len(shape)]) + struct.pack(f">{len(shape)}I", *shape) + content)


def write_data(folder):
    """Random files for the programs of this folder."""
    draw = random.Random(0)
    some = array.array("f", (draw.gauss(0, 1) for _ in range(784 * 64)))
    some.byteswap()  # the files are big-endian
    for name, shape in (("points-784.idx", (6400, 784)), ("sequences.idx", (3136, 64, 32))):
        values = shape[0] * shape[1] * (shape[2] if len(shape) > 2 else 1)
        write_idx(folder / name, 0x0D, shape, some.tobytes() * (values // len(some)))
    write_idx(folder / "labels.idx", 0x08, (6400,), bytes(draw.randrange(2) for _ in range(6400)))


def measured_s(program, experiment, backend, ranks, short, long, options, rounds, folder):
    """Seconds of a step: the median over `rounds` of the difference of two runs."""
    def seconds(steps):
        return end_of(answer(*bare_fit(program, steps, experiment, "--out", folder, "--backend", backend, *options, ranks=ranks), folder=folder))["seconds"]

    return statistics.median((seconds(long) - seconds(short)) / (long - short) for _ in range(rounds))


def planned(ltrc, source, experiment, backend, ranks, machine):
    """What is predicted for the machine that the file `machine` describes."""
    return json.loads(answer(ltrc, "plan", SOURCE / source, experiment, "--devices", f"cpu[{ranks}]", "--backend", backend,
                             "--machine", machine, "--json"))


def predicted_s(plan, ranks):
    wanted = "single" if ranks == 1 else "ddp"
    return next(row["update_s"] for row in plan["strategies"] if row["strategy"] == wanted)


def fitted(steps, device):
    """The row LTR_PLANNED whose predictions come nearest to the planned `steps`: pairs of what was predicted and of seconds."""
    names = ("products", "gathered", "operations", "calls")
    rows = []
    for plan, seconds in steps:
        work, update_s = plan["planned"], predicted_s(plan, 1) - plan["planned"]["seconds"]
        rows.append(([work[name] / seconds for name in names], 1 - (work["bytes_s"] + update_s) / seconds))
    # Least squares of what each misses, as a share of the step; no constant is below nothing.
    found = [0.0] * len(names)
    for _ in range(10000):
        for i in range(len(names)):
            left = sum(row[i] * (wanted - sum(a * b for a, b in zip(row, found)) + row[i] * found[i]) for row, wanted in rows)
            found[i] = max(left / sum(row[i] ** 2 for row, _ in rows), 1e-15)
    products, gathered, operations, calls = found
    flops = device["f32_flops"]
    return (f"LTR_PLANNED(cpu, {1 / (products * flops):.2g}, {1 / (gathered * flops):.2g}, {1e-9 / operations:.2g}, {calls * 1e6:.2g})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ltrc", type=pathlib.Path, default=LTRC)
    parser.add_argument("--nproc", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=[experiment for _, experiment, *_ in PROGRAMS + PLANNED])
    parser.add_argument("--fit", action="store_true", help="planned steps of one process, and their constants")
    parser.add_argument("--record", action="store_true", help=f"writes {RECORD.relative_to(SOURCE)}")
    given = parser.parse_args()
    if (given.record or given.fit) and given.only:
        parser.error("--record and --fit are of all programs")
    ltrc = given.ltrc.resolve()
    busy = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="ltr-") as name:
        folder = pathlib.Path(name)
        write_data(folder)
        rows = [row for row in PROGRAMS + PLANNED if not given.only or row[1] in given.only]
        programs = {source: build(SOURCE / source, folder, ltrc) for source, *_ in rows}
        machine = json.loads(answer(ltrc, "plan", SOURCE / rows[0][0], "--measure", "--json"))["constants"]
        record = {"made by": "python bench/plan.py --record", "constants": machine, "steps": []}
        described = folder / "machine.json"
        described.write_text(json.dumps(record))
        print(f"{os.cpu_count()} cores\n\n| program | back end | processes | measured | predicted | of measured | efficiency | predicted |\n"
              "|---|---|---|---|---|---|---|---|")
        steps = []
        for row in rows:
            source, experiment, short, long, options = row
            ways = [(backend, ranks) for backend in ("native", "torch") for ranks in given.nproc if backend == "torch" or ranks == 1]
            if row in PLANNED or given.fit:
                ways = [("native", 1)]
            first = None
            for backend, ranks in ways:
                plan = planned(ltrc, source, experiment, backend, ranks, described)
                times = (measured_s(programs[source], experiment, backend, ranks, short, long, options, given.rounds, folder),
                         predicted_s(plan, ranks))
                first = times if ranks == 1 else first or times
                if backend == "native":
                    steps.append((plan, times[0]))
                record["steps"].append({"source": source, "experiment": experiment, "backend": backend, "ranks": ranks, "seconds": times[0]})
                print(f"| {experiment} | {'planned' if backend == 'native' else 'op by op'} | {ranks} | {times[0] * 1e3:.2f} ms | "
                      f"{times[1] * 1e3:.2f} ms | {times[1] / times[0]:.0%} | {first[0] / times[0]:.0%} | {first[1] / times[1]:.0%} |", flush=True)
        if given.fit:
            print(f"\n{fitted(steps, machine['device'])}")
    if busy > 0.5:
        print(f"\nThe machine was busy (load {busy:.1f}): do not quote these numbers.")
    if given.record:
        RECORD.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The most memory that a real run ever had, against what `ltrc plan` says. Linux. Planned: the whole process. Op by op: what a rank has
beyond that of the smallest run.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import json
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "ranks/support"))
from harness import EXAMPLES, LTRC, PATIENCE, SOURCE, build, check, finish, run, scratch
from team import members

NEAR = 0.15
LEAST = ("--D", 12, "--layers", 1, "--size", 1)
# Weights and states are most of it, then results are; on two ranks the sums of gradients are in it.
CASES = [(1, ("--D", 768, "--layers", 6, "--size", 4)),
         (1, ("--D", 384, "--layers", 6, "--size", 8)),
         (2, ("--D", 768, "--layers", 6, "--size", 4))]


# Of planned steps: nearly nothing, weights, results; tables, recurrent layers, norms of batches; two optimizers.
NEAR_PLANNED = 0.05
OF_SYSTEM = 16 << 20  # from run to run, and from one machine to another: pages of libraries around those that are read
PROGRAMS = ["bench/mlp.ltr", "bench/lstm.ltr", "bench/embeddings.ltr", "bench/resnet.ltr", "examples/mnist.ltr", "examples/keras_cnn.ltr",
            "examples/char_gpt.ltr", "examples/gan.ltr"]


def most_of(process):
    """The most memory that a process ever had, in bytes; 0 if it is gone."""
    try:
        status = pathlib.Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    return max((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM")), default=0)


def peak(program, backend, ranks, sizes):
    """Of the rank that has most, over three steps."""
    several = ("--nproc", ranks) if ranks > 1 else ()
    command = [str(word) for word in (program, "fit", pathlib.Path(program).name, "--mock-data", "--bare", "--json", "--threads", 1,
                                      "--workers", 1, "--steps", 3, "--backend", backend, *sizes, *several)]
    limit = time.monotonic() + 120 * PATIENCE
    most = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as fit:
        while fit.poll() is None and time.monotonic() < limit:
            own = [fit.pid] if ranks == 1 else [process for process, rank in members(program).items() if rank is not None]
            most = max([most] + [most_of(process) for process in own])
            time.sleep(0.005)
        if fit.poll() is None:
            fit.terminate()
        said = fit.stderr.read()
    check(f"a run of {ranks}, {backend}, with {' '.join(map(str, sizes))} ends well", fit.returncode == 0, said)
    return most


def planned(source, backend, ranks, sizes):
    """What a device is said to have, and what the process has beside."""
    sets = [word for name, value in zip(sizes[::2], sizes[1::2]) for word in ("--set", f"{name[2:]}={value}")]
    plan = run(LTRC, "plan", source, source.stem, "--devices", f"cpu[{ranks}]", "--backend", backend, "--json", *sets)
    wanted = "single" if ranks == 1 else "ddp"
    bytes_of = next(row["bytes"] for row in json.loads(plan.stdout)["strategies"] if row["strategy"] == wanted)
    return bytes_of["together"], bytes_of["program"]


def is_near(what, predicted, measured, near):
    """Within the part `near`, or within what the system gives a process more or less from run to run."""
    check(f"{what}: {predicted / measured:.1%} of {measured / 2**20:.0f} MiB are planned",
          abs(predicted - measured) <= max(near * measured, OF_SYSTEM))


def is_planned(what, program, source, sizes=()):
    """Of two runs of one program one may have some MiB more, the first above all; what the program needs is the lesser."""
    measured = min(peak(program, "native", 1, sizes) for _ in range(2))
    is_near(f"{what}, planned", sum(planned(source, "native", 1, sizes)), measured, NEAR_PLANNED)


def main():
    with scratch() as folder:
        for name in PROGRAMS:
            source = pathlib.Path(SOURCE) / name
            program = build(source, folder)
            is_planned(source.stem, program, source)
        source, program = pathlib.Path(EXAMPLES) / "char_gpt.ltr", pathlib.Path(folder) / "char_gpt"
        for ranks, sizes in CASES:
            what = f"{ranks} x {' '.join(map(str, sizes))}"
            measured = peak(program, "torch", ranks, sizes) - peak(program, "torch", ranks, LEAST)
            is_near(what, planned(source, "torch", ranks, sizes)[0], measured, NEAR)
            if ranks == 1:
                is_planned(what, program, source, sizes)
    finish()


if __name__ == "__main__":
    main()

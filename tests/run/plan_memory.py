#!/usr/bin/env python3
"""The most memory that a rank of a real run ever had, beyond that of the smallest run, against what `ltrc plan` says. Linux.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import json
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "ranks/support"))
from harness import EXAMPLES, LTRC, PATIENCE, build, check, finish, run, scratch
from team import members

NEAR = 0.15
LEAST = ("--D", 12, "--layers", 1, "--size", 1)
# Weights and states are most of it, then results are; on two ranks the sums of gradients are in it.
CASES = [(1, ("--D", 768, "--layers", 6, "--size", 4)),
         (1, ("--D", 384, "--layers", 6, "--size", 8)),
         (2, ("--D", 768, "--layers", 6, "--size", 4))]


def most_of(process):
    """The most memory that a process ever had, in bytes; 0 if it is gone."""
    try:
        status = pathlib.Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    return max((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM")), default=0)


def peak(program, ranks, sizes):
    """Of the rank that has most, over three steps."""
    several = ("--nproc", ranks) if ranks > 1 else ()
    command = [str(word) for word in (program, "fit", "char_gpt", "--mock-data", "--bare", "--json", "--threads", 1, "--workers", 1,
                                      "--steps", 3, *sizes, *several)]
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
    check(f"a run of {ranks} with {' '.join(map(str, sizes))} ends well", fit.returncode == 0, said)
    return most


def planned(ranks, sizes):
    sets = [word for name, value in zip(sizes[::2], sizes[1::2]) for word in ("--set", f"{name[2:]}={value}")]
    plan = run(LTRC, "plan", EXAMPLES / "char_gpt.ltr", "char_gpt", "--devices", f"cpu[{ranks}]", "--json", *sets)
    wanted = "single" if ranks == 1 else "ddp"
    return next(row["bytes"]["together"] for row in json.loads(plan.stdout)["strategies"] if row["strategy"] == wanted)


def main():
    with scratch() as folder:
        program = build(EXAMPLES / "char_gpt.ltr", folder)
        for ranks, sizes in CASES:
            measured = peak(program, ranks, sizes) - peak(program, ranks, LEAST)
            part = planned(ranks, sizes) / measured
            check(f"{ranks} x {' '.join(map(str, sizes))}: {part:.0%} of {measured / 2**20:.0f} MiB are planned", abs(part - 1) <= NEAR)
    finish()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""What a rank of char_gpt_large holds, and how long its steps take, under each strategy.

    python bench/ranks.py [--ranks N] [--layers N] [--width D] [--only STRATEGY]

prints a Markdown table: the largest peak memory of a rank's process beyond that of one that has just started, as a part of
that under ddp, and seconds per step. Python's standard library alone; Linux.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
LTRC = pathlib.Path(os.environ.get("LTRC", HERE.parent / "build/release/bin/ltrc"))
sys.path.insert(0, str(HERE.parent / "tests/ranks/support"))
from team import members

STRATEGIES = {name: ("--set", f"topology.strategy={name}") for name in ("ddp", "zero1", "zero2")}
STRATEGIES["fsdp"] = ("--topology", "sharded")


def peak(process):
    """The most memory that a process ever had, in MiB; 0 if it is gone."""
    try:
        for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0


def run(program, folder, ranks, options):
    """(peak memory of a rank in MiB, seconds) of one fit."""
    command = [program, "fit", "--bare", "--quiet", "--threads", 1, "--nproc", ranks, "--out", folder, *options]
    begin = time.monotonic()
    fit = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    most = 0
    while fit.poll() is None:
        most = max([most] + [peak(process) for process, rank in members(program).items() if rank is not None])
        time.sleep(0.02)
    if fit.returncode != 0:
        sys.exit(fit.stdout.read())
    return most, time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--only", choices=STRATEGIES)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ltr-") as name:
        program = pathlib.Path(name).resolve() / "char_gpt_large"
        subprocess.run([LTRC, "build", HERE / "char_gpt_large.ltr", "-o", program], check=True)
        sizes = ("--layers", options.layers, "--D", options.width)
        small = ("--layers", 1, "--D", 12, "--steps", 1)
        started, _ = run(program, name, options.ranks, (*small, *STRATEGIES["ddp"]))
        print("| strategy | MiB | of ddp | s per step |\n|---|---|---|---|")
        whole = None
        for strategy, way in STRATEGIES.items():
            if options.only not in (None, strategy):
                continue
            if strategy == "fsdp":
                way = (*way, "--devices", f"cpu[{options.ranks}]", "--set", f"topology.mesh.fsdp={options.ranks}")
            memory, short = run(program, name, options.ranks, (*sizes, "--steps", 2, *way))
            _, long = run(program, name, options.ranks, (*sizes, "--steps", 6, *way))
            memory -= started
            whole = whole or memory
            print(f"| {strategy} | {memory:.0f} | {memory / whole:.2f} | {(long - short) / 4:.2f} |", flush=True)


if __name__ == "__main__":
    main()

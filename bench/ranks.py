#!/usr/bin/env python3
"""What a rank of a GPT of 85 million weights holds, and how long its steps take, under each strategy.

    python bench/ranks.py [--ranks N] [--layers N] [--width D] [--only STRATEGY …]

prints a Markdown table: the largest peak memory of a rank's process beyond that of one that has just started, and what the first
rank holds of weights, gradients and states, as a part of those under ddp where it is measured too, and seconds per step. The program is `examples/char_gpt.ltr` with more and wider
layers. Python's standard library alone; Linux.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile
import time

from ltr import LIMIT_S, SOURCE, bare_fit, build, end_of

sys.path.insert(0, str(SOURCE / "tests/ranks/support"))
from team import members

HEADS = 12
STRATEGIES = ("ddp", "zero1", "zero2", "fsdp", "hsdp")


def topology_of(strategy, ranks):
    """The settings that make `ranks` ranks a mesh of this strategy; hsdp has two groups."""
    settings = {"strategy": strategy}
    if strategy in ("fsdp", "hsdp"):
        settings |= {"shard.weights": "Layer", "mesh.fsdp": ranks if strategy == "fsdp" else ranks // 2}
    if strategy == "hsdp":
        settings["mesh.replica"] = 2
    return [word for name, value in settings.items() for word in ("--set", f"topology.{name}={value}")]


def peak(process):
    """The most memory that a process ever had, in MiB; 0 if it is gone."""
    try:
        for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0


def run(program, ranks, steps, *options):
    """(peak memory of a rank in MiB, what it holds of weights, gradients and states in MiB, seconds) of one fit."""
    command = bare_fit(program, steps, "char_gpt", "--limit-val", 0, "--size", 1, "--devices", f"cpu[{ranks}]", *options)
    limit = time.monotonic() + LIMIT_S
    with tempfile.TemporaryFile("w+") as said:
        fit = subprocess.Popen(command, stdout=said, stderr=said)
        most = 0
        while fit.poll() is None:
            most = max([most] + [peak(process) for process, rank in members(program).items() if rank is not None])
            time.sleep(0.02)
            if time.monotonic() > limit:
                fit.terminate()
        said.seek(0)
        text = said.read()
    if fit.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{text}")
    end = end_of(text)
    return most, end["held_bytes"] / 2**20, end["seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=4, help="an even number")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=768, help=f"a multiple of {HEADS}")
    parser.add_argument("--only", choices=STRATEGIES, nargs="+", default=STRATEGIES)
    options = parser.parse_args()
    if options.ranks % 2 != 0 or options.width % HEADS != 0:
        parser.error(f"--ranks is even, and --width a multiple of {HEADS}")
    with tempfile.TemporaryDirectory(prefix="ltr-") as folder:
        program = build(SOURCE / "examples/char_gpt.ltr", folder)
        sizes = ("--layers", options.layers, "--D", options.width, "--heads", HEADS)
        started, _, _ = run(program, options.ranks, 1, "--layers", 1, "--D", HEADS, "--heads", HEADS)
        print("| strategy | peak, MiB | of ddp | weights, gradients, states | of ddp | s per step |\n|---|---|---|---|---|---|")
        peak_of_ddp = held_of_ddp = None
        for strategy in (one for one in STRATEGIES if one in options.only):
            way = (*sizes, *topology_of(strategy, options.ranks))
            memory, held, short = run(program, options.ranks, 2, *way)
            _, _, long = run(program, options.ranks, 6, *way)
            memory -= started
            if strategy == "ddp":
                peak_of_ddp, held_of_ddp = memory, held
            part = f"{memory / peak_of_ddp:.2f}" if peak_of_ddp else "–"
            held_part = f"{held / held_of_ddp:.2f}" if held_of_ddp else "–"
            print(f"| {strategy} | {memory:.0f} | {part} | {held:.0f} | {held_part} | {(long - short) / 4:.2f} |", flush=True)


if __name__ == "__main__":
    main()

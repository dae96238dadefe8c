#!/usr/bin/env python3
"""What checkpoints cost: a run with 100 MB of weights and states of Adam that writes one every 20 steps, at once or behind
training. The 10 steps from a checkpoint on are held against the 10 behind them, which have none, in the same run: between two
runs of one program there are some percent, by where its memory lies, and that is more than is looked for.

    python bench/checkpoints.py [--rounds N] [--checkpoints N] [--size B] [--threads N]

prints a Markdown table: the cost of a checkpoint every 10 steps, in parts of the time of those steps, the middle of all pairs and
the quarters around it; how long training stood still for one; and the first of a run by itself, which gets the memory for its
copy. `none` writes nothing, and says how much is noise. All sides take turns in every round. Python's standard library alone.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
LTRC = pathlib.Path(os.environ.get("LTRC", HERE.parent / "build/release/bin/ltrc"))
EVERY = 20  # steps, as in checkpoints.ltr; half of them pay for the checkpoint
SIDES = {
    "none": ("plain",),
    "at once": ("saved",),
    "async": ("saved", "--set", "callbacks.Checkpoint.async=true"),
}


def fit(program, folder, options, words):
    """(when each step was over, how many notes said that a checkpoint waited)."""
    steps = EVERY * (options.checkpoints + 1) + 1
    command = [program, "fit", *words, "--json", "--threads", options.threads, "--size", options.size, "--steps", steps,
               "--out", folder]
    over, waits, text = {}, 0, ""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in process.stdout:
        now = time.monotonic()
        text += line
        event = json.loads(line) if line.startswith("{") else {}
        if event.get("event") == "step":
            over[event["step"]] = now
        waits += "are due faster" in event.get("text", "")
    if process.wait() != 0:
        sys.exit(text)
    return over, waits


def costs(over, options):
    """Of each checkpoint: its 10 steps to the 10 without, and the seconds of its first step more than of a step without."""
    found = []
    for number in range(1, options.checkpoints + 1):
        # The checkpoint of a step is written when the step is over and has been told of.
        begin, middle, end = EVERY * number, EVERY * number + EVERY // 2, EVERY * (number + 1)
        plain = over[end] - over[middle]
        found.append(((over[middle] - over[begin]) / plain, over[begin + 1] - over[begin] - plain / (EVERY // 2), plain))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--checkpoints", type=int, default=10, help="of a run")
    parser.add_argument("--size", type=int, default=160, help="samples of a batch: a step of 100 ms and more")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    first = {name: [] for name in SIDES}
    later = {name: [] for name in SIDES}
    waits = 0
    with tempfile.TemporaryDirectory(prefix="ltr-") as name:
        program = pathlib.Path(name).resolve() / "checkpoints"
        subprocess.run([LTRC, "build", HERE / "checkpoints.ltr", "-o", program], check=True, stdout=subprocess.DEVNULL)
        for number in range(options.rounds):
            for side, words in SIDES.items():
                over, more = fit(program, pathlib.Path(name) / "runs", options, words)
                found = costs(over, options)
                first[side].append(found[0])
                later[side] += found[1:]
                waits += more
    step = statistics.median(plain for *_, plain in later["none"]) / (EVERY // 2)
    print(f"steps of {1000 * step:.0f} ms, a checkpoint of 101 MB; {options.threads} threads; {len(later['none'])} pairs of 10 "
          f"steps; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    print("| checkpoints | cost | quarters | stood still, ms | the first of a run |\n|---|---|---|---|---|")
    for side in SIDES:
        low, middle, high = statistics.quantiles((ratio for ratio, *_ in later[side]), n=4)
        still = 1000 * statistics.median(more for _, more, _ in later[side])
        begin = statistics.median(ratio for ratio, *_ in first[side])
        print(f"| {side} | {100 * (middle - 1):+.1f} % | {100 * (low - 1):+.1f} to {100 * (high - 1):+.1f} % | {still:.0f} | "
              f"{100 * (begin - 1):+.1f} % |")
    print(f"\n{waits} of {options.rounds} asynchronous runs said that a checkpoint waited")


main()

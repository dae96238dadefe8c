#!/usr/bin/env python3
"""What checkpoints cost: a run with 100 MB of weights and states of Adam, a checkpoint every 10 steps, written at once or behind
training, beside one without.

    python bench/checkpoints.py [--rounds N] [--steps N] [--size B] [--threads N]

prints a Markdown table: seconds of a run, and seconds in which a core worked for its training thread, which others on a busy machine
change less; medians, and their ratios to those without. All sides take turns in every round; two lengths are run and the difference
counts, so that start-up and the first copy's memory cancel. Python's standard library alone; Linux.
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
BASE = 20  # steps of the shorter run: the first checkpoint, which gets the memory, and the last, which all wait for
SIDES = {
    "none": ("plain",),
    "at once": ("saved",),
    "async": ("saved", "--set", "callbacks.Checkpoint.async=true"),
}


def core_seconds(process):
    """For how long a core worked for the first thread of `process`; 0 if it is gone."""
    try:
        return int(pathlib.Path(f"/proc/{process}/task/{process}/schedstat").read_text().split()[0]) / 1e9
    except (OSError, IndexError):
        return 0


def fit(program, folder, steps, options, words):
    """(seconds of the run, of its training thread's core, how many notes said that a checkpoint waited)."""
    command = [program, "fit", *words, "--json", "--threads", options.threads, "--size", options.size, "--steps", steps,
               "--out", folder]
    with open(pathlib.Path(folder).with_suffix(".txt"), "w+") as output:
        process = subprocess.Popen([str(word) for word in command], stdout=output, stderr=subprocess.STDOUT)
        core = 0
        while process.poll() is None:
            core = max(core, core_seconds(process.pid))
            time.sleep(0.005)
        output.seek(0)
        text = output.read()
    if process.returncode != 0:
        sys.exit(text)
    events = [json.loads(line) for line in text.splitlines()]
    waits = sum("are due faster" in event.get("text", "") for event in events)
    return next(event["seconds"] for event in events if event["event"] == "end"), core, waits


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--size", type=int, default=160, help="samples of a batch: a step of 100 ms and more")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    times = {name: [] for name in SIDES}
    cores = {name: [] for name in SIDES}
    waits = 0
    with tempfile.TemporaryDirectory(prefix="ltr-") as name:
        program = pathlib.Path(name).resolve() / "checkpoints"
        subprocess.run([LTRC, "build", HERE / "checkpoints.ltr", "-o", program], check=True, stdout=subprocess.DEVNULL)
        for number in range(options.rounds):
            for side, words in SIDES.items():
                # Each has a checkpoint in its last step, which is waited for; the steps between are what counts.
                long, long_core, more = fit(program, pathlib.Path(name) / "runs", BASE + options.steps, options, words)
                short, short_core, _ = fit(program, pathlib.Path(name) / "runs", BASE, options, words)
                times[side].append(long - short)
                cores[side].append(long_core - short_core)
                waits += more
    step = statistics.median(cores["none"]) / options.steps
    print(f"{options.steps} steps of {1000 * step:.0f} ms, a checkpoint of 101 MB every 10; {options.threads} threads; "
          f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    print("| checkpoints | s | to none | to at once | s of a core | to none | to at once |\n|---|---|---|---|---|---|---|")
    for side in SIDES:
        cells = [side]
        for kind in (times, cores):
            middle = {name: statistics.median(own) for name, own in kind.items()}
            cells += [f"{middle[side]:.2f}", f"{middle[side] / middle['none']:.3f}", f"{middle[side] / middle['at once']:.3f}"]
        print(f"| {' | '.join(cells)} |")
    print(f"\n{waits} of {options.rounds} asynchronous runs said that a checkpoint waited")


main()

#!/usr/bin/env python3
"""What telling costs: `mlp.ltr` with a value logged in every step, a bar, a CSV and an event file against the same training that tells
nothing; `tiny_mlp.ltr` with checkpoints at the end of its epochs against one without; and the memory of 100,000 steps of `tiny_mlp.ltr`.

    python bench/overhead.py [--rounds N] [--steps N] [--only telling checkpoints memory]

prints Markdown tables. Times are of two lengths of a run, one after the other, so that start-up cancels; all sides take turns in every
round. Batches are made from the schema. Python's standard library alone.
"""
import argparse
import json
import os
import pathlib
import pty
import statistics
import subprocess
import tempfile

from ltr import SOURCE, answer, build, words

LOGGED = "loggers { Csv(), TensorBoard() }"


def built(name, folder, **changed):
    """The program `name`, with some of its text changed."""
    text = (SOURCE / f"bench/{name}.ltr").read_text()
    for before, after in changed.values():
        assert before in text, before
        text = text.replace(before, after)
    place = folder / "-".join([name, *changed])
    place.mkdir()
    (place / f"{name}.ltr").write_text(text)
    return build(place / f"{name}.ltr", place)


def in_terminal(command):
    """Runs it where it draws its bar."""
    ours, its = pty.openpty()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=its, stderr=its)
    os.close(its)
    try:
        while os.read(ours, 65536):
            pass
    except OSError:                     # the end of a terminal is one
        pass
    os.close(ours)
    assert process.wait() == 0, command


def seconds(program, folder, steps, *options, terminal=False):
    """Of training alone, as the journal has it."""
    command = words(program, "fit", "--mock-data", "--threads", 1, "--steps", steps, "--out", folder, *options)
    if terminal:
        in_terminal(command)
    else:
        answer(*command, "--no-bar")
    events = (folder / program.name / "latest/log.jsonl").read_text().splitlines()
    times = {event["event"]: event["time"] for event in map(json.loads, events) if event["kind"] == "event"}
    return times["finish"] - times["start"]


def step_us(program, folder, steps, *options, terminal=False):
    few, many = (seconds(program, folder, count, *options, terminal=terminal) for count in (steps // 10, steps))
    return 1e6 * (many - few) / (steps - steps // 10)


def table(title, sides, rounds, unit):
    """Measures all sides in turns; prints the middle of each, and its ratio to the first."""
    found = {side: [] for side in sides}
    for _ in range(rounds):
        for side, measure in sides.items():
            found[side].append(measure())
    first = statistics.median(next(iter(found.values())))
    print(f"\n{title}\n\n| | {unit} | against the first |\n|---|---|---|")
    for side, values in found.items():
        middle = statistics.median(values)
        print(f"| {side} | {middle:.1f} | {100 * (middle / first - 1):+.1f} % |")


def telling(folder, options):
    program = built("mlp", folder, told=("loggers { Csv() }", LOGGED))
    silent = ("--set", "trainer.log_every=1000000", "--set", "trainer.checkpoint=false", "--set", "loggers.Csv=off", "--set", "loggers.TensorBoard=off")
    told = ("--set", "trainer.log_every=1", "--set", "trainer.checkpoint=false")
    table("A step of the MLP that tells nothing, and one that logs a value into a CSV, an event file and on a bar", {
        "silent": lambda: step_us(program, folder / "silent", options.steps, *silent),
        "told": lambda: step_us(program, folder / "told", options.steps, *told, terminal=True)}, options.rounds, "µs a step")


def checkpoints(folder, options):
    program = built("tiny_mlp", folder, epochs=("trainer { steps = 2000 }", "trainer { steps = 2000, steps_per_epoch = 200 }"))
    steps = 10 * options.steps
    table("A tiny run with a checkpoint after each 200 steps, and without", {
        "without": lambda: 1e-3 * step_us(program, folder / "without", steps, "--set", "trainer.checkpoint=false") * steps,
        "with": lambda: 1e-3 * step_us(program, folder / "with", steps) * steps}, options.rounds, f"ms for {steps} steps")


def resident_kib(process):
    for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def memory(folder, options):
    program = built("tiny_mlp", folder, told=("loggers { Csv() }", LOGGED))
    count = 100_000
    command = words(program, "fit", "--mock-data", "--threads", 1, "--steps", count, "--json", "--set", "trainer.log_every=100", "--out", folder / "long")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    at = {}
    for line in process.stdout:
        event = json.loads(line)
        if event["event"] == "step" and event["step"] % (count // 10) == 0 and event["step"] < count:
            at[event["step"]] = resident_kib(process.pid)
    assert process.wait() == 0
    print(f"\nMemory of {count:,} steps of a tiny run\n\n| step | MiB |\n|---|---|")
    for step, kib in at.items():
        print(f"| {step:,} | {kib / 1024:.1f} |")
    first, last = at[min(at)], at[max(at)]
    print(f"\nbetween the first and the last of these: {(last - first) / 1024:+.2f} MiB")


PARTS = {"telling": telling, "checkpoints": checkpoints, "memory": memory}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    options = parser.parse_args()
    load = os.getloadavg()[0]
    if load > 1:
        print(f"The machine is busy (load {load:.1f}): times are not to be trusted.")
    for part in options.only:
        with tempfile.TemporaryDirectory(prefix="ltr-") as name:
            PARTS[part](pathlib.Path(name).resolve(), options)


if __name__ == "__main__":
    main()

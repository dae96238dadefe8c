#!/usr/bin/env python3
"""A signal inside any batch, of training, of a round, of an epoch's last window: the resumed run ends with the bytes of one
that was left alone.

The program prints a line in each batch; stop.c sends the signal when that line is written.

  rounds.py                      every line, the three signals in turn
  rounds.py --at "val 4 1"       one of them
"""
import argparse
import itertools
import json
import pathlib
import signal

from faults import HERE, Program, build_stop, check, differences, finish, fit, newest, outcome, scratch

CODES = {signal.SIGINT: 130, signal.SIGTERM: 75, signal.SIGKILL: -9}


def printed(text):
    """What steps printed, in order."""
    events = (json.loads(line) for line in text.splitlines() if line.startswith("{"))
    return [event["text"].strip() for event in events if event["event"] == "print"]


def stopped(program, runs, line, number):
    title = f"{number.name} in `{line}`"
    result = fit(program.path, runs, env=program.env(STOP_TEXT=f'"{line}"', STOP_SIGNAL=int(number)))
    if not check(title, result.code == CODES[number], f"exit {result.code}\n{result.text}"):
        return
    result = fit(program.path, runs, "--resume", "auto")
    found = [f"exit {result.code}\n{result.text}"] if result.code != 0 else \
        differences(program.whole, outcome(newest(runs)))
    check(f"{title}, then the rest", not found, "\n".join(found))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--at")
    options = parser.parse_args()
    with scratch() as place:
        folder = pathlib.Path(place)
        program = Program(HERE / "rounds.ltr", folder, build_stop(folder))
        lines = printed(fit(program.path, folder / "lines").text)
        if not check("every batch prints a line of its own", len(lines) > 30 and len(set(lines)) == len(lines), lines):
            finish()
        for i, (line, number) in enumerate(zip(lines, itertools.cycle(CODES))):
            if options.at in (None, line):
                stopped(program, folder / f"runs-{i}", line, number)
    finish()


main()

#!/usr/bin/env python3
"""A disk that is full: for a while, from some event on, or by a limit of file sizes.

For a while: training goes on, nothing that a file should hold is missing, and one warning a logger says so. For good: R1004
and exit 1, or 0 if all that matters was written; what was saved before stays whole, and the run goes on from it once there is
room. No crash, no hang, no pile of files.

  disk.py               a few instants of three programs: what ctest runs
  disk.py --times 200   as many
"""
import argparse
import json
import pathlib
import random
import re
import resource
import shutil

from faults import HERE, Program, build_stop, check, differences, finish, fit, newest, outcome, scratch


class Filled(Program):
    """A program whose disk fills."""

    @property
    def whole_checkpoints(self):
        """The names of all that the undisturbed run wrote."""
        lines = (newest(self.folder / "whole") / "log.jsonl").read_text().splitlines()
        return {pathlib.Path(line["path"]).name for line in map(json.loads, lines) if line.get("event") == "checkpoint"}

    def holds(self, title, runs, result):
        """What every run under a full disk must keep to."""
        faults = []
        if result.code not in (0, 1):
            faults.append(f"exit {result.code}")
        if result.code == 1 and "R1004" not in result.text:
            faults.append("exit 1 without R1004")
        warnings = result.text.count("the logger")
        unwritten = result.text.count("training goes on") - result.text.count("are written again")
        if unwritten > 1:
            faults.append(f"{unwritten} lines more about checkpoints that fail than about those that work again")
        if warnings > 3 * 3:  # failed, works again, lost: of three loggers
            faults.append(f"{warnings} lines about loggers")
        # A checkpoint that was not written when it was due is not written later, under a value of other weights.
        due = self.whole_checkpoints
        made = {path.name for path in runs.rglob("checkpoints/*") if not path.is_symlink() and not path.name.startswith(".")}
        tried = set(re.findall(r"checkpoints/([^:\s]+): [^\n]*training goes on", result.text))
        if late := {name for name in made | tried if name.startswith("step") and "-" in name} - due:
            faults.append(f"checkpoints that were not due: {late}")
        events = list(runs.rglob("events.out.tfevents*"))
        if len(events) > 1:
            faults.append(f"{len(events)} event files")
        again = fit(self.path, runs, "--resume", "auto") if result.code != 0 else result
        if again.code != 0:
            faults.append(f"the resume exits {again.code}: {again.text}")
        else:
            faults += differences(self.whole, outcome(newest(runs)))
        if check(title, not faults, "\n".join(faults) + "\n" + result.text[-1500:]):
            shutil.rmtree(runs, ignore_errors=True)

    def full(self, folder, at, events):
        runs = folder / f"{self.name}-full{at}-{events}"
        env = self.env(FULL_AT=at, FULL_FOR=events, FAULT_BELOW=runs)
        title = f"{self.name}: full from event {at} on" + (f", for {events}" if events else "")
        self.holds(title, runs, fit(self.path, runs, env=env))

    def small_files(self, folder, size):
        """`ulimit -f`: a write beyond it would be a SIGXFSZ."""
        runs = folder / f"{self.name}-limit{size}"
        limit = (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
        result = fit(self.path, runs, limits=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit))
        self.holds(f"{self.name}: files of at most {size} bytes", runs, result)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with scratch() as place:
        folder = pathlib.Path(place)
        library = build_stop(folder)
        programs = [Filled(HERE / f"programs/{name}.ltr", folder, library) for name in ("two_optimizers", "averages", "behind")]
        chance = random.Random(options.seed)
        for i in range(options.times):
            program = programs[i % len(programs)]
            program.full(folder, chance.randint(1, program.events), 0 if i % 4 == 3 else chance.randint(1, 30))
        for size in (300, 1000, 3000):
            programs[0].small_files(folder, size)
    finish()


main()

#!/usr/bin/env python3
"""A run that is stopped anywhere and goes on ends with the bytes of one that was left alone.

Stops at file-system events (stop.c), which come at every step, row, checkpoint and report, and at limits of steps; by
SIGKILL, SIGINT and SIGTERM. Then `--resume auto`, which may be stopped again, until the run is finished.

  stops.py                       20 stops, chosen by the seed, and a few limits: what ctest runs
  stops.py --kills 300           as many
  stops.py --every 1 [--program P] [--signal KILL]     every event, every step as a limit; 4: every fourth event
  stops.py --program P --at N --signal KILL --keep DIR     one of them again, to look at
"""
import argparse
import pathlib
import random
import shutil
import signal

from faults import PROGRAMS, Program, build_stop, check, differences, finish, fit, leftovers, newest, outcome, scratch

SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
CODES = {signal.SIGKILL: {-9}, signal.SIGINT: {130}, signal.SIGTERM: {75}}


class Stopped(Program):
    """A program that is stopped and goes on."""

    def goes_on(self, title, runs, folder):
        """Resumes what lies in `runs` until it is finished, and compares."""
        result = fit(self.path, runs, "--resume", "auto")
        if result.code != 0:
            return check(title, False, f"the resume exits {result.code}\n{result.text}")
        run = newest(runs)
        found = differences(self.whole, outcome(run)) + [f"leftover {name}" for name in leftovers(run)]
        if not (run / "DONE").exists():
            found.append("no DONE")
        return check(title, not found, "\n".join(found))

    def stopped(self, folder, stops):
        """Stops at each of `stops`, (event, signal), one after the other."""
        title = f"{self.name}: " + ", ".join(f"{number.name} at {at}" for at, number in stops)
        runs = folder / f"{self.name}-{'-'.join(f'{number.name[3:]}{at}' for at, number in stops)}"
        for at, number in stops:
            env = self.env(STOP_AT=at, STOP_SIGNAL=int(number), FAULT_BELOW=runs)
            result = fit(self.path, runs, "--resume", "auto", env=env)
            # At the very end a signal may find nothing left to stop.
            if result.code not in CODES[number] | {0}:
                return check(title, False, f"exit {result.code} after {number.name}\n{result.text}")
        holds = self.goes_on(title, runs, folder)
        if holds:
            shutil.rmtree(runs, ignore_errors=True)
        return holds

    def limited(self, folder, steps):
        runs = folder / f"{self.name}-limit{steps}"
        title = f"{self.name}: {steps} steps, then the rest"
        result = fit(self.path, runs, "--steps", steps)
        if result.code != 0:
            return check(title, False, result.text)
        result = fit(self.path, runs, "--resume", "last")
        if result.code != 0:
            return check(title, False, result.text)
        return check(title, not (found := differences(self.whole, outcome(newest(runs)))), "\n".join(found))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=int)
    parser.add_argument("--program", choices=[source.stem for source in PROGRAMS])
    parser.add_argument("--at", type=int)
    parser.add_argument("--signal", choices=[number.name[3:] for number in SIGNALS])
    parser.add_argument("--limit", type=int)
    parser.add_argument("--keep")
    options = parser.parse_args()
    signals = [number for number in SIGNALS if options.signal in (None, number.name[3:])]
    with scratch() as place:
        folder = pathlib.Path(options.keep or place).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        library = build_stop(folder)
        sources = [source for source in PROGRAMS if options.program in (None, source.stem)]
        programs = [Stopped(source, folder, library) for source in sources]
        if options.limit:
            programs[0].limited(folder, options.limit)
        elif options.at:
            programs[0].stopped(folder, [(options.at, number) for number in signals[:1]])
        elif options.every:
            for program in programs:
                for steps in range(1, program.steps, options.every):
                    program.limited(folder, steps)
                for at in range(1, program.events + 1, options.every):
                    for number in signals:
                        program.stopped(folder, [(at, number)])
        else:
            chance = random.Random(options.seed)
            for i in range(options.kills):
                program = programs[i % len(programs)]
                # Kills most of all; every third run is stopped twice.
                stops = [(chance.randint(1, program.events), chance.choice(SIGNALS + (signal.SIGKILL,)))
                         for _ in range(2 if i % 3 == 2 else 1)]
                program.stopped(folder, stops)
            for program in programs:
                for steps in chance.sample(range(1, program.steps), max(options.kills // 20, 1)):
                    program.limited(folder, steps)
    finish()


main()

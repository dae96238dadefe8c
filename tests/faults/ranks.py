#!/usr/bin/env python3
"""One of several ranks is hit at any instant: all of them leave soon, one message names it, nobody is left behind, and the run
goes on to the bytes of one that was left alone.

Hit by SIGKILL or SIGSTOP, at a time or at a file-system event of that rank (stop.c); by a disk that is full for it, SIGTERM to the
process that started the ranks, SIGINT to all of them. Then `--resume auto`; or `--restarts`, where that process does it by itself.

  ranks.py                               10 hits of two and three ranks: what ctest runs
  ranks.py --kills 300 --nproc 2,3,4      as many, of every program
  ranks.py --program P --nproc N --hit "KILL 1 at 0.42" --keep DIR     one of them again, to look at
"""
import argparse
import dataclasses
import itertools
import os
import pathlib
import random
import re
import shutil
import signal
import sys
import time

from faults import HERE, PROGRAMS, Program, build_stop, check, differences, finish, fit, leftovers, newest, outcome, scratch

sys.path.insert(0, str(HERE.parent / "ranks/support"))
from team import EXAMPLES, Team, members

SOURCES = {source.stem: source for source in (HERE.parent / "ranks/digits.ltr", *PROGRAMS)}
# Enough steps that most hits find the run at work.
OPTIONS = {"digits": ("--set", f"data.root={EXAMPLES / 'data/mnist-5k'}")}
USUAL = ("--epochs", 25)
OPTIONS["behind"] = (*USUAL, "--topology", "divided", "--devices", "cpu[{nproc}]", "--set", "topology.mesh.fsdp={nproc}")

ALL_GONE = 15      # seconds, by promise
NOTICED = 10       # and so many until one that stands still counts as lost

KINDS = ("KILL", "KILL", "KILL", "EVENT", "EVENT", "AGAIN", "TERM", "INT", "FULL", "STOP")


@dataclasses.dataclass
class Hit:
    """`KILL 1 at 0.42`: of rank 1, when this part of the time is over that steps take; below 0, of the time before them.
    `EVENT` and `FULL` come with the rank's file-system events instead; `AGAIN` is a KILL after which the ranks are
    started again."""
    kind: str
    rank: int
    at: float

    def __str__(self):
        return f"{self.kind} {self.rank} at {self.at:.3f}"

    @staticmethod
    def parse(text):
        kind, rank, _, at = text.split()
        return Hit(kind, int(rank), float(at))

    @staticmethod
    def draw(chance, kind, nproc):
        # One that stands still before its first sign of life is waited for as one that starts late.
        may_be_early = kind in ("KILL", "AGAIN", "TERM", "INT")
        return Hit(kind, chance.randrange(nproc), chance.uniform(-0.3 if may_be_early else 0, 1))


class Ranked(Program):
    """A program on `nproc` ranks."""

    def __init__(self, source, folder, library, nproc):
        self.nproc = nproc
        options = (str(option).format(nproc=nproc) for option in OPTIONS.get(source.stem, USUAL))
        super().__init__(source, folder / str(nproc), library, "--nproc", nproc, *options)
        self.title = f"{self.name} on {nproc}"
        team = self.team(self.folder / "timed", until="")
        begin = time.monotonic()
        while not team.has('"event":"step"'):
            time.sleep(0.005)
        self.before_s = time.monotonic() - begin
        team.end(60)
        self.steps_s = time.monotonic() - begin - self.before_s

    def env(self, **settings):
        return super().env(**{"STOP_RANK": "all", **settings})

    def counted(self, file):
        """Of each rank."""
        return [int(file.with_name(f"{file.name}.{rank}").read_text()) for rank in range(self.nproc)]

    def team(self, runs, *options, until='"event":"step"', env=None):
        return Team(self.path, runs, "--resume", "auto", *self.options[2:], *options, nproc=self.nproc, until=until, env=env)

    def strike(self, team, hit):
        """Whether there was somebody to hit."""
        time.sleep(hit.at * self.steps_s if hit.at > 0 else (1 + hit.at) * self.before_s)
        ranks = {number: process for process, number in members(self.path).items()}
        try:
            if hit.kind == "TERM":
                team.send(signal.SIGTERM)
            elif hit.kind == "INT":
                os.killpg(team.process.pid, signal.SIGINT)
            else:
                os.kill(ranks[hit.rank], signal.SIGSTOP if hit.kind == "STOP" else signal.SIGKILL)
        except (KeyError, ProcessLookupError):
            return False  # it is over
        return True

    def hit(self, runs, hit):
        """What is wrong with how the ranks leave, in words."""
        until = '"event":"step"' if hit.at > 0 and hit.kind not in ("EVENT", "FULL") else ""
        event = int(hit.at * self.events[hit.rank]) + 1
        settings = {"EVENT": {"STOP_AT": event, "STOP_SIGNAL": int(signal.SIGKILL)},
                    "FULL": {"FULL_AT": event, "FULL_FOR": 5}}.get(hit.kind)
        env = self.env(FAULT_BELOW=runs, STOP_RANK=hit.rank, **settings) if settings else None
        team = self.team(runs, *(("--restarts", 3) if hit.kind == "AGAIN" else ()), until=until, env=env)
        is_hit = settings is not None or self.strike(team, hit)
        # What is killed at an event, or goes on by itself, runs on until then.
        more = {"EVENT": 60, "FULL": 60, "AGAIN": 60, "STOP": NOTICED}.get(hit.kind, 0)
        code = team.end(ALL_GONE + more)
        faults = [] if team.is_clean else [f"not all were gone after {team.seconds:.1f} s"]
        return faults + self.wrong_end(hit, code, team.text, is_hit)

    def wrong_end(self, hit, code, text, is_hit):
        lost = {"KILL": "was killed (SIGKILL)", "EVENT": "was killed (SIGKILL)", "AGAIN": "was killed (SIGKILL)",
                "STOP": "gave no sign of life"}.get(hit.kind)
        told = re.findall(r"R\d{4}", text)
        if not told and code == 0:
            return []  # it was over before
        codes = {"TERM": 75, "INT": 130, "AGAIN": 0}
        if code != codes.get(hit.kind, 1):
            return [f"exit {code}: {text[-2000:]}"]
        expected = ["R1004"] if hit.kind == "FULL" else ["R1002"] if lost else []
        faults = [] if told == expected else [f"errors {told}: {text[-2000:]}"]
        if lost and text.count(f"rank {hit.rank} {lost}") != 1:
            faults.append(f"rank {hit.rank} is not named once: {text[-2000:]}")
        if hit.kind == "AGAIN" and text.count("restart 1 of 3") != 1:
            faults.append(f"no restart: {text[-2000:]}")
        return faults

    def hit_and_go_on(self, folder, hits):
        title = f"{self.title}: {', '.join(str(one) for one in hits)}"
        runs = folder / re.sub(r"\W+", "-", title)
        faults = []
        for one in hits:
            faults += self.hit(runs, one)
        result = fit(self.path, runs, "--resume", "auto", *self.options)
        if result.code != 0:
            faults.append(f"the resume exits {result.code}: {result.text[-2000:]}")
        else:
            run = newest(runs)
            faults += differences(self.whole, outcome(run)) + [f"leftover {name}" for name in leftovers(run)]
            faults += [] if (run / "DONE").exists() else ["no DONE"]
        if check(title, not faults, "\n".join(faults)):
            shutil.rmtree(runs, ignore_errors=True)
            return True
        return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=len(KINDS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nproc", default="2,3")
    parser.add_argument("--program", choices=SOURCES)
    parser.add_argument("--hit", help='such as "KILL 1 at 0.42"; several with commas')
    parser.add_argument("--keep")
    options = parser.parse_args()
    worlds = [int(number) for number in options.nproc.split(",")]
    # What is looked at in ctest: batch norms and averages, hooks with states.
    names = [options.program] if options.program else list(SOURCES) if options.kills > len(KINDS) else ["digits", "hooks", "behind"]
    with scratch() as place:
        folder = pathlib.Path(options.keep or place).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        library = build_stop(folder)
        pairs = [(name, world) for name in names for world in worlds]
        if options.kills <= len(KINDS) and not options.program:
            pairs = list(zip(names, itertools.cycle(worlds)))
        programs = [Ranked(SOURCES[name], folder, library, world) for name, world in pairs]
        if options.hit:
            programs[0].hit_and_go_on(folder, [Hit.parse(text) for text in options.hit.split(",")])
            finish()
        chance = random.Random(options.seed)
        whole = 0
        for i in range(options.kills):
            program = programs[i % len(programs)]
            # In ctest each kind once; every third run is hit twice.
            kinds = [KINDS[i % len(KINDS)]] + ([chance.choice(("KILL", "TERM"))] if i % 3 == 2 else [])
            whole += program.hit_and_go_on(folder, [Hit.draw(chance, kind, program.nproc) for kind in kinds])
        check(f"{whole} of {options.kills} runs that were hit ended as if nothing had been", whole == options.kills)
    finish()


main()

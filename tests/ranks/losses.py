#!/usr/bin/env python3
"""Ranks that are killed, stopped and told to end: the rest go soon, one message says why, and nothing is left behind.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import json
import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from team import EXAMPLES, LONG, Team, build, check, finish, newest, rank_of, run, scratch

ALL_GONE = 15  # seconds, by promise


def ended(title, team, code, *texts, within=ALL_GONE, without=()):
    """`team` ends with `code` in time, says each of `texts` once and nothing of `without`, and leaves nobody."""
    found = team.end(within)
    counts = {text: team.text.count(text) for text in texts}
    there = [text for text in without if text in team.text]
    check(title, found == code and all(count == 1 for count in counts.values()) and not there and team.is_clean,
          f"exit {found}, not {code}, after {team.seconds:.1f} s; clean: {team.is_clean}; {counts}; there is {there}\n{team.text}")


def losses(program, folder):
    for rank in (0, 1):
        team = Team(program, folder / f"killed{rank}", *LONG)
        os.kill(rank_of(program, rank), signal.SIGKILL)
        ended(f"rank {rank} is killed", team, 1, f"rank {rank} was killed (SIGKILL)", "R1002")
        record = json.loads((newest(folder / f"killed{rank}") / "run.json").read_text())
        check("and the run says so, too", (record["status"], record["exit_code"]) == ("failed", 1) and record["ended"]
              and record["reason"] == f"R1002: a rank is lost: rank {rank} was killed (SIGKILL)", str(record))
        team = Team(program, folder / f"stopped{rank}", *LONG)
        os.kill(rank_of(program, rank), signal.SIGSTOP)
        ended(f"rank {rank} stands still", team, 1, f"rank {rank} gave no sign of life", "R1002")
    team = Team(program, folder / "crashed", *LONG)
    os.kill(rank_of(program, 1), signal.SIGSEGV)
    ended("rank 1 crashes and says so itself", team, 1, "R1009", "rank 1 was killed (SIGSEGV)")
    team = Team(program, folder / "parent", *LONG)
    team.send(signal.SIGKILL)
    ended("no rank outlives its parent", team, -signal.SIGKILL, within=5)


def signals(program, folder):
    for number, code in ((signal.SIGTERM, 75), (signal.SIGUSR1, 75), (signal.SIGHUP, 75), (signal.SIGINT, 130)):
        team = Team(program, folder / number.name, *LONG)
        team.send(number)
        ended(f"{number.name} to the parent alone exits {code}", team, code, without=("R1002", "R1010"))
        checkpoint = newest(folder / number.name) / "checkpoints/last/checkpoint.json"
        check("with a checkpoint", checkpoint.exists(), team.text)
    team = Team(program, folder / "group", *LONG)
    os.killpg(team.process.pid, signal.SIGINT)
    ended("Ctrl-C for the whole group is one", team, 130, "again to stop without saving", without=("R1002", "R1010"))
    # A rank that does not answer keeps the others from finishing their step.
    team = Team(program, folder / "twice", *LONG)
    os.kill(rank_of(program, 1), signal.SIGSTOP)
    team.send(signal.SIGINT)
    time.sleep(0.5)  # longer than one is delivered twice
    team.send(signal.SIGINT)
    ended("the second Ctrl-C ends all of them at once", team, 1, "R1010", within=5)
    team = Team(program, folder / "twice all", *LONG)
    os.kill(rank_of(program, 1), signal.SIGSTOP)
    for _ in range(2):
        os.killpg(team.process.pid, signal.SIGINT)
        time.sleep(0.5)
    ended("for the whole group, too, and is told of once", team, 1, "R1010", within=5)


def restarts(program, folder):
    # Enough epochs to be met in the middle.
    options = ("--epochs", 300, "--set", "callbacks.EarlyStop=off")
    team = Team(program, folder / "whole", *options)
    ended("a run ends by itself", team, 0, within=120)
    team = Team(program, folder / "again", *options, "--restarts", 1, until='"event":"checkpoint"')
    os.kill(rank_of(program, 1), signal.SIGKILL)
    ended("a lost rank is started again with all others", team, 0, "restart 1 of 1", "was killed (SIGKILL)", within=120)
    check("in one run", [path.name for path in (folder / "again/iris").glob("[0-9]*")] == ["0001"], team.text)
    weights = [(newest(folder / name) / "checkpoints/last/weights.safetensors").read_bytes() for name in ("whole", "again")]
    metrics = [(newest(folder / name) / "metrics.csv").read_bytes() for name in ("whole", "again")]
    check("which ends as if nothing had been", weights[0] == weights[1] and metrics[0] == metrics[1], team.text)
    team = Team(program, folder / "none", *LONG, "--restarts", 1)
    os.kill(rank_of(program, 0), signal.SIGKILL)
    time.sleep(3)
    team.send(signal.SIGTERM)
    ended("without a checkpoint the run begins anew, and a stop that was asked for is no reason", team, 75, "restart 1 of 1", within=30)
    check("in the same folder", [path.name for path in (folder / "none/iris").glob("[0-9]*")] == ["0001"], team.text)
    result = run(program, "fit", "--nproc", 2, "--restarts", 3, "--out", folder / "data", "--set", "data.file=missing.csv", timeout=60)
    check("a missing file is missing again: no restart", result.returncode == 3 and "restart 1" not in result.text, result.text)
    check("and is told once", result.text.count("error[R3001]") == 1, result.text)


with scratch() as name:
    folder = pathlib.Path(name).resolve()
    iris = build(EXAMPLES / "iris.ltr", folder)
    losses(iris, folder)
    signals(iris, folder)
    restarts(iris, folder)
finish()

#!/usr/bin/env python3
"""A rank that throws, hangs or ends at one step: the others leave in time, one message names it, and what each rank said stands
in its log. Then the run goes on to the bytes of one that was left alone. And one that is told to end while it is starting, or when it
has ended.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import pathlib
import re
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from team import Team, build, check, clean_up, finish, newest, run, scratch, wait_for
from harness import result_of

SUPPORT = pathlib.Path(__file__).resolve().parent / "support"
ALL_GONE = 15  # seconds, by promise; behind `timeout` for one that hangs
TIMEOUT = 3    # of the program

ENDS = {"throw": (1, "R1012", "this rank gives up", ALL_GONE),
        "hang": (1, "R1003", "timed out after 3 s: rank {rank} did not come", ALL_GONE + TIMEOUT),
        "exit": (9, "R1002", "rank {rank} ended with exit code 9 and without a word", ALL_GONE)}


def misbehaves(program, folder, whole, how, rank):
    code, error, text, within = ENDS[how]
    runs = folder / f"{how}{rank}"
    team = Team(program, runs, "--no-bar", "--who", rank, "--when", 11, "--how", how, nproc=3)
    found = team.end(within)
    errors = re.findall(r'"code":"(R\d{4})"', team.text)
    check(f"rank {rank}: {how}", found == code and errors == [error] and text.format(rank=rank) in team.text and team.is_clean
          and "frame #" not in team.text and '"event":"warning"' not in team.text,
          f"exit {found}, {errors} after {team.seconds:.1f} s; clean: {team.is_clean}\n{team.text}")
    if how == "throw":
        log = newest(runs) / f"log-{rank}.txt"
        check("which its log has, too", log.exists() and "this rank gives up" in log.read_text(), log)
    result = run(program, "fit", "--no-bar", "--threads", 1, "--nproc", 3, "--resume", "auto", "--out", runs, timeout=60)
    check("then the rest", result.returncode == 0 and result_of(newest(runs)) == whole, result.text)


def first_without_a_word(program, folder):
    """The first rank can't say how to go on: who started it does."""
    for when, words in ((3, "failed before the first checkpoint: no step of "), (11, "failed · go on with:  ")):
        result = run(program, "fit", "--no-bar", "--nproc", 2, "--who", 0, "--when", when, "--how", "exit", "--out", folder / "mute", timeout=60)
        check(f"the first rank ends at step {when}", result.returncode == 9 and result.text.count(words) == 1, result.text)


def goes_on_with_fewer(program, folder):
    """The last rank ends at a step; the restart does without it, and gives what a resume with as many gives."""
    runs = folder / "fewer"
    lost = ("--no-bar", "--who", 2, "--when", 11, "--how", "exit")
    team = Team(program, runs, *lost, "--restarts", 2, nproc="1:3")
    found = team.end(60)
    check("--nproc 1:3: a restart with one rank fewer, and no more are lost",
          found == 0 and team.is_clean and re.findall(r"restart .* again", team.text) == ["restart 1 of 2: 2 of 3 ranks begin again"], f"exit {found}\n{team.text}")
    by_hand = folder / "fewer by hand"
    team = Team(program, by_hand, *lost, nproc=3)
    check("the same without restarts fails", team.end(ALL_GONE) == 9 and team.is_clean, team.text)
    result = run(program, "fit", "--no-bar", "--threads", 1, "--nproc", 2, "--resume", "auto", "--out", by_hand, timeout=60)
    check("and a resume of two ranks gives the same bits", result.returncode == 0 and result_of(newest(by_hand)) == result_of(newest(runs)), result.text)
    for count, options, code, text in (("1:3", (), 2, "--nproc 1:3 is for restarts with fewer ranks, and there are none"),
                                       ("3:1", ("--restarts", 1), 2, "a count of ranks, 1 or more, or LEAST:MOST of them"),
                                       ("2:x", ("--restarts", 1), 2, "a count of ranks, 1 or more, or LEAST:MOST of them"),
                                       ("1:3", ("--restarts", 1, "--devices", "cpu[3]"), 2, "3")):
        result = run(program, "fit", "--nproc", count, *options, "--out", folder / "refused", timeout=60)
        check(f"--nproc {count} {' '.join(map(str, options))}", result.returncode == code and text in result.text and result.text.count("error[") == 1, result.text)


def told_while_starting(program, folder, number, code):
    """One rank opens its data, the other waits for it with the run's folder: the signal finds both."""
    runs = folder / number.name
    team = Team(program, runs, "--how", "late", "--set", "topology.timeout=1 min", until="")
    wait_for(lambda: list(runs.glob("*/[0-9]*")), 30, "the folder of the run")
    time.sleep(0.3)
    team.send(number)
    found = team.end(ALL_GONE)
    check(f"{number.name} while one rank is starting", found == code and "R10" not in team.text and team.is_clean, f"exit {found}\n{team.text}")
    check("leaves no run", not list(runs.glob("*/[0-9]*")))


def told_when_over(program, folder, nproc):
    """A signal to a process that has said its last word, and unloads its libraries."""
    team = Team(program, folder / f"over{nproc}", "--no-bar", nproc=nproc, until='"event":"end"')
    while team.process.poll() is None:
        team.send(signal.SIGTERM)
    found = team.end(ALL_GONE)
    check(f"SIGTERM when all is done, {nproc} processes", found == 0 and team.is_clean, f"exit {found}\n{team.text}")


with scratch() as name:
    folder = pathlib.Path(name).resolve()
    program = build(SUPPORT / "misbehave.ltr", folder)
    result = run(program, "fit", "--no-bar", "--threads", 1, "--nproc", 3, "--out", folder / "whole", timeout=60)
    check("undisturbed", result.returncode == 0, result.text)
    folders = sorted(path.name for path in newest(folder / "whole").glob("log-*.txt"))
    check("each rank has a log of its own", folders == ["log-0.txt", "log-1.txt", "log-2.txt"], folders)
    whole = result_of(newest(folder / "whole"))
    for how, rank in (("throw", 0), ("throw", 1), ("hang", 2), ("exit", 0), ("exit", 1)):
        misbehaves(program, folder, whole, how, rank)
    first_without_a_word(program, folder)
    goes_on_with_fewer(program, folder)
    told_while_starting(program, folder, signal.SIGTERM, 75)
    told_while_starting(program, folder, signal.SIGINT, 130)
    for nproc in (1, 2):
        told_when_over(program, folder, nproc)
    check("no rank is left", clean_up(program))
finish()

#!/usr/bin/env python3
"""Ranks that real launchers start: torchrun and mpirun. Each gives the bits that the program's own ranks give.

torchrun is that of the Python that runs this. LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from team import EXAMPLES, build, check, clean_up, finish, free_ports, members, newest, result_of, rows, run, scratch, wait_for, words

EPOCHS = 400  # so many that the second machine is lost in the middle of them
FIT = ("fit", "--epochs", 4, "--threads", 1, "--no-bar")


def torchrun(launcher, iris, folder):
    command = (launcher, "--no-python", "--nproc-per-node", 2)
    result = run(*command, "--standalone", iris, *FIT, "--out", folder / "torchrun", timeout=120)
    check("torchrun's ranks give what our own do", result.returncode == 0 and result_of(newest(folder / "torchrun")) == result_of(newest(folder / "own")), result.text)
    check("and are named once", len(re.findall(r"launcher torchrun: 2 ranks on 1 node, meeting \S+:\d+\n", result.text)) == 1, result.text)
    result = run(*command, "--standalone", iris, *FIT, "--out", folder / "bad", "--set", "data.file=missing.csv", timeout=120)
    check("a failure is said once", result.returncode != 0 and len(re.findall(r"^error\[R3001\]", result.text, re.M)) == 1, result.text)
    check("and torchrun shows it as the cause, from its file of errors", "traceback : error[R3001]: no file missing.csv" in result.text, result.text)
    result = run(*command, "--standalone", iris, *FIT, "--devices", "cpu[4]", timeout=120)
    check("a world that is not the topology's is refused with both numbers",
          result.returncode != 0 and "asks for 4 ranks, but there are 2\n" in result.text, result.text)
    result = run(*command, "--standalone", "--max-restarts", 1, iris, *FIT, "--restarts", 2, "--out", folder / "restarts", timeout=120)
    check("our own restarts are left to it, with a word", result.returncode == 0 and result.text.count("warning: restarts = 2 is for ranks") == 1, result.text)


def elastic(launcher, iris, folder):
    """torchrun with one or two machines, both this one: the second is lost, and the first goes on alone."""
    (port,) = free_ports(1)
    runs = folder / "elastic"
    agents = []
    for node in (0, 1):
        meeting = f"is_host={1 - node},last_call_timeout=1,keep_alive_interval=1,keep_alive_max_attempt=3"
        command = words(launcher, "--no-python", "--nnodes", "1:2", "--nproc-per-node", 1, "--max-restarts", 3, "--rdzv-backend", "c10d",
                        "--rdzv-endpoint", f"localhost:{port}", "--rdzv-id", "elastic", "--rdzv-conf", meeting, iris, "fit", "--resume", "auto",
                        "--epochs", EPOCHS, "--set", "callbacks.EarlyStop=off", "--threads", 1, "--no-bar", "--out", runs)
        with open(folder / f"agent-{node}.txt", "w") as file:
            agents.append(subprocess.Popen(command, stdout=file, stderr=file))
    wait_for(lambda: list(runs.glob("*/0001/checkpoints/step*")), 90, "the first checkpoint")
    agents[1].kill()
    agents[1].wait()
    for process, rank in members(iris, "RANK").items():
        if rank == 1:
            os.kill(process, signal.SIGKILL)
    code = agents[0].wait(120)
    said = (folder / "agent-0.txt").read_text()
    check("torchrun --nnodes 1:2: the one that is left goes on alone", code == 0 and "processes: 2 → 1" in said and "2 ranks on 2 nodes" in said, said)
    # Of two processes an epoch of eight batches has four steps, of one it has eight.
    epochs = [row["epoch"] for row in rows(runs) if "val/loss" in row]
    check("at the same sample: each epoch is there once", epochs == list(range(EPOCHS)), epochs)


def mpirun(launcher, iris, folder):
    command = (launcher, "--allow-run-as-root", "--oversubscribe", "-np", 2)
    result = run(*command, iris, *FIT, "--out", folder / "mpirun", timeout=120)
    check("mpirun's ranks give what our own do", result.returncode == 0 and result_of(newest(folder / "mpirun")) == result_of(newest(folder / "own")), result.text)
    check("and are named once", len(re.findall(r"launcher openmpi: 2 ranks on 1 node, meeting 127.0.0.1:2\d{4}\n", result.text)) == 1, result.text)
    result = run(*command, iris, "describe", timeout=120)
    check("what needs no ranks is said once", result.returncode == 0 and result.stdout.count(" trainable, ") == 1, result.text)
    result = run(*command, iris, *FIT, "--nproc", 4, timeout=120)
    check("--nproc has nothing to say there", result.returncode == 2 and "--nproc 4, but the launcher openmpi started 2 ranks" in result.text, result.text)
    check("which is said once", len(re.findall(r"^error\[", result.text, re.M)) == 1, result.text)
    result = run(*command, iris, *FIT, "--launcher", "none", "--out", folder / "apart", timeout=120)
    check("--launcher none: processes that know nothing of each other",
          result.returncode == 0 and len(list((folder / "apart/iris").glob("[0-9]*"))) == 2, result.text)


TORCHRUN = pathlib.Path(sys.executable).with_name("torchrun")
launchers = [(torchrun, TORCHRUN), (elastic, TORCHRUN), (mpirun, shutil.which("mpirun"))]
there = [(test, path) for test, path in launchers if path is not None and pathlib.Path(path).exists()]
for test, path in launchers:
    if (test, path) not in there:
        print(f"skipped: there is no {test.__name__}")
if not there:
    sys.exit(77)
with scratch() as name:
    folder = pathlib.Path(name).resolve()
    iris = build(EXAMPLES / "iris.ltr", folder)
    own = run(iris, *FIT, "--nproc", 2, "--out", folder / "own", timeout=60)
    check("our own ranks", own.returncode == 0, own.text)
    for test, path in there:
        test(path, iris, folder)
    check("no rank is left", clean_up(iris))
finish()

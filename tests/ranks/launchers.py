#!/usr/bin/env python3
"""Ranks that real launchers start: torchrun and mpirun. Each gives the bits that the program's own ranks give.

torchrun is that of the Python that runs this. LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from team import EXAMPLES, build, check, clean_up, finish, newest, result_of, run, scratch

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


launchers = [(torchrun, pathlib.Path(sys.executable).with_name("torchrun")), (mpirun, shutil.which("mpirun"))]
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

#!/usr/bin/env python3
"""`ltrc new x` in an empty folder gives a program that checks, passes its tests and trains.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import LTRC, check, finish, run, scratch

with scratch() as place:
    folder = pathlib.Path(place)

    def does(title, *words, exit_code=0):
        result = run(LTRC, *words, cwd=folder)
        check(f"{title}: exit {exit_code}", result.returncode == exit_code, f"exit {result.returncode}\n{result.text}")
        return result

    starters = does("new --list", "new", "--list").stdout.split()
    check("there is a starter", starters)
    does("new", "new", "x")
    check("it wrote x.ltr", (folder / "x.ltr").exists())
    written = (folder / "x.ltr").read_bytes()
    does("check", "check", "x.ltr")
    does("test", "test", "x.ltr")
    result = does("fit", "run", "x.ltr", "fit", "--no-bar", "--threads", 1)
    check("the run folder is where it says", (folder / "runs/x/0001/DONE").exists(), result.text)
    check("the report names it", "runs/x/0001" in result.stdout, result.text)
    does("validate", "run", "x.ltr", "validate")
    does("build", "build", "x.ltr")
    check("the program stands beside", run(folder / "x", "version", cwd=folder).returncode == 0)
    result = run(LTRC, "new", "x", cwd=folder)
    check("a second new overwrites nothing",
          result.returncode != 0 and (folder / "x.ltr").read_bytes() == written, result.text)
finish()

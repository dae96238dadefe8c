#!/usr/bin/env python3
"""`ltrc new x` in an empty folder gives a program that checks, passes its tests and trains.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import LTRC, SOURCE, check, finish, run, scratch

with scratch() as place:
    folder = pathlib.Path(place)

    def does(title, *words, exit_code=0):
        result = run(LTRC, *words, cwd=folder)
        check(f"{title}: exit {exit_code}", result.returncode == exit_code, f"exit {result.returncode}\n{result.text}")
        return result

    listed, tasks = ([line for line in part.splitlines() if not line.endswith(":")]
                     for part in does("new --list", "new", "--list").stdout.split("\n\n"))
    starters = [line.split()[0] for line in listed]
    check("there is a starter for each kind of data", {"classifier", "forecast", "gan", "image", "tabular", "text"} <= set(starters), listed)
    check("each says what it is for", all(len(line.split()) > 3 for line in listed + tasks), listed + tasks)
    for starter in starters:
        name = f"my_{starter}"
        does(f"new {starter}", "new", name, "--from", starter)
        check(f"it wrote {name}.ltr", (folder / f"{name}.ltr").exists())
        does(f"check {starter}", "check", f"{name}.ltr")
        does(f"test {starter}", "test", f"{name}.ltr")
        result = does(f"fit {starter}", "run", f"{name}.ltr", "fit", "--no-bar", "--threads", 1, "--limit-train", 2, "--epochs", 1)
        check(f"{starter}: the run folder is where it says", (folder / f"runs/{name}/0001/DONE").exists(), result.text)

    for task in (line.split()[0] for line in tasks):
        place = folder / task
        does(f"new --task {task}", "new", f"{task}/mine", "--task", task.replace("_", "-"))
        does(f"check {task}", "check", f"{task}/mine.ltr")
        result = does(f"fit {task}", "run", f"{task}/mine.ltr", "fit", "--no-bar", "--threads", 1, "--limit-train", 2, "--limit-val", 1,
                      "--epochs" if task != "language_model" else "--steps", 2, "--out", place / "runs")
    library = {name for path in (SOURCE / "stdlib/tasks").glob("*.ltr")
               for name in re.findall(r"^model ([a-z]\w*)\(", path.read_text(), re.M)}
    check("there is a program for each model of std.tasks", {line.split()[0] for line in tasks} == library, library)
    result = does("an unknown task", "new", "y", "--task", "image-clasifier", exit_code=2)
    check("it names the near one", "did you mean `image_classifier`?" in result.text, result.text)

    pictures = folder / "image_classifier/data/photo_patches"
    does("new --data, beside the program", "new", "beside", "--task", "image-classifier", "--data", pictures)
    does("new --data", "new", "theirs/two", "--task", "image-classifier", "--data", pictures)
    written = (folder / "theirs/two.ltr").read_text()
    check("it reads that folder, copies nothing, and counts its classes",
          'path = "../image_classifier/data/photo_patches"' in written and "classes: int = 8" in written and
          not (folder / "theirs/data").exists(), written)
    does("check --data", "check", "theirs/two.ltr")
    does("data that are not there", "new", "theirs/three", "--task", "image-classifier", "--data", "nowhere", exit_code=2)

    does("new", "new", "x")
    written = (folder / "x.ltr").read_bytes()
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

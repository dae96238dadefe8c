#!/usr/bin/env python3
"""`sweep`: what the program says of one, the values of its trials, side by side and one after the other, a sweep that is killed and
goes on, trials that fail or are pruned, grids, other axes; the `fit` that it prints repeats the best trial.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import csv
import json
import math
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, run, scratch

PROGRAM = """ltr 1

hparam lr: float = 0.1 where lr > 0
hparam width: int = 4
hparam half: int = 2 where half * 2 <= width
hparam most: int = 6
hparam slow: bool = false

data Ones(size: int = 4) {
  batch[B] { x: float[B, 2] }
  train = range(8) |> map(row => (x = ones(2))) |> shuffle(1) |> collate(size)
  val = range(4) |> map(row => (x = ones(2))) |> collate(size)
}
model Net(lr: float, width: int) {
  net = [Linear(2, width), tanh, Linear(width, 1)]
  optimizer opt = SGD(net.weights, lr = lr)
  step train[B](x: float[B, 2]) { minimize mean(net(x) ** 2) }
  step val[B](x: float[B, 2]) { log loss = mean(net(x) ** 2) }
}
callback Slow(slow: bool) { on train_epoch_end { if slow { print "{sum(matmul(randn(900, 900), randn(900, 900)))}" } } }
experiment one {
  data = Ones(), model = Net(lr, width), trainer { epochs = 2, checkpoint = false }, callbacks { Slow(slow) }
  sweep { lr = log_uniform(1e-3, 1), width in [4, 8], trials = most, minimize = val.loss }
}
experiment pruned amends one {
  trainer { epochs = 40 }
  sweep { lr = uniform(0.01, 0.5), trials = 9, minimize = val.loss, prune = asha(max = 9 epochs, min = 1 epoch, eta = 3) }
}
experiment grid amends one { sweep { width in [2, 4], half in [1, 2], method = grid, minimize = val.loss } }
experiment bad amends one { sweep { lr in [0.1, 1e30], trials = 8, minimize = val.loss } }
experiment plain { data = Ones(), model = Net(lr, width), trainer { epochs = 1 } }
"""

with scratch() as place:
    folder = pathlib.Path(place)
    (folder / "sweeps.ltr").write_text(PROGRAM)
    program = build(folder / "sweeps.ltr", folder)

    def sweep(experiment, out, *options):
        return run(program, "sweep", experiment, "--out", folder / out, "--threads", 1, *options)

    def rows(experiment, out, number=1):
        with open(folder / out / experiment / f"sweep-{number:04}/results.csv") as file:
            return list(csv.DictReader(file))

    def drawn(table):
        return [(row["lr"], row["width"]) for row in table]

    def judged(row):
        return row["lr"], row["state"], row["epochs"], row["steps"]

    def shown(experiment, *options):
        result = run(program, "describe", experiment, *options)
        check(f"{experiment} is described", result.returncode == 0, result.text)
        return next((line for line in result.stdout.splitlines() if line.startswith("sweep")), "")

    said = shown("one", "--most", 30)
    check("axes and settings", said == "sweep  lr = log_uniform(low = 0.001, high = 1.0), width in [4, 8], trials = 30, minimize = val.loss", said)
    said = shown("grid")
    check("an amended one replaces them", said == "sweep  width in [2, 4], half in [1, 2], method = grid, minimize = val.loss", said)
    check("none, no line", shown("plain") == "")

    result = sweep("one", "a")
    table = rows("one", "a")
    check("a sweep ends", result.returncode == 0 and len(table) == 6, result.text)
    check("each trial is finished", {row["state"] for row in table} == {"finished"} and all(row["epochs"] == "2" for row in table), table)
    rates = [float(row["lr"]) for row in table]
    check("draws lie in their range and differ", all(1e-3 <= rate <= 1 for rate in rates) and len(set(rates)) == 6, rates)
    check("values come from the list", {row["width"] for row in table} == {"4", "8"}, table)
    best = min(table, key=lambda row: float(row["val/loss"]))
    check("the best is told", f"trial-{int(best['trial']):03}" in re.search(r"^best .*$", result.stdout, re.M)[0], result.text)
    again = shlex.split(re.search(r"again:  (.*)$", result.stdout, re.M)[1])
    repeated = run(program, *again[1:], "--out", folder / "again", "--json")
    events = [json.loads(line) for line in repeated.stdout.splitlines() if line.startswith("{")]
    losses = [event["values"]["val/loss"] for event in events if event["event"] == "round" and event["role"] == "val"]
    check("its fit gives the same", repeated.returncode == 0 and min(losses) == float(best["val/loss"]), (again, losses, best))
    check("the same draws side by side", sweep("one", "b", "--jobs", 3).returncode == 0 and drawn(rows("one", "b")) == drawn(table), rows("one", "b"))
    check("others with another seed", sweep("one", "c", "--seed", 5, "--trials", 2).returncode == 0 and
          not set(drawn(rows("one", "c"))) & set(drawn(table)) and len(rows("one", "c")) == 2, rows("one", "c"))
    result = sweep("one", "a", "--trials", 3)
    check("one that is done is begun anew, with the same first trials", drawn(rows("one", "a", 2)) == drawn(table)[:3], result.text)

    # Fifty trials leave their table and their runs, and nothing elsewhere.
    elsewhere = [folder / "here", folder / "temporary"]
    for one in elsewhere:
        one.mkdir()
    os.environ["TMPDIR"] = str(elsewhere[1])
    result = run(program, "sweep", "one", "--out", folder / "many", "--threads", 1, "--trials", 50, "--epochs", 1, "--jobs", 2, cwd=elsewhere[0], timeout=600)
    del os.environ["TMPDIR"]
    many, left = rows("one", "many"), folder / "many/one/sweep-0001"
    trials = {f"trial-{number:03}" for number in range(50)}
    check("fifty trials", result.returncode == 0 and len(many) == 50 and {row["state"] for row in many} == {"finished"}, result.text)
    check("leave the table and their runs", {path.name for path in left.iterdir()} == trials | {"results.csv", "sweep.json", "lock", "DONE"} and
          all({path.name for path in (left / trial).iterdir()} == {"one", "log.txt"} for trial in trials), sorted(path.name for path in left.iterdir()))
    check("and nothing elsewhere", not any(path for one in elsewhere for path in one.iterdir()), [list(one.iterdir()) for one in elsewhere])

    # Killed in the midst: what is finished is not repeated.
    words = [str(word) for word in (program, "sweep", "one", "--out", folder / "killed", "--threads", 1, "--json", "--slow", "true", "--epochs", 30)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    told = [json.loads(process.stdout.readline()) for _ in range(2)]
    process.kill()
    process.wait()
    process.stdout.close()
    before = {row["trial"]: row for row in rows("one", "killed") if row["state"] == "finished"}
    result = run(*words)
    after = rows("one", "killed")
    check("a killed sweep goes on", result.returncode == 0 and len(after) == 6 and drawn(after) == drawn(table), result.text)
    check("without repeating trials", len(before) >= 2 and all(row == before.get(row["trial"], row) for row in after) and
          len(list((folder / "killed/one/sweep-0001/trial-000/one").glob("0*"))) == 1, (told, before, after))
    again = sweep("grid", "g1", "--trials", 4)
    (folder / "g1/grid/sweep-0001/DONE").unlink()
    said = sweep("grid", "g1", "--trials", 4).stdout
    best = re.search(r"^best .*$", again.stdout, re.M)
    check("axes of a sweep that goes on are told in the order of the program", best and "width = " in best[0] and best[0] in said, again.text + said)
    process = subprocess.Popen(words[:4] + [str(folder / "stopped")] + words[5:], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    check("a signal is heard", process.wait(timeout=60) == 75 and "goes on" in process.stderr.read())

    result = sweep("pruned", "p")
    table = rows("pruned", "p")
    states = [row["state"] for row in table]
    check("trials that are worse end early", result.returncode == 0 and "pruned" in states and "finished" in states, table)
    # Killed before it heard of the round that ends a trial, whose run has gone on from there: it is judged there all the same.
    whole = folder / "p/pruned/sweep-0001"
    last = max(number for number, state in enumerate(states) if state == "pruned")
    (whole / "DONE").unlink()
    kept = json.loads((whole / "sweep.json").read_text())
    kept["trials"] = kept["trials"][:last + 1]
    for later in range(last + 1, len(states)):
        shutil.rmtree(whole / f"trial-{later:03}")
    kept["trials"][last].update(state="running", at_rungs=kept["trials"][last]["at_rungs"][:-1])
    (whole / "sweep.json").write_text(json.dumps(kept))
    result = sweep("pruned", "p")
    again = rows("pruned", "p")
    check("a round that a killed sweep did not hear of counts", result.returncode == 0
          and [judged(row) for row in again] == [judged(row) for row in table],
          (result.text, table, again))
    check("none goes beyond the most", max(float(row["epochs"]) for row in table) == 9 and
          all(float(row["epochs"]) < 9 for row in table if row["state"] == "pruned"), table)
    check("what is pruned has the figures of where it was judged, whenever it ended", all(
        float(row["epochs"]) in (1, 3) and int(row["steps"]) == 2 * float(row["epochs"]) for row in table if row["state"] == "pruned"), table)
    check("the first one meets nobody", states[0] == "finished", states)

    result = sweep("grid", "g", "--jobs", 2)
    cells = [(row["width"], row["half"], row["state"]) for row in rows("grid", "g")]
    check("a grid has all cells, but for those that rules refuse", result.returncode == 0 and cells ==
          [("2", "1", "finished"), ("", "", "refused"), ("4", "1", "finished"), ("4", "2", "finished")], (cells, result.text))
    result = sweep("bad", "f")
    table = rows("bad", "f")
    check("a trial that fails stops nothing", result.returncode == 0 and {row["state"] for row in table} == {"finished", "failed"} and
          all("R4" in row["reason"] for row in table if row["state"] == "failed"), table)
    result = sweep("bad", "n", "--over", "lr in [1e30]", "--trials", 2)
    check("where none finishes it says so", result.returncode == 1 and "R1013" in result.text and "log.txt" in result.text, result.text)

    result = sweep("one", "o", "--over", "lr=normal(0.2,0.01)", "--over", "width in [5]", "--trials", 4)
    table = rows("one", "o")
    check("other axes", result.returncode == 0 and {row["width"] for row in table} == {"5"} and
          all(abs(float(row["lr"]) - 0.2) < 0.1 for row in table) and not math.isclose(float(table[0]["lr"]), 0.2), table)
    for options, said in ((("--over", "lr=0.1"), "R2003"), (("--over", "width in [4, 0]"), "no trial can have width = 0"), (("--over", "rate=uniform(0,1)"), "R2002"), (("--over", "lr=uniform(2,1)"), "low < high"),
                          (("--over", "width=uniform(2,4)"), "R2003"), (("--over", "width in []"), "R2003"), (("--over", "lr=uniform(1)"), "R2003"),
                          (("--lr", "0.1"), "R2006"), (("--trials", "0"), "R2003"), (("--jobs", "x"), "R2003")):
        result = sweep("one", "refused", *options)
        check(f"{' '.join(options)} is refused", result.returncode == 2 and said in result.text, result.text)
    result = sweep("plain", "refused")
    check("no sweep", result.returncode == 2 and "R2006" in result.text and "has no sweep" in result.text, result.text)
finish()

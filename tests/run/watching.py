#!/usr/bin/env python3
"""Callbacks that look at the machine and at weights: `DeviceStats` in the journal, `Histograms` in TensorBoard's event file, at
their times, over a resume too; and a least value that is logged on step.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import csv
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, fit, newest, scratch

PROGRAM = """ltr 1

data Points() {
  batch[B] { x: float[B, 2] }
  train = range(40) |> map(row => (x = full(2, 1.0 * row.i))) |> collate(4)
}

model Net() {
  net  = [Linear(2, 3), tanh, Linear(3, 1)]
  least = MinMetric()
  most = MaxMetric()
  running = RunningMean(window = 3)
  optimizer opt = SGD(net.weights, lr = 0.01, momentum = 0.5, weight_decay = 0.25) {
    group "*.bias" { weight_decay = 0 }
  }
  other = Linear(2, 1)
  optimizer seldom = SGD(other.weights, lr = 0.01)
  step train[B](x: float[B, 2]) {
    if global_step % 2 == 1 { minimize mean(other(x * 0.01) ** 2) with seldom }
    minimize mean(net(x * 0.01) ** 2) with opt
    log least = least(mean(x)) on both
    log most = most(mean(x)) on step
    log running = running(mean(x)) on both
  }
}

experiment e {
  data = Points(), model = Net(), trainer { epochs = 4, log_every = 1 }
  callbacks { LrMonitor(momentum = true, weight_decay = true), DeviceStats(every = 1 ms), Histograms(what = "*.weight", every = 2 epochs), Checkpoint(every = 1 epoch, keep = 9) }
  loggers { Csv(), TensorBoard() }
}
"""


WANTED = {"weights/net.0.weight": 2, "gradients/net.2.weight": 2, "weights/net.0.bias": 0, "gradients/other.weight": 2}


def journal(run):
    return [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]


def tags(run):
    """How often each tag stands in the event files: names are written as they are."""
    text = b"".join(path.read_bytes() for path in sorted(run.glob("**/events.out.tfevents.*")))
    return {name: text.count(name.encode()) for name in WANTED}


with scratch() as name:
    folder = pathlib.Path(name)
    (folder / "e.ltr").write_text(PROGRAM)
    program = build(folder / "e.ltr", folder)
    done = fit(program, folder / "runs")
    run = newest(folder / "runs")
    check("the run ends well", done.returncode == 0, done.text)
    text = (run / "log.jsonl").read_text()
    for column in ("host/memory_bytes", "host/free_bytes", "host/cores_used", "disk/free_bytes"):
        check(f"{column} is in the journal", column in text)
    check("histograms of every second epoch, of what matches alone",
          tags(run) == WANTED, tags(run))
    with open(run / "metrics.csv") as file:
        rows = list(csv.DictReader(file))
    numbers = {"momentum/opt/*.bias": 0.5, "momentum/opt/rest": 0.5, "weight_decay/opt/*.bias": 0, "weight_decay/opt/rest": 0.25}
    check("momentum and weight decay of each group stand beside its rate", all(
        [float(row[name]) for row in rows if row.get("lr/opt/rest") and row[name]] == [value] * 40 for name, value in numbers.items()
        if name in rows[0]) and numbers.keys() <= rows[0].keys(), rows[:2])
    means = [4 * batch + 1.5 for batch in range(10)]
    steps = [row for row in rows if row["train/most"]]
    check("the least and the largest value of a step are those of its window",
          [float(row["train/least_step"]) for row in steps] == means * 4 and [float(row["train/most"]) for row in steps] == means * 4, rows)
    check("those of the epoch are its own", [float(row["train/least_epoch"]) for row in rows if row["train/least_epoch"]] == [1.5] * 4, rows)
    running = [sum(means[max(0, at - 2):at + 1]) / len(means[max(0, at - 2):at + 1]) for at in range(10)]
    check("a mean that runs goes on over windows", [float(row["train/running_step"]) for row in steps] == running * 4, rows)

    of_bins = lambda run, bins: b"".join(path.read_bytes() for path in run.glob("**/events.out.tfevents.*")).count(
        bytes((0x12, 2, 8, bins, 0x12, 2, 8, 3)))  # the shape [bins, 3] of a tensor
    few = fit(program, folder / "few", "--set", "callbacks.Histograms.bins=7")
    check("`bins` is how many there are", few.returncode == 0 and of_bins(newest(folder / "few"), 7) == of_bins(run, 30) > 0
          and of_bins(newest(folder / "few"), 30) == 0 == of_bins(run, 7), few.text)
    nothing = fit(program, folder / "nothing", "--set", "callbacks.Histograms.what=haed*")
    check("a pattern of histograms without weights is refused at start",
          nothing.returncode == 2 and 'Histograms: no weight lies at "haed*"' in nothing.text, nothing.text)
    both = fit(program, folder / "both", "--set", "trainer.accumulate=2", "--set", "trainer.global_batch=8")
    check("two settings of the batches of an update are refused at start",
          both.returncode == 2 and "accumulate follows from global_batch" in both.text, both.text)

    half = fit(program, folder / "half", "--epochs", 1)
    more = fit(program, folder / "half", "--resume", "last", "--epochs", 4)
    run = newest(folder / "half")
    check("a resume records no turn again", half.returncode == 0 and more.returncode == 0
          and tags(run) == WANTED, (tags(run), more.text))
finish()

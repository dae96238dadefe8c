#!/usr/bin/env python3
"""Metrics of several values: a series for each class, in every logger and in what is compared, watched by `val.recall[1]`; the
same over two ranks, and over a resume in the middle of an epoch.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import csv
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import LTRC, build, check, finish, fit, newest, result_of, run, scratch

CLASSES, BATCH, RECORDS, VAL = 4, 4, 24, 22
# What is predicted is in the data: the network gives next to nothing, and learns no more. Class 3 never occurs, and label -1 does not count.
PROGRAM = """ltr 1

hparam classes: int = 4 where classes > 0

metric Seen(classes: int) {
  state seen: i64[classes] = zeros(classes).to(i64) reduce sum
  let better = max
  fn update[B](label: i64[B]) { seen += one_hot(maximum(label, 0), classes).sum(0) }
  fn compute() -> i64[classes] = seen
}

data Rows(classes: int) {
  batch[B] { x: float[B, classes], y: i64[B] }
  fn row(r: {i: int}) -> {x: float[classes], y: int} = (x = one_hot(r.i * r.i % classes, classes).to(float), y = r.i % 3 - r.i % 2)
  train = range(24) |> map(row) |> collate(4)
  val = range(22) |> map(row) |> collate(4)
}

model Net(classes: int) {
  net = Linear(classes, classes)
  init "*" = zeros()
  recall = Recall(classes, average = none, ignore = -1)
  precision = Precision(classes, average = none, ignore = -1)
  area = AUROC(classes, average = none, ignore = -1)
  together = Recall(classes, ignore = -1)
  seen = Seen(classes)
  trained = Recall(classes, average = none, ignore = -1)
  optimizer opt = SGD(net.weights, lr = 1e-6)
  step train[B](x: float[B, classes], y: i64[B]) {
    logits = x + net(x)
    minimize mean(logits)
    log recall = trained(logits, y) on both
  }
  step val[B](x: float[B, classes], y: i64[B]) {
    logits = x + net(x)
    log recall = recall(logits, y)
    log precision = precision(logits, y)
    log area = area(logits, y)
    log mean = together(logits, y) bar
    log seen = seen(y)
  }
}

callback Tells() {
  on val_epoch_end { print "class 1: {metric(val.recall[1])}" }
}

experiment e {
  data = Rows(classes), model = Net(classes), trainer { epochs = 2, log_every = 1 }
  callbacks { Tells(), Checkpoint(monitor = val.recall[1], keep = 3), EarlyStop(monitor = val.seen[0], patience = 5) }
  loggers { Csv(), TensorBoard() }
}

experiment swept amends e { sweep { maximize = val.recall[1], classes in [4, 5], method = grid } }
"""


def rows_of(run_folder):
    with open(run_folder / "metrics.csv") as file:
        return list(csv.DictReader(file))


def records(numbers):
    """(predicted, label) as the program has them."""
    return [(i * i % CLASSES, i % 3 - i % 2) for i in numbers]


def recall(numbers):
    counted = [one for one in records(numbers) if one[1] >= 0]
    of = [[p for p, y in counted if y == c] for c in range(CLASSES)]
    return [one.count(c) / len(one) if one else 0.0 for c, one in enumerate(of)]


def precision(numbers):
    counted = [one for one in records(numbers) if one[1] >= 0]
    of = [[y for p, y in counted if p == c] for c in range(CLASSES)]
    return [one.count(c) / len(one) if one else 0.0 for c, one in enumerate(of)]


def values(row, name):
    return [float(row[f"{name}/{c}"]) for c in range(CLASSES)]


def is_near(ours, wanted, tolerance=1e-9):
    return len(ours) == len(wanted) and all(abs(a - b) <= tolerance for a, b in zip(ours, wanted))


def of_epochs(run_folder, name):
    return [values(row, name) for row in rows_of(run_folder) if row.get(f"{name}/0")]


with scratch() as name:
    folder = pathlib.Path(name)
    (folder / "e.ltr").write_text(PROGRAM)
    program = build(folder / "e.ltr", folder)
    done = fit(program, folder / "whole", "e")
    check("the run ends well", done.returncode == 0, done.text)
    whole = newest(folder / "whole")
    columns = list(rows_of(whole)[0])
    wanted = [f"train/recall_{when}/{c}" for when in ("step", "epoch") for c in range(CLASSES)]
    check("a column for each class, of steps and of epochs", [one for one in columns if one.startswith("train/recall")] == wanted, columns)
    check("and no column of the metric itself", "val/recall" not in columns and "val/mean" in columns, columns)
    check("each class of a round", is_near(of_epochs(whole, "val/recall")[0], recall(range(VAL))) and len(of_epochs(whole, "val/recall")) == 2,
          (of_epochs(whole, "val/recall"), recall(range(VAL))))
    check("one that never occurs and labels that do not count", is_near(of_epochs(whole, "val/precision")[1], precision(range(VAL))),
          (of_epochs(whole, "val/precision"), precision(range(VAL))))
    check("each class of an epoch of training", is_near(of_epochs(whole, "train/recall_epoch")[0], recall(range(RECORDS))),
          of_epochs(whole, "train/recall_epoch"))
    steps = of_epochs(whole, "train/recall_step")
    check("each class of a window", len(steps) == 12 and all(is_near(one, recall(range(4 * i, 4 * i + 4))) for i, one in enumerate(steps[:6])), steps)
    check("a metric of the program", of_epochs(whole, "val/seen")[0] == [float(sum(max(y, 0) == c for _, y in records(range(VAL)))) for c in range(CLASSES)],
          of_epochs(whole, "val/seen"))
    journal = (whole / "log.jsonl").read_text()
    check("in the journal", all(f'"val/recall/{c}":' in journal.replace(" ", "") for c in range(CLASSES)), journal)
    events = b"".join(path.read_bytes() for path in sorted(whole.glob("**/events.out.tfevents.*")))
    check("in TensorBoard's file", all(f"val/recall/{c}".encode() in events for c in range(CLASSES)))
    of_one = recall(range(VAL))[1]
    check("a hook reads a class", done.stdout.count(f"class 1: {of_one}"[:14]) == 2, done.text)
    check("a checkpoint is kept by a class", any(path.name.endswith(f"-val_recall_1={of_one:.4g}") for path in (whole / "checkpoints").iterdir()),
          list((whole / "checkpoints").iterdir()))
    check("people read them as a list", "val/recall [" in done.text and "best  val/recall/1 " in done.text, done.text)

    fit(program, folder / "other", "e", "--classes", 5)
    wide = rows_of(newest(folder / "other"))[0]
    check("how many there are is told by the model that is built", "val/recall/4" in wide and "val/recall/5" not in wide, list(wide))
    short = fit(program, folder / "short", "e", "--classes", 1)
    check("a class that is not there cannot be watched", short.returncode == 2 and "val.recall[1]" in short.text and "R2002" in short.text, short.text)

    compared = run(LTRC, "compare", whole, newest(folder / "other"))
    check("compared class by class", compared.returncode == 0 and "val/recall/1" in compared.stdout, compared.text)

    parts = folder / "parts"
    fit(program, parts, "e", "--steps", 9)
    resumed = fit(program, parts, "e", "--resume", newest(parts))
    check("a resume in the middle of an epoch", resumed.returncode == 0 and result_of(newest(parts)) == result_of(whole), resumed.text)

    ranks = fit(program, folder / "ranks", "e", "--nproc", 2, "--set", "trainer.log_every=1")
    check("two ranks end well", ranks.returncode == 0, ranks.text)
    two = newest(folder / "ranks")
    for series in ("val/recall", "val/precision", "val/area", "val/seen", "train/recall_epoch"):
        check(f"{series} of two ranks is that of one", len(of_epochs(two, series)) == 2 and
              all(is_near(a, b, 1e-12) for a, b in zip(of_epochs(two, series), of_epochs(whole, series))), (of_epochs(two, series), of_epochs(whole, series)))

    swept = run(program, "sweep", "swept", "--out", folder / "swept", "--no-bar", "--threads", 1)
    check("a sweep looks for the best of a class", swept.returncode == 0 and f"val/recall/1 {of_one:.4g}" in swept.text, swept.text)
finish()

#!/usr/bin/env python3
"""Params of steps that no field fills: their defaults, the flags of the verbs that run them, and runs that go on."""
import csv
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, run, scratch

PROGRAM = """ltr 1
data Points() {
  batch[B] { x: float[B, 2] }
  fn point(i: int) -> {x: float[2]} = (x = full(2, 1.0 * i))
  train = synthetic(8, point) |> collate(4)
  val = synthetic(4, point) |> collate(4)
  test = synthetic(4, point) |> collate(4)
}
block Net() {
  norm = BatchNorm1d(2)
  fn both[B](x: float[B, 2], y: float[B, 2] = x) -> float[B, 2] = x + y
  fn forward[B](x: float[B, 2]) -> float[B, 2] = both(norm(x))
}
model M() {
  net = Net()
  head = Linear(2, 1)
  optimizer opt = SGD([net.weights, head.weights], lr = 0.1)
  step train[B](x: float[B, 2], share: float = 0.5, how: one_of[plain, squared] = plain) {
    error = head(net(x)).mean()
    loss = if how == plain then error else error ** 2
    minimize loss * share
    log share
    log seen = net.norm.num_batches_tracked.to(f32)
  }
  step val[B](x: float[B, 2], share: float = 0.25, count: int = 3) {
    log got = share * count + 0 * x.mean()
  }
  step test = val
}
experiment e {
  data = Points()
  model = M()
  trainer { epochs = 2, log_every = 1 }
  callbacks { Checkpoint(every = 1 epoch) }
  loggers { Csv() }
}
"""

with scratch() as place:
    folder = pathlib.Path(place)
    source = folder / "params.ltr"
    source.write_text(PROGRAM)
    program = build(source, folder)
    out = folder / "runs"

    def values(number, series):
        with open(out / "e" / number / "metrics.csv") as file:
            return [float(row[series]) for row in csv.DictReader(file) if row.get(series)]

    for backend in ("torch", "native"):
        result = run(program, "fit", "--no-bar", "--out", out, "--backend", backend)
        check(f"defaults on {backend}", result.returncode == 0, result.text)
    result = run(program, "fit", "--no-bar", "--out", out, "--share", 2, "--how", "squared")
    check("flags", result.returncode == 0, result.text)
    check("defaults", values("0001", "train/share") == [0.5] * 4 and values("0001", "val/got") == [0.75, 0.75], values("0001", "val/got"))
    check("a batch is seen once", values("0001", "train/seen") == [1, 2, 3, 4], values("0001", "train/seen"))
    check("both back ends", values("0001", "val/got") == values("0002", "val/got") and values("0001", "train/seen") == values("0002", "train/seen"), values("0002", "train/seen"))
    check("flags reach each step that has them", values("0003", "train/share") == [2] * 4 and values("0003", "val/got") == [6, 6], values("0003", "val/got"))

    short = ("--no-bar", "--out", out, "--name", "short")
    run(program, "fit", *short, "--share", 2, "--set", "trainer.epochs=1")
    result = run(program, "fit", *short, "--resume", "last", "--share", 3)
    check("a run that goes on says what is new", result.returncode == 0 and "step train.share" in result.text, result.text)
    result = run(program, "validate", "--weights", "last", "--no-bar", "--out", out, "--count", 5)
    check("validate takes them", result.returncode == 0 and "1.25" in result.text, result.text)
    result = run(program, "test", "--weights", "last", "--no-bar", "--out", out, "--count", 7)
    check("test takes them", result.returncode == 0 and "1.75" in result.text, result.text)

    result = run(program, "test", "--weights", "last", "--no-bar", "--out", out, "--how", "squared")
    check("those of others are refused", result.returncode == 2 and "no option --how for test" in result.text and "it is given to step train" in result.text,
          result.text)
    result = run(program, "fit", "--no-bar", "--out", out, "--share", "much")
    check("what is no number", result.returncode == 2 and "params.ltr:18" in result.text, result.text)
    result = run(program, "fit", "--help")
    check("help", "parameters of step train" in result.text and "--share" in result.text and "--count" in result.text, result.text)

    # Of several experiments each has its own.
    several = folder / "several.ltr"
    other = PROGRAM[PROGRAM.index("model M"):].replace("model M(", "model Other(").replace("model = M()", "model = Other()").replace("experiment e ", "experiment f ")
    several.write_text(PROGRAM + other.replace("share: float = 0.5", "share: float = 0.75"))
    program = build(several, folder)
    told = {name: run(program, "fit", *name.split(), "--help").stdout for name in ("", "e", "f")}
    check("help of an experiment", "--share            float = 0.75" in told["f"] and "float = 0.75" not in told["e"] and told[""] == told["e"], told["f"])

    # A step that nothing feeds never runs, and needs nothing.
    alone = folder / "alone.ltr"
    alone.write_text(PROGRAM.replace("  val = synthetic(4, point) |> collate(4)\n", ""))
    result = run(build(alone, folder), "fit", "--no-bar", "--out", out)
    check("no stream to validate on", result.returncode == 0, result.text)

finish()

#!/usr/bin/env python3
"""What callbacks watch: every series that `check` names can be watched by a run, learning rates too; `SpikeGuard` warns, and
stops. What a run says of itself: shares of one whole, and the step of the weights that `validate` looks at.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import LTRC, build, check, finish, fit, newest, run, scratch

PROGRAM = """ltr 1

data Points() {
  batch[B] { x: float[B, 2] }
  fn far(s: {i: int}) -> {x: float[2]} = (x = full(2, if s.i == 29 then 1e3 else 1.0) + sum(randn(300, 300) @ randn(300, 300)) * 0)
  train = range(40) |> map(far) |> collate(4)
  val = range(8) |> map(far) |> collate(4)
}

model Net() {
  net = Linear(2, 1)
  optimizer opt = SGD(net.weights, lr = 0.1) { schedule = exponential(gamma = 0.5) }
  step train[B](x: float[B, 2]) {
    loss = mean(x ** 2) + 0.0 * mean(net(x))
    minimize loss
    log loss on both bar
    log size = mean(x) on step
  }
  step val[B](x: float[B, 2]) { log loss = mean(net(x) ** 2) }
}

callback Tell {
  on train_epoch_end { print "rate {metric(lr.opt):.4f}" }
  on val_batch_end { print "step {global_step} epoch {epoch}" }
}

experiment e {
  data = Points(), model = Net(), trainer { epochs = 3, log_every = 1, sanity_val = 0 }, loggers { Csv() }
  callbacks { CALLBACKS }
}
"""


# One stream of a role may have a name, and two branches may log one series.
NAMED = """ltr 1
data Points() {
  batch[B] { x: float[B, 2] }
  fn point(s: {i: int}) -> {x: float[2]} = (x = full(2, 1.0 * s.i))
  train = range(8) |> map(point) |> collate(4)
  val.clean = range(4) |> map(point) |> collate(2)
}
metric Seen() {
  state t: f64 = 0 reduce sum
  fn update[B](x: float[B], k: int) { t += x.sum().to(f64) * k }
  fn compute() -> f64 = t
}
model Net() {
  net = Linear(2, 1)
  seen = Seen()
  optimizer opt = SGD(net.weights, lr = 0.1) { schedule = plateau(monitor = val.clean.loss) }
  step train[B](x: float[B, 2]) { minimize mean(net(x) ** 2) }
  step val[B](x: float[B, 2]) {
    log loss = mean(net(x) ** 2)
    if batch_index == 0 { log seen = seen(x[:, 0], 1) } else { log seen = seen(x[:, 0], 10) }
    if batch_index == 0 { log size = x.mean() } else { log size = 3 * x.mean() }
  }
}
callback Tell { on val_epoch_end { print "loss {metric(val.clean.loss) > 0.0}" } }
experiment named {
  data = Points(), model = Net(), trainer { epochs = 1, sanity_val = 0 }, loggers { Csv() }
  callbacks { Tell(), Checkpoint(monitor = val.clean.loss), EarlyStop(monitor = val.clean.loss) }
}
"""

# What a window of several batches logs is joined as an epoch's is.
WINDOWS = """ltr 1
data Points() {
  batch[B] { x: float[B] }
  train = range(4) |> map(r => (x = 1.0 * r.i)) |> collate(1)
}
model Net() {
  weight w: float[] = ones()
  optimizer opt = SGD(w, lr = 0.001)
  step train[B](x: float[B]) {
    minimize mean(x) * w
    s = sum(x)
    log s reduce sum
    log top = s reduce max
    log low = s on both reduce min
    log all = s on both reduce sum
    log middle = s
  }
}
experiment windows { data = Points(), model = Net(), trainer { epochs = 1, log_every = 1, accumulate = 2 }, loggers { Csv() } }
"""


def prints(result):
    events = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    return [event["text"] for event in events if event["event"] == "print"]


with scratch() as place:
    folder = pathlib.Path(place)

    def fitted(name, callbacks, *options):
        (folder / f"{name}.ltr").write_text(PROGRAM.replace("CALLBACKS", callbacks))
        return fit(build(folder / f"{name}.ltr", folder), folder / f"{name}-runs", *options)

    (folder / "named.ltr").write_text(NAMED)
    result = fit(build(folder / "named.ltr", folder), folder / "named-runs")
    header, *rows = [line.split(",") for line in (newest(folder / "named-runs") / "metrics.csv").read_text().splitlines()]
    row = dict(zip(header, rows[-1]))
    check("one stream that has a name is called by it", result.returncode == 0 and "val/clean/loss" in row and "loss true" in result.text, result.text)
    check("two branches log one series", header.count("val/clean/seen") == 1 and float(row["val/clean/seen"]) == 1 + 50 and
          header.count("val/clean/size") == 1 and float(row["val/clean/size"]) == 4, header + rows[-1])

    (folder / "windows.ltr").write_text(WINDOWS)
    for backend in ("native", "torch"):
        out = folder / f"windows-{backend}"
        result = fit(build(folder / "windows.ltr", folder), out, "--backend", backend)
        header, *rows = [line.split(",") for line in (newest(out) / "metrics.csv").read_text().splitlines()]
        column = {name: [float(row[header.index(f"train/{name}")]) for row in rows if row[header.index(f"train/{name}")]]
                  for name in ("s", "top", "low_step", "low_epoch", "all_step", "all_epoch", "middle")}
        check(f"{backend}: windows are reduced as their epoch is", column == {
            "s": [1, 5], "top": [1, 3], "low_step": [0, 2], "low_epoch": [0], "all_step": [1, 5], "all_epoch": [6], "middle": [0.5, 2.5]}, column)

    (folder / "unknown.ltr").write_text(PROGRAM.replace("CALLBACKS", "EarlyStop(monitor = val.nothing)"))
    told = run(LTRC, "check", folder / "unknown.ltr").text
    named = re.search(r"logged are: (.*)", told)
    names = named.group(1).split(", ") if named else []
    check("check names all series", names == ["lr.opt", "train.loss", "train.size", "val.loss"], told)
    watched = ", ".join(f"EarlyStop(monitor = {name}, mode = min, patience = 99)" for name in names if name != "train.size")
    result = fitted("all", watched + ", SpikeGuard(of = train.size), Checkpoint(filename = \"at-{lr.opt:.4f}\", every = 1 epoch, keep = 9), Tell()", "--json")
    check("and a run takes each of them", result.returncode == 0, result.text)
    steps = [event["values"] for event in map(json.loads, result.stdout.splitlines()) if event["event"] == "step"]
    header, *rows = [line.split(",") for line in (newest(folder / "all-runs") / "metrics.csv").read_text().splitlines()]
    written = [float(row[header.index("train/loss_step")]) for row in rows if row[header.index("train/loss_step")]]
    check("a bar shows what each step had of a series of both", [step["train/loss_step"] for step in steps] == written and len(set(written)) > 1,
          (steps[:12], written[:12]))
    rates = [text for text in prints(result) if text.startswith("rate")]
    check("a hook reads the rate of the last update", rates == ["rate 0.1000", "rate 0.0500", "rate 0.0250"], rates)
    kept = sorted(path.name for path in (newest(folder / "all-runs") / "checkpoints").glob("at-*"))
    check("a checkpoint is named by it", kept == ["at-0.0250", "at-0.0500", "at-0.1000"], kept)

    result = fitted("rate", "EarlyStop(monitor = lr.opt, mode = min, threshold = 0.06)")
    check("training ends by a rate", "early stop: 20 steps, 2 epochs" in result.text and "lr.opt = 0.05 passed" in result.text, result.text)

    shares = re.search(r"train (\d+) %, val (\d+) %, data wait (\d+) %, checkpoints (\d+) %", result.text)
    parts = [int(part) for part in shares.groups()] if shares else []
    check("its time is told in shares of one whole", parts and sum(parts) <= 100 and parts[2] > 0, result.text)

    result = fitted("warns", "SpikeGuard(), Tell()")
    check("a spike is told of, once in each epoch", result.returncode == 0 and
          result.stderr.count("train.loss jumped to") == 3 and "step 8: train.loss jumped to 250001 from a mean of 1 over" in result.stderr, result.text)
    result = run(folder / "warns", "validate", "--out", folder / "warns-runs", "--json")
    check("validate is at the step of its weights", result.returncode == 0 and "step 30 epoch 2" in result.text, result.text)
    rounds = [json.loads(line) for line in result.stdout.splitlines() if '"event":"round"' in line]
    check("and says so in its events", [one["step"] for one in rounds] == [30], result.text)

    result = fitted("stops", "SpikeGuard(action = stop, window = 3, rtol = 100)")
    check("a spike ends training", "spike: 8 steps" in result.text and "step 8: train.loss jumped" in result.text, result.text)
    about = newest(folder / "stops-runs") / "faults/step0000008.json"
    check("its batch is kept", about.exists() and about.with_suffix(".safetensors").exists(), result.text)
    records = json.loads(about.read_text())["records"] if about.exists() else []
    check("with the records of two windows", len(records) == 8, records)
finish()

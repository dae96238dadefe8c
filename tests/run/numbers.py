#!/usr/bin/env python3
"""Wrong numbers without a word: gradients that are not finite, narrow copies of weights, schedules, logs of rounds, changed
data, random hooks over a resume, and checkpoints of an older version."""
import csv
import json
import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import SOURCE, build, check, finish, fit, newest, result_of, run, scratch

HEAD = """ltr 1
data Points() {
  batch[B] { x: float[B, 3], y: float[B, 1] }
  fn point(s: {i: int}) -> {x: float[3], y: float[1]} = (x = full(3, 0.1 * s.i), y = full(1, 0.2 * s.i))
  train = synthetic(16, point) |> collate(4)
  val.low  = synthetic(8, point) |> collate(4)
  val.high = synthetic(4, point) |> collate(4)
}
"""

# The square root of 0 has the gradient infinity, times 0 is nan: the loss is finite, its gradient is not.
ROOT = HEAD + """
model Net() {
  net = Linear(3, 1)
  optimizer opt = SGD(net.weights, lr = 0.1) { clip_norm = 1.0 }
  step train[B](x: float[B, 3], y: float[B, 1]) {
    loss = mean(sqrt(relu(net(x)) * 0.0))
    minimize loss
    log loss
  }
}
experiment root { data = Points()
  model = Net()
  trainer { epochs = 2, log_every = 1 } }
"""

# Beside it a nan that a mask takes away, and one that the slope of `norm` takes away itself, which is met first.
MASKED = ROOT.replace("root", "masked").replace("loss = mean(sqrt(relu(net(x)) * 0.0))", """bad = mean(sqrt(relu(net(x)) * 0.0))
    loss = bad + sum(where(x > 1e9, log(-relu(net(x)) - 1.0).expand(B, 3), 0.0)) + norm(net(x) * 0.0)""")

# The second use of the weights comes after their update.
TWICE = HEAD + """
model Net() {
  net = Linear(3, 1)
  optimizer opt = SGD(net.weights, lr = 0.5)
  step train[B](x: float[B, 3], y: float[B, 1]) {
    before = mean(net(x))
    minimize mean((net(x) - y) ** 2)
    log moved = mean(net(x)) - before
  }
}
topology narrow { precision = bf16 }
experiment twice { data = Points()
  model = Net()
  topology = narrow
  trainer { epochs = 1, log_every = 1 }
  loggers { Csv() } }
"""

# The loss grows: plateau lowers the rate at every round.
CHAIN = HEAD + """
model Net() {
  net = Linear(3, 1)
  optimizer opt = SGD(net.weights, lr = 1.0) {
    schedule = chain(constant(), plateau(val.low.worse, mode = min, factor = 0.5, patience = 0))
  }
  step train[B](x: float[B, 3], y: float[B, 1]) { minimize mean((net(x) - y) ** 2) * 0.0 }
  step val[B](x: float[B, 3], y: float[B, 1]) { log worse = 1.0 + 0.0 * mean(x) }
}
callback Rounds() {
  state count: int = 0
  on val_epoch_end {
    count += 1
    log rounds = 1.0 * count
  }
  on train_epoch_end { log noise = mean(randn(8)) }
}
experiment chained { data = Points()
  model = Net()
  trainer { epochs = 4, log_every = 1 }
  callbacks { Rounds(), Checkpoint(every = 1 epoch, keep = 9) }
  loggers { Csv() } }
"""

FILE = """ltr 1
data Rows() {
  batch[B] { x: float[B], y: float[B] }
  let rows = csv("rows.csv") as {x: float, y: float}
  train = rows |> collate(2)
}
model Net() {
  net = Linear(1, 1)
  optimizer opt = SGD(net.weights, lr = 0.01)
  step train[B](x: float[B], y: float[B]) { minimize mean((net(x.unsqueeze(1)).squeeze(1) - y) ** 2) }
}
experiment rows { data = Rows()
  model = Net()
  trainer { epochs = 2 } }
"""


def rows_of(folder):
    return list(csv.DictReader((folder / "metrics.csv").open()))


def made(folder, name, text):
    source = folder / f"{name}.ltr"
    source.write_text(text)
    return build(source, folder)


def gradients(folder):
    program = made(folder, "root", ROOT)
    stop = fit(program, folder / "stop")
    check("stop: a nan gradient under a finite loss ends with 4", stop.returncode == 4 and "R4002" in stop.text, stop.text)
    check("stop: the step under way is counted from 1", "not finite at step 1\n" in stop.text, stop.text)
    skip = fit(program, folder / "skip", "--set", "trainer.nan=skip")
    check("skip: its update is dropped", skip.returncode == 0 and "8 updates skipped" in skip.text, skip.text)
    last = (newest(folder / "skip") / "checkpoints/last/weights.safetensors").read_bytes()
    check("skip: the weights are what they were", last.count(b"\xc0\x7f") == 0, last)
    others = made(folder, "masked", MASKED)
    for name, options in (("raise", ["trainer.nan=raise"]), ("anomaly", ["trainer.anomaly=true"])):
        words = [word for option in options for word in ("--set", option)]
        result = fit(program, folder / name, *words)
        check(f"{name} names the line and the op", result.returncode == 4 and "root.ltr:14:" in result.text
              and "makes the first nan here, in the backward pass" in result.text, result.text)
        masked = fit(others, folder / f"masked-{name}", *words)
        check(f"{name} does not name what a mask takes away", masked.returncode == 4 and "masked.ltr:14:" in masked.text
              and "aten::" in masked.text and "in the backward pass" in masked.text, masked.text)
        faults = sorted(path.name for path in (newest(folder / name) / "faults").glob("*"))
        check(f"{name} keeps the batch", faults == ["step0000001.json", "step0000001.safetensors"], faults)


def narrow(folder):
    program = made(folder, "twice", TWICE)
    result = fit(program, folder / "narrow")
    moved = [float(row["train/moved"]) for row in rows_of(newest(folder / "narrow"))] if result.returncode == 0 else []
    check("bf16: a weight that moved is read anew in the same step", moved and abs(moved[0]) > 1e-3, result.text + str(moved))


def schedules(folder):
    program = made(folder, "chained", CHAIN)
    result = fit(program, folder / "whole")
    if not check("a chain of constant and plateau trains", result.returncode == 0, result.text):
        return
    whole = newest(folder / "whole")
    rows = rows_of(whole)
    rates = [float(row["lr/opt"]) for row in rows if row["lr/opt"]]
    check("plateau in a chain lowers the rate", rates[0] == 1.0 and rates[-1] < 1.0, rates)
    rounds = [row["val/rounds"] for row in rows if row.get("val/rounds")]
    check("what val_epoch_end logs is recorded, once for all streams", rounds == ["1", "2", "3", "4"], rounds)
    validated = run(program, "validate", "--threads", 1, "--out", folder / "whole", "--json")
    values = json.loads(validated.stdout.splitlines()[-1]).get("values") if validated.returncode == 0 else None
    check("validate says it, too, of several streams", values == {"rounds": 1}, validated.text)
    noise = [row["train/noise"] for row in rows if row.get("train/noise")]
    check("a random hook draws anew each epoch", len(set(noise)) == 4, noise)
    part = folder / "part"
    shutil.copytree(folder / "whole", part)
    middle = newest(part) / "checkpoints/step0000008"
    again = fit(program, part, "--resume", middle)
    check("a resumed run goes on with its hooks and rates", again.returncode == 0 and result_of(newest(part)) == result_of(whole),
          again.text + (newest(part) / "metrics.csv").read_text() + (whole / "metrics.csv").read_text())


def changed_data(folder):
    lines = ["x,y"] + [f"{i},{2 * i}" for i in range(8)]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    program = made(folder, "rows", FILE)
    check("rows train", fit(program, folder / "rows_runs").returncode == 0)
    lines[3] = "2,5"
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    words = ["--resume", "last", "--epochs", 4]
    refused = fit(program, folder / "rows_runs", *words)
    check("an edited line is R3006", refused.returncode == 3 and "R3006" in refused.text and "rows.csv" in refused.text, refused.text)
    accepted = fit(program, folder / "rows_runs", *words, "--accept-data")
    check("--accept-data goes on and says so", accepted.returncode == 0 and "changed data" in accepted.text, accepted.text)
    texts = folder / "texts"
    texts.mkdir()
    lines = {"1.txt": "one\ntwo\n", "2.txt": "three\nfour\n"}

    def write():
        for name, text in lines.items():
            (texts / name).write_text(text)

    write()
    program = made(folder, "texts_program", FILE.replace('csv("rows.csv") as {x: float, y: float}', 'text_lines("texts/*.txt") |> map(ones)')
                   .replace("  let rows", "  fn ones(r: {text: str}) -> {x: float, y: float} = (x = 1.0, y = 1.0)\n  let rows"))
    check("texts train", fit(program, folder / "text_runs").returncode == 0)

    def refused_for(title, *names):
        result = fit(program, folder / "text_runs", "--resume", "last", "--epochs", 4)
        check(title, result.returncode == 3 and "R3006" in result.text and all(name in result.text for name in names), result.text)
        write()

    (texts / "1.txt").write_text(lines["2.txt"])
    (texts / "2.txt").write_text(lines["1.txt"])
    refused_for("two files in each other's place are R3006", "1.txt", "2.txt")
    (texts / "2.txt").unlink()
    refused_for("a file that is gone is R3006", "2.txt")
    check("and as they were they are not", fit(program, folder / "text_runs", "--resume", "last", "--epochs", 4).returncode == 0)


def older_version(folder):
    """A checkpoint of version 1 keeps everything that it held."""
    stored = SOURCE / "tests/checkpoints/v1"
    shutil.copy(stored / "old.ltr", folder)
    shutil.copy(SOURCE / "examples/data/iris.csv", folder)
    program = build(folder / "old.ltr", folder)
    old = folder / "old_runs/old/0001"
    (old / "checkpoints").mkdir(parents=True)
    (old / "run.json").write_text("{}")
    shutil.copytree(stored / "step0000007", old / "checkpoints/step0000007")
    result = fit(program, folder / "old_runs", "--resume", old / "checkpoints/step0000007")
    steps = [int(row["step"]) for row in rows_of(old)] if result.returncode == 0 else []
    check("a run goes on from version 1", steps[:1] == [8] and steps[-1:] == [16], result.text + str(steps))
    state = json.loads((old / "checkpoints/step0000016/checkpoint.json").read_text())
    check("with the states of its callbacks", state["callbacks"]["Counts#0"]["state"]["seen"] == 32, state["callbacks"])
    check("and its averages", state["callbacks"]["Ema#0"]["updates"] == 16, state["callbacks"])
    check("without a word of loss", not re.search(r"has no state|begins anew|initial value", result.text), result.text)


AVERAGED = HEAD + """
model Net() {
  net = Linear(3, 1)
  optimizer opt = SGD(net.weights, lr = 0.05)
  step train[B](x: float[B, 3], y: float[B, 1]) { minimize mean((net(x) - y) ** 2) }
  step val[B](x: float[B, 3], y: float[B, 1]) { log error = mean((net(x) - y) ** 2) }
}
experiment averaged { data = Points()
  model = Net()
  trainer { epochs = 3, accumulate = 2, steps_per_epoch = 2 }
  callbacks { Ema(decay = 0.9), Checkpoint(monitor = val.low.error, weights_only = true, save_last = false) }
  loggers { Csv() } }
"""


def averages(folder):
    """What was monitored was computed with the averages: a checkpoint of weights only holds them."""
    program = made(folder, "averaged", AVERAGED)
    result = fit(program, folder / "averaged_runs")
    check("accumulate counts in what the start says of the stream", "4 batches" in result.text and "6 steps" in result.text,
          result.text)
    best = newest(folder / "averaged_runs") / "checkpoints/best"
    validated = run(program, "validate", "--threads", 1, "--out", folder / "averaged_runs", "--weights", best, "--json")
    events = [json.loads(line) for line in validated.stdout.splitlines()]
    check("--json: the last event is the result", [one["event"] for one in events] == ["round", "end"] and events[-1]["verb"] == "validate"
          and events[-1]["step"] == events[0]["step"], validated.text)
    values = events[-1]["streams"][0]["values"] if validated.returncode == 0 else {}
    logged = min(float(row["val/low/error"]) for row in rows_of(newest(folder / "averaged_runs")) if row["val/low/error"])
    check("weights only are evaluated as they were monitored", values.get("error") == logged, f"{values} {logged}\n{validated.text}")


SIZES = """ltr 1
data Points() {
  batch[B] { x: float[B, 1] }
  fn point(s: {i: int}) -> {x: float[1]} = (x = full(1, 0.1 * s.i))
  train = synthetic(10, point) |> collate(4)
  val = synthetic(8, point) |> collate(4)
}
model Net() {
  net = Linear(1, 1)
  optimizer opt = SGD(net.weights, lr = 0.1)
  step train[B](x: float[B, 1]) { minimize mean(net(x) ** 2) }
  step val[B](x: float[B, 1]) {
    log level = mean(x)
    if FAILS { print "{1 % (batch_index * 0)}" }
  }
}
callback Sizes() {
  on train_batch_start { log size = 1.0 * batch_size }
  on failure { print "the failure was seen" }
}
experiment sizes { data = Points()
  model = Net()
  trainer { epochs = 2, log_every = 1 }
  callbacks { Sizes() }
  loggers { Csv() } }
"""


PICTURES = HEAD + """
model Net() {
  net = Linear(3, 1)
  optimizer opt = SGD(net.weights, lr = 0.01)
  step train[B](x: float[B, 3], y: float[B, 1]) { minimize mse(net(x), y) }
  step val[B](x: float[B, 3], y: float[B, 1]) { log loss = mse(net(x), y) }
}
callback Pictures() for Net {
  on val_batch_end { log image noise = rand(3, 1, 8, 8) }
}
experiment pictures { data = Points()
  model = Net()
  trainer { epochs = 2, sanity_val = 2 }
  callbacks { Pictures() }
  loggers { TensorBoard() } }
"""


MEASURED = HEAD.replace("y: float[B, 1]", "y: i64[B]").replace("y: float[1]", "y: i64[]").replace("full(1, 0.2 * s.i)", "s.i % 3") + """
model Net() {
  net = Linear(3, 3)
  accuracy = Accuracy(3)
  spread = MeanMetric()
  optimizer opt = SGD(net.weights, lr = 0.1)
  step train[B](x: float[B, 3], y: i64[B]) {
    loss = cross_entropy(net(x), y)
    minimize loss
    log loss
  }
  step val[B](x: float[B, 3], y: i64[B]) {
    logits = if batch_index == BAD then net(x) / 0.0 * 0.0 else net(x)
    log acc = accuracy(logits, y)
    log mean = spread(logits)
  }
}
experiment measured { data = Points()
  model = Net()
  trainer { epochs = 2, sanity_val = 2 } }
"""


def measured(folder):
    """Counts and comparisons make a number of nan: that a metric was given some is said once a round."""
    program = made(folder, "measured", MEASURED.replace("BAD", "1"))
    result = fit(program, folder / "measured-runs")
    words = "val.low: the metric {} was given numbers that are not finite (batch_index 1): its value cannot be trusted"
    for metric in ("accuracy", "spread"):
        check(f"nan in {metric} is said once a round", result.returncode == 0 and result.stderr.count(words.format(metric)) == 2
              and "val.high: the metric" not in result.stderr, result.text)
    result = run(program, "validate", "--threads", 1, "--out", folder / "measured-runs")
    check("and by validate", result.returncode == 0 and result.stderr.count(words.format("accuracy")) == 1, result.text)
    result = fit(made(folder, "sound", MEASURED.replace("BAD", "9")), folder / "sound-runs")
    check("nothing is said of sound numbers", result.returncode == 0 and "was given" not in result.text, result.text)


def image_steps(file):
    """The steps of the pictures in an event file: records are length, its sum, event, its sum; field 2 is the step."""
    data, steps, at = file.read_bytes(), [], 0
    while at < len(data):
        length = int.from_bytes(data[at:at + 8], "little")
        event = data[at + 12:at + 12 + length]
        at += 16 + length
        if b"\x89PNG" in event:
            steps.append(event[10] if event[9] == 0x10 else 0)
    return steps


def pictures(folder):
    result = fit(made(folder, "pictures", PICTURES), folder / "pictures-runs")
    check("pictures train", result.returncode == 0, result.text)
    steps = image_steps(next(newest(folder / "pictures-runs").glob("events.*")))
    check("one picture for each round, none of the sanity round", steps == [4, 8], steps)


def hooks(folder):
    program = made(folder, "sizes", SIZES.replace("FAILS", "false"))
    result = fit(program, folder / "sizes_runs")
    rows = rows_of(newest(folder / "sizes_runs")) if result.returncode == 0 else []
    sizes = [row["train/size"] for row in rows]
    check("train_batch_start knows the size of its batch", sizes == ["4", "4", "2"] * 2, f"{sizes}\n{result.text}")
    failing = made(folder, "failing", SIZES.replace("FAILS", "true"))
    result = fit(failing, folder / "failing_runs")
    check("an error of the sanity round reaches the hook `failure`", result.returncode == 2 and "the failure was seen" in result.text,
          result.text)


with scratch() as place:
    folder = pathlib.Path(place)
    hooks(folder)
    pictures(folder)
    measured(folder)
    gradients(folder)
    narrow(folder)
    schedules(folder)
    averages(folder)
    changed_data(folder)
    older_version(folder)
finish()

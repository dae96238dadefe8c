#!/usr/bin/env python3
"""`Swa`: the weights of each late epoch are in a plain mean, whose batch norms have seen the train stream; rounds and `validate` use it, and
`--raw` the weights; a run that stops goes on to the same bits, also where the signal cuts off what norms see; on both back ends. What could
not average anything is refused. And the buffers of `Ema`.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these. The numbers are compared with PyTorch's in
tests/parity/swa.py.
"""
import csv
import json
import pathlib
import re
import signal
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, fit, interrupt, newest, result_of, run, scratch

PROGRAM = """ltr 1

data Points() {{
  batch[B] {{ x: float[B, 4], y: float[B, 2] }}
  fn point(row: {{i: int}}) -> {{x: float[4], y: float[2]}} = (x = randn(4) * 2 + 1, y = ones(2) * row.i / 64.0)
  train = range(72) |> map(point) |> shuffle(1) |> collate(8)
  val = range(16) |> map(point) |> collate(8)
}}

model Net() {{
  net = [Linear(4, 8), {norm}relu, Linear(8, 2)]
  seen = Accuracy(2)
  buffer steps: i64 = full(0)
  optimizer opt = SGD(net.weights, lr = 0.1, momentum = 0.9) {{ schedule = cosine(total = 72 steps) }}
  step train[B](x: float[B, 4], y: float[B, 2]) {{
    guess = net(dropout(x, 0.1))
    loss = mean((guess - y) ** 2)
    steps = steps + 1
    minimize loss
    log loss on both
    log hits = seen(guess, argmax(y, 1))
  }}
  step val[B](x: float[B, 4], y: float[B, 2]) {{ log loss = mean((net(x) - y) ** 2) }}
}}

experiment e {{
  data = Points(), model = Net()
  trainer {{ epochs = 8, log_every = 1, val_every = {every} }}
  callbacks {{ {swa}, Checkpoint(every = 1 epoch, keep = 9, filename = "after-{{epoch}}") }}
  loggers {{ Csv() }}
}}
"""

# Each update is the rate.
RATES = """ltr 1
data Ones() {
  batch[B] { x: float[B] }
  train = range(8) |> map(row => (x = 1.0)) |> collate(2)
}
block Single() { weight w: float[] = zeros() }
model Rates() {
  net = Single()
  other = Single()
  optimizer opt = SGD([net.weights, other.weights], lr = 0.1) { group "other.*" { lr = 0.2 } }
  step train[B](x: float[B]) {
    before = stop_grad(net.w) * 1.0
    other_before = stop_grad(other.w) * 1.0
    minimize mean((net.w + other.w) * x)
    log used = before - stop_grad(net.w)
    log used_other = other_before - stop_grad(other.w)
  }
}
experiment rates {
  data = Ones(), model = Rates()
  trainer { epochs = 3, log_every = 1 }
  callbacks { Swa(lr = 0.02, start = 0.3, anneal = 4 steps, strategy = linear), LrMonitor() }
}
"""


def tensors(file):
    """Name to type and bytes."""
    content = file.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    found = json.loads(content[8:8 + length])
    found.pop("__metadata__", None)
    return {name: (one["dtype"], content[8 + length + one["data_offsets"][0]:8 + length + one["data_offsets"][1]]) for name, one in found.items()}


def floats(tensor):
    return struct.unpack(f"<{len(tensor[1]) // 4}f", tensor[1])


def column(run_folder, name):
    with open(run_folder / "metrics.csv") as file:
        return [float(row[name]) for row in csv.DictReader(file) if row[name]]


with scratch() as place:
    folder = pathlib.Path(place)

    def built(name, swa, norm="BatchNorm1d(8), ", every="1 epoch"):
        (folder / f"{name}.ltr").write_text(PROGRAM.format(swa=swa, norm=norm, every=every))
        return build(folder / f"{name}.ltr", folder)

    SWA = "Swa(lr = 0.05, start = 0.5, anneal = 2 epochs)"
    program = built("swa", SWA)
    rarely = built("rarely", SWA, every="3 epochs")
    plain = built("plain", SWA, norm="")
    without = built("without", "Timer()")
    # The train stream goes by twice in an epoch, of which the second time is the round's.
    long = PROGRAM.format(swa="Swa(lr = 0.05, start = 0.1, anneal = 1 epochs)", norm="BatchNorm1d(8), ", every="1 epoch")
    (folder / "timed.ltr").write_text(long.replace("range(72)", "range(4000)").replace("row.i / 64.0", "row.i / 4000.0"))
    result = fit(build(folder / "timed.ltr", folder), folder / "timed-runs")
    shares = [int(share) for share in re.findall(r"(?:train|val|data wait|checkpoints) (\d+) %", result.text)]
    check("what takes time is counted once", result.returncode == 0 and len(shares) == 4 and sum(shares) <= 100 and shares[0] > 0, result.text)

    # The rate that a row has is that of its step, also where a callback sets that of the next one.
    source = folder / "rates.ltr"
    source.write_text(RATES)
    result = fit(build(source, folder), folder / "rates-runs")
    rows = [json.loads(line)["values"] for line in (newest(folder / "rates-runs") / "log.jsonl").read_text().splitlines() if '"metrics"' in line]
    told = [row for row in rows if "train/used" in row]
    check("the rate of a row is that of its step, of all groups", result.returncode == 0 and len(told) == 12 and told[-1]["lr/opt"] == 0.02
          and all(row["lr/opt"] == row["lr/opt/rest"] and abs(row["lr/opt"] - row["train/used"]) < 1e-6
                  and abs(row["lr/opt/other.*"] - row["train/used_other"]) < 1e-6 for row in told), (told, result.text))

    # `Ema` at the end of each epoch: float buffers are averaged like the weights, or are those of training; whole numbers always are.
    for name, call in {"average": "Ema(decay = 0.8, every = 9 steps)", "copy": "Ema(decay = 0.8, every = 9 steps, buffers = copy)"}.items():
        result = fit(built(f"ema_{name}", call), folder / f"ema-{name}")
        of_run = newest(folder / f"ema-{name}")
        weights = [tensors(of_run / f"checkpoints/after-{epoch}/weights.safetensors") for epoch in range(8)]
        averages = tensors(of_run / "checkpoints/after-7/averages.safetensors")
        means = dict.fromkeys(("net.3.weight", "net.1.running_mean"), None)
        for tensor, mean in means.items():
            for one in weights:
                mean = list(floats(one[tensor])) if mean is None else [0.8 * old + 0.2 * new for old, new in zip(mean, floats(one[tensor]))]
            means[tensor] = mean
        if name == "copy":
            means["net.1.running_mean"] = floats(weights[7]["net.1.running_mean"])
        check(f"Ema, buffers = {name}", result.returncode == 0 and all(abs(a - b) < 1e-6 for tensor, mean in means.items() for a, b in zip(floats(averages[tensor]), mean))
              and averages["steps"] == weights[7]["steps"] and averages["net.1.num_batches_tracked"] == weights[7]["net.1.num_batches_tracked"], (means, result.text))

    for backend in ("native", "torch"):
        options = ("--backend", backend)
        out = folder / backend
        result = fit(program, out / "whole", *options)
        check(f"{backend}: trains", result.returncode == 0, result.text)
        whole = newest(out / "whole")
        weights = [tensors(whole / f"checkpoints/after-{epoch}/weights.safetensors") for epoch in range(8)]
        averages = tensors(whole / "checkpoints/after-7/averages.safetensors")
        check(f"{backend}: no average before its start", not (whole / "checkpoints/after-3/averages.safetensors").exists())
        wanted = [sum(values) / 4 for values in zip(*(floats(one["net.3.weight"]) for one in weights[4:]))]
        check(f"{backend}: the mean of the last epochs", all(abs(a - b) < 1e-6 for a, b in zip(floats(averages["net.3.weight"]), wanted)), wanted)
        check(f"{backend}: norms have seen the stream", averages["net.1.running_mean"] != weights[7]["net.1.running_mean"]
              and averages["net.1.num_batches_tracked"][1] == struct.pack("<q", 9), averages["net.1.num_batches_tracked"])
        check(f"{backend}: other buffers are those of training", averages["steps"] == weights[7]["steps"] and weights[7]["steps"][1] == struct.pack("<q", 72))
        rates = column(whole, "lr/opt")
        check(f"{backend}: the rate goes to its own", abs(rates[36] - rates[40]) < 1e-12 and abs(rates[45] - (rates[36] + 0.05) / 2) < 1e-9
              and rates[54:] == [0.05] * 18, rates[30:])

        result = run(program, "validate", "--out", out / "whole", "--weights", "last")
        raw = run(program, "validate", "--out", out / "whole", "--weights", "last", "--raw")
        loss, raw_loss = (json.loads(file.read_text())["streams"][0]["values"]["loss"] for file in sorted((whole / "eval").glob("*.json")))
        check(f"{backend}: rounds and `validate` use the averages", abs(loss - column(whole, "val/loss")[-1]) < 1e-6, (loss, column(whole, "val/loss")))
        check(f"{backend}: `--raw` does not", loss != raw_loss, (loss, raw_loss))

        undisturbed = fit(without, out / "without", *options)
        same = [tensors(newest(out / "without") / f"checkpoints/after-{epoch}/weights.safetensors") == weights[epoch] for epoch in range(4)]
        check(f"{backend}: before its start nothing is other than without it", undisturbed.returncode == 0 and all(same), undisturbed.text)

        for step in (40, 63, 72):
            code, text = interrupt(program, out / f"stopped{step}", step, signal.SIGTERM, *options)
            again = fit(program, out / f"stopped{step}", "--resume", "last", *options) if code == 75 else None
            own = newest(out / f"stopped{step}")
            check(f"{backend}: stops at step {step} and goes on to the same bits",
                  (again is None and code == 0) or (again.returncode == 0 and result_of(own) == result_of(whole)
                                                    and tensors(own / "checkpoints/last/averages.safetensors") == averages), text if again is None else again.text)

        result = fit(rarely, out / "rarely", *options)
        found = tensors(newest(out / "rarely") / "checkpoints/after-7/averages.safetensors")
        check(f"{backend}: norms are right without a round, too", result.returncode == 0 and found == averages, result.text)

        result = fit(plain, out / "plain", *options)
        check(f"{backend}: a model without norms", result.returncode == 0 and (newest(out / "plain") / "checkpoints/last/averages.safetensors").exists(), result.text)

    # A start in epochs or steps is that of the part that they are.
    whole = newest(folder / "native/whole")
    for start in ("4 epochs", "36 steps", "28 steps"):
        result = fit(program, folder / "starts", "--backend", "native", "--set", f"callbacks.Swa.start={start}")
        check(f"a start behind {start}", result.returncode == 0 and result_of(newest(folder / "starts")) == result_of(whole), result.text)
    counted = fit(built("counted", SWA.replace("0.5", "4 epochs")), folder / "written", "--backend", "native")
    check("as a program says it", counted.returncode == 0 and result_of(newest(folder / "written")) == result_of(whole), counted.text)
    for title, options, says in (
            ("no epoch behind the start", ("--set", "callbacks.Swa.start=0.99"), "Swa would average nothing"),
            ("a start at the end", ("--set", "callbacks.Swa.start=1"), "start < 1"),
            ("a start behind the last epoch", ("--set", "callbacks.Swa.start=8 epochs"), "no epoch begins behind 8 epochs"),
            ("a start in seconds", ("--set", "callbacks.Swa.start=10 s"), "a part of training, epochs or steps"),
            ("a start of no kind", ("--set", "callbacks.Swa.start=late"), "a finite number or a count with a unit"),
            ("a rate of 0", ("--set", "callbacks.Swa.lr=0"), "lr > 0"),
            ("an anneal in seconds", ("--set", "callbacks.Swa.anneal=10 s"), "steps or epochs")):
        refused = fit(program, folder / "refused", *options)
        check(f"{title} is refused at start", refused.returncode == 2 and says in refused.text, refused.text)
    timed = fit(program, folder / "refused", "--set", "trainer.epochs=none", "--max-time", "1 s")
    check("a training of unknown length is refused", timed.returncode == 2 and "length is not known" in timed.text, timed.text)
    timed = fit(program, folder / "by-time", "--set", "trainer.epochs=none", "--max-time", "2 s", "--set", "callbacks.Swa.start=1 epoch")
    check("unless it is said after how many epochs", timed.returncode == 0 and (newest(folder / "by-time") / "checkpoints/last/averages.safetensors").exists(), timed.text)

finish()

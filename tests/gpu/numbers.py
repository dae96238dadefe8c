#!/usr/bin/env python3
"""Numbers that are not finite on a GPU, where the host learns of them late: updates held back under every optimizer, runs that stop,
the operation named, the loss scale of f16, masks of dropout. Skipped where there is no GPU.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import concurrent.futures
import json
import math
import os
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "run/support"))
from harness import build, check, finish, fit, need_gpu, newest, result_of, scratch

need_gpu()

OPTIMIZERS = ["SGD", "SGD momentum = 0.9", "SGD momentum = 0.9, nesterov = true", "SGD momentum = 0.9, dampening = 0.1", "Adam",
              "Adam amsgrad = true", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "Adadelta", "RMSprop",
              "RMSprop momentum = 0.5, centered = true", "Rprop", "Adafactor", "Muon", "Lion", "Lamb", "Lars"]

# Record 15, of the fourth step, makes the gradient nan under a finite loss, or the loss itself.
HELD_BACK = """ltr 1
data Points() {{
  batch[B] {{ x: float[B, 2], k: float[B, 2], bad: float[B] }}
  fn point(s: {{i: int}}) -> {{x: float[2], k: float[2], bad: float[]}} =
    (x = sin(full(2, 0.7 * s.i)), k = full(2, if s.i == 15 then 0.0 else 1.0), bad = log(full(1, if s.i == 15 then {bad} else 1.0)).sum())
  train = synthetic(40, point) |> collate(4)
}}
model Net() {{
  net = [Linear(2, 8, bias = {bias}), tanh, Linear(8, 2, bias = {bias})]
  optimizer opt = {rule}(net.weights, lr = 0.01{settings}) {{ clip_norm = 1.0 }}
  step train[B](x: float[B, 2], k: float[B, 2], bad: float[B]) {{
    loss = mean(sqrt((net(x) ** 2 + 0.1) * k)) + bad.sum()
    minimize loss
    log loss
  }}
}}
experiment held {{ data = Points(), model = Net(), trainer {{ epochs = 1, log_every = 1 }}, loggers {{ Csv() }} }}
"""

# Gradients that f16 cannot hold: of `factor` in record 9, in the third step; of all if it is everywhere.
OVERFLOW = """ltr 1
hparam factor: float = 1.0
hparam everywhere: bool = false
data Points(factor: float, everywhere: bool) {
  batch[B] { x: float[B, 4], k: float[B] }
  fn point(s: {i: int}) -> {x: float[4], k: float[]} =
    (x = sin(full(4, 0.7 * s.i) + [0.0, 0.5, 1.0, 1.5]), k = full(1, if everywhere or s.i == 9 then factor else 1.0).sum())
  train = synthetic(96, point) |> collate(4)
}
model Net() {
  net = [Linear(4, 16), relu, Linear(16, 1)]
  optimizer opt = Adam(net.weights, lr = 0.001)
  step train[B](x: float[B, 4], k: float[B]) {
    loss = mean(net(x).squeeze(1).square() * k)
    minimize loss
    log loss
  }
}
experiment overflow { data = Points(factor, everywhere), model = Net(), trainer { epochs = 1, log_every = 1 }, loggers { Csv() } }
"""

# The mean of a mask's elements, and of two masks of one step their product's: at 0.25 each is 1, and so is this.
DROPPED = """ltr 1
hparam seed: int = 0
data Points() {
  batch[B] { x: float[B, 4] }
  fn point(s: {i: int}) -> {x: float[4]} = (x = full(4, 1.0))
  train = synthetic(32, point) |> collate(4)
}
model Net() {
  net = Linear(4, 4)
  optimizer opt = SGD(net.weights, lr = 0.01)
  step train[B](x: float[B, 4]) {
    one = dropout(ones(1000, 1000), 0.25)
    other = dropout(ones(1000, 1000), 0.25)
    loss = dropout(net(x), 0.25).square().mean()
    minimize loss
    log loss
    log rate = (one > 0.0).to(float).mean()
    log both = ((one > 0.0) and (other > 0.0)).to(float).mean()
    log most = one.max()
  }
}
experiment dropped { data = Points(), model = Net(), trainer { epochs = 1, log_every = 1, seed = seed }, loggers { Csv() } }
"""


def written(folder, name, text):
    (folder / f"{name}.ltr").write_text(text)
    return build(folder / f"{name}.ltr", folder)


def column(run_folder, name):
    names, *rows = (line.split(",") for line in (run_folder / "metrics.csv").read_text().splitlines())
    return [float(row[names.index(name)]) for row in rows if row[names.index(name)]]


def weights(run_folder):
    """{path: numbers} of the last checkpoint."""
    raw = (run_folder / "checkpoints/last/weights.safetensors").read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    found = {}
    for path, entry in json.loads(raw[8:8 + size]).items():
        if path != "__metadata__":
            begin, end = entry["data_offsets"]
            found[path] = [number for (number,) in struct.iter_unpack("<f", raw[8 + size + begin:8 + size + end])]
    return found


def farthest(one, other):
    """The largest distance of two weights, relative to the longer one's norm."""
    return max(math.dist(one[path], other[path]) / max(math.hypot(*other[path]), 1e-12) for path in other)


def held_back(folder, number, optimizer):
    rule, _, settings = optimizer.partition(" ")
    program = written(folder, f"held{number}", HELD_BACK.format(rule=rule, settings=f", {settings}" if settings else "", bad="1.0",
                                                                bias="false" if rule == "Muon" else "true"))
    found = {}
    for device in ("cpu", "cuda"):
        runs = folder / f"held{number}-{device}"
        result = fit(program, runs, "--devices", device, "--set", "trainer.nan=skip")
        if not check(f"{optimizer}, {device}: one update is left out", result.returncode == 0 and "1 update skipped" in result.text, result.text):
            return
        found[device] = weights(newest(runs))
    gap = farthest(found["cuda"], found["cpu"])
    check(f"{optimizer}: weights as on the CPU, within {gap:.1e}", gap < 1e-4)


def stops(folder):
    program = written(folder, "stops", HELD_BACK.format(rule="Adam", settings="", bad="-1.0", bias="true"))
    for ahead in (1, 2, 8):
        runs = folder / f"stops{ahead}"
        result = fit(program, runs, "--devices", "cuda", "--set", f"trainer.host_ahead={ahead}")
        check(f"stop, {ahead} windows ahead: R4001 at its step, with its batch", result.returncode == 4 and "error[R4001]" in result.text
              and "the loss is nan at step 4" in result.text and "stops.ltr:" in result.text and (newest(runs) / "faults/step0000004.safetensors").exists(), result.text)
    for device in ("cpu", "cuda"):
        fit(program, folder / f"three-{device}", "--devices", device, "--steps", 3)
    kept = next(newest(folder / "stops2").glob("checkpoints/nonfinite-*"))
    (folder / "stops2-kept").mkdir()
    before = weights(newest(folder / "three-cuda"))
    (newest(folder / "stops2") / "checkpoints/last").unlink(missing_ok=True)
    (newest(folder / "stops2") / "checkpoints/last").symlink_to(kept.name)
    check("what is kept are the weights before it", weights(newest(folder / "stops2")) == before)
    for setting in ("nan=raise", "anomaly=true"):
        result = fit(program, folder / setting, "--devices", "cuda", "--set", f"trainer.{setting}")
        check(f"{setting}: R4001 at once", result.returncode == 4 and "error[R4001]" in result.text and "at step 4" in result.text, result.text)
    program = written(folder, "backward", HELD_BACK.format(rule="Adam", settings="", bad="1.0", bias="true"))
    result = fit(program, folder / "backward-runs", "--devices", "cuda", "--set", "trainer.nan=raise")
    check("raise: the operation of the backward pass is named, with its line", result.returncode == 4 and "error[R4002]" in result.text
          and "in the backward pass" in result.text and "backward.ltr:12" in result.text, result.text)


def scaled(folder):
    program = written(folder, "overflow", OVERFLOW)
    f16 = ("--devices", "cuda", "--set", "topology.precision=f16")
    result = fit(program, folder / "scaled", *f16, "--factor", "2000.0")
    check("f16: a window that overflows is none", result.returncode == 0 and "skipped" not in result.text, result.text)
    state = json.loads((newest(folder / "scaled") / "checkpoints/last/checkpoint.json").read_text())["loss_scale"]
    check("the scale is half as large, and good windows are counted behind it", float(state["scale"]) == 32768
          and state["good_windows"] == 21, state)
    loss = fit(program, folder / "wide", "--devices", "cuda", "--factor", "2000.0")
    check("f32 does not", loss.returncode == 0, loss.text)
    result = fit(program, folder / "never", *f16, "--factor", "1e30", "--everywhere", "true")
    check("f16: what no scale helps is R4002 or R4001", result.returncode == 4, result.text)
    result = fit(program, folder / "small", *f16, "--factor", "1e9", "--everywhere", "true")
    check("f16: a scale below 1 is R4002", result.returncode == 4 and "error[R4002]" in result.text, result.text)


def masks(folder):
    program = written(folder, "dropped", DROPPED)
    for name, seed in (("first", 0), ("again", 0), ("other", 1)):
        result = fit(program, folder / name, "--devices", "cuda", "--seed", seed)
        check(f"dropout {name}", result.returncode == 0, result.text)
    first, again, other = (newest(folder / name) for name in ("first", "again", "other"))
    rates, both = column(first, "train/rate"), column(first, "train/both")
    # Of a million elements: the standard error of the rate is 4e-4.
    check("a quarter is dropped", all(abs(rate - 0.75) < 3e-3 for rate in rates), rates)
    check("masks of one step are independent", all(abs(rate - 0.5625) < 3e-3 for rate in both), both)
    check("masks of each step are others", len(set(rates)) == len(rates), rates)
    check("what is kept is scaled", all(abs(value - 4 / 3) < 1e-6 for value in column(first, "train/most")))
    check("equal runs have equal masks", result_of(first) == result_of(again))
    check("another seed has others", column(other, "train/rate") != rates)


with scratch() as place:
    folder = pathlib.Path(place)
    with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 2) // 2)) as pool:
        list(pool.map(held_back, [folder] * len(OPTIMIZERS), range(len(OPTIMIZERS)), OPTIMIZERS))
    stops(folder)
    scaled(folder)
    masks(folder)
finish()

#!/usr/bin/env python3
"""Planned steps on a GPU: what they learn is what the steps op by op learn, with few calls a step; equal bits again, and over stop and
resume. Skipped where there is no GPU.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "run/support"))
from curves import farthest, rows
from harness import EXAMPLES, build, check, finish, need_gpu, newest, result_of, run, scratch

need_gpu()

# Relative, of each loss of a short run in f32: sums may have another order.
TOLERANCE = 1e-4
EXAMPLE_RUNS = {
    "iris": ("--epochs", 6), "mnist": ("--steps", 8), "keras_cnn": ("--steps", 5), "forecast": ("--epochs", 4), "gan": ("--steps", 12),
    "char_gpt": ("--steps", 12, "--dropout", 0.2)}
# Numbers of the host in the middle, a buffer, metrics, a shorter last batch, averages.
NET = """ltr 1
data Points() {
  batch[B] { x: float[B, 4], y: i64[B] }
  fn point(s: {i: int}) -> {x: float[4], y: i64} = (x = stack([sin(0.3 * s.i), cos(0.7 * s.i), sin(1.1 * s.i), 0.5]), y = s.i % 3)
  train = range(100) |> map(point) |> shuffle(1) |> collate(8)
  val = range(30) |> map(point) |> collate(8)
}
model Net() {
  fc1 = Linear(4, 16)
  norm = BatchNorm1d(16)
  drop = Dropout(0.3)
  fc2 = Linear(16, 3)
  accuracy = Accuracy(3)
  optimizer opt = Adam([fc1.weights, norm.weights, fc2.weights], lr = 1e-2) { clip_norm = 0.5 }
  fn net[B](x: float[B, 4]) -> float[B, 3] = x |> fc1 |> norm |> relu |> drop |> fc2
  step train[B](x: float[B, 4], y: i64[B]) {
    logits = net(x + 0.01 * randn(B, 4))
    loss = cross_entropy(logits, y)
    minimize loss
    log loss
    log acc = accuracy(logits, y) on epoch
  }
  step val[B](x: float[B, 4], y: i64[B]) {
    log loss = cross_entropy(net(x), y)
  }
}
experiment net { data = Points()
  model = Net()
  trainer { epochs = 4, seed = 3, log_every = 1 }
  callbacks { Checkpoint(every = 1 epochs), Ema(decay = 0.9) }
  loggers { Csv() } }
"""


def trained(program, out, *options):
    result = run(program, "fit", "--no-bar", "--devices", "cuda", "--set", "trainer.log_every=1", "--out", out, *options, cwd=EXAMPLES)
    check(f"{out.name}: runs", result.returncode == 0, result.text)
    return result


def compare(title, program, folder, *options):
    """Both back ends on the same program; losses are equal within TOLERANCE."""
    found, bits = {}, {}
    for backend in ("native", "torch"):
        out = folder / f"{title}-{backend}"
        if trained(program, out, "--backend", backend, *options).returncode != 0:
            return
        found[backend] = [{name: row[name] for name in row if "loss" in name} for row in rows(out)]
        bits[backend] = result_of(newest(out))[1]
    check(f"{title}: the weights have the same bits", bits["native"] == bits["torch"])
    worst = farthest(found["native"], found["torch"])
    check(f"{title}: {len(found['torch'])} rows are equal within {TOLERANCE}", found["torch"] and worst <= TOLERANCE, worst)


def same_bits(program, folder):
    trained(program, folder / "whole")
    trained(program, folder / "again")
    whole = result_of(newest(folder / "whole"))
    check("again is the same bits", result_of(newest(folder / "again")) == whole)
    out = folder / "stopped"
    trained(program, out, "--epochs", 2)
    trained(program, out, "--resume", newest(out))
    check("stopped and gone on with is the same bits", result_of(newest(out)) == whole)


def described(program, folder):
    result = run(program, "describe", "--plan", "--devices", "cuda")
    check("the plan says what is queued at once, and what the host draws by itself",
          result.returncode == 0 and re.search(r"step train, batches of 8: \d+ operations, \d+ of them queued by \d calls?\n", result.text) and
          re.search(r"by itself  \S*net\.ltr:\d+  randn", result.text), result.text)


def main():
    with scratch() as path:
        folder = pathlib.Path(path)
        for name, options in EXAMPLE_RUNS.items():
            compare(name, build(EXAMPLES / f"{name}.ltr", folder), folder, "--limit-val", 3, *options)
        source = folder / "net.ltr"
        source.write_text(NET)
        program = build(source, folder)
        compare("net", program, folder)
        for precision in ("f64", "bf16"):
            compare(f"net in {precision}", program, folder, "--precision", precision)
        compare("net with windows of two batches", program, folder, "--set", "trainer.accumulate=2")
        same_bits(program, folder)
        described(program, folder)
    finish()


main()

#!/usr/bin/env python3
"""`recompute at BLOCK` changes no bit and needs less memory: with dropout, batch norm, buffers that a block writes and reads,
blocks that are called twice or frozen, several results, updates by hand, several processes (docs: topologies).

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import csv
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import DEVICES, build, check, finish, fit, newest, result_of, run, scratch

SOURCE = """ltr 1
hparam size: int = 8
hparam records: int = 48
hparam width: int = 8
hparam depth: int = 3
data Points(records: int, size: int) {
  batch[B] { x: float[B, 4], y: float[B] }
  fn point(s: {i: int}) -> {x: float[4], y: float[]} {
    x = sin(full(4, 0.37 * s.i) + [0.0, 0.5, 1.0, 1.5])
    return (x = x, y = x.sum())
  }
  train = synthetic(records, point) |> collate(size)
}

# What it draws, counts and normalises with is the same in both passes.
block Layer(D: int) {
  norm = BatchNorm1d(D)
  up   = Linear(D, 4 * D)
  down = Linear(4 * D, D)
  buffer calls: float[] = 0.0
  fn forward[B](x: float[B, D]) -> (float[B, D], float[]) {
    calls = calls + 1.0
    h = norm(x) |> up |> gelu |> down
    y = x + dropout(h, 0.1) * (1.0 + 0.01 * calls)
    return (y, h.abs().mean())
  }
}

block Net(width: int, depth: int) {
  first = Linear(4, width)
  body  = [Layer(width) for i in 0 .. depth]
  out   = Linear(width, 1)
  fn forward[B](x: float[B, 4]) -> (float[B], float[]) {
    h = first(x)
    total = 0.0 * h.sum()
    for i in 0 .. 2 {
      for layer in body {
        h, size = layer(h)
        total = total + size
      }
    }
    return (out(h).squeeze(1), total)
  }
}

model Usual(width: int, depth: int) {
  net = Net(width, depth)
  optimizer opt = Adam(net.weights, lr = 0.01) { clip_norm = 1.0 }
  step train[B](x: float[B, 4], y: float[B]) {
    p, size = net(x)
    loss = mse(p, y) + 0.01 * size
    minimize loss
    log loss
    log size
  }
}

# The first update trains `low` through `high`, which stands still; both losses rest on one pass.
model Frozen(width: int) {
  low  = Layer(width)
  high = Layer(width)
  head = Linear(4, width)
  optimizer opt = SGD([low, head].weights, lr = 0.01)
  step train[B](x: float[B, 4], y: float[B]) manual {
    opt.zero_grad()
    h, a = low(head(x))
    z, b = frozen(high)(h)
    near = mse(z.mean(1), y)
    far = mse(h.mean(1), y)
    backward near
    backward far
    opt.step()
    log near
    log far
  }
}

# A buffer of 16 MiB that nothing writes.
block Masked(D: int) {
  fc = Linear(D, D)
  buffer mask: float[2048, 2048] = ones(2048, 2048)
  fn forward[B](x: float[B, D]) -> float[B, D] = x + 0.01 * fc(x) * mask.mean()
}

model Masks(width: int) {
  first  = Linear(4, width)
  masked = Masked(width)
  optimizer opt = SGD([first, masked].weights, lr = 0.001)
  step train[B](x: float[B, 4], y: float[B]) {
    h = first(x)
    for i in 0 .. 30 { h = masked(h) }
    loss = mse(h.mean(1), y)
    minimize loss
    log loss
  }
}

topology plain  { devices = auto }
topology spare  { devices = auto, recompute at Layer }
topology whole  amends spare { recompute at Net }
topology masked { devices = auto, recompute at Masked }
topology parts  { devices = cpu[2], mesh = (fsdp = 2), shard weights over fsdp at Layer, recompute at Layer }

experiment usual  { data = Points(records, size), model = Usual(width, depth), topology = spare, trainer { epochs = 2, log_every = 1 }, loggers { Csv() } }
experiment frozen { data = Points(records, size), model = Frozen(width), topology = spare, trainer { epochs = 2, log_every = 1 }, loggers { Csv() } }
experiment masks  { data = Points(records, size), model = Masks(width), topology = masked, trainer { epochs = 2, log_every = 1 }, loggers { Csv() } }
"""


def trained(program, runs, *options):
    result = fit(program, runs, *options)
    return check(f"{runs.name}: {' '.join(map(str, options))}", result.returncode == 0, result.text)


def peak_of(program, runs, experiment, *options):
    """The largest memory of a run, in MiB."""
    pid = os.spawnv(os.P_NOWAIT, program, [str(program), "fit", experiment, "--quiet", "--threads", "1", "--out", str(runs), "--steps", "3", *options])
    _, status, usage = os.wait4(pid, 0)
    check(f"{runs.name}: {experiment} {' '.join(options)}", status == 0)
    return usage.ru_maxrss / 1024


def losses(runs):
    with open(newest(runs) / "metrics.csv") as file:
        return [float(row["train/loss"]) for row in csv.DictReader(file)]


with scratch() as name:
    folder = pathlib.Path(name).resolve()
    source = folder / "spare.ltr"
    source.write_text(SOURCE)
    program = build(source, folder)
    for experiment in ("usual", "frozen"):
        for topology in ("plain", "spare", "whole"):
            trained(program, folder / f"{experiment}-{topology}", experiment, "--topology", topology)
        kept = result_of(newest(folder / f"{experiment}-plain"))
        for topology in ("spare", "whole"):
            check(f"{experiment}: the bits are those of values that were kept, under {topology}",
                  result_of(newest(folder / f"{experiment}-{topology}")) == kept)
    # Narrow copies of weights are kept for a step: what is computed again must not see those of the step before.
    for topology in ("plain", "spare"):
        trained(program, folder / f"narrow-{topology}", "usual", "--topology", topology, "--set", "topology.precision=bf16")
    check("bf16: the bits are those of values that were kept",
          result_of(newest(folder / "narrow-spare")) == result_of(newest(folder / "narrow-plain")))
    if DEVICES:
        finish()  # what comes is of several processes, and of the memory of the host
    ways = {"two": ("--topology", "spare"), "two-kept": ("--topology", "plain"), "parts": ("--topology", "parts"),
            "parts-kept": ("--topology", "parts", "--set", "topology.recompute=[]")}
    for way, options in ways.items():
        trained(program, folder / way, "usual", "--nproc", 2, "--size", 4, *options)
    check("two processes", result_of(newest(folder / "two")) == result_of(newest(folder / "two-kept")))
    check("weights that ranks divide", losses(folder / "parts") == losses(folder / "parts-kept"))

    large = ("--width", "128", "--depth", "12", "--size", "2048", "--records", "4096", "--set", "trainer.log_every=100")
    kept = peak_of(program, folder / "large-kept", "usual", "--topology", "plain", *large)
    spare = peak_of(program, folder / "large", "usual", "--topology", "spare", *large)
    check(f"memory: {spare:.0f} MiB in place of {kept:.0f}", spare < 0.5 * kept)

    kept = peak_of(program, folder / "masks-kept", "masks", "--topology", "plain")
    spare = peak_of(program, folder / "masks", "masks", "--topology", "masked")
    check(f"a buffer that is not written is there once: {spare:.0f} MiB beside {kept:.0f}", spare < kept + 100)
    check("and the bits are the same", losses(folder / "masks") == losses(folder / "masks-kept"))

    other = run(program, "fit", "usual", "--set", 'topology.recompute=["Linear"]', "--out", folder / "none")
    check("a block that the program does not name", other.returncode == 2 and "no topology of the program says `recompute at Linear`" in other.text
          and "choose among Layer, Masked, Net" in other.text, other.text)
    absent = run(program, "fit", "frozen", "--topology", "whole", "--steps", 1, "--out", folder / "absent")
    check("a block that the model lacks is warned of", absent.returncode == 0 and "recompute at Net: the model has no such block" in absent.text, absent.text)
finish()

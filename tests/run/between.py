#!/usr/bin/env python3
"""What writes weights and buffers between the operations of a step: both back ends, `recompute` and resumed runs see the same.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import array
import json
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from curves import farthest, rows
from harness import build, check, finish, fit, newest, run, scratch

# Relative, of each value: sums may have another order.
TOLERANCE = 1e-5
PROGRAM = """ltr 1

data Points() {
  batch[B] { x: float[B, 4], y: i64[B] }
  fn point(s: {i: int}) -> {x: float[4], y: i64} = (x = sin(full(4, 0.37 * s.i) + [0.0, 0.7, 1.4, 2.1]), y = s.i % 3)
  train = synthetic(96, point) |> collate(16)
  val   = synthetic(32, point) |> collate(16)
}
block Judge() {
  a = Linear(4, 6)
  norm = BatchNorm1d(6)
  b = Linear(6, 3)
  fn forward[B](x: float[B, 4]) -> float[B, 3] = x |> a |> norm |> tanh |> b
}

# The gradient of the first loss is that of the running values which it was computed with.
model Pair() {
  maker = Linear(4, 4)
  judge = Judge()
  optimizer of_maker = SGD(maker.weights, lr = 0.5)
  optimizer of_judge = SGD(judge.weights, lr = 0.05)
  step train[B](x: float[B, 4], y: i64[B]) {
    verdict = cross_entropy(frozen(judge)(maker(x)), y)
    loss = cross_entropy(judge(3.0 * x + 1.0), y)
    minimize verdict with of_maker
    minimize loss with of_judge
    log verdict
    log loss
  }
}

# A weight is what is convolved, and another one in each round.
model Painter() {
  weight picture: float[16, 64, 4, 4] = 0.1 * sin(arange(16 * 64 * 16).to(float)).reshape(16, 64, 4, 4)
  c = Conv2d(64, 64, 2)
  optimizer opt = SGD([picture, c.weights], lr = 5.0)
  step train[B](x: float[B, 4]) manual {
    for i in 0 .. 3 {
      opt.zero_grad()
      backward mean((tanh(picture |> c) - x.mean()) ** 2)
      opt.step()
    }
    log size = norm(picture)
    log behind = mean(tanh(picture |> c) ** 2)
  }
}

# The first loss is left out of most batches, and the second one computes by itself what both need.
model Choosy() {
  c = Conv2d(64, 64, 2)
  d = Conv2d(64, 64, 2)
  optimizer of_c = SGD(c.weights, lr = 0.1)
  optimizer of_d = SGD(d.weights, lr = 1.0)
  step train[B](x: float[B, 4]) {
    images = tanh(x.reshape(B, 1, 1, 4).expand(B, 64, 4, 4)) * x[0, 1]
    near = mean(tanh(images |> c) ** 2) * log(0.5 + x[0, 0])
    far = mean((tanh(images |> d) - 0.5) ** 2)
    minimize near with of_c
    minimize far with of_d
    log far
    log size = norm(d.weights)
  }
}

# The gradient of a weight that is added to the loss is that of the loss, and is clipped by itself.
model Added() {
  net = Linear(4, 3)
  weight scale: float[] = ones()
  weight one: float[1] = ones(1)
  optimizer opt = SGD([net.weights, scale, one], lr = 0.05) { clip_norm = 0.5 }
  step train[B](x: float[B, 4], y: i64[B]) {
    loss = cross_entropy(net(x), y) + scale + sum(one)
    minimize loss
    log loss
    log scale
  }
}

# A hook has a block that is computed again write what it reads.
block Looking() {
  a = Linear(4, 3)
  buffer middle: float[3] = ones(3)
  fn forward[B](x: float[B, 4]) -> float[B, 3] {
    y = x |> a
    return tanh(y * middle) * tanh(y)
  }
  fn look[B](x: float[B, 4]) -> float[B, 3] {
    y = x |> a
    middle = 0.5 * middle + stop_grad(y).mean(0)
    return y
  }
}
model Looked() {
  net = Looking()
  optimizer opt = SGD(net.weights, lr = 0.5)
  step train[B](x: float[B, 4], y: i64[B]) {
    loss = cross_entropy(net(x), y)
    minimize loss
    log loss
  }
}
callback Look() for Looked { on before_backward { log looked = mean(model.net.look(ones(2, 4))) } }

# A hook moves weights in front of a backward pass that needs them as they were.
model Moved() {
  net = [Linear(4, 6), tanh, Linear(6, 3)]
  other = [Linear(4, 6), tanh, Linear(6, 3)]
  optimizer opt = SGD([net.weights, other.weights], lr = 0.1)
  step train[B](x: float[B, 4], y: i64[B]) {
    loss = cross_entropy(net(x) + other(x), y)
    minimize loss
    log loss
  }
}
callback Move() for Moved { on before_backward { ema_update(model.net, model.other, 0.5) } }

# A batch whose loss is not finite leaves nothing in running values, and a look at `val` in front of training nothing in buffers.
model Leaving() {
  judge = Judge()
  buffer rounds: float[] = 0.0
  optimizer opt = SGD(judge.weights, lr = 0.05)
  step train[B](x: float[B, 4], y: i64[B]) {
    given = where(x[0, 0] < 0.0, x, x / 0.0)
    loss = cross_entropy(judge(given), y)
    minimize loss
    log loss on epoch
  }
  step val[B](x: float[B, 4], y: i64[B]) {
    rounds = rounds + 1
    log loss = cross_entropy(judge(x), y)
    log rounds reduce max
  }
}

topology again { devices = cpu; recompute at Looking }
experiment pair    { data = Points(), model = Pair(), trainer { epochs = 2, log_every = 1 }, loggers { Csv() } }
experiment painter { data = Points(), model = Painter(), trainer { epochs = 2, log_every = 1 }, loggers { Csv() } }
experiment choosy  { data = Points(), model = Choosy(), trainer { epochs = 2, log_every = 1, nan = skip, nan_limit = 20 }, loggers { Csv() } }
experiment added   { data = Points(), model = Added(), trainer { epochs = 2, log_every = 1 }, loggers { Csv() } }
experiment looked  { data = Points(), model = Looked(), trainer { epochs = 2, log_every = 1 }, callbacks { Look() }, loggers { Csv() } }
experiment looked_again amends looked { topology = again }
experiment moved   { data = Points(), model = Moved(), trainer { epochs = 2, log_every = 1 }, callbacks { Move() }, loggers { Csv() } }
experiment leaving { data = Points(), model = Leaving(), trainer { epochs = 2, log_every = 1, nan = skip, nan_limit = 20, sanity_val = 1 }, loggers { Csv() } }
"""


def floats(folder, name):
    """A tensor of the newest checkpoint."""
    data = (newest(folder) / "checkpoints/last/weights.safetensors").read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    begin, end = json.loads(data[8:8 + size])[name]["data_offsets"]
    return array.array("f", data[8 + size + begin:8 + size + end]).tolist()


def main():
    with scratch() as place:
        folder = pathlib.Path(place)
        source = folder / "between.ltr"
        source.write_text(PROGRAM)
        program = build(source, folder)

        def runs(experiment, backend, *options):
            out = folder / f"{experiment}-{backend}"
            return out, run(program, "fit", experiment, "--no-bar", "--threads", 1, "--backend", backend, "--out", out, *options)

        for experiment in ("pair", "painter", "choosy", "added", "looked", "looked_again", "leaving"):
            outs = []
            for backend in ("torch", "native"):
                out, result = runs(experiment, backend)
                check(f"{experiment}: {backend} runs", result.returncode == 0, result.text)
                outs.append(out)
            if all((out / experiment).exists() for out in outs):
                worst = farthest(*(rows(out) for out in outs))
                check(f"{experiment}: both are equal within {TOLERANCE}", worst <= TOLERANCE, worst)
        check("looked: what a hook writes is in the checkpoint", floats(folder / "looked-native", "net.middle") != [1.0, 1.0, 1.0])
        worst = farthest(rows(folder / "looked-native"), rows(folder / "looked_again-native"))
        check("looked: computed again it is the same", worst <= TOLERANCE, worst)
        for backend in ("torch", "native"):
            _, result = runs("moved", backend)
            check(f"moved: {backend} says that the gradient is none of the weights that there are", result.returncode != 0 and "minimize loss" in result.text,
                  result.text)
            values = floats(folder / f"leaving-{backend}", "judge.norm.running_mean")
            check(f"leaving: {backend} keeps finite running values", all(value == value for value in values), values)
            last = [row["val/rounds"] for row in rows(folder / f"leaving-{backend}") if "val/rounds" in row]
            check(f"leaving: {backend} counts no round in front of training", last == [2.0, 4.0], last)
    finish()


main()

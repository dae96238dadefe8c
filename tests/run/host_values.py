#!/usr/bin/env python3
"""What `check` accepts compiles, runs and has its effect: lists and tuples as hparams, layers in records and tuples, what
`print` shows of all of them, schedules one after another, the parts of a precision.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import json
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import LTRC, build, check, finish, fit, newest, run, scratch

PROGRAM = """ltr 1

hparam sizes: list[int] = [3, 4]
hparam rates: list[float] = [1, 0.5]
hparam names: list[str] = ["a", "b c"]
hparam pair: (int, float) = (3, 0.5)
hparam betas: (float, float) = (0.9, 0.99)

block Two(sizes: list[int], width: int) {
  parts = (first = Linear(2, width), second = [Linear(width, 2), tanh])
  more = (Linear(2, 3), Linear(3, 2))
  rows = [[Linear(2, 2), relu] for i in 0 .. 2]
  acts = (double = x => x * 2, half = x => x / 2)
  fn forward[B](x: float[B, 2]) -> float[B, 2] {
    y = x |> parts.first |> parts.second |> more[0] |> more[1] |> rows[0] |> rows[1]
    return y |> acts.double |> acts.half
  }
}

data Ones(count: int) {
  batch[B] { x: float[B, 2] }
  fn make(i: int) -> {x: float[2]} = (x = ones(2))
  train = synthetic(8 * count, make) |> shuffle(1) |> collate(4)
}

model Net(sizes: list[int], betas: (float, float), rate: float) {
  net = Two(sizes, sizes[1])
  optimizer opt = Adam(net.weights, lr = rate, betas = betas) {
    schedule = sequential([(plateau(monitor = train.loss), 1 epoch), (linear(), 2 steps), (constant(), 2 steps)])
  }
  step train[B](x: float[B, 2]) {
    loss = mean((net(x) - 1) ** 2)
    minimize loss
    log loss on epoch
  }
}

topology narrow { precision { compute = bf16, weights = f32, reduce = f32 } }
topology wide { precision { compute = f64 } }

experiment e {
  data = Ones(pair[0])
  model = Net(sizes, betas, rates[1])
  trainer { epochs = 1 }
}

test "defaults" {
  print sizes, rates, names, pair, sizes[0]
  assert sizes[0] == 3 and rates[0] == 1.0 and pair[1] == 0.5 and "a" in names
}
test "shown" {
  x = ones(2, 3)
  wide = pair[0] > 2
  word = if wide then "wide" else "narrow"
  number = if wide then 1 else 2
  print x.shape, (1, "b", 2.5), (n = 1, inner = (t = ["q"],)), [1, 2.5], [[1], [2]], [], none, 0 .. 3, word, number
}
"""
PATHS = ["more.0", "more.1", "parts.first", "parts.second.0", "rows.0.0", "rows.1.0"]


def names_of(path):
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    return {name: entry["shape"] for name, entry in header.items() if name != "__metadata__"}


with scratch() as place:
    folder = pathlib.Path(place)
    source = folder / "values.ltr"
    source.write_text(PROGRAM)
    result = run(LTRC, "test", source)
    check("tests pass", "2 passed, 0 failed" in result.text, result.text)
    check("hparams are shown", '[3, 4] [1, 0.5] ["a", "b c"] (3, 0.5) 3' in result.text, result.text)
    check("values are shown", '[2, 3] (1, "b", 2.5) (n = 1, inner = (t = ["q"])) [1, 2.5] [[1], [2]] [] none 0 .. 3 wide 1'
          in result.text, result.text)
    result = run(LTRC, "plan", source)
    check("plan names layers in records", all(f"net.{path} " in result.text for path in PATHS), result.text)

    program = build(source, folder)
    result = fit(program, folder / "runs", "--sizes", "[5, 6]", "--betas", "(0, 0.9)", "--pair", "(2, 1)")
    check("it trains", result.returncode == 0, result.text)
    for topology, precision in (("narrow", "bf16"), ("wide", "f64")):
        result = fit(program, folder / "precise", "--topology", topology)
        config = json.loads((newest(folder / "precise") / "config.json").read_text())
        check(f"{topology} is {precision}", result.returncode == 0 and config["topology.precision"]["value"] == precision, result.text)
    config = json.loads((newest(folder / "runs") / "config.json").read_text())
    check("flags are read", config["sizes"]["value"] == "[5, 6]" and config["betas"]["value"] == "(0.0, 0.9)", config["sizes"])
    weights = names_of(newest(folder / "runs") / "checkpoints/last/weights.safetensors")
    check("paths", {name.removeprefix("net.").rsplit(".", 1)[0] for name in weights} == set(PATHS), weights)
    check("sizes", weights["net.parts.first.weight"] == [6, 2], weights)
    result = fit(program, folder / "runs", "--sizes", "[5, x]")
    check("a wrong element is refused", result.returncode == 2 and "R2003" in result.text, result.text)
    result = fit(program, folder / "runs", "--pair", "(1, 2, 3)")
    check("a tuple too long is refused", result.returncode == 2 and "R2003" in result.text, result.text)
finish()

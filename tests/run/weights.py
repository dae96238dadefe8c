#!/usr/bin/env python3
"""Weights from files: safetensors and PyTorch files fill blocks, bit for bit; what does not fit is said at start.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import json
import pathlib
import shutil
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import LTRC, SOURCE, build, check, finish, fit, newest, run, scratch

FORMATS = {"F32": "f", "F16": "e", "F64": "d", "I64": "q"}


def write(path, tensors):
    """A safetensors file of {name: (dtype, shape, values)}."""
    header, data = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        raw = (b"".join(struct.pack("<f", v)[2:] for v in values) if dtype == "BF16"
               else struct.pack(f"<{len(values)}{FORMATS[dtype]}", *values))
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read(path):
    """{name: the bytes of the tensor}."""
    bytes_ = path.read_bytes()
    size = struct.unpack("<Q", bytes_[:8])[0]
    header = json.loads(bytes_[8:8 + size])
    return {name: bytes_[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]]
            for name, entry in header.items() if name != "__metadata__"}


LOADED = """ltr 1

block Pair() {
  weight a: float[2, 2] = zeros(2, 2)
  weight b: float[3] = zeros(3)
  buffer n: i64[] = 0
}

block Tied() {
  first  = Linear(2, 2, bias = false)
  second = Linear(2, 2, bias = false, weight = first.weight)
}

block Parts() {
  weight weight: float[3, 4] = zeros(3, 4)
  weight turned: float[3, 3] = zeros(3, 3)
}

block Rest() {
  weight half: float[2] = zeros(2)
  weight brain: float[1] = zeros(1)
  buffer count: i64[] = 0
  buffer flags: bool[2] = zeros(2) > 1.0
  buffer empty: float[0, 3] = zeros(0, 3)
}

block Torch() {
  a = Parts()
  b = Rest()
}

block Loaded() {
  pair  = Pair() from "pair.safetensors" { rename "old.*" => "*" }
  tied  = Tied() from "tied.safetensors"
  torch = Torch() from "plain.pt"
  part  = Parts() from "checkpoint.ckpt" { rename "a.*" => "*"; skip "b.*" }
}

test "values" {
  all = Loaded()
  assert equal(all.pair.a, stack([stack([1.0, 2.0]), stack([3.0, 4.5])]))
  assert equal(all.pair.b, stack([0.5, -1.5, 2.0]))
  assert all.pair.n == 5
  assert equal(all.tied.first.weight, all.tied.second.weight)
  assert equal(all.tied.first.weight, stack([stack([1.0, 0.0]), stack([0.0, 1.0])]))
  assert equal(all.torch.a.turned[0], stack([1.0, 5.0, 9.0]))
  assert equal(all.torch.b.half, stack([1.5, -2.0]))
  assert equal(all.torch.b.brain, full(1, 0.5))
  assert all.torch.b.count == 7
  assert equal(all.part.weight, all.torch.a.weight)
}
"""

TRAINED = """ltr 1

hparam width: int = 3

data Numbers() {
  batch[B] { x: float[B, 2], y: float[B, 1] }
  fn one(s: {i: int}) -> {x: float[2], y: float[1]} = (x = full(2, 1.0), y = full(1, 2.0))
  train = range(8) |> map(one) |> shuffle(1) |> collate(4)
}

block Mlp(width: int) {
  fc1 = Linear(2, width)
  fc2 = Linear(width, 1)
  fn forward[B](x: float[B, 2]) -> float[B, 1] = x |> fc1 |> fc2
}

model Regression(width: int) {
  net = Mlp(width) from "start.safetensors" { freeze "fc1.*" }
  optimizer opt = SGD(net.weights, lr = 0.1)
  init "*.weight" = normal(std = 1.0)
  step train[B](x: float[B, 2], y: float[B, 1]) {
    loss = mse(net(x), y)
    minimize loss
    log loss
  }
}

experiment e { data = Numbers(), model = Regression(width), trainer { epochs = 2 }, callbacks { Checkpoint() } }
"""


def values(folder):
    write(folder / "pair.safetensors", {"old.a": ("F16", [2, 2], [1, 2, 3, 4.5]), "old.b": ("BF16", [3], [0.5, -1.5, 2]),
                                        "old.n": ("I64", [], [5])})
    write(folder / "tied.safetensors", {"second.weight": ("F64", [2, 2], [1, 0, 0, 1])})
    for name in ("plain.pt", "checkpoint.ckpt"):
        shutil.copy(SOURCE / "tests/doors/Inputs" / name, folder)
    (folder / "loaded.ltr").write_text(LOADED)
    result = run(LTRC, "test", folder / "loaded.ltr")
    check("values of safetensors, tied, converted, and of torch.save", "1 passed, 0 failed" in result.text, result.text)
    write(folder / "tied.safetensors", {"first.weight": ("F32", [2, 2], [1, 0, 0, 1]), "second.weight": ("F32", [2, 2], [1, 0, 0, 2])})
    result = run(LTRC, "test", folder / "loaded.ltr")
    check("a tied weight that is stored twice, differently", "R2010" in result.text and "are one weight here" in result.text, result.text)


def training(folder):
    start = {"fc1.weight": ("F32", [3, 2], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]), "fc1.bias": ("F32", [3], [0.0, 0.1, 0.2]),
             "fc2.weight": ("F32", [1, 3], [0.1, 0.2, 0.3]), "fc2.bias": ("F32", [1], [0.5])}
    source = folder / "trained.ltr"
    source.write_text(TRAINED)
    result = run(LTRC, "check", source)
    check("a file that is not there is no mistake yet", result.returncode == 0, result.text)
    program = build(source, folder)
    result = fit(program, folder / "runs")
    check("but one at start, with its line", result.returncode == 2 and "R2010" in result.text and "trained.ltr:18" in result.text
          and "start.safetensors" in result.text, result.text)
    wide = {name: ("F64" if name == "fc2.bias" else kind, shape, values) for name, (kind, shape, values) in start.items()}
    write(folder / "start.safetensors", wide)
    result = fit(program, folder / "wide")
    check("floats of another width are converted, and that is said of them alone", result.returncode == 0
          and "start.safetensors: floats of another width are converted: fc2.bias" in result.text
          and "fc1.weight" not in result.text.split("converted:")[1].splitlines()[0], result.text)
    write(folder / "start.safetensors", start)
    result = fit(program, folder / "same")
    check("nothing is said of the same width", result.returncode == 0 and "converted" not in result.text, result.text)
    result = run(LTRC, "check", "-v", source)
    check("sizes that hang on an hparam are obligations", "width == 3" in result.text and "at start" in result.text, result.text)
    program = build(source, folder)
    result = fit(program, folder / "runs")
    check("it trains", result.returncode == 0 and "frozen" in result.text, result.text)
    saved = read(newest(folder / "runs") / "checkpoints/last/weights.safetensors")
    before = {name: struct.pack(f"<{len(v)}f", *v) for name, (_, _, v) in start.items()}
    check("frozen weights stay, bit for bit, and are saved", all(saved[f"net.fc1.{n}"] == before[f"fc1.{n}"] for n in ("weight", "bias")))
    check("the others are trained", all(saved[f"net.fc2.{n}"] != before[f"fc2.{n}"] for n in ("weight", "bias")))
    result = run(program, "fit", "--no-bar", "--threads", 1, "--out", folder / "runs", "--resume", "last", "--epochs", 3)
    check("--resume wins over the file", result.returncode == 0, result.text)
    result = fit(program, folder / "runs-wide", "--width", 4)
    check("another width is refused at start", result.returncode == 2 and "3" in result.text, result.text)
    write(folder / "start.safetensors", {**start, "fc2.bias": ("F32", [1], [float("nan")])})
    result = fit(program, folder / "nan")
    check("nan in a file is said with its name", "start.safetensors: there is nan in fc2.bias" in result.text, result.text)
    (folder / "start.safetensors").write_bytes((folder / "start.safetensors").read_bytes()[:-1])
    result = fit(program, folder / "cut")
    check("a file that is cut short is no checkpoint", result.returncode == 2 and "R2011]: start.safetensors is damaged: " in result.text, result.text)
    write(folder / "start.safetensors", {**start, "head.weight": ("F32", [1], [0])})
    result = fit(program, folder / "runs")
    check("a file that changed is compared again", result.returncode == 2 and "unexpected head.weight" in result.text, result.text)


with scratch() as place:
    values(pathlib.Path(place))
    training(pathlib.Path(place))
finish()

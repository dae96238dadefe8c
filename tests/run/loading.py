#!/usr/bin/env python3
"""What `from` wants of a file is what the program has: names and shapes of E08, of `ltrc plan` and of a checkpoint are the same,
whatever functions, conditions, lists and records blocks are built by.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import json
import math
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import LTRC, build, check, finish, fit, newest, run, scratch

BLOCKS = """ltr 1

fn widened(n: int) -> int {
  width = 1
  while width < n { width = width * 2 }
  return width
}

fn is_deep(n: int) -> bool {
  if n > 1 { return true }
  return false
}

fn longest(sizes: list[int]) -> int {
  most = 0
  for i in 0 .. sizes.length { if sizes[i] > most { most = sizes[i] } }
  return most
}

block Scale(size: int, bias: option[float[size]] = none) {
  weight gain: float[size] = ones(size)
  weight shift: option[float[size]] = bias
  buffer seen: i64 = 0
  fn forward[B](x: float[B, size]) -> float[B, size] = x * gain
}

block Called(n: int) {
  first = Linear(4, widened(n), bias = is_deep(n))
  last = Linear(widened(n), 4)
  fn forward[B](x: float[B, 4]) -> float[B, 4] = x |> first |> last
}

block Counted(depth: int, skipped: option[int] = none) {
  let count = widened(depth)
  let without = or_else(skipped, count)
  layers = [Linear(4, 4, bias = i != without and is_deep(i)) for i in 0 .. count]
  pairs = [[Linear(4, 4, bias = i < j) for j in 0 .. 2] for i in 0 .. 2]
  fn forward[B](x: float[B, 4]) -> float[B, 4] {
    y = x
    for i in 0 .. count { y = layers[i](y) }
    return y
  }
}

block Recorded(sizes: {hidden: list[int], deep: bool}) {
  let most = longest(sizes.hidden)
  parts = (wide = [Linear(4, sizes.hidden[0]), relu, Linear(sizes.hidden[0], 4)], scale = if sizes.deep then Scale(4) else Scale(4, bias = zeros(4)))
  weight free: float[most, sizes.hidden[1] + 1] = zeros(most, sizes.hidden[1] + 1)
  fn forward[B](x: float[B, 4]) -> float[B, 4] = (x |> parts.wide |> parts.scale) + free.sum()
}

block Tied(size: int) {
  layers = [Linear(4, 4) for i in 0 .. widened(size)]
  head = Linear(4, 4, weight = layers[widened(size) - 1].weight)
  fn forward[B](x: float[B, 4]) -> float[B, 4] = x |> layers[0] |> head
}

block Holds(inner: block [B](float[B, 4]) -> float[B, 4], size: int) {
  held = inner
  own = Called(size + 1)
  fn forward[B](x: float[B, 4]) -> float[B, 4] = x |> held |> own
}
"""

# What the members of the model are built by.
MEMBERS = {
    "called": "Called(5)",
    "small": "Called(1)",
    "counted": "Counted(3, skipped = 2)",
    "recorded": "Recorded((hidden = [3, 5], deep = false))",
    "tied": "Tied(2)",
    "holds": "Holds([Linear(4, 6), relu, Linear(6, 4)], 2)",
    "chain": "[Scale(4), Called(2)]",
}

REST = """
model Model() {
MEMBERS
  optimizer opt = SGD([called.weights, small.weights, counted.weights, recorded.weights, tied.weights, holds.weights,
                       chain.weights], lr = 0.1)
  step train[B](x: float[B, 4], label: i64[B]) {
    y = x |> called |> small |> counted |> recorded |> tied |> holds |> chain[0] |> chain[1]
    loss = cross_entropy(y, label)
    minimize loss with opt
    log loss
  }
}

data Numbers() {
  batch[B] { x: float[B, 4], label: i64[B] }
  fn one(s: {i: int}) -> {x: float[4], label: i64} = (x = ones(4), label = s.i)
  train = range(3) |> shuffle(1) |> map(one) |> collate(3)
}

experiment loads { data = Numbers(), model = Model(), trainer { epochs = 1 } }
"""


def program(ending):
    """All of it; `ending` says what stands behind the value of each member."""
    members = "".join(f"  {name} = {value}{ending.replace('NAME', name)}\n" for name, value in MEMBERS.items())
    return BLOCKS + REST.replace("MEMBERS\n", members)


def saved(path):
    """{name: (type, shape)} of the tensors of a safetensors file."""
    bytes_ = path.read_bytes()
    header = json.loads(bytes_[8:8 + struct.unpack("<Q", bytes_[:8])[0]])
    return {name: (entry["dtype"], entry["shape"]) for name, entry in header.items() if name != "__metadata__"}


def write(path, tensors):
    """A file of {name: (type, shape)}, whose values are zeros."""
    header, end = {}, 0
    for name, (dtype, shape) in tensors.items():
        begin, end = end, end + {"F32": 4, "I64": 8}[dtype] * math.prod(shape)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(end))


def main(folder):
    source = folder / "loads.ltr"
    source.write_text(program(""))
    result = fit(build(source, folder), folder / "runs")
    check("the program trains", result.returncode == 0, result.text)
    weights = saved(next(newest(folder / "runs").glob("checkpoints/*/weights.safetensors")))
    plan = json.loads(run(LTRC, "plan", source, "--json").stdout)
    planned = {one["name"]: one["shape"] for one in plan["parameters"]}
    check("the plan names what a checkpoint holds", planned == {name: shape for name, (_, shape) in weights.items()},
          f"{planned}\n{weights}")
    source.write_text(program(' from "NAME.safetensors"'))
    for member in MEMBERS:
        own = {name.removeprefix(f"{member}."): tensor for name, tensor in weights.items() if name.startswith(f"{member}.")}
        compared(folder, source, member, own)


def compared(folder, source, member, tensors):
    """Holds the check of one member against the file that fits it, and against files that do not."""
    file = folder / f"{member}.safetensors"

    def said(changed):
        write(file, changed)
        # Some members are there to be loaded, and nothing reads them.
        lines = run(LTRC, "check", "--message-format=short", source).text.splitlines()
        return "\n".join(line for line in lines if "warning[W0407]" not in line).strip()

    check(f"{member} fits", len(tensors) > 0 and said(tensors) == "", said(tensors))
    silent = [name for name in tensors
              if f"error[E0802]: {member}.safetensors has no tensor `{name}`" not in said({k: v for k, v in tensors.items() if k != name})]
    check(f"{member} misses each of its {len(tensors)} tensors", not silent, silent)
    silent = []
    for name, (dtype, shape) in tensors.items():
        other = [*shape, 7]
        text = said(tensors | {name: (dtype, other)})
        if f"error[E0804]: `{name}` is {other} in the file, but {'i64' if dtype == 'I64' else 'float'}{shape} here" not in text:
            silent.append(text)
    check(f"{member} knows their shapes", not silent, silent)
    text = said(tensors | {"more.weight": ("F32", [1])})
    check(f"{member} has no others", "error[E0803]" in text and "more.weight" in text, text)
    file.unlink()


with scratch() as place:
    main(pathlib.Path(place))
finish()

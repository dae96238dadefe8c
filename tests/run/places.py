#!/usr/bin/env python3
"""Where weights lie: the program that runs, `ltrc plan`, the rules of groups and the comparison with files have the same names,
shapes and ties of them.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import json
import math
import pathlib
import shutil
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import LTRC, build, check, finish, fit, newest, run, scratch

BLOCKS = """ltr 1

block Scale(size: int, with_bias: bool = true) {
  weight gain: float[size] = ones(size)
  weight bias: option[float[size]] = if with_bias then zeros(size) else none
  buffer seen: i64 = 0
  fn forward[B](x: float[B, size]) -> float[B, size] = x * gain
}

block Wrap(inner: block [B](float[B, 4]) -> float[B, 4], size: int) {
  own = Scale(size)
  held = inner
  fn forward[B](x: float[B, 4]) -> float[B, 4] = x |> own |> held
}
"""

MEMBERS = """  first = [if deep then Scale(4, with_bias = bias) else Scale(4), Scale(4)]
  picked = if deep then Linear(4, 4) else Linear(4, 4, bias = false)
  rec = (left = Scale(4), right = [Scale(4), relu])
  given = Wrap([Linear(4, 6), relu, Linear(6, 4)], 4)
  shared = Wrap(picked, 4)
  many = [Scale(4) for i in 2 .. 4]
  choice = [if i == 2 then Scale(4) else Scale(4, with_bias = false) for i in 2 .. 4]
  rnn = LSTM(4, 4, layers = 2)
  tied = Linear(4, 4, weight = picked.weight)
  taken = [picked, given]
  weight free: float[4, 4] = zeros(4, 4)
"""

FORWARD = """    y = x |> first[0] |> first[1] |> picked |> rec.left |> rec.right |> given |> shared |> tied
    for i in 0 .. 2 { y = y |> many[i] |> choice[i] }
    out, state = rnn(y.unsqueeze(1))
"""

REST = """
data Numbers() {
  batch[B] { x: float[B, 4], label: i64[B] }
  fn one(s: {i: int}) -> {x: float[4], label: i64} = (x = ones(4), label = s.i)
  train = range(3) |> shuffle(1) |> map(one) |> collate(3)
}

experiment forms { data = Numbers(), model = Forms(), trainer { epochs = 1 } }
"""

PROGRAM = BLOCKS + "model Forms(deep: bool = true, bias: bool = false) {\n" + MEMBERS + """
  optimizer opt = SGD([first.weights, taken.weights, rec.weights, shared.weights, many.weights,
                       choice.weights, rnn.weights, tied.weights, free], lr = 0.1) {
    group "rnn.weight_hh_l1" { lr = 0.2 }
    group "inner.2.*" { lr = 0.3 }
  }
  step train[B](x: float[B, 4], label: i64[B]) {
""" + FORWARD + """
    loss = cross_entropy(linear(out.select(1, 0), free), label)
    minimize loss with opt
    log loss
  }
}
""" + REST

# All of it as one block, whose weights the program before has saved.
LOADED = BLOCKS + "block All(deep: bool = true, bias: bool = false) {\n" + MEMBERS + """
  fn forward[B](x: float[B, 4]) -> float[B, 4] {
""" + FORWARD + """
    return linear(out.select(1, 0), free)
  }
}

model Forms() {
  net = All() from "weights.safetensors" { freeze "rnn.weight_hh_l0" }
  optimizer opt = SGD(net.weights, lr = 0.1)
  step train[B](x: float[B, 4], label: i64[B]) {
    loss = cross_entropy(net(x), label)
    minimize loss with opt
    log loss
  }
}
""" + REST


def saved(path):
    """{name: shape} of the tensors of a safetensors file."""
    bytes_ = path.read_bytes()
    header = json.loads(bytes_[8:8 + struct.unpack("<Q", bytes_[:8])[0]])
    return {name: entry["shape"] for name, entry in header.items() if name != "__metadata__"}


def main(folder):
    source = folder / "forms.ltr"
    source.write_text(PROGRAM)
    program = build(source, folder)
    result = fit(program, folder / "runs")
    check("a program with every form of members trains", result.returncode == 0, result.text)
    file = next(newest(folder / "runs").glob("checkpoints/*/weights.safetensors"))
    weights = saved(file)
    plan = json.loads(run(LTRC, "plan", source, "--json").stdout)
    planned = {one["name"]: one["shape"] for one in plan["parameters"]}
    check("the plan names what a checkpoint holds", planned == weights,
          f"planned alone {sorted(set(planned) - set(weights))}, "
          f"saved alone {sorted(set(weights) - set(planned))}")
    for name in ("first.0.gain", "choice.1.gain", "given.inner.2.weight", "shared.own.bias", "rnn.weight_hh_l1", "rec.right.0.gain"):
        check(f"there is {name}", name in weights)
    for name in ("first.0.bias", "choice.1.bias", "shared.inner.weight", "tied.weight"):
        check(f"there is no {name}", name not in weights)
    said = run(program, "describe").stdout
    count = sum(math.prod(shape) for name, shape in weights.items() if not name.endswith("seen"))
    check("as many numbers as the plan trains", plan["weights"]["trained"] == count, plan["weights"])
    check("as many as the program says", f"{count} trainable" in said, said)
    check("no part of the step is left out of the plan", plan["unknown"] == [], plan["unknown"])
    loads(folder, file, count)


# What an experiment gives its model is made with it, under the names of its params.
GIVEN = BLOCKS + """
hparam width: int = 6
model Given(body: Linear, rest: block [B](float[B, 4]) -> float[B, 4], act: block (float[...]) -> float[...]) {
  optimizer opt = SGD([body.weights, rest.weights], lr = 0.1)
  step train[B](x: float[B, 4], label: i64[B]) { minimize cross_entropy(act(rest(body(x))), label) with opt }
}
""" + REST.replace("Forms()", "Given(Linear(4, 4), [Linear(4, width), relu, Linear(width, 4)], relu)")


def given(folder):
    source = folder / "given.ltr"
    source.write_text(GIVEN)
    result = fit(build(source, folder), folder / "given-runs", "--width", 8)
    check("a model that is given blocks trains", result.returncode == 0, result.text)
    weights = saved(next(newest(folder / "given-runs").glob("checkpoints/*/weights.safetensors")))
    planned = {one["name"]: one["shape"] for one in json.loads(run(LTRC, "plan", source, "--json", "--set", "width=8").stdout)["parameters"]}
    check("its weights have the names of its params", weights == planned == {
        "body.weight": [4, 4], "body.bias": [4], "rest.0.weight": [8, 4], "rest.0.bias": [8], "rest.2.weight": [4, 8],
        "rest.2.bias": [4]}, (weights, planned))
    source.write_text(GIVEN.replace("[body.weights, rest.weights]", "body.weights").replace("act(rest(", "act(frozen(rest)("))
    said = run(build(source, folder), "describe", cwd=folder).stdout
    check("what is given and frozen is not trained", "all others      2 weights" in said, said)


def loads(folder, file, count):
    shutil.copy(file, folder)
    source = folder / "loaded.ltr"
    source.write_text(LOADED)
    result = run(LTRC, "check", source)
    # Some of its forms are there to be named, and nothing reads them.
    others = [line for line in result.text.splitlines() if line.startswith(("error[", "warning[")) and "[W0407]" not in line]
    check("a block of all forms has the names of the file", result.returncode == 0 and not others, result.text)
    frozen = 4 * 4 * 4
    weights = json.loads(run(LTRC, "plan", source, "--json").stdout)["weights"]
    check("the plan knows what is frozen", weights == {"trained": count - frozen, "not_trained": frozen}, weights)
    said = run(build(source, folder), "describe", cwd=folder).stdout
    check("so does the program", f"{count - frozen} trainable, {frozen} frozen" in said, said)
    source.write_text(LOADED.replace("many = [Scale(4) for i in 2 .. 4]", "many = [Scale(4) for i in 2 .. 5]"))
    result = run(LTRC, "check", source)
    check("one more block is missed in the file", "E0802" in result.text and "many.2.gain" in result.text, result.text)


with scratch() as place:
    main(pathlib.Path(place))
    given(pathlib.Path(place))
finish()

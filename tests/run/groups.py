#!/usr/bin/env python3
"""Groups with rules of their own: what moves which weights, a run that stops and goes on, a checkpoint of other rules, memory in `plan`.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these. The numbers are compared with
PyTorch's in tests/parity/updates.py.
"""
import json
import pathlib
import re
import signal
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import LTRC, build, check, finish, fit, interrupt, newest, result_of, run, scratch

PROGRAM = """ltr 1

data Points() {{
  batch[B] {{ x: float[B, 4], y: float[B, 2] }}
  fn point(row: {{i: int}}) -> {{x: float[4], y: float[2]}} = (x = randn(4), y = ones(2) * row.i / 64.0)
  train = range(64) |> map(point) |> shuffle(1) |> collate(8)
}}

block Cell() {{
  _norm = LayerNorm(4)
  fc = Linear(4, 4)
  fn forward[B](x: float[B, 4]) -> float[B, 4] = fc(_norm(x))
}}

model Net() {{
  net = {net}
  optimizer opt = Muon(net.weights, lr = 0.02) {{
    schedule = linear(total = 40 steps)
    {groups}
  }}
  step train[B](x: float[B, 4], y: float[B, 2]) {{
    loss = mean(({out} - y.mean()) ** 2)
    minimize loss
    log loss
  }}
}}

experiment e {{ data = Points(), model = Net(), trainer {{ epochs = 4, log_every = 1 }}, loggers {{ Csv() }} }}
"""

ADAM = 'group "@norm" { rule = SGD(lr = 0.01) }\n    group "@1d" { rule = AdamW(lr = 1e-3), weight_decay = 0 }'
NAMES = """group "a.fc.*" { rule = Adam(lr = 1e-3) }
    group "@norm" { rule = SGD(lr = 0.01) }
    group "*.fc.bias" { rule = SGD(lr = 0.01) }"""
LION = ADAM.replace("AdamW(lr = 1e-3)", "Adam(lr = 1e-3)")


def states(run_folder):
    """Of each weight the names of what its rule keeps."""
    content = (run_folder / "checkpoints/last/train.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    found = {}
    for name in json.loads(content[8:8 + length]):
        if name.startswith("opt.opt."):
            path, state = name.removeprefix("opt.opt.").rsplit(".", 1)
            found.setdefault(path, set()).add(state)
    return found


with scratch() as place:
    folder = pathlib.Path(place)

    def built(name, groups, net="[Linear(4, 8), LayerNorm(8), tanh, Linear(8, 2)]", out="net(x)"):
        (folder / f"{name}.ltr").write_text(PROGRAM.format(groups=groups, net=net, out=out))
        return build(folder / f"{name}.ltr", folder)

    program = built("adam", ADAM)
    result = fit(program, folder / "whole")
    check("trains", result.returncode == 0, result.text)
    kept = states(newest(folder / "whole"))
    check("each weight has the states of its rule", kept == {
        "net.0.weight": {"momentum_buffer", "step"}, "net.3.weight": {"momentum_buffer", "step"},
        "net.0.bias": {"exp_avg", "exp_avg_sq", "step"}, "net.3.bias": {"exp_avg", "exp_avg_sq", "step"},
        "net.1.weight": {"step"}, "net.1.bias": {"step"}}, kept)
    code, text = interrupt(program, folder / "stopped", 13, signal.SIGTERM)
    result = fit(program, folder / "stopped", "--resume", "last")
    check("a resumed run ends with the same bits", code == 75 and result.returncode == 0 and
          result_of(newest(folder / "stopped")) == result_of(newest(folder / "whole")), text + result.text)
    # Adam keeps what AdamW keeps: only the names of the rules tell.
    checkpoint = newest(folder / "stopped") / "checkpoints/last"
    result = fit(built("other", LION), folder / "other", "--resume", checkpoint, "--epochs", 6)
    check("a checkpoint of other rules is refused", result.returncode == 2 and "R2010" in result.text and "Adam" in result.text, result.text)
    plan = run(LTRC, "plan", folder / "adam.ltr")
    line = re.search(r"optimizer +(\S+ \S+)  (.*)", plan.text)
    # Muon one state of 48 numbers, AdamW two of 10, SGD none; 4 bytes each.
    check("plan counts each rule's states", line and line[1] == "272 B" and set(line[2].split(", ")) == {"Muon", "AdamW", "SGD"}, plan.text)
    # The program says of each weight which group took it, the plan what all of them keep: 4 bytes for each number of a state.
    named = built("names", NAMES, "(a = Cell(), b = Cell())", "net.b(net.a(x))")
    result = fit(named, folder / "chosen")
    kept = states(newest(folder / "chosen"))
    names = {path: "Adam" if "exp_avg_sq" in of else "Muon" if "momentum_buffer" in of else "SGD" for path, of in kept.items()}
    check("the program chooses by whole names, by those below what the optimizer has, and by kinds of private members", names == {
        "net.a.weight_norm": "SGD", "net.a.bias_norm": "SGD", "net.b.weight_norm": "SGD", "net.b.bias_norm": "SGD",
        "net.a.fc.weight": "Adam", "net.a.fc.bias": "Adam", "net.b.fc.weight": "Muon", "net.b.fc.bias": "SGD"}, result.text + str(names))
    plan = run(LTRC, "plan", folder / "names.ltr")
    line = re.search(r"optimizer +(\S+ \S+)  (.*)", plan.text)
    check("plan chooses as the program does", line and line[1] == f"{4 * (2 * 20 + 16)} B", plan.text)
    shown = run(program, "describe")
    check("describe shows the rules", "AdamW" in shown.text and "SGD" in shown.text, shown.text)
finish()

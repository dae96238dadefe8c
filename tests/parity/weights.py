#!/usr/bin/env python3
"""Weights that PyTorch and Lightning wrote, given to `--weights`, and weights of ours in PyTorch: the predictions are
the same. Needs torch and safetensors."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "run/support"))
from harness import build, check, finish, fit, newest, run, scratch  # noqa: E402

try:
    import torch
    from safetensors.torch import load_file
except ImportError:
    print("torch or safetensors is not installed")
    sys.exit(77)

PROGRAM = """ltr 1
data Points() {
  batch[B] { x: float[B, 5, 3] }
  fn point(s: {i: int}) -> {x: float[5, 3]} = (x = full(5, 3, 0.1 * s.i))
  train = synthetic(4, point) |> collate(2)
  predict = synthetic(4, point) |> collate(2)
}
model Net() {
  rnn = LSTM(3, 4, layers = 2)
  out = Linear(4, 1)
  optimizer deep = SGD(rnn.weights, lr = 0.1)
  optimizer top = SGD(out.weights, lr = 0.1)
  step train[B](x: float[B, 5, 3]) {
    y, s = rnn(x)
    loss = mean(out(y))
    minimize loss with deep
    minimize loss with top
  }
  step predict[B](x: float[B, 5, 3]) -> float[B, 5, 1] {
    y, s = rnn(x)
    return out(y)
  }
}
experiment net { data = Points()
  model = Net()
  trainer { epochs = 1 } }
"""


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = torch.nn.LSTM(3, 4, 2, batch_first=True)
        self.out = torch.nn.Linear(4, 1)

    def forward(self, x):
        return self.out(self.rnn(x)[0])


with scratch() as place:
    folder = pathlib.Path(place)
    source = folder / "net.ltr"
    source.write_text(PROGRAM)
    program = build(source, folder)
    torch.manual_seed(0)
    net = Net()
    state = net.state_dict()
    torch.save(state, folder / "net.pt")
    torch.save({"state_dict": {f"model.{name}": value for name, value in state.items()}, "epoch": 3, "global_step": 9,
                "pytorch-lightning_version": "2.6.6"}, folder / "net.ckpt")
    with torch.no_grad():
        wanted = net(torch.stack([torch.full((5, 3), 0.1 * i) for i in range(4)])).flatten(1)
    for name in ("net.pt", "net.ckpt"):
        result = run(program, "predict", "--weights", folder / name, "--write", folder / f"{name}.jsonl")
        rows = []
        if result.returncode == 0:
            lines = (folder / f"{name}.jsonl").read_text().splitlines()
            rows = [torch.tensor(json.loads(line)["prediction"]).flatten() for line in lines]
        close = len(rows) == 4 and torch.allclose(torch.stack(rows), wanted, atol=1e-6)
        check(f"--weights {name} predicts what PyTorch does", close, result.text)
    torch.save({**state, "rnn.weight_ih_l0": torch.zeros(2, 2)}, folder / "other.pt")
    result = run(program, "predict", "--weights", folder / "other.pt", "--write", "-")
    check("another shape is refused by name", result.returncode == 2 and "rnn.weight_ih_l0" in result.text, result.text)

    # And back, as docs/guide/weights.md says it: a module of its own, and a block below a member of the model.
    wrapped = folder / "wrapped.ltr"
    wrapped.write_text(PROGRAM.replace("model Net() {", """block Inner() {
  rnn = LSTM(3, 4, layers = 2)
  out = Linear(4, 1)
  fn forward[B](x: float[B, 5, 3]) -> float[B, 5, 1] {
    y, s = rnn(x)
    return out(y)
  }
}
model Net() {
  net = Inner()""").replace("  rnn = LSTM(3, 4, layers = 2)\n  out = Linear(4, 1)\n  optimizer deep", "  optimizer deep")
        .replace("rnn.weights", "net.rnn.weights").replace("out.weights", "net.out.weights")
        .replace("    y, s = rnn(x)\n    loss = mean(out(y))", "    loss = mean(net(x))")
        .replace("    y, s = rnn(x)\n    return out(y)\n  }\n}\nexperiment", "    return net(x)\n  }\n}\nexperiment"))
    for one, prefix in ((program, ""), (build(wrapped, folder), "net.")):
        result = fit(one, folder / "back")
        weights = load_file(newest(folder / "back") / "checkpoints/last/weights.safetensors")
        twin = Net()
        twin.load_state_dict({name.removeprefix(prefix): weight for name, weight in weights.items()})
        with torch.no_grad():
            wanted = twin(torch.stack([torch.full((5, 3), 0.1 * i) for i in range(4)])).flatten(1)
        result = run(one, "predict", "--out", folder / "back", "--write", folder / "back.jsonl")
        rows = [torch.tensor(json.loads(line)["prediction"]).flatten() for line in (folder / "back.jsonl").read_text().splitlines()]
        check(f"PyTorch loads what a {one.name} trained, and predicts alike",
              len(rows) == 4 and torch.allclose(torch.stack(rows), wanted, atol=1e-6), result.text)
finish()

#!/usr/bin/env python3
"""`from` fills LSTM, GRU and RNN, of several layers and both directions, with what PyTorch saved and with what Ltr saved:
check accepts the files, a step trains from them, the predictions are PyTorch's. Needs torch."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "run/support"))
from harness import LTRC, build, check, finish, fit, newest, run, scratch  # noqa: E402

try:
    import torch
    from safetensors.torch import save_file
except ImportError:
    print("torch or safetensors is not installed")
    sys.exit(77)

PROGRAM = """ltr 1
hparam lr: float = 0.1
data Points() {
  batch[B] { x: float[B, 5, 3] }
  fn point(s: {i: int}) -> {x: float[5, 3]} = (x = full(5, 3, 0.1 * s.i))
  train = synthetic(4, point) |> collate(4)
  predict = synthetic(4, point) |> collate(2)
}
model Net(lr: float) {
MEMBERS
  optimizer opt = SGD([lstm.weights, gru.weights, rnn.weights], lr = lr)
  fn all[B](x: float[B, 5, 3]) -> float[B, 5, 24] {
    a, s = lstm(x)
    b, t = gru(x)
    c, u = rnn(x)
    return cat([a, b, c], dim = 2)
  }
  step train[B](x: float[B, 5, 3]) {
    loss = mean(all(x) ** 2)
    minimize loss
    log loss
  }
  step predict[B](x: float[B, 5, 3]) -> float[B, 5, 24] = all(x)
}
experiment net { data = Points(), model = Net(lr), trainer { epochs = 1 }, callbacks { Checkpoint() } }
"""
LAYERS = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn": torch.nn.RNN}


def program(folder, name, source):
    """A program whose layers come `from` source(layer)."""
    members = [f"  {layer} = {layer.upper()}(3, 4, layers = 2, directions = 2){source(layer)}" for layer in LAYERS]
    path = folder / f"{name}.ltr"
    path.write_text(PROGRAM.replace("MEMBERS", "\n".join(members)))
    result = run(LTRC, "check", path)
    check(f"{name} is accepted", result.returncode == 0, result.text)
    return build(path, folder)


def predictions(binary, folder, *options):
    result = run(binary, "predict", "--write", folder / "out.jsonl", *options)
    if not check("it predicts", result.returncode == 0, result.text):
        finish()
    return torch.tensor([json.loads(line)["prediction"] for line in (folder / "out.jsonl").read_text().splitlines()])


with scratch() as place:
    folder = pathlib.Path(place)
    torch.manual_seed(0)
    nets = {name: make(3, 4, 2, batch_first=True, bidirectional=True) for name, make in LAYERS.items()}
    for name, net in nets.items():
        torch.save(net.state_dict(), folder / f"{name}.pt")
        save_file(net.state_dict(), folder / f"{name}.safetensors")
    x = torch.stack([torch.full((5, 3), 0.1 * i) for i in range(4)])
    opt = torch.optim.SGD([p for net in nets.values() for p in net.parameters()], lr=0.1)
    torch.cat([net(x)[0] for net in nets.values()], 2).square().mean().backward()
    opt.step()
    with torch.no_grad():
        trained = torch.cat([net(x)[0] for net in nets.values()], 2)

    for ending in ("pt", "safetensors"):
        binary = program(folder, f"from_{ending}", lambda layer: f' from "{layer}.{ending}"')
        result = fit(binary, folder / ending)
        check(f"{ending}: a step trains", result.returncode == 0, result.text)
        last = newest(folder / ending) / "checkpoints/last"
        after = predictions(binary, folder, "--weights", last)
        check(f"{ending}: the predictions are PyTorch's behind its step", torch.allclose(after, trained, atol=1e-5))

    own = last / "weights.safetensors"
    rules = {layer: " ".join(f'skip "{other}.*";' for other in LAYERS if other != layer) for layer in LAYERS}
    binary = program(folder, "from_own", lambda layer: f' from "{own}" {{ rename "{layer}.*" => "*"; {rules[layer]} }}')
    result = fit(binary, folder / "own", "--lr", 0)
    check("own checkpoint: trains", result.returncode == 0, result.text)
    again = predictions(binary, folder, "--weights", newest(folder / "own") / "checkpoints/last")
    check("own checkpoint: its predictions", torch.equal(again, after))

    torch.save({**nets["gru"].state_dict(), "weight_ih_l0": torch.zeros(2, 2)}, folder / "gru.pt")
    result = run(LTRC, "check", folder / "from_pt.ltr")
    check("another shape is refused by PyTorch's name", result.returncode == 1 and "E0804" in result.text and "weight_ih_l0" in result.text
          and "_l." not in result.text, result.text)
finish()

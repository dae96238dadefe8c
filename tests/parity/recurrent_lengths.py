#!/usr/bin/env python3
"""LSTM, GRU and RNN over padded rows, `lengths = n`, against PyTorch's pack_padded_sequence: outputs, last states and, by a step of SGD, the
gradients of all weights, of one and two layers and directions, planned and op by op. Needs torch."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "run/support"))
from harness import build, check, finish, fit, newest, run, scratch  # noqa: E402

try:
    import torch
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
except ImportError:
    print("torch is not installed")
    sys.exit(77)

# What stands behind a row's end is large: it must not count.
PROGRAM = """ltr 1
data Rows() {
  batch[B] { x: float[B, 6, 3], n: i64[B] }
  fn row(s: {i: int}) -> {x: float[6, 3], n: i64} {
    n = [6, 3, 1, 5][s.i]
    wave = sin(arange(18).to(float) * 0.7 + s.i).reshape(6, 3)
    return (x = where((arange(6) < n).unsqueeze(1), wave, 1e6), n = n)
  }
  train = synthetic(4, row) |> collate(4)
  predict = synthetic(4, row) |> collate(4)
}
model Net() {
MEMBERS
  optimizer opt = SGD([lstm.weights, gru.weights, rnn.weights, bent.weights], lr = 0.1)
  fn all[B](x: float[B, 6, 3], n: i64[B]) -> float[B, WIDTH] {
    a, s = lstm(x, lengths = n)
    h, k = s
    b, t = gru(x, lengths = n)
    c, u = rnn(x, lengths = n)
    d, v = bent(x, lengths = n)
    outputs = cat([a, b, c, d], dim = 2).reshape(B, OUTPUTS)
    last = cat([h, k, t, u, v]).transpose(0, 1).reshape(B, STATES)
    return cat([outputs, last], dim = 1)
  }
  step train[B](x: float[B, 6, 3], n: i64[B]) {
    loss = mean(all(x, n) ** 2)
    minimize loss
    log loss
  }
  step predict[B](x: float[B, 6, 3], n: i64[B]) -> float[B, WIDTH] = all(x, n)
}
experiment net { data = Rows(), model = Net(), trainer { epochs = 1 }, callbacks { Checkpoint() } }
"""
NAMES = {"lstm": ("LSTM", ""), "gru": ("GRU", ""), "rnn": ("RNN", ""), "bent": ("RNN", ", nonlinearity = relu")}


def twin(name, layers, directions):
    kind, relu = NAMES[name]
    more = {"nonlinearity": "relu"} if relu else {}
    return getattr(torch.nn, kind)(3, 4, layers, batch_first=True, bidirectional=directions == 2, **more)


def outputs(nets, x, n):
    """As `all` of the program."""
    parts, last = [], []
    for net in nets.values():
        y, state = net(pack_padded_sequence(x, n, batch_first=True, enforce_sorted=False))
        parts.append(pad_packed_sequence(y, batch_first=True, total_length=6)[0])
        last.extend(state if isinstance(state, tuple) else [state])
    return torch.cat([torch.cat(parts, 2).flatten(1), torch.cat(last).transpose(0, 1).flatten(1)], 1)


def compare(folder, layers, directions):
    torch.manual_seed(layers * 2 + directions)
    nets = {name: twin(name, layers, directions) for name in NAMES}
    for name, net in nets.items():
        torch.save(net.state_dict(), folder / f"{name}.pt")
    n = torch.tensor([6, 3, 1, 5])
    x = torch.stack([torch.sin(torch.arange(18.0) * 0.7 + i).reshape(6, 3) for i in range(4)])
    opt = torch.optim.SGD([p for net in nets.values() for p in net.parameters()], lr=0.1)
    outputs(nets, x, n).square().mean().backward()
    opt.step()
    with torch.no_grad():
        trained = outputs(nets, x, n)

    members = "\n".join(f'  {name} = {kind}(3, 4, layers = {layers}, directions = {directions}{more}) from "{name}.pt"'
                        for name, (kind, more) in NAMES.items())
    sizes = {"WIDTH": 6 * 16 * directions + 20 * layers * directions, "OUTPUTS": 6 * 16 * directions, "STATES": 20 * layers * directions}
    text = PROGRAM.replace("MEMBERS", members)
    for word, size in sizes.items():
        text = text.replace(word, str(size))
    source = folder / "rows.ltr"
    source.write_text(text)
    program = build(source, folder)
    for backend in ("native", "torch"):
        title = f"{layers} layers, {directions} directions, {backend}"
        result = fit(program, folder / backend, "--backend", backend)
        if not check(f"{title}: a step trains", result.returncode == 0, result.text):
            continue
        last = newest(folder / backend) / "checkpoints/last"
        result = run(program, "predict", "--backend", backend, "--weights", last, "--write", folder / "out.jsonl")
        if not check(f"{title}: it predicts", result.returncode == 0, result.text):
            continue
        found = torch.tensor([json.loads(line)["prediction"] for line in (folder / "out.jsonl").read_text().splitlines()])
        check(f"{title}: outputs and last states are PyTorch's behind its step", torch.allclose(found, trained, atol=2e-6),
              (found - trained).abs().max())


with scratch() as place:
    for layers in (1, 2):
        for directions in (1, 2):
            folder = pathlib.Path(place) / f"{layers}{directions}"
            folder.mkdir()
            compare(folder, layers, directions)
finish()

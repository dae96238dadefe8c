#!/usr/bin/env python3
"""The models of the library against torchvision's, and recurrent stacks against PyTorch's: names and shapes of all weights
and buffers are equal, and with them so are the outputs. Skipped where PyTorch or torchvision is not installed.

LTRC and LTR_SOURCE say which compiler and sources, if not those of this tree.
"""
import csv
import pathlib
import sys

try:
    import torch
    import torchvision
except ImportError:
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "run/support"))
from harness import build, check, finish, fit, newest, scratch

PROGRAM = """ltr 1

{imports}

data Waves() {{
  batch[B] {{ x: float[B, {dims}], label: i64[B] }}

  fn wave(s: {{i: int}}) -> {{x: float[{dims}], label: i64}} =
    (x = sin(arange({count}).to(f64) * 0.01 + 1.0 * s.i).to(float).reshape({dims}), label = stack([s.i % 4])[0])

  train = synthetic(4, wave) |> collate(4)
  val   = synthetic(4, wave) |> collate(4)
}}

{blocks}

model Wave() {{
  net = {net}
  optimizer opt = SGD(net.weights, lr = 0.01)

  step train[B](x: float[B, {dims}], label: i64[B]) {{
    loss = cross_entropy({logits}, label)
    minimize loss
    log loss
  }}

  step val[B](x: float[B, {dims}], label: i64[B]) {{
    log loss = cross_entropy({logits}, label)
  }}
}}

experiment waves {{
  data    = Waves()
  model   = Wave()
  trainer {{ epochs = 1, sanity_val = 0 }}
  loggers {{ Csv() }}
}}
"""
IMAGE = {"dims": [3, 40, 36], "blocks": "", "logits": "net(x)"}
SERIES = {"dims": [5, 3], "imports": "", "logits": "net(x)"}
STACK = """block Stack() {{
  rnn = {0}
  head = Linear(8, 4)

  fn forward[B](x: float[B, 5, 3]) -> float[B, 4] {{
    y, state = rnn(x)
    return head(y[:, -1])
  }}
}}"""


AXES = """[Conv2d(3, 4, kernel = (3, 5), stride = (1, 2), padding = (1, 2), dilation = (2, 1)), relu,
    MaxPool2d((2, 3), stride = (1, 2), padding = (1, 0)),
    Conv2d(4, 6, kernel = (4, 3), padding = "same", dilation = (1, 2)), tanh,
    ConvTranspose2d(6, 5, kernel = (2, 3), stride = (1, 2), padding = (0, 1), output_padding = (0, 1)),
    AvgPool2d((2, 3), padding = (1, 0)), AdaptiveAvgPool2d((2, 3)), flatten(1), Linear(30, 4)]"""


def axes():
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(3, 4, (3, 5), stride=(1, 2), padding=(1, 2), dilation=(2, 1)), nn.ReLU(),
        nn.MaxPool2d((2, 3), stride=(1, 2), padding=(1, 0)),
        nn.Conv2d(4, 6, (4, 3), padding="same", dilation=(1, 2)), nn.Tanh(),
        nn.ConvTranspose2d(6, 5, (2, 3), stride=(1, 2), padding=(0, 1), output_padding=(0, 1)),
        nn.AvgPool2d((2, 3), padding=(1, 0)), nn.AdaptiveAvgPool2d((2, 3)), nn.Flatten(1), nn.Linear(30, 4))


class Stack(torch.nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.rnn = kind(3, 4, num_layers=2, bidirectional=True, batch_first=True)
        self.head = torch.nn.Linear(8, 4)

    def forward(self, x):
        return self.head(self.rnn(x)[0][:, -1])


ROWS = [
    ("resnet18", {**IMAGE, "imports": "import std.models.{resnet18}", "net": "resnet18(4)"},
     lambda: torchvision.models.resnet18(num_classes=4)),
    ("resnet50", {**IMAGE, "imports": "import std.models.{resnet50}", "net": "resnet50(4)"},
     lambda: torchvision.models.resnet50(num_classes=4)),
    ("mobilenet_v2", {**IMAGE, "imports": "import std.models.{mobilenet_v2}", "net": "mobilenet_v2(4)"},
     lambda: torchvision.models.mobilenet_v2(num_classes=4)),
    ("sizes of each axis", {**IMAGE, "imports": "", "net": AXES}, axes),
    *((name, {**SERIES, "net": "Stack()", "blocks": STACK.format(f"{name}(3, 4, layers = 2, directions = 2)")},
       lambda name=name: Stack(getattr(torch.nn, name))) for name in ("LSTM", "GRU", "RNN")),
]


def read_safetensors(path):
    """The tensors of a file, without the library that reads it."""
    import json
    import struct

    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    types = {"F32": torch.float32, "I64": torch.int64}
    tensors = {}
    for name, row in json.loads(data[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + offset for offset in row["data_offsets"])
        tensors[name] = torch.frombuffer(bytearray(data[begin:end]), dtype=types[row["dtype"]]).reshape(row["shape"])
    return tensors


def compare(name, fields, make, folder):
    dims = fields["dims"]
    count = torch.Size(dims).numel()
    source = folder / "waves.ltr"
    source.write_text(PROGRAM.format(**{**fields, "dims": ", ".join(map(str, dims)), "count": count}))
    result = fit(build(source, folder, "program"), folder, "--seed", 1)
    if not check(f"{name}: fit exits 0", result.returncode == 0, result.text):
        return
    run = newest(folder)
    tensors = {key.removeprefix("net."): value
               for key, value in read_safetensors(run / "checkpoints/last/weights.safetensors").items()}
    twin = make()
    wanted = {key: tuple(value.shape) for key, value in twin.state_dict().items()}
    have = {key: tuple(value.shape) for key, value in tensors.items()}
    if not check(f"{name}: names and shapes", wanted == have, f"{sorted(wanted.items() ^ have.items())[:8]}"):
        return
    twin.load_state_dict(tensors)
    twin.eval()
    x = torch.stack([torch.sin(torch.arange(count, dtype=torch.float64) * 0.01 + i).float().reshape(dims) for i in range(4)])
    with torch.no_grad():
        loss = torch.nn.functional.cross_entropy(twin(x), torch.arange(4)).item()
    with open(run / "metrics.csv") as file:
        ours = [float(row["val/loss"]) for row in csv.DictReader(file) if row.get("val/loss")][-1]
    check(f"{name}: loss", abs(loss - ours) <= 1e-4 * max(1, abs(loss)), f"{ours} here, {loss} there")


for row in ROWS:
    with scratch() as folder:
        compare(*row, pathlib.Path(folder))
finish()

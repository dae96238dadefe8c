#!/usr/bin/env python3
"""A hundred steps on two ranks against PyTorch's DistributedDataParallel over Gloo: the same initial weights and batches on
each rank, a plain network and a convolutional one. Losses within 1e-5 relative, final weights within 1e-4 of the largest.

Both compute with 256-bit vectors and one thread, as in tests/parity/programs.py. Needs torch and safetensors (exit 77
without); LTRC and LTR_SOURCE say which compiler and sources.
"""
import csv
import gzip
import os
import pathlib
import sys

os.environ["ATEN_CPU_CAPABILITY"] = "avx2"  # read when LibTorch starts, here and in the programs
try:
    import torch
    import torch.distributed as dist
    import torch.nn.functional as F
    from safetensors.torch import load_file
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "support"))
from team import EXAMPLES, build, check, finish, free_ports, newest, run, scratch

WORLD = 2
STEPS = 100
SIZE = 16
PROGRAM = """
ltr 1
hparam lr: float = {lr}
data Digits(root: path = "data/mnist-5k") {{
  batch[B] {{ image: float[B, 1, 28, 28], label: i64[B] }}
  fn prepare(s: {{image: u8[28, 28], label: u8}}) -> {{image: float[1, 28, 28], label: i64}} =
    (image = (s.image.to(float) / 255).unsqueeze(0), label = s.label.to(i64))
  train = mnist(root, train = true) |> map(prepare) |> collate({size})
}}
model Net(lr: float) {{
{layers}
  step train[B](image: float[B, 1, 28, 28], label: i64[B]) {{
    loss = cross_entropy(net(image), label)
    minimize loss
    log loss on step
  }}
}}
experiment {name} {{
  data = Digits()
  model = Net(lr)
  trainer {{ steps = {steps}, log_every = 1 }}
  loggers {{ Csv() }}
}}
"""
LAYERS = {
    "plain": """  net = [flatten(1), Linear(784, 64), tanh, Linear(64, 10)]
  optimizer opt = SGD(net.weights, lr = lr, momentum = 0.9) { clip_norm = 1.0 }""",
    "convolutional": """  net = [Conv2d(1, 8, 5, stride = 2), relu, Conv2d(8, 12, 3, stride = 2), relu, flatten(1), Linear(300, 10)]
  optimizer opt = Adam(net.weights, lr = lr)""",
}
RATES = {"plain": 0.05, "convolutional": 0.003}


class Plain(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Flatten(1), torch.nn.Linear(784, 64), torch.nn.Tanh(), torch.nn.Linear(64, 10))

    def forward(self, image):
        return self.net(image)


class Convolutional(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Conv2d(1, 8, 5, 2), torch.nn.ReLU(), torch.nn.Conv2d(8, 12, 3, 2), torch.nn.ReLU(),
                                       torch.nn.Flatten(1), torch.nn.Linear(300, 10))

    def forward(self, image):
        return self.net(image)


def digits():
    folder = EXAMPLES / "data/mnist-5k"
    images = gzip.decompress((folder / "train-images-idx3-ubyte.gz").read_bytes())[16:]
    labels = gzip.decompress((folder / "train-labels-idx1-ubyte.gz").read_bytes())[8:]
    return (torch.frombuffer(bytearray(images), dtype=torch.uint8).reshape(-1, 1, 28, 28).float() / 255,
            torch.frombuffer(bytearray(labels), dtype=torch.uint8).long())


def twin(rank, name, initial, port, results):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=WORLD)
    module = {"plain": Plain, "convolutional": Convolutional}[name]()
    module.load_state_dict(load_file(initial))
    model = torch.nn.parallel.DistributedDataParallel(module)
    rate = RATES[name]
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9) if name == "plain" else torch.optim.Adam(model.parameters(), lr=rate)
    images, labels = digits()
    per_epoch = len(images) // SIZE // WORLD
    losses = []
    for step in range(STEPS):
        at = ((step % per_epoch) * WORLD + rank) * SIZE
        loss = F.cross_entropy(model(images[at:at + SIZE]), labels[at:at + SIZE])
        optimizer.zero_grad()
        loss.backward()
        if name == "plain":
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total = loss.detach().double().clone()
        dist.all_reduce(total)
        losses.append(total.item() / WORLD)
    if rank == 0:
        torch.save({"losses": losses, "weights": module.state_dict()}, results)
    dist.barrier()
    dist.destroy_process_group()
    # PyTorch's threads may end behind what they stand on, and then the process aborts.
    os._exit(0)


def compare(name, folder):
    source = folder / f"{name}.ltr"
    source.write_text(PROGRAM.format(name=name, layers=LAYERS[name], lr=RATES[name], size=SIZE, steps=STEPS))
    program = build(source, folder)

    def fit(runs, *options):
        result = run(program, "fit", "--no-bar", "--threads", 1, "--set", f"data.root={EXAMPLES / 'data/mnist-5k'}", "--out", folder / runs, *options)
        if result.returncode != 0:
            sys.exit(f"{name}: {result.text}")
        return newest(folder / runs)

    # Weights are saved after an update at the earliest; one with this rate changes no digit of them.
    initial = fit(f"{name}-initial", "--steps", 1, "--lr", "1e-30") / "checkpoints/last/weights.safetensors"
    ours = fit(f"{name}-runs", "--nproc", WORLD)
    with open(ours / "metrics.csv") as file:
        losses = [float(row["train/loss"]) for row in csv.DictReader(file) if row["train/loss"]]
    results = folder / f"{name}.pt"
    torch.multiprocessing.spawn(twin, (name, str(initial), free_ports(1)[0], str(results)), nprocs=WORLD)
    theirs = torch.load(results)
    worst = max(abs(a - b) / abs(b) for a, b in zip(losses, theirs["losses"]))
    check(f"{name}: {len(losses)} losses as DistributedDataParallel's, {worst:.1e}", len(losses) == STEPS and worst <= 1e-5,
          list(zip(losses, theirs["losses"]))[:3])
    weights = load_file(ours / "checkpoints/last/weights.safetensors")
    distance = max(((weights[key] - value).abs().max() / value.abs().max()).item() for key, value in theirs["weights"].items())
    check(f"{name}: and weights, {distance:.1e}", distance <= 1e-4)


if __name__ == "__main__":
    with scratch() as place:
        for name in LAYERS:
            compare(name, pathlib.Path(place).resolve())
    finish()

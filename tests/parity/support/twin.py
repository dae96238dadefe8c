"""What tests share that repeat a run in PyTorch: data that both know, the run, and what it left.

Ends with 77 where torch or safetensors is not there.
"""
import csv
import pathlib
import subprocess
import sys

try:
    import torch
    from safetensors.torch import load_file
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "run/support"))
from harness import LTRC  # noqa: E402

# The experiment of each program is `curve`.
TOPOLOGY = "topology wide { devices = cpu, precision = f64 }"
TRAIN = """step train[B](x: float[B, 3], y: float[B, 1]) {
    loss = mean((net(x) - y) ** 2)
    minimize loss
    log loss
  }"""


def points(count, size, period=None):
    """The data `Points()`, or `Points(size)` where `size` is that name: records of three numbers and one, in batches. The second number
    comes again after `period` of them."""
    return f"""data Points({"size: int" if size == "size" else ""}) {{
  batch[B] {{ x: float[B, 3], y: float[B, 1] }}
  fn point(s: {{i: int}}) -> {{x: float[3], y: float[1]}} =
    (x = stack([0.01 * s.i, 0.5 - 0.02 * (s.i % {period or count}), 0.25 * (s.i % 4)]), y = full(1, 0.03 * (s.i % 31)))
  train = synthetic({count}, point) |> collate({size})
}}"""


def tensors(count, dtype, period=None):
    """All of them as `x` and `y`."""
    i = torch.arange(count, dtype=torch.float64)
    x = torch.stack([0.01 * i, 0.5 - 0.02 * (i % (period or count)), 0.25 * (i % 4)], 1)
    return x.to(dtype), (0.03 * (i % 31)).unsqueeze(1).to(dtype)


def fit(program, *options):
    """Trains it with one thread; what it said. Runs of `--out NAME` lie beside the program."""
    done = subprocess.run([LTRC, "run", program, "fit", "--threads", "1", "--no-bar", *options], cwd=program.parent, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def run_of(folder, out):
    return folder / out / "curve/0001"


def rows(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def columns(run, *prefixes):
    """The series of its table whose names begin so, without the cells that are empty."""
    table = rows(run / "metrics.csv")
    return {key: [float(row[key]) for row in table if row[key]] for key in table[0] if key.startswith(prefixes)}


def weights(run, checkpoint="last", file="weights.safetensors"):
    return load_file(run / "checkpoints" / checkpoint / file)


def far(found, wanted):
    """The largest difference against the largest number wanted: of what is all but 0 rounding is the most."""
    if len(found) != len(wanted):
        return float("inf")
    return max(abs(a - b) for a, b in zip(found, wanted)) / max(abs(b) for b in wanted)

#!/usr/bin/env python3
"""The curve of `--find-lr` against the same updates in PyTorch, from the weights that Ltr made: every loss of every rate, in f64.

AdamW with a group of its own rate, whose ratio stays, clipped gradients, windows of three batches, the last of an epoch
short, a schedule that is out of force, and fewer batches than there are rates. Tolerance: 1e-9 relative. The suggestion is as
Lightning's: where numpy's gradient of the smoothed losses, without the first ten and the last, is least.
Needs torch and safetensors (exit 77 without); LTRC and LTR_SOURCE say which compiler and sources.
"""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from twin import TOPOLOGY, TRAIN, fit, points, rows, run_of, tensors, torch, weights  # noqa: E402

import numpy  # noqa: E402

TOLERANCE = 1e-9
COUNT, SIZE, ROWS = 107, 10, 3

PROGRAM = f"""ltr 1
hparam lr: float = 1e-3
{points(COUNT, SIZE)}
model Net(lr: float) {{
  net = [Linear(3, 16), tanh, Linear(16, 1)]
  optimizer opt = AdamW(net.weights, lr = lr, weight_decay = 0.02) {{
    clip_norm = 0.7
    schedule = cosine(warmup = 7 steps)
    group "@bias" {{ lr = lr * 0.25 }}
  }}
  {TRAIN}
}}
{TOPOLOGY}
experiment curve {{
  data = Points()
  model = Net(lr)
  topology = wide
  trainer {{ epochs = 9, accumulate = {ROWS} }}
}}
"""


def windows():
    """Batches of one update after another; the stream goes round."""
    x, y = tensors(COUNT, torch.float64)
    batches = [(x[at:at + SIZE], y[at:at + SIZE]) for at in range(0, COUNT, SIZE)]
    while True:
        yield from (batches[at:at + ROWS] for at in range(0, len(batches), ROWS))


def torch_losses(w, rates):
    w = {name: value.double().clone().requires_grad_() for name, value in w.items()}
    biases = [value for name, value in w.items() if name.endswith("bias")]
    others = [value for name, value in w.items() if not name.endswith("bias")]
    optimizer = torch.optim.AdamW([{"params": others}, {"params": biases}], weight_decay=0.02)
    losses = []
    for rate, window in zip(rates, windows()):
        optimizer.param_groups[0]["lr"], optimizer.param_groups[1]["lr"] = rate, rate * 0.25
        optimizer.zero_grad()
        samples = sum(len(x) for x, _ in window)
        total = 0.0
        for x, y in window:
            hidden = torch.tanh(x @ w["net.0.weight"].T + w["net.0.bias"])
            loss = ((hidden @ w["net.2.weight"].T + w["net.2.bias"] - y) ** 2).mean() * (len(x) / samples)
            loss.backward()
            total += loss.item()
        torch.nn.utils.clip_grad_norm_(biases + others, 0.7)
        optimizer.step()
        losses.append(total)
    return losses


def suggestion(rates, losses):
    mean, smoothed = 0.0, []
    for t, loss in enumerate(losses):
        mean = 0.98 * mean + 0.02 * loss
        smoothed.append(mean / (1 - 0.98 ** (t + 1)))
    return rates[10 + int(numpy.gradient(numpy.array(smoothed[10:-1])).argmin())]


with tempfile.TemporaryDirectory(prefix="ltr-") as name:
    folder = pathlib.Path(name)
    program = folder / "curve.ltr"
    program.write_text(PROGRAM)
    # Weights are saved after an update at the earliest; one with these rates changes no digit of them.
    fit(program, "--steps", "1", "--lr", "1e-300", "--set", "model.opt.weight_decay=0", "--set", "model.opt.schedule=none", "--out", "initial")
    w = weights(run_of(folder, "initial"))
    said = fit(program, "--find-lr", "--out", "found")
    tried = rows(folder / "found/curve/find_lr.csv")
rates = [float(row["lr"]) for row in tried]
wanted = torch_losses(w, rates)
worst = max(abs(float(row["loss"]) - loss) / abs(loss) for row, loss in zip(tried, wanted))
found, best = float(said.splitlines()[-1].split()[1]), suggestion(rates, wanted)
print(f"{len(tried)} rates, largest difference {worst:.1e}; suggested {found:g}, by numpy {best:.4g}")
sys.exit(0 if len(tried) == 100 and worst <= TOLERANCE and abs(found / best - 1) < 1e-3 else 1)

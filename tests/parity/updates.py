#!/usr/bin/env python3
"""Groups with rules of their own, and schedules one after the other, against PyTorch: two optimizers over the same split of
the weights, moved by SequentialLR. Every loss of 60 updates, in f64 within 1e-10 and in f32 within 1e-5 relative; every rate
within 1e-9. The same losses after a stop in the midst, to the last bit.

Needs torch and safetensors (exit 77 without); LTRC and LTR_SOURCE say which compiler and sources.
"""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from twin import TOPOLOGY, TRAIN, columns, fit, points, run_of, tensors, torch, weights  # noqa: E402

COUNT, SIZE, UPDATES, WARMUP, FALL = 96, 8, 60, 15, 45

PROGRAM = f"""ltr 1
{points(COUNT, SIZE)}
model Net() {{
  net = [Linear(3, 16), LayerNorm(16), tanh, Linear(16, 1)]
  optimizer opt = SGD(net.weights, lr = 0.05, momentum = 0.9, nesterov = true) {{
    schedule = sequential([(linear(from = 0.1, to = 1.0, total = {WARMUP} steps), {WARMUP} steps),
                           (cosine(total = {FALL} steps), {FALL} steps)])
    group "@norm" {{ rule = RMSprop(lr = 0.002), alpha = 0.95 }}
    group "*.bias" {{ rule = AdamW(lr = 0.01, betas = (0.8, 0.99)), weight_decay = 0.1 }}
  }}
  {TRAIN}
}}
{TOPOLOGY}
experiment curve {{ data = Points(), model = Net(), topology = wide, trainer {{ steps = {UPDATES}, log_every = 1 }}, callbacks {{ LrMonitor() }}, loggers {{ Csv() }} }}
"""


def torch_curve(w, dtype):
    w = {name: value.to(dtype).clone().requires_grad_() for name, value in w.items()}
    norms = [w["net.1.weight"], w["net.1.bias"]]
    biases = [w["net.0.bias"], w["net.3.bias"]]
    optimizers = [torch.optim.SGD([w["net.0.weight"], w["net.3.weight"]], lr=0.05, momentum=0.9, nesterov=True),
                  torch.optim.RMSprop(norms, lr=0.002, alpha=0.95),
                  torch.optim.AdamW(biases, lr=0.01, betas=(0.8, 0.99), weight_decay=0.1)]
    schedule = torch.optim.lr_scheduler
    schedules = [schedule.SequentialLR(one, [schedule.LinearLR(one, 0.1, 1.0, WARMUP), schedule.CosineAnnealingLR(one, FALL)], [WARMUP])
                 for one in optimizers]
    x, y = tensors(COUNT, dtype)
    losses, rates = [], []
    for update in range(UPDATES):
        at = update * SIZE % COUNT
        hidden = torch.nn.functional.linear(x[at:at + SIZE], w["net.0.weight"], w["net.0.bias"])
        hidden = torch.tanh(torch.nn.functional.layer_norm(hidden, [16], w["net.1.weight"], w["net.1.bias"]))
        loss = ((torch.nn.functional.linear(hidden, w["net.3.weight"], w["net.3.bias"]) - y[at:at + SIZE]) ** 2).mean()
        loss.backward()
        rates.append([one.param_groups[0]["lr"] for one in optimizers])
        for one, moved in zip(optimizers, schedules):
            one.step()
            moved.step()
            one.zero_grad()
        losses.append(loss.item())
    return losses, rates


def far(found, wanted):
    return max(abs(a - b) / max(abs(b), 1e-12) for a, b in zip(found, wanted)) if len(found) == len(wanted) else float("inf")


with tempfile.TemporaryDirectory(prefix="ltr-") as name:
    folder = pathlib.Path(name)
    program = folder / "curve.ltr"
    program.write_text(PROGRAM)
    # Weights are saved after an update at the earliest; one without rates changes no digit of them.
    (folder / "still.ltr").write_text(PROGRAM.replace("0.05, momentum = 0.9, nesterov = true", "1e-300").replace("lr = 0.002", "lr = 1e-300")
                                      .replace("lr = 0.01,", "lr = 1e-300,").replace("weight_decay = 0.1", "weight_decay = 0"))
    fit(folder / "still.ltr", "--steps", "1", "--out", "initial")
    start = weights(run_of(folder, "initial"))
    fit(program, "--out", "wide")
    fit(program, "--out", "narrow", "--set", "topology.precision=f32")
    fit(program, "--out", "stopped", "--steps", "23")
    fit(program, "--out", "stopped", "--resume", "last", "--steps", str(UPDATES))
    wide, narrow, stopped = (columns(run_of(folder, one), "train/loss", "lr/") for one in ("wide", "narrow", "stopped"))
failed = False
for title, found, dtype, tolerance in (("f64", wide, torch.float64, 1e-10), ("f32", narrow, torch.float32, 1e-5)):
    losses, rates = torch_curve(start, dtype)
    off = far(found["train/loss"], losses)
    print(f"{title}: {len(losses)} losses, largest difference {off:.1e}")
    failed = failed or off > tolerance
losses, rates = torch_curve(start, torch.float64)
for at, column in enumerate(("lr/opt/rest", "lr/opt/@norm", "lr/opt/*.bias")):
    off = far(wide[column], [row[at] for row in rates])
    print(f"{column}: largest difference {off:.1e}")
    failed = failed or off > 1e-9
print("a resumed run:", "equal" if stopped == wide else "differs")
sys.exit(1 if failed or stopped != wide else 0)

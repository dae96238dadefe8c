#!/usr/bin/env python3
"""LBFGS against PyTorch's, in a run: losses and weights of 20 updates over six batches in turn, with a batch norm whose running values
follow each evaluation, in f64 within 1e-9 and in f32 within 1e-5, with and without a line search. A metric and `print` above
`minimize` count once. The same losses after a stop in the midst, with dropout, to the last bit, and within 1e-9 on two ranks.

Needs torch and safetensors (exit 77 without); LTRC and LTR_SOURCE say which compiler and sources.
"""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from twin import TOPOLOGY, columns, fit, points, run_of, tensors, torch, weights  # noqa: E402

COUNT, SIZE, UPDATES, PERIOD = 96, 16, 20, 7
RULES = {"steps": ("max_iter = 3, lr = 0.5", {"max_iter": 3, "lr": 0.5}),
         "wolfe": ("max_iter = 3, line_search = strong_wolfe", {"max_iter": 3, "line_search_fn": "strong_wolfe"})}

PROGRAM = f"""ltr 1
hparam size: int = {SIZE}
{points(COUNT, "size", PERIOD)}
model Net() {{
  net = [Linear(3, 8), MIDDLE, tanh, Linear(8, 1)]
  mae = MeanAbsoluteError()
  optimizer opt = LBFGS(net.weights, RULE)
  step train[B](x: float[B, 3], y: float[B, 1]) {{
    given = net(x)
    log mae = mae(given, y) on epoch
    print "step"
    loss = mean((given - y) ** 2)
    minimize loss
    log loss
  }}
}}
{TOPOLOGY}
experiment curve {{ data = Points(size), model = Net(), topology = wide, trainer {{ steps = {UPDATES}, log_every = 1 }}, loggers {{ Csv() }} }}
"""


def torch_curve(start, dtype, arguments):
    w = {name: value.to(dtype).clone() for name, value in start.items()}
    trained = [name for name in w if "running" not in name and "num_batches" not in name]
    for name in trained:
        w[name].requires_grad_()
    optimizer = torch.optim.LBFGS([w[name] for name in trained], **arguments)
    x, y = tensors(COUNT, dtype, PERIOD)
    mean, var = torch.zeros(8, dtype=dtype), torch.ones(8, dtype=dtype)
    losses, errors = [], []
    for update in range(UPDATES):
        at = update * SIZE % COUNT
        first = []

        def closure():
            optimizer.zero_grad()
            hidden = torch.nn.functional.linear(x[at:at + SIZE], w["net.0.weight"], w["net.0.bias"])
            hidden = torch.tanh(torch.nn.functional.batch_norm(hidden, mean, var, w["net.1.weight"], w["net.1.bias"], training=True))
            given = torch.nn.functional.linear(hidden, w["net.3.weight"], w["net.3.bias"])
            if not first:
                first.append((given.detach() - y[at:at + SIZE]).abs().mean().item())
            loss = ((given - y[at:at + SIZE]) ** 2).mean()
            loss.backward()
            return loss

        losses.append(optimizer.step(closure).item())
        errors += first
    whole = COUNT // SIZE
    epochs = [sum(errors[i:i + whole]) / whole for i in range(0, UPDATES - UPDATES % whole, whole)]
    return losses, epochs, {**{name: w[name].detach() for name in trained}, "net.1.running_mean": mean, "net.1.running_var": var}


def far(found, wanted):
    return max(abs(a - b) / max(abs(b), 1) for a, b in zip(found, wanted)) if len(found) == len(wanted) else float("inf")


failed = []


def check(title, holds, text=""):
    print(f"{'ok ' if holds else 'BAD'} {title} {text}")
    if not holds:
        failed.append(title)


with tempfile.TemporaryDirectory(prefix="ltr-") as name:
    folder = pathlib.Path(name)

    def series(out):
        return columns(run_of(folder, out), "train/")

    def program(title, rule, middle):
        path = folder / title
        path.write_text(PROGRAM.replace("RULE", rule).replace("MIDDLE", middle))
        return path

    # Weights are saved after an update at the earliest; one that goes no way changes no digit of them.
    still = program("still.ltr", "max_iter = 1, lr = 1e-300", "BatchNorm1d(8)")
    fit(still, "--steps", "1", "--out", "initial")
    start = weights(run_of(folder, "initial"))
    for rule, (written, arguments) in RULES.items():
        normed = program(f"{rule}.ltr", written, "BatchNorm1d(8)")
        for precision, dtype, tolerance in (("f64", torch.float64, 1e-9), ("f32", torch.float32, 1e-5)):
            title = f"{rule}, {precision}"
            told = fit(normed, "--out", title, "--set", f"topology.precision={precision}")
            found = series(title)
            losses, errors, ends = torch_curve(start, dtype, arguments)
            check(f"{title}: losses", far(found["train/loss"], losses) <= tolerance, f"{far(found['train/loss'], losses):.1e}")
            whole = len(errors)
            check(f"{title}: a metric counts once", far(found["train/mae"][:whole], errors) <= max(tolerance, 1e-6))
            check(f"{title}: `print` is told once", told.count("\nstep\n") + told.startswith("step\n") == UPDATES or told.count("step\n") == UPDATES)
            ends_here = weights(run_of(folder, title))
            worst = max(far(ends_here[key].flatten().tolist(), ends[key].flatten().tolist()) for key in ends)
            check(f"{title}: weights and running values", worst <= 10 * tolerance, f"{worst:.1e}")
        dropped = program(f"{rule}-dropped.ltr", written, "Dropout(0.2)")
        fit(dropped, "--out", f"{rule} whole")
        fit(dropped, "--out", f"{rule} stopped", "--steps", "7")
        fit(dropped, "--out", f"{rule} stopped", "--resume", "last", "--steps", str(UPDATES))
        check(f"{rule}: a resumed run", series(f"{rule} stopped") == series(f"{rule} whole"))
        plain = program(f"{rule}-plain.ltr", written, "Identity()")
        fit(plain, "--out", f"{rule} one")
        fit(plain, "--out", f"{rule} two", "--nproc", "2", "--size", str(SIZE // 2))
        one, two = series(f"{rule} one"), series(f"{rule} two")
        worst = far(two["train/loss"], one["train/loss"])
        check(f"{rule}: two ranks", worst <= 1e-9, f"{worst:.1e}")
sys.exit(1 if failed else 0)

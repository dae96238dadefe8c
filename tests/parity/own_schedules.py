#!/usr/bin/env python3
"""Schedules that a program writes itself, against PyTorch's LambdaLR: alone, with arguments, in `sequential`, in `chain` and of
a group. Every rate of 60 updates within 1e-12; the same rates after a stop in the midst, from the run's own settings, and
with others on the command line. What gives no rate ends the run with R2004.

Needs torch (exit 77 without); LTRC and LTR_SOURCE say which compiler and sources.
"""
import csv
import math
import pathlib
import subprocess
import sys
import tempfile

try:
    import torch
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "run/support"))
from harness import LTRC  # noqa: E402

UPDATES = 60

PROGRAM = f"""ltr 1
fn fall(step: int, total: int) -> float = (1.0 - 1.0 * step / total) ** 2
fn steps_down(step: int, total: int, low: float, every: int = 7) -> float = max(low, 0.8 ** floor(step / every))
fn wave(t: int, n: int, kind: str = "cos") -> float {{
  x = 6.0 * t / n
  if kind == "cos" {{ return 1.5 + cos(x) }}
  return 1.5 + sin(x)
}}
fn wrong(step: int, total: int) -> float = 1.0 - 0.1 * step

data Points() {{
  batch[B] {{ x: float[B, 2] }}
  train = range(40) |> map(row => (x = stack([0.01 * row.i, 0.1]))) |> collate(8)
}}
model Net(low: float) {{
  a = Linear(2, 1)
  b = Linear(2, 1)
  c = Linear(2, 1)
  optimizer alone = SGD(a.weights, lr = 0.1) {{
    schedule = fall
    group "*.bias" {{ schedule = steps_down(low = low, every = 5), lr = 0.3 }}
  }}
  optimizer parts = SGD(b.weights, lr = 0.2) {{
    schedule = sequential([(steps_down(0.5), 20 steps), (fall, 30 steps), (wave(kind = "sin"), 10 steps)])
  }}
  optimizer product = SGD(c.weights, lr = 0.4) {{ schedule = chain(wave, linear(from = 0.5, to = 1.0)) }}
  step train[B](x: float[B, 2]) {{
    minimize mean(a(x) ** 2) with alone
    minimize mean(b(x) ** 2) with parts
    minimize mean(c(x) ** 2) with product
  }}
}}
hparam low: float = 0.2
experiment rates {{
  data = Points(), model = Net(low), trainer {{ steps = {UPDATES}, log_every = 1 }}
  callbacks {{ LrMonitor(), Checkpoint(every = 10 steps, keep = 10) }}
  loggers {{ Csv() }}
}}
"""


def fall(total):
    return lambda step: (1 - step / total) ** 2


def steps_down(low, every):
    return lambda step: max(low, 0.8 ** (step // every))


def wave(total, what):
    return lambda step: 1.5 + what(6 * step / total)


def lambdas(base, factor):
    """The rates of PyTorch's LambdaLR, or of what is made of several."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=base)
    schedule = factor(optimizer)
    rates = []
    for _ in range(UPDATES):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return rates


def one(factor):
    return lambda optimizer: torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


s = torch.optim.lr_scheduler
linear = lambda step: 0.5 + 0.5 * min(step / UPDATES, 1)
WANTED = {
    "alone": lambdas(0.1, one(fall(UPDATES))),
    "alone.*.bias": lambdas(0.3, one(steps_down(0.2, 5))),
    "parts": lambdas(0.2, lambda o: s.SequentialLR(o, [s.LambdaLR(o, steps_down(0.5, 7)), s.LambdaLR(o, fall(30)),
                                                       s.LambdaLR(o, wave(10, math.sin))], [20, 50])),
    "product": lambdas(0.4, one(lambda step: wave(UPDATES, math.cos)(step) * linear(step))),
}


def ltr(folder, *options, wants=0):
    done = subprocess.run([LTRC, "run", folder / "rates.ltr", "fit", "--threads", "1", "--no-bar", *options], cwd=folder,
                          capture_output=True, text=True)
    if done.returncode != wants:
        sys.exit(f"exit {done.returncode}, not {wants}: {options}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def rates(folder, name):
    with open(folder / name / "rates/0001/metrics.csv") as file:
        rows = list(csv.DictReader(file))
    found = {}
    for key in rows[0]:
        if key.startswith("lr/"):
            found[key[3:]] = [float(row[key]) for row in rows if row[key]]
    return found


failures = []


def compare(what, found, wanted):
    for name, rates_of in wanted.items():
        mine = found.get(name, found.get(name.replace(".", "/", 1)))
        far = max((abs(a - b) for a, b in zip(mine or [], rates_of)), default=1)
        if mine is None or len(mine) != UPDATES or far > 1e-12:
            failures.append(f"{what}: {name} is {far:.2g} away, of {sorted(found)}")


with tempfile.TemporaryDirectory(prefix="ltr-") as folder:
    folder = pathlib.Path(folder)
    (folder / "rates.ltr").write_text(PROGRAM)
    ltr(folder, "--out", "whole")
    compare("whole", rates(folder, "whole"), WANTED)
    config = folder / "whole/rates/0001/config.json"
    ltr(folder, "--out", "again", "--config", config)
    compare("of a run's settings", rates(folder, "again"), WANTED)
    # Resumed at update 30, with the rates of 60, in the folder of the run: the rows behind it are made anew.
    table = folder / "whole/rates/0001/metrics.csv"
    lines = table.read_text().splitlines(keepends=True)
    table.write_text("".join(lines[:1 + UPDATES // 2]))
    ltr(folder, "--resume", folder / "whole/rates/0001/checkpoints/step0000030")
    compare("resumed", rates(folder, "whole"), WANTED)
    ltr(folder, "--out", "set", "--set", "model.alone.schedule=wave(kind = \"sin\")", "--set", "model.parts.schedule=fall")
    compare("set", rates(folder, "set"), {"alone": lambdas(0.1, one(wave(UPDATES, math.sin))),
                                          "parts": lambdas(0.2, one(fall(UPDATES)))})
    said = ltr(folder, "--out", "bad", "--set", "model.alone.schedule=fal", wants=2)
    if "R2002" not in said or "fall" not in said:
        failures.append("a misspelt schedule: " + said)
    said = ltr(folder, "--out", "bad", "--set", "model.alone.schedule=wave(kin = 1)", wants=2)
    if "R2002" not in said or "kind" not in said:
        failures.append("a misspelt parameter: " + said)
    said = ltr(folder, "--out", "bad", "--set", "model.alone.schedule=cosine(warmpu = 20 steps)", wants=2)
    if "R2002" not in said or "did you mean warmup?" not in said:
        failures.append("a misspelt argument of a schedule of the library: " + said)
    (folder / "rates.ltr").write_text(PROGRAM.replace("schedule = fall\n", "schedule = wrong\n"))
    said = ltr(folder, "--out", "bad", wants=2)
    if "R2004" not in said or "wrong at update 11 of 60" not in said or "rates.ltr:" not in said:
        failures.append("a rate below 0: " + said)

for failure in failures:
    print(failure)
print(f"{len(failures)} failures")
sys.exit(1 if failures else 0)

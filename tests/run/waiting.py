#!/usr/bin/env python3
"""What lasts from one step to a later one is in checkpoints: gradients that a `manual` step adds up, a momentum that a schedule moved and
left. And a hook in an update changes nothing of what its step draws, op by op as planned.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from curves import farthest, rows
from harness import build, check, finish, fit, newest, result_of, scratch

DATA = """ltr 1
data Points() {
  batch[B] { x: float[B, 4], y: float[B] }
  fn point(s: {i: int}) -> {x: float[4], y: float} = (x = stack([sin(0.3 * s.i), cos(0.7 * s.i), sin(1.1 * s.i), 0.5]), y = sin(0.1 * s.i))
  train = synthetic(48, point) |> shuffle(1) |> collate(8)
}
"""
STEP = """  step train[B](x: float[B, 4], y: float[B]) {
    loss = mse(net(x).squeeze(1), y)
    minimize loss
    log loss
  }
"""
MODEL = """model Net() {{
  net = [Linear(4, 8), relu, Linear(8, 1)]
  optimizer opt = SGD(net.weights, lr = 0.1, momentum = 0.9) {optimizer}
{step}}}
experiment waiting {{
  data = Points(), model = Net(), trainer {{ epochs = 4, log_every = 1 }}, loggers {{ Csv() }}
  callbacks {{ Checkpoint(every = 1 steps, keep = all), LrMonitor(momentum = true){callback} }}
}}
"""
BY_HAND = """  step train[B](x: float[B, 4], y: float[B]) manual {
    loss = mse(net(x).squeeze(1), y)
    backward loss / 3.0
    if global_step % 3 == 2 { opt.step() }
    log loss
  }
"""
# A program, and the steps behind which it is gone on with.
GOES_ON = {
    "gradients by hand": (MODEL.format(optimizer="", step=BY_HAND, callback=""), (4, 12, 13)),
    "a schedule behind one_cycle": (MODEL.format(
        optimizer="{ schedule = sequential([(one_cycle(), 12 steps), (cosine(), 12 steps)]) }", step=STEP, callback=""), (7, 12, 18)),
    "averages behind one_cycle": (MODEL.format(
        optimizer="{ schedule = one_cycle(peak = 0.1) }", step=STEP, callback=", Swa(lr = 0.02, start = 0.4, anneal = 1 epoch)"), (8, 17)),
}
DRAWS = DATA + """model Two() {
  weight a: float[] = ones()
  weight b: float[] = ones()
  optimizer first = SGD(a, lr = 0.1)
  optimizer second = SGD(b, lr = 0.1)
  step train[B](x: float[B, 4]) {
    minimize a * mean(x) with first
    r = rand(4)
    minimize b * sum(r) with second
    s = rand(4)
    log drawn = r[0] + s[0]
  }
}
callback Hears { state n: float = 0.0, on after_step { n = n + rand(1).item() } }
experiment draws { data = Points(), model = Two(), trainer { epochs = 1, log_every = 1 }, loggers { Csv() }CALLBACKS }
"""


def goes_on(folder, title, text, steps):
    source = folder / "waiting.ltr"
    source.write_text(DATA + text)
    program = build(source, folder)
    for backend in ("native", "torch"):
        whole = folder / title / backend / "whole"
        fit(program, whole, "--backend", backend)
        wanted = result_of(newest(whole))
        for step in steps:
            out = folder / title / backend / str(step)
            shutil.copytree(whole, out, symlinks=True)
            result = fit(program, out, "--backend", backend, "--resume", newest(out) / f"checkpoints/step{step:07}")
            check(f"{title}, {backend}: from step {step} on with the same bits", result.returncode == 0 and result_of(newest(out)) == wanted, result.text)


def main():
    with scratch() as place:
        folder = pathlib.Path(place)
        for title, (text, steps) in GOES_ON.items():
            goes_on(folder, title, text, steps)
        found = []
        for name, callbacks in (("heard", ", callbacks { Hears() }"), ("alone", "")):
            source = folder / f"{name}.ltr"
            source.write_text(DRAWS.replace("CALLBACKS", callbacks))
            program = build(source, folder)
            for backend in ("native", "torch"):
                result = fit(program, folder / f"{name}-{backend}", "--backend", backend)
                check(f"draws, {name}, {backend}: the run ends", result.returncode == 0, result.text)
                found.append(rows(folder / f"{name}-{backend}"))
        check("a hook leaves the draws of its step alone", all(farthest(one, found[0]) < 1e-6 for one in found), found)
    finish()


if __name__ == "__main__":
    main()

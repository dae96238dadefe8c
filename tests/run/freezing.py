#!/usr/bin/env python3
"""`FreezeUntil` and `Unfreeze`: what is held does not change by a bit and has no state, what is released does; norms train on or
rest; a run that stops in a stage goes on to the same bits; on both back ends. Patterns of flags are refused as those of programs are.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these. Rates are compared with PyTorch's in
tests/parity/freezing.py.
"""
import json
import pathlib
import signal
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, fit, interrupt, newest, result_of, run, scratch

PROGRAM = """ltr 1

data Points() {{
  batch[B] {{ x: float[B, 4], y: float[B, 2] }}
  fn point(row: {{i: int}}) -> {{x: float[4], y: float[2]}} = (x = randn(4), y = ones(2) * row.i / 64.0)
  train = range(72) |> map(point) |> shuffle(1) |> collate(8)
  val = range(16) |> map(point) |> collate(8)
}}

model Net() {{
  body = [Linear(4, 8), BatchNorm1d(8), relu, Linear(8, 8), relu]
  head = Linear(8, 2)
  judge = Linear(2, 1)
  optimizer opt = AdamW([body.weights, head.weights], lr = 0.01) {{
    clip_norm = 1.0
    group "@1d" {{ lr = 0.02 }}
  }}
  optimizer other = SGD(judge.weights, lr = 0.1)
  step train[B](x: float[B, 4], y: float[B, 2]) {{
    guess = head(dropout(body(x), 0.1))
    loss = mean((guess - y) ** 2)
    minimize loss with opt
    minimize mean((judge(stop_grad(guess)) - 1) ** 2) with other
    log loss on both
  }}
  step val[B](x: float[B, 4], y: float[B, 2]) {{ log loss = mean((head(body(x)) - y) ** 2) }}
}}

callback Begin() {{ on train_start {{ if global_step == 0 {{ save("begin") }} }} }}

experiment e {{
  data = Points(), model = Net()
  trainer {{ epochs = 5, log_every = 1 }}
  callbacks {{ {callbacks}, Begin(), Checkpoint(every = 1 epoch, keep = 9, filename = "after-{{epoch}}") }}
  loggers {{ Csv() }}
}}
"""


def tensors(file):
    """Name to bytes."""
    content = file.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    found = json.loads(content[8:8 + length])
    found.pop("__metadata__", None)
    return {name: content[8 + length + one["data_offsets"][0]:8 + length + one["data_offsets"][1]] for name, one in found.items()}


def changes(run_folder):
    """For each epoch the weights and buffers that differ from those of the beginning."""
    def at(name):
        return tensors(run_folder / "checkpoints" / name / "weights.safetensors")
    begin = at("begin")
    return [{name for name, values in at(f"after-{epoch}").items() if values != begin[name]} for epoch in range(5)]


LINEAR = {"body.0.weight", "body.0.bias", "body.3.weight", "body.3.bias"}
NORM = {"body.1.weight", "body.1.bias"}
RUNNING = {"body.1.running_mean", "body.1.running_var", "body.1.num_batches_tracked"}
REST = {"head.weight", "head.bias", "judge.weight", "judge.bias"}
EVERYTHING = LINEAR | NORM | RUNNING | REST

with scratch() as place:
    folder = pathlib.Path(place)

    def built(name, callbacks):
        (folder / f"{name}.ltr").write_text(PROGRAM.format(callbacks=callbacks))
        return build(folder / f"{name}.ltr", folder)

    until = built("until", 'FreezeUntil("body", epoch = 2, lr_ratio = 0.25, growth = 2.0)')
    resting = built("resting", 'FreezeUntil("body", epoch = 2, train_norm = false)')
    stages = built("stages", 'Unfreeze([("body.3", 1), ("body", 3)], lr_ratio = 0.5), FreezeUntil("judge", epoch = 4)')
    for backend in ("native", "torch"):
        options = ("--backend", backend)
        out = folder / backend

        result = fit(until, out / "until", *options)
        check(f"{backend}: trains", result.returncode == 0, result.text)
        whole = newest(out / "until")
        found = changes(whole)
        check(f"{backend}: what is held is as it was, bit for bit, and norms train on", found[:2] == [EVERYTHING - LINEAR] * 2, found)
        check(f"{backend}: it trains from its epoch on", found[2:] == [EVERYTHING] * 3, found)
        kept = {name.removeprefix("opt.opt.").rsplit(".", 1)[0] for name in tensors(whole / "checkpoints/after-1/train.safetensors") if name.startswith("opt.opt.")}
        check(f"{backend}: what is held has no state", not kept & LINEAR and NORM <= kept, kept)
        check(f"{backend}: the release is told", "epoch 3: body trains by 0.25 of its rate" in result.text, result.text)
        check(f"{backend}: all runs by plans", backend == "torch" or "op by op" not in result.text, result.text)

        for step in (4, 22, 31):
            code, text = interrupt(until, out / f"stopped{step}", step, signal.SIGTERM, *options)
            check(f"{backend}: stops at step {step}", code == 75, text)
            check(f"{backend}: it is there", newest(out / f"stopped{step}").exists())
            again = fit(until, out / f"stopped{step}", "--resume", "last", *options)
            check(f"{backend}: goes on from step {step} to the same bits", again.returncode == 0 and result_of(newest(out / f"stopped{step}")) == result_of(whole), again.text)

        result = fit(resting, out / "resting", *options)
        found = changes(newest(out / "resting"))
        check(f"{backend}: norms that rest are as they were, running values too", found[:2] == [REST] * 2, found)
        check(f"{backend}: they end to rest", found[2:] == [EVERYTHING] * 3, found)

        result = fit(stages, out / "stages", *options)
        found = changes(newest(out / "stages"))
        first, second = {"body.3.weight", "body.3.bias"}, {"body.0.weight", "body.0.bias"}
        judge = {"judge.weight", "judge.bias"}
        check(f"{backend}: stages are released one after the other, an optimizer as a whole too",
              found == [EVERYTHING - LINEAR - judge] + [EVERYTHING - second - judge] * 2 + [EVERYTHING - judge, EVERYTHING], found)

    off = fit(until, folder / "off", "--set", "callbacks.FreezeUntil=off")
    check("`off` takes it away", off.returncode == 0 and changes(newest(folder / "off"))[0] == EVERYTHING, off.text)
    for title, options, says in (
            ("a path without weights", ("--set", "callbacks.FreezeUntil.what=bodies"), 'FreezeUntil: "bodies" holds no weight'),
            ("norms alone", ("--set", "callbacks.FreezeUntil.what=body.1"), "norm layers train on (body.1.weight, body.1.bias)"),
            ("an exception without weights", ("--set", "callbacks.FreezeUntil.except=head"), 'except = "head" takes no weight of "body"'),
            ("everything", ("--set", "callbacks.FreezeUntil.what=*", "--set", "callbacks.FreezeUntil.train_norm=false"), "nothing would train"),
            ("a ratio above 1", ("--set", "callbacks.FreezeUntil.lr_ratio=1.5"), "lr_ratio <= 1")):
        refused = fit(until, folder / "refused", *options)
        check(f"{title} is refused at start", refused.returncode == 2 and says in refused.text, refused.text)
    refused = fit(stages, folder / "refused", "--set", 'callbacks.Unfreeze.stages=[("judge", 1)]')
    check("a weight is held by one callback", refused.returncode == 2 and "two callbacks hold judge.weight" in refused.text, refused.text)
    moved = fit(stages, folder / "moved", "--set", 'callbacks.Unfreeze.stages=[("head", 4)]')
    check("stages are set by a flag", moved.returncode == 0 and not changes(newest(folder / "moved"))[3] & {"head.weight", "head.bias"}, moved.text)

    for epochs, is_told in ((2, True), (3, False)):
        short = fit(until, folder / f"short{epochs}", "--epochs", str(epochs))
        told = 'warning: "body" is held until epoch 2, and training ends before it' in short.text
        check(f"{epochs} epochs: what is held to the end is told", short.returncode == 0 and told == is_told, short.text)

    found = fit(until, folder / "find", "--find-lr=opt")
    check("the search for a rate knows them", found.returncode == 0, found.text)

finish()

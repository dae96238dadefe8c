#!/usr/bin/env python3
"""Gradients that are not finite under a finite loss, wherever nobody asked for their norm: no weight takes them and is kept.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import json
import math
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, fit, newest, scratch

# The root of 0, times 0, has the gradient nan. Six steps; record BAD makes one of them bad.
PROGRAM = """ltr 1
data Points() {{
  batch[B] {{ x: float[B, 2], k: float[B, 2] }}
  fn point(s: {{i: int}}) -> {{x: float[2], k: float[2]}} =
    (x = full(2, 0.25 * s.i), k = full(2, if s.i == {bad} then 0.0 else 1.0))
  train = synthetic(24, point) |> collate(4)
}}
model Net() {{
  net = Linear(2, 2)
  optimizer opt = AdamW(net.weights, lr = 0.1)
  step train[B](x: float[B, 2], k: float[B, 2]) {kind} {{
    loss = mean(sqrt((net(x) ** 2 + 0.1) * k))
    {update}
  }}
}}
experiment bad {{ data = Points()
  model = Net()
  trainer {{ epochs = 1 }}
  callbacks {{ Checkpoint(every = 2 steps, keep = 1) }} }}
"""
BY_HAND = """opt.zero_grad()
    backward loss
    opt.clip_norm(1.0)
    opt.step()"""


def bad_weights(run_folder):
    """{checkpoint: numbers in it that are not finite}"""
    found = {}
    for file in run_folder.glob("checkpoints/*/weights.safetensors"):
        raw = file.read_bytes()
        size = struct.unpack("<Q", raw[:8])[0]
        json.loads(raw[8:8 + size])
        found[file.parent.name] = sum(not math.isfinite(number) for (number,) in struct.iter_unpack("<f", raw[8 + size:]))
    return found


def main():
    with scratch() as place:
        folder = pathlib.Path(place)

        def made(name, bad, kind="", update="minimize loss"):
            (folder / f"{name}.ltr").write_text(PROGRAM.format(bad=bad, kind=kind, update=update))
            return build(folder / f"{name}.ltr", folder)

        for name, program in (("without clipping", made("plain", 19)),
                              ("clipped by hand", made("hand", 19, "manual", BY_HAND))):
            result = fit(program, folder / "skip", "--set", "trainer.nan=skip")
            weights = bad_weights(newest(folder / "skip"))
            check(f"{name}, skip: one update is left out, the others count", result.returncode == 0
                  and "1 update skipped" in result.text and weights and not any(weights.values()), f"{weights}\n{result.text}")
        result = fit(folder / "hand", folder / "stop")
        check("clipped by hand, stop: R4002 at its step", result.returncode == 4 and "R4002" in result.text
              and "at step 5\n" in result.text, result.text)
        for bad, code, words in ((15, "R4004", "is not finite after step 4"), (23, "R4004", "is not finite after step 6"),
                                 (19, "R4001", "is not finite after step 5")):
            program = made(f"bad{bad}", bad)
            result = fit(program, folder / f"runs{bad}")
            weights = bad_weights(newest(folder / f"runs{bad}"))
            check(f"stop, record {bad}: {code}, and no checkpoint holds what is not finite", result.returncode == 4
                  and f"error[{code}]" in result.text and words in result.text and weights and not any(weights.values())
                  and not (newest(folder / f"runs{bad}") / "DONE").exists(), f"{weights}\n{result.text}")
            result = fit(program, folder / f"checked{bad}", "--set", "trainer.check_grads=true")
            check("check_grads stops at the step itself", result.returncode == 4 and "R4002" in result.text
                  and f"at step {bad // 4 + 1}\n" in result.text, result.text)
        result = fit(folder / "bad23", folder / "off", "--set", "callbacks.Checkpoint=off")
        check("nor does a run without checkpoints end as if all were well", result.returncode == 4 and "R4004" in result.text,
              result.text)
    finish()


main()

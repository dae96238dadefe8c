#!/usr/bin/env python3
"""`StopOnSignal`: which signal puts a job of SLURM into the queue again, with a `scontrol` that writes down what it is asked for.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these. A real SLURM: tests/ranks/slurm.py.
"""
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, fit, interrupt, scratch

PROGRAM = """ltr 1

data Ones() {{
  batch[B] {{ x: float[B, 2] }}
  train = range(64) |> map(row => (x = ones(2))) |> shuffle(1) |> collate(8)
}}
model Net() {{
  net = Linear(2, 1)
  optimizer opt = SGD(net.weights, lr = 0.1)
  step train[B](x: float[B, 2]) {{
    loss = mean(net(x) ** 2)
    minimize loss
    log loss
  }}
}}
topology queued {{ devices = cpu, scheduler = slurm(partition = "cpu") }}
experiment e {{ data = Ones(), model = Net(), trainer {{ epochs = 100000 }}, callbacks {{ {callbacks} }} }}
"""

with scratch() as place:
    folder = pathlib.Path(place)
    asked = folder / "asked.txt"
    (folder / "bin").mkdir()
    script = folder / "bin/scontrol"
    script.write_text(f"#!/bin/sh\necho \"$@\" >> {asked}\n")
    script.chmod(0o755)
    os.environ["PATH"] = f"{folder / 'bin'}:{os.environ['PATH']}"
    os.environ["SLURM_JOB_ID"] = "17"

    def built(name, callbacks):
        (folder / f"{name}.ltr").write_text(PROGRAM.format(callbacks=callbacks))
        return build(folder / f"{name}.ltr", folder)

    def requeued(program, number, *options):
        """Whether a run that `number` ends asks for it."""
        asked.write_text("")
        code, text = interrupt(program, folder / "runs", 3, number, *options)
        if code != 75:
            return f"exit {code}: {text}"
        return asked.read_text() == "requeue 17\n"

    plain, listed, always = built("plain", ""), built("listed", "StopOnSignal(signal = usr2)"), built("always", "StopOnSignal(signal = term, requeue = always)")
    queued = ("--topology", "queued")
    for title, program, number, options, wanted in (
            ("SIGUSR1 without a word", plain, signal.SIGUSR1, queued, True),
            ("not SIGUSR2", plain, signal.SIGUSR2, queued, False),
            ("nor outside of a topology of SLURM", plain, signal.SIGUSR1, (), False),
            ("another signal", listed, signal.SIGUSR2, queued, True),
            ("in its place", listed, signal.SIGUSR1, queued, False),
            ("auto is what the topology says", listed, signal.SIGUSR2, (), False),
            ("always, in any job", always, signal.SIGTERM, (), True),
            ("never", always, signal.SIGTERM, ("--set", "callbacks.StopOnSignal.requeue=never"), False)):
        found = requeued(program, number, *options)
        check(title, found is wanted, found)
    refused = fit(always, folder / "runs", "--set", "callbacks.StopOnSignal.signal=int")
    check("a signal that is none of them is refused", refused.returncode == 2 and "usr1" in refused.text, refused.text)

finish()

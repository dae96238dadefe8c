#!/usr/bin/env python3
"""What a resumed run finds and puts right: draws of its hooks, a last row that was never written, saves that died."""
import csv
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import PATIENCE, build, check, finish, fit, newest, run, scratch
from points import line_of, model, source

PROGRAM = source(model(optimizer="opt = SGD(net.weights, lr = 0.05) { clip_norm = 1.0 }", steps=("val",)), """callback Draws() {
  on train_epoch_end { log noise = mean(randn(8)) }
}
callback Grows() {
  on train_epoch_end {
    s = "0123456789"
    for i in 0 .. 50 { s = "{s}{s}" }
    print s
  }
}
experiment grows { data = Points()
  model = Net()
  trainer { epochs = 2 }
  callbacks { Grows() } }
experiment draws { data = Points()
  model = Net()
  trainer { epochs = 4, log_every = 4 }
  callbacks { Draws(), Checkpoint(every = 1 epoch, keep = 9) }
  loggers { Csv(), TensorBoard() } }
""")


def table(run_folder):
    return list(csv.DictReader((run_folder / "metrics.csv").open()))


def copied(whole, folder):
    shutil.copytree(whole.parent.parent, folder, symlinks=True)
    return newest(folder)


def draws(program, whole, folder):
    part = copied(whole, folder)
    result = fit(program, folder, "draws", "--resume", part / "checkpoints/step0000008")
    noise = [row["train/noise"] for row in table(part) if row["train/noise"]]
    wanted = [row["train/noise"] for row in table(whole) if row["train/noise"]]
    events = b"".join(path.read_bytes() for path in part.glob("events.*"))
    check("events have no row of the checkpoint's step again", events.count(b"train/noise") == 4 + 2, events.count(b"train/noise"))
    check("hooks draw on where they stopped", len(set(wanted)) == 4 and noise == wanted, f"{wanted}\n{noise}\n{result.text}")


def last_row(program, folder, *options):
    """Killed behind its last checkpoint: what was recorded for that step was on its way."""
    fit(program, folder / "whole", "draws", *options)
    part = copied(newest(folder / "whole"), folder / "part")
    (part / "DONE").unlink()
    lines = (part / "metrics.csv").read_text().splitlines(keepends=True)
    (part / "metrics.csv").write_text("".join(lines[:-1]))
    result = fit(program, folder / "part", "draws", "--resume", "last", *options)
    check(f"the last row {' '.join(options)} comes back, with the values of its step", result.returncode == 0
          and (part / "metrics.csv").read_text() == "".join(lines), result.text + (part / "metrics.csv").read_text())


def another_optimizer(folder):
    """What an optimizer kept is of no use to another one: which one changed, and what to do, is said."""
    file = folder / "changed.ltr"
    file.write_text(PROGRAM)
    fit(build(file, folder), folder / "changed-runs", "draws")
    for call, words in (("Adam(net.weights, lr = 0.05)", "the optimizer opt is SGD in the checkpoint and Adam here"),
                        ("SGD(net.weights, lr = 0.05, momentum = 0.9)", "the optimizer opt keeps momentum_buffer of net.weight here")):
        file.write_text(PROGRAM.replace("SGD(net.weights, lr = 0.05)", call))
        program = build(file, folder)
        result = fit(program, folder / "changed-runs", "draws", "--resume", "last", "--epochs", 5)
        check(f"a run of SGD does not go on with {call}", result.returncode == 2 and f"R2010]: {words}" in result.text
              and f"changed.ltr:{line_of(PROGRAM, 'optimizer opt')}:" in result.text and "fit --weights" in result.text and "exp_avg" not in result.text, result.text)
        weights = newest(folder / "changed-runs") / "checkpoints/last"
        result = fit(program, folder / "anew", "draws", "--weights", weights)
        check("but its weights begin a run", result.returncode == 0, result.text)


def left_over(program, whole, folder):
    part = copied(whole, folder)
    dead = subprocess.Popen(["true"])  # nobody waits for it yet: a zombie
    time.sleep(0.2)
    # Only root may be process 1 of a container, as the one was that died there.
    inside = ["unshare", "--pid", "--fork"]
    may = os.geteuid() == 0 and run(*inside, "true").returncode == 0
    for title, start, number, epochs in (("a zombie", [], dead.pid, 5), ("process 1", inside if may else [], 1, 6)):
        half = part / "checkpoints" / f".tmp-{number}-step0000099"
        half.mkdir()
        (half / "weights.safetensors").write_text("half of it")
        result = run(*start, program, "fit", "draws", "--no-bar", "--threads", 1, "--out", folder, "--resume", part, "--epochs", epochs)
        check(f"what a save of {title} left is removed", result.returncode == 0 and not half.exists(), result.text)
    dead.wait()


def refused(program, whole, folder):
    """A resume that is refused leaves the run as it is: its rows, its journal, what says that it was finished."""
    part = copied(whole, folder)

    def files():
        return {path.relative_to(part): path.read_bytes() for path in part.rglob("*")
                if path.is_file() and path.name not in ("lock", "log-0.txt")}

    before = files()
    middle = part / "checkpoints/step0000008"
    for title, code, *options in (("--strict-resume", "R2006", "--strict-resume", "--set", "trainer.log_every=2"),
                                  ("another precision", "R2010", "--set", "topology.precision=f64")):
        result = fit(program, folder, "draws", "--resume", middle, *options)
        after = files()
        changed = [str(path) for path in {**before, **after} if before.get(path) != after.get(path)]
        check(f"a resume refused for {title} changes nothing", result.returncode == 2 and code in result.text and not changed,
              f"{changed}\n{result.text}")


def out_of_memory(program, folder):
    """Memory that runs out where no tensor is made: text in a hook."""
    limit = 8 << 30
    command = [program, "fit", "grows", "--no-bar", "--threads", "1", "--out", folder]
    result = subprocess.run(command, capture_output=True, text=True, timeout=240,
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    record = json.loads((newest(folder) / "run.json").read_text())
    check("memory that runs out is R1001, and run.json says failed", result.returncode == 1 and "R1001" in result.stderr
          and record["status"] == "failed" and "R1001" in record["reason"], f"{result}\n{record}")


with scratch() as name:
    folder = pathlib.Path(name)
    file = folder / "draws.ltr"
    file.write_text(PROGRAM)
    program = build(file, folder)
    fit(program, folder / "whole", "draws")
    whole = newest(folder / "whole")
    draws(program, whole, folder / "part")
    another_optimizer(folder)
    last_row(program, folder / "row")
    last_row(program, folder / "cut", "--steps", "14")
    left_over(program, whole, folder / "left")
    refused(program, whole, folder / "refused")
    if PATIENCE == 1:  # a sanitizer needs addresses without a limit
        out_of_memory(program, folder / "memory")
finish()

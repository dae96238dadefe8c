#!/usr/bin/env python3
"""What ends training, and what comes again after some time: `val_every`, `Checkpoint(every)` and `max_time` in seconds, also within a window of
batches and over a resume; periods of an epoch and a part; `EarlyStop` at a value that is far off or no number, and not before
`min_steps`; a failure that leaves no checkpoint.

Times here are so short that every step is over them, or so long that none is: nothing hangs on how fast the machine is.
Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import csv
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, fit, newest, scratch
from points import model, source

EXPERIMENT = """
experiment {name} {{
  data = Points()
  model = Net()
  trainer {{ epochs = 3, log_every = 1, sanity_val = 0 }}
  callbacks {{ {callbacks} }}
  loggers {{ Csv(), TensorBoard() }}
}}
"""
GROWS = """callback Grows {
  state seen: int = 0
  on val_epoch_end { seen = seen + 1; log size = VALUE }
}
"""


def rows(folder, name):
    with open(newest(folder) / "metrics.csv") as file:
        return [int(row["step"]) for row in csv.DictReader(file) if row.get(name)]


def steps_of(result):
    found = re.search(r"^(\w[\w ]*): ([\d,]+) steps?,", result.stdout, re.M)
    return (found.group(1), int(found.group(2).replace(",", ""))) if found else (None, None)


def checkpoints(folder):
    return sorted(path.name for path in (newest(folder) / "checkpoints").iterdir() if not path.is_symlink() and path.is_dir())


with scratch() as place:
    folder = pathlib.Path(place)

    def built(name, callbacks, before="", **how):
        (folder / f"{name}.ltr").write_text(source(model(steps=("val",), **how), before, EXPERIMENT.format(name=name, callbacks=callbacks)))
        return build(folder / f"{name}.ltr", folder)

    plain = built("plain", "Checkpoint(every = 1 ms, keep = all), Timer(), Histograms()")
    for every, wanted in (("0.001 ms", list(range(1, 13))), ("10 h", [12])):
        out = folder / every.replace(" ", "")
        result = fit(plain, out, "--set", f"trainer.val_every={every}", "--set", f"callbacks.Checkpoint.every={every}")
        check(f"val_every = {every}: its rounds", result.returncode == 0 and rows(out, "val/loss") == wanted, (rows(out, "val/loss"), result.text))
        check(f"Checkpoint(every = {every}): its checkpoints", len(checkpoints(out)) == len(wanted), checkpoints(out))

    # Of four updates each: a period ends behind the sixth and the twelfth.
    out, every = folder / "parts", "1.5 epochs"
    periods = [f"--set={path}={every}" for path in ("trainer.val_every", "callbacks.Checkpoint.every", "callbacks.Timer.every", "callbacks.Histograms.every")]
    result = fit(plain, out, *periods)
    check(f"{every}: rounds", result.returncode == 0 and rows(out, "val/loss") == [6, 12], (rows(out, "val/loss"), result.text))
    check(f"{every}: checkpoints", checkpoints(out) == ["step0000006", "step0000012"], checkpoints(out))
    journal = [json.loads(line) for line in (newest(out) / "log.jsonl").read_text().splitlines()]
    check(f"{every}: times", [line["step"] for line in journal if "time/train_s" in json.dumps(line)] == [6, 12], journal[-3:])
    events = b"".join(path.read_bytes() for path in newest(out).glob("events.*"))
    check(f"{every}: one histogram in each", events.count(b"weights/net.weight") == 2, events.count(b"weights/net.weight"))
    result = fit(plain, folder / "cut", *periods, "--steps", 7)
    result = fit(plain, folder / "cut", *periods, "--resume", newest(folder / "cut"))
    check(f"{every}: a resumed run goes on with them", result.returncode == 0 and rows(folder / "cut", "val/loss") == [6, 12], result.text)

    # Far more epochs than there is time for. It is looked at between windows, so that each is whole: four batches an epoch, two a window.
    out = folder / "window"
    options = ("--set", "trainer.accumulate=2", "--set", "callbacks.Checkpoint.every=10 h", "--set", "trainer.val_every=10 h", "--set", "trainer.log_every=1000")
    result = fit(plain, out, "--max-time", "0.5 s", "--epochs", 10**7, *options)
    outcome, steps = steps_of(result)
    check("max_time: ends training with a round", result.returncode == 0 and outcome == "finished" and 1 <= steps < 2 * 10**7 and rows(out, "val/loss") == [steps], result.text)
    manifest = json.loads((newest(out) / "checkpoints/last/checkpoint.json").read_text())
    check("max_time: each window was whole", manifest["step"] == steps and manifest["batch"] == 2 * (steps % 2), (steps, manifest.get("batch")))
    result = fit(plain, out, "--resume", newest(out), "--max-time", "0.5 s", "--epochs", 10**7, *options)
    check("max_time: time that a run had is over when it goes on", result.returncode == 0 and steps_of(result)[1] == steps, result.text)
    result = fit(plain, out, "--resume", newest(out), "--max-time", "10 h", "--steps", steps + 3, "--epochs", 10**7, *options)
    check("max_time: with more of it it goes on", result.returncode == 0 and steps_of(result)[1] == steps + 3, result.text)

    CASES = (("divergence", "EarlyStop(monitor = val.size, mode = min, patience = 9, divergence = 2.5)", "1.0 * seen", "is worse than 2.5"),
             ("finite", "EarlyStop(monitor = val.size, mode = min, patience = 9)", "1.0 / (3 - seen)", "val.size is inf"),
             ("patient", "EarlyStop(monitor = val.size, mode = min, patience = 2)", "1.0 * seen", "did not improve on 1 for 2 rounds"))
    for name, call, value, reason in CASES:
        program = built(name, f"Grows(), {call}", GROWS.replace("VALUE", value))
        result = fit(program, folder / f"runs-{name}", "--epochs", 9)
        check(f"EarlyStop {name}: stops in round 3, and says why", result.returncode == 0 and steps_of(result) == ("early stop", 12) and reason in result.text, result.text)

    out = folder / "runs-patient"
    result = fit(program, out, "--epochs", 9, "--resume", "last")
    check("EarlyStop: a run that it ended is over", result.returncode == 0 and steps_of(result) == ("early stop", 12), result.text)
    result = fit(program, out, "--epochs", 9, "--resume", "last", "--set", "callbacks.EarlyStop.patience=4")
    check("EarlyStop: with more patience it goes on, and ends where that is over", result.returncode == 0
          and steps_of(result) == ("early stop", 20) and "goes on behind what ended it: val.size did not" in result.text, result.text)
    result = fit(program, out, "--epochs", 9, "--resume", "last", "--set", "callbacks.EarlyStop=off")
    check("EarlyStop: without it to the end", result.returncode == 0 and steps_of(result) == ("finished", 36), result.text)

    result = fit(program, folder / "least", "--epochs", 9, "--set", "trainer.min_steps=21")
    check("min_steps: what would end it waits for them", result.returncode == 0 and steps_of(result) == ("early stop", 21), result.text)

    # `assert` in a hook: R1005, and a checkpoint of what was reached, unless that is not wanted.
    for wish in ("true", "false"):
        program = built(f"fails_{wish}", f"Breaks(), Checkpoint(every = 9 epochs, save_last = false, on_failure = {wish})",
                        'callback Breaks { on train_batch_start { assert batch_index < 2, "enough" } }\n')
        result = fit(program, folder / f"runs-{wish}")
        left = checkpoints(folder / f"runs-{wish}") if (newest(folder / f"runs-{wish}") / "checkpoints").exists() else []
        check(f"on_failure = {wish}: R1005, and {'a' if wish == 'true' else 'no'} checkpoint", result.returncode == 1 and "R1005" in result.text and "enough" in result.text
              and bool(left) == (wish == "true"), (left, result.text))
finish()

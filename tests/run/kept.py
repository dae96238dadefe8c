#!/usr/bin/env python3
"""Which checkpoints a run keeps, over its resumes, and which weights are in them with Ema."""
import csv
import json
import pathlib
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, fit, newest, run, scratch
from points import line_of, model, source

PROGRAM = source(model(steps=("val", "test")),
                  model("[Linear(3, 3), Linear(3, 3), Linear(3, 1)]", name="Deep", steps=("test",)), """callback Saves() {
  on train_epoch_end { if epoch == 0 { save("mine") } }
}
experiment plain { data = Points()
  model = Net()
  trainer { epochs = 1 }
  callbacks { Checkpoint(keep = 1), Saves() } }
experiment every { data = Points()
  model = Net()
  trainer { epochs = 4 }
  callbacks { Checkpoint(monitor = val.loss, keep = all) } }
experiment deep { data = Points()
  model = Deep()
  trainer { epochs = 1 } }
experiment averaged { data = Points()
  model = Net()
  trainer { epochs = 3 }
  callbacks { Ema(decay = 0.8), Checkpoint(monitor = val.loss, keep = 1) }
  loggers { Csv() } }
""")


def floats(file):
    """Name to numbers of a safetensors file of f32."""
    raw = file.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + size])
    header.pop("__metadata__", None)
    return {name: [number for (number,) in struct.iter_unpack("<f", raw[8 + size + a:8 + size + b])]
            for name, (a, b) in ((name, one["data_offsets"]) for name, one in header.items())}


def names(run_folder):
    return sorted(path.name for path in (run_folder / "checkpoints").iterdir() if path.is_dir() and not path.is_symlink())


def retention(program, folder):
    fit(program, folder, "plain")
    whole = newest(folder)
    for epochs in range(2, 6):
        result = fit(program, folder, "plain", "--resume", whole, "--epochs", epochs)
        check(f"resume to {epochs} epochs", result.returncode == 0, result.text)
    kept = names(whole)
    check("kept are the newest, the one resumed from, and what save() wrote", kept == ["mine", "step0000016", "step0000020"], kept)
    for steps in (22, 25, 27):
        result = fit(program, folder, "plain", "--resume", whole, "--set", "trainer.epochs=99", "--steps", steps)
        check(f"resume to {steps} steps", result.returncode == 0, result.text)
    kept = names(whole)
    check("ends in the middle of an epoch pile up nothing either", "mine" in kept and "step0000027" in kept and len(kept) <= 4, kept)


    manifest = whole / "checkpoints/last/checkpoint.json"
    manifest.write_text(manifest.read_text().replace('"epoch": ', '"epoch": 1', 1))
    result = fit(program, folder, "plain", "--resume", whole, "--set", "trainer.epochs=99", "--steps", 28)
    before = "the checkpoint step0000027 is damaged (checkpoint.json does not have its digest) and is passed over"
    check("a damaged one is passed over, and said to be once", result.returncode == 0 and before in result.stderr, result.text)


def all_of_them(program, folder):
    """`keep = all` lets none go, over a resume too, and what is the best stays so."""
    fit(program, folder, "every", "--epochs", 2)
    whole = newest(folder)
    result = fit(program, folder, "every", "--resume", whole)
    kept = names(whole)
    check("`keep = all` keeps the checkpoint of each epoch", result.returncode == 0
          and [name[:11] for name in kept] == [f"step{4 * epoch:07}" for epoch in range(1, 5)], (kept, result.text))
    best = (whole / "checkpoints/best").resolve().name
    check("and the best of them is the best", best == min(kept, key=lambda name: float(name.split("=")[1])), (best, kept))
    result = fit(program, folder / "given", "plain", "--epochs", 3, "--set", "callbacks.Checkpoint.keep=all")
    kept = names(newest(folder / "given"))
    check("so does the word of a command", result.returncode == 0 and kept == ["mine", "step0000004", "step0000008", "step0000012"], (kept, result.text))
    result = fit(program, folder / "given", "every", "--set", "callbacks.Checkpoint.keep=1")
    kept = names(newest(folder / "given"))
    check("and a number in its place", result.returncode == 0 and len(kept) <= 2, (kept, result.text))
    for value, says in (("-1", "keep >= 1"), ("every", "a whole number or all")):
        result = fit(program, folder / "refused", "every", "--set", f"callbacks.Checkpoint.keep={value}")
        check(f"keep={value} is refused", result.returncode == 2 and says in result.text, result.text)


def named(program, folder):
    """A name that says nothing of the checkpoint does not overwrite one that is kept."""
    name = "callbacks.Checkpoint.filename"
    result = fit(program, folder, "every", "--set", f"{name}=model")
    kept = names(newest(folder))
    check("equal names have numbers behind them", result.returncode == 0 and kept == ["model", "model-v1", "model-v2", "model-v3"], (kept, result.text))
    points = {one: json.loads((newest(folder) / "checkpoints" / one / "checkpoint.json").read_text()) for one in kept}
    check("and each is one of its own", len({json.dumps(one) for one in points.values()}) == 4, points)
    for pattern, says in (("{val.foo}", "val.foo"), ("{val.loss", "`{`"), ("{val.loss:.q}", "format"), ("{epoch:900}", "bytes"), ("a/b", "`/`")):
        result = fit(program, folder / "refused", "every", "--set", f"{name}={pattern}")
        check(f"filename={pattern} is refused before training", result.returncode == 2 and says in result.text and "finished" not in result.text, result.text)
    result = fit(program, folder / "refused", "every", "--name", "a/b")
    check("a run's name is no path", result.returncode == 2 and "R2003" in result.text and "--name" in result.text, result.text)


def averages(program, folder):
    result = fit(program, folder, "averaged")
    whole = newest(folder)
    best = whole / "checkpoints/best"
    raw, averaged = floats(best / "weights.safetensors"), floats(best / "averages.safetensors")
    check("the averages have a file of their own, named as the weights", set(raw) == set(averaged) and raw != averaged,
          result.text)
    rows = [row for row in csv.DictReader((whole / "metrics.csv").open()) if row["val/loss"]]
    wanted = min(float(row["val/loss"]) for row in rows)

    def loss(*options):
        result = run(program, "test", "averaged", "--out", folder, "--json", *options)
        lines = [line for line in result.stdout.splitlines() if '"streams"' in line]
        return json.loads(lines[0])["streams"][0]["values"]["loss"] if lines else float("nan")

    check("best is measured with the averages", abs(loss() - wanted) < 1e-6, (loss(), wanted))
    check("--raw is not", abs(loss("--raw") - wanted) > 1e-6, loss("--raw"))
    check("the file of averages reads as weights", abs(loss("--weights", best / "averages.safetensors") - wanted) < 1e-6)
    check("the file of weights is the raw ones", loss("--weights", best / "weights.safetensors") == loss("--raw"))


def write_floats(file, tensors):
    header, raw = {}, b""
    for name, numbers in tensors.items():
        bytes_ = struct.pack(f"<{len(numbers)}f", *numbers)
        shape = [len(numbers) // 3, 3] if name.endswith("weight") else [len(numbers)]
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(raw), len(raw) + len(bytes_)]}
        raw += bytes_
    text = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + raw)


def foreign(program, folder):
    """Weights of others: what one lacks is named alone, and what is no number is said."""
    folder.mkdir()
    sizes = {"0.weight": 9, "0.bias": 3, "1.weight": 9, "1.bias": 3, "2.weight": 3}
    write_floats(folder / "bare.safetensors", {f"module.net.{name}": [0.5] * size for name, size in sizes.items()})
    result = run(program, "test", "deep", "--out", folder, "--weights", folder / "bare.safetensors")
    check("what is missing is named alone", result.returncode == 2 and result.text.strip().endswith("missing net.2.bias"),
          result.text)
    test = (program, "test", "plain", "--out", folder, "--weights")
    write_floats(folder / "nan.safetensors", {"net.weight": [1.0, float("nan"), 3.0], "net.bias": [0.0]})
    result = run(*test, folder / "nan.safetensors")
    check("weights that are not finite are said", "weights that are not finite: net.weight (1 of 3)" in result.stderr, result.text)


def interrupted(program, folder):
    process = subprocess.Popen([program, "fit", "plain", "--no-bar", "--threads", "1", "--out", folder, "--epochs", "1000000",
                                "--seed", "random", "--set", "trainer.log_every=7"],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    until = time.monotonic() + 60
    while not list(folder.glob("plain/0001/checkpoints/last")) and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    text = process.communicate(timeout=60)[0]
    step = (newest(folder) / "checkpoints/last").resolve().name
    check("the report of a Ctrl-C names what was saved", process.returncode == 130 and f"saved checkpoints/{step} · go on" in text,
          text)
    command = text.split("go on with:  ")[1].split("\n")[0]
    seed = json.loads((newest(folder) / "run.json").read_text())["seed"]
    check("the command to go on has the flags of the run, and the seed that was drawn",
          command.endswith(f"--threads 1 --epochs 1000000 --seed {seed} --set trainer.log_every=7"), command)


NOT_A_NUMBER = source("""model Net() {
  net = [Linear(3, 4), BatchNorm1d(4), Linear(4, 1)]
  optimizer opt = SGD(net.weights, lr = 0.05)
  step train[B](x: float[B, 3], y: float[B, 1]) {
    loss = mean((net(x) - y) ** 2)
    minimize loss
    log loss
  }
  step val[B](x: float[B, 3], y: float[B, 1]) { log loss = log(mean((net(x) - y) ** 2) - 1e6) }
}
experiment numbers { data = Points(9)
  model = Net()
  trainer { epochs = 2 }
  callbacks { Checkpoint(monitor = val.loss) } }
""")


def unlisted(program, folder):
    """A Checkpoint that is there without being listed is set and left out like one that is."""
    result = run(program, "fit", "deep", "--no-bar", "--out", folder, "--epochs", 3, "--set", "callbacks.Checkpoint.keep=all")
    check("all of the one that nobody lists", result.returncode == 0 and len(names(newest(folder))) == 3, result.text + str(names(newest(folder))))
    result = run(program, "fit", "deep", "--no-bar", "--out", folder, "--set", "callbacks.Checkpoint=off")
    left = newest(folder) / "checkpoints"
    check("none where it is off", result.returncode == 0 and not (left.exists() and any(left.iterdir())), result.text)


SCORED = source("""metric Score() {
  let better = max
  state top: f64 = 0.0 reduce max
  fn update(x: float[]) { top = maximum(top, x.to(f64)) }
  fn compute() -> f64 = top
}
model Net() {
  net = Linear(3, 1)
  score = Score()
  optimizer opt = SGD(net.weights, lr = 0.05)
  step train[B](x: float[B, 3], y: float[B, 1]) { minimize mean((net(x) - y) ** 2) }
  step val[B](x: float[B, 3], y: float[B, 1]) {
    log loss = mean((net(x) - y) ** 2)
    log mark = score(full(1.0 + epoch))
    log plain = mean(x)
  }
}
experiment scored { data = Points()
  model = Net()
  trainer { epochs = 3 }
  callbacks { Checkpoint(monitor = val.loss, keep = all), EarlyStop(monitor = val.loss, patience = 1) } }
""")


def watched(folder):
    """What is set at start is watched in its own direction, not in that of what the program watches."""
    folder.mkdir()
    (folder / "scored.ltr").write_text(SCORED)
    program = build(folder / "scored.ltr", folder)
    other = [word for name in ("Checkpoint", "EarlyStop") for word in ("--set", f"callbacks.{name}.monitor=val.mark")]
    result = run(program, "fit", "--no-bar", "--out", folder / "runs", *other)
    checkpoints = newest(folder / "runs") / "checkpoints"
    check("more is better of the score, in all epochs", result.returncode == 0 and (checkpoints / "best").resolve().name == max(names(newest(folder / "runs"))),
          result.text + str(names(newest(folder / "runs"))))
    result = run(program, "fit", "--no-bar", "--out", folder / "runs", "--set", "callbacks.Checkpoint.monitor=val.plain")
    check("and where nobody knows, that is asked", result.returncode == 2 and "write mode = max or mode = min" in result.text, result.text)


def refused(program, folder):
    """A start that is refused leaves nothing behind, and hides nothing."""
    fit(program, folder, "plain")
    result = run(program, "fit", "averaged", "--out", folder, "--set", "callbacks.Checkpoint.monitor=val.foo")
    check("a monitor that nobody logs is refused", result.returncode == 2, result.text)
    check("and leaves no run", not (folder / "averaged").exists())
    result = run(program, "fit", "plain", "--out", folder, "--set", "callbacks.Checkpoint.monitor=val.foo")
    latest = (folder / "plain/latest").resolve()
    check("nor in front of others", result.returncode == 2 and latest.name == "0001" and latest.is_dir(), result.text)


def not_a_number(folder):
    """One value for each channel has no variance; and what is no number is never the best."""
    folder.mkdir()
    (folder / "numbers.ltr").write_text(NOT_A_NUMBER)
    program = build(folder / "numbers.ltr", folder)
    result = run(program, "fit", "--no-bar", "--out", folder / "one")
    check("a batch norm refuses a batch of one", result.returncode == 1 and f"numbers.ltr:{line_of(NOT_A_NUMBER, 'mean((net')}:" in result.text and "go on with" not in result.text
          and "drop_last = true" in result.text, result.text)
    result = run(program, "fit", "--no-bar", "--out", folder / "nan", "--set", "data.count=8")
    kept = names(newest(folder / "nan"))
    check("nan is said once and never the best", result.returncode == 0 and result.stderr.count("never the best") == 1
          and not (newest(folder / "nan") / "checkpoints/best").exists() and not any("-nan" in one for one in kept),
          result.text + str(kept))


with scratch() as name:
    folder = pathlib.Path(name)
    file = folder / "kept.ltr"
    file.write_text(PROGRAM)
    program = build(file, folder)
    retention(program, folder / "plain")
    all_of_them(program, folder / "every")
    named(program, folder / "named")
    averages(program, folder / "averaged")
    foreign(program, folder / "foreign")
    interrupted(program, folder / "interrupted")
    not_a_number(folder / "numbers")
    watched(folder / "watched")
    unlisted(program, folder / "unlisted")
    refused(program, folder / "refused")
    quiet = run(program, "test", "plain", "--out", folder / "refused")
    check("weights of the same program are not said to be of another", "the program changed" not in quiet.text, quiet.text)
    for text, is_another in ((PROGRAM + "const unused = 1\n", False), (PROGRAM.replace("0.2 * s.i", "0.3 * s.i"), True)):
        file.write_text(text)
        result = run(build(file, folder), "test", "plain", "--out", folder / "refused")
        check("those of a program that computes otherwise are", result.returncode == 0
              and ("the program changed since" in result.stderr) == is_another, result.text)
finish()

#!/usr/bin/env python3
"""The examples build, run one mock batch without their data, pass their tests, and do what their verbs say.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import csv
import gzip
import json
import math
import pathlib
import re
import shlex
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import EXAMPLES, LTRC, build, check, finish, fit, newest, run, scratch

NAMES = ("iris", "mnist", "keras_cnn", "forecast", "gan", "char_gpt", "outlook", "vae", "sweep", "segmentation", "text", "tabular", "recommender", "pretrain")
WITH_TESTS = {"iris": 0, "mnist": 3, "gan": 1, "char_gpt": 2, "outlook": 1, "vae": 1}


def without_data(folder):
    """Copies of the programs, far from their data; returns the built ones."""
    programs = {}
    for name in NAMES:
        copy = folder / "alone" / f"{name}.ltr"
        copy.parent.mkdir(exist_ok=True)
        shutil.copy(EXAMPLES / copy.name, copy)
        programs[name] = build(copy, copy.parent)
        result = run(programs[name], "fit", "--fast-dev-run", "--mock-data", "--no-bar", "--threads", 1,
                     cwd=copy.parent)
        check(f"{name}: one mock batch without data", result.returncode == 0, result.text)
        check(f"{name}: and no run folder", not (copy.parent / "runs").exists())
    return programs


def verbs(name, program):
    """What a program says about itself, with its data found from the working directory."""
    for verb in ("describe", "config", "version"):
        result = run(program, verb, cwd=EXAMPLES)
        check(f"{name} {verb}", result.returncode == 0 and result.stdout.strip(), result.text)
    result = run(program, "fit", "--help")
    check(f"{name} fit --help lists the hparams", result.returncode == 0 and "--lr" in result.stdout, result.text)


def own_tests(name, count):
    result = run(LTRC, "test", EXAMPLES / f"{name}.ltr", cwd=EXAMPLES)
    check(f"ltrc test {name}.ltr", result.returncode == 0 and f"{count} passed, 0 failed" in result.text, result.text)


def iris_learns(program, folder):
    result = fit(program, folder / "runs-iris")
    found = re.search(r"best\s+val/acc ([0-9.]+)", result.text)
    check("iris reaches val acc 0.93", result.returncode == 0 and found and float(found.group(1)) >= 0.93, result.text)
    run_folder = newest(folder / "runs-iris")
    check("iris: DONE, link to the newest, events",
          (run_folder / "DONE").exists() and (run_folder.parent / "latest").resolve() == run_folder.resolve() and
          any(run_folder.glob("events.out.tfevents.*")))
    result = run(program, "validate", "--out", folder / "runs-iris")
    check("iris validate repeats the best accuracy", found and found.group(1) in result.stdout, result.text)
    repeated = folder / "iris-config"
    fit(program, repeated, "--config", run_folder / "config.json")
    check("iris --config of a run repeats its metrics",
          (newest(repeated) / "metrics.csv").read_bytes() == (run_folder / "metrics.csv").read_bytes())


def mnist_predicts(program, folder):
    runs = folder / "runs-mnist"
    result = fit(program, runs, "--epochs", 1, "--limit-val", 2)
    check("mnist: one epoch", result.returncode == 0, result.text)
    labels = gzip.decompress((EXAMPLES / "data/mnist-5k/t10k-labels-idx1-ubyte.gz").read_bytes())[8:]
    results = []
    for workers in (0, 3):
        file = folder / f"predictions-{workers}.jsonl"
        run(program, "predict", "--out", runs, "--write", file, "--workers", workers, "--threads", 1)
        results.append(file.read_bytes() if file.exists() else b"")
    check("mnist predict: equal for any number of workers", results[0] == results[1])
    predicted = [json.loads(line)["prediction"] for line in results[0].splitlines()]
    check("mnist predict: 1,000 results", len(predicted) == 1000, len(predicted))
    right = sum(one == label for one, label in zip(predicted, labels))
    check(f"mnist predict: in record order ({right} of 1,000 right)", right >= 800)
    result = run(program, "test", "--out", runs, "--threads", 1)
    found = re.search(r"\bacc +([0-9.]+)", result.stdout)
    check("mnist test: the accuracy that the predictions have", found and abs(float(found.group(1)) - right / 1000) < 1e-3,
          f"{right} {result.text}")


def told(result, series):
    """The last value of a series in what `fit` printed; nan if there is none."""
    found = re.findall(rf"{series} ([-0-9.e]+)", result.text)
    return float(found[-1]) if found else math.nan


def figures(programs, folder):
    """Less training than the README speaks of, and the figures that it leads to already."""
    runs = folder / "runs-figures"
    result = fit(programs["segmentation"], runs, "--epochs", 1, "--limit-val", 2)
    check("segmentation: digits are found after an epoch", result.returncode == 0 and told(result, "val/iou") > 0.7, result.text)
    result = fit(programs["text"], runs, "--epochs", 3)
    check("text: half of the languages after three", result.returncode == 0 and told(result, "val/acc") > 0.5, result.text)
    written = folder / "said.csv"
    result = run(programs["text"], "predict", "--out", runs, "--write", written, "--threads", 1)
    rows = list(csv.DictReader(written.open())) if written.exists() else []
    check("text predict: surnames with a language", len(rows) == 962 and set(rows[0]) == {"surname", "language", "prob"}, f"{len(rows)} rows {result.text}")
    result = fit(programs["tabular"], runs)
    check("tabular: less than 240 g", result.returncode == 0 and told(result, r"best  val/mae") < 240 < 600 < told(result, "val/mae_of_mean"), result.text)
    result = fit(programs["recommender"], runs, "--epochs", 4)
    check("recommender: better than what most need", result.returncode == 0 and told(result, "val/recall") > told(result, "val/recall_of_common") + 0.1,
          result.text)


def short_runs(programs, folder):
    """A few real steps of those that take longer, or whose figure is said in their own head."""
    runs = folder / "runs-short"
    result = fit(programs["distillation"], runs, "--epochs", 2)
    check("distillation: the student learns from its teacher alone", result.returncode == 0 and 0.5 < told(result, "val/acc") < told(result, "val/teacher"), result.text)
    result = fit(programs["transfer"], runs, "--epochs", 3)
    check("transfer: other digits after three epochs", result.returncode == 0 and told(result, "val/acc") > 0.6, result.text)
    result = fit(programs["vae"], runs, "--epochs", 1)
    check("vae: digits are nearer than at first", result.returncode == 0 and told(result, "val/loss") < 350, result.text)
    result = fit(programs["outlook"], runs, "--epochs", 4)
    check("outlook: better than a year ago", result.returncode == 0 and told(result, "best  val/mae") < told(result, "val/as_last_year"), result.text)
    result = run(programs["sweep"], "sweep", "--trials", 3, "--epochs", 3, "--threads", 1, "--no-bar", "--out", runs)
    best = re.search(r"^best  val/loss ([0-9.]+)", result.stdout, re.M)
    check("sweep: three trials, of which one has learned", result.returncode == 0 and "3 trials" in result.stdout and best and float(best.group(1)) < 0.2, result.text)


def command(name):
    """The words behind `ltrc run examples/NAME.ltr fit` in the README's block of commands."""
    lines = re.findall(rf"^ltrc run examples/{name}\.ltr fit (.*)$", (EXAMPLES / "README.md").read_text(), re.M)
    return shlex.split(lines[0])


def gpt2_trains(folder):
    """The command of the README, for fewer steps, far from the data."""
    program = build(EXAMPLES / "gpt2.ltr", folder)
    shorter = {"600": "30", "trainer.val_every=200 steps": "trainer.val_every=15 steps", "20": "2"}
    options = [shorter.get(word, word) for word in command("gpt2")]
    result = run(program, "fit", *options, "--threads", 1, "--no-bar", "--out", folder / "runs-gpt2", cwd=folder)
    losses = [float(loss) for loss in re.findall(r"step \d+  val/loss ([0-9.]+)", result.text)]
    check("gpt2: on Shakespeare's tokens the loss falls", result.returncode == 0 and len(losses) >= 2 and losses[1] < losses[0], result.text)


def finetune_trains(pretrain, folder):
    """From the weights of pretrain.ltr, as the README has it."""
    result = fit(pretrain, folder / "runs-pretrain", "--epochs", 1, "--limit-train", 3, "--limit-val", 1, "--set", "data.size=16")
    check("pretrain: three batches", result.returncode == 0, result.text)
    options = ("--epochs", 1, "--limit-train", 2, "--limit-val", 1, "--threads", 1, "--no-bar", "--out", folder / "runs-finetune")
    result = run(build(EXAMPLES / "finetune.ltr", folder), "fit", *options, cwd=folder)
    check("finetune: without weights R2010", result.returncode != 0 and "R2010" in result.text, result.text)
    text = (EXAMPLES / "finetune.ltr").read_text()
    digits = newest(folder / "runs-pretrain") / "checkpoints/best/weights.safetensors"
    (folder / "from_digits.ltr").write_text(text.replace('from "weights/resnet18.safetensors"', f'from "{digits}#net"'))
    result = run(build(folder / "from_digits.ltr", folder), "fit", *options, cwd=EXAMPLES)
    check("finetune: from digits to photographs", result.returncode == 0 and math.isfinite(told(result, "val/loss")), result.text)


with scratch() as place:
    folder = pathlib.Path(place)
    copies = without_data(folder)
    for name, program in copies.items():
        verbs(name, program)
    for name, count in WITH_TESTS.items():
        own_tests(name, count)
    built = {name: build(EXAMPLES / f"{name}.ltr", folder) for name in ("segmentation", "text", "tabular", "recommender", "pretrain")}
    figures(built, folder)
    short_runs({name: build(EXAMPLES / f"{name}.ltr", folder) for name in ("distillation", "transfer", "vae", "outlook", "sweep")}, folder)
    gpt2_trains(folder)
    finetune_trains(built["pretrain"], folder)
    iris_learns(build(EXAMPLES / "iris.ltr", folder), folder)
    mnist_predicts(build(EXAMPLES / "mnist.ltr", folder), folder)
finish()

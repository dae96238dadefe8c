#!/usr/bin/env python3
"""What goes wrong ends with the right exit code and a text that names the place and the cure.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import pathlib
import re
import shutil
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import EXAMPLES, LTRC, build, check, finish, fit, interrupt, newest, run, scratch
from points import model, source


def refuses(title, result, exit_code, *texts):
    """`result` has this exit code, and its errors hold all of `texts`."""
    missing = [text for text in texts if text not in result.stderr]
    check(title, result.returncode == exit_code and not missing,
          f"exit {result.returncode}, not {exit_code}; missing {missing}\n{result.text}")


def bad_usage(iris, folder):
    def options(title, *words, exit_code=2, texts):
        refuses(title, run(iris, "fit", "--no-bar", "--out", folder / "runs", *words, cwd=folder), exit_code, *texts)

    options("unknown flag", "--hiden", 3, texts=["error[R2001]", "--hidden"])
    options("unknown setting", "--set", "trainer.epoch=3", texts=["error[R2002]", "did you mean trainer.epochs?"])
    options("wrong type", "--epochs", "abc", texts=["error[R2003]", "abc"])
    options("hparam out of range", "--lr", -1, texts=["error[R2004]", "lr > 0", "iris.ltr:4:"])
    options("two hparams out of range at once", "--lr", -1, "--hidden", 5000,
            texts=["`lr > 0`", "`hidden in 1 .. 1024`", "iris.ltr:5:"])
    options("unknown experiment", "irs", texts=["error[R2005]", "did you mean iris?", "name one of them: `fit iris`"])
    options("unknown topology", "--topology", "lapto", texts=["error[R2008]", "did you mean laptop?"])
    options("devices of no kind", "--devices", "gpu", texts=["error[R2003]", "auto, cpu, cpu[4], cuda or cuda[8]"])
    options("devices of another build", "--devices", "cuda[8]", texts=["error[R2008]", "--devices cuda[8], but"])
    options("a strategy without its block", "--set", "topology.strategy=fsdp", texts=["error[R2006]", "--set topology.shard.weights=BLOCK"])
    options("no size of an axis", "--set", "topology.mesh.fsdp=0", texts=["error[R2004]", "fsdp >= 1"])
    options("no size of a bucket", "--set", "topology.bucket=fast", texts=["error[R2003]", "auto or a size with its unit, such as 25 MiB"])
    options("setting without its section", "--set", "epochs=3", texts=["error[R2002]", "did you mean trainer.epochs?"])
    options("unknown setting of nothing", "--set", "frobnicate=3", texts=["error[R2002]", "config prints all"])
    options("unknown flag of nothing", "--frobnicate", 3, texts=["error[R2001]", "= help", "--help"])
    options("a run that is not there", "--resume", "nowhere", texts=["error[R2010]", "= help", "last, best"])
    options("1.0 batches", "--limit-train", "1.0", texts=["error[R2003]", "100%"])
    options("no run to resume", "--resume", "last", texts=["error[R2010]", "= help", "--resume auto"])
    unknown = run(iris, "fiit")
    refuses("unknown verb", unknown, 2, "did you mean fit?")
    check("the verbs are listed, but not what ltrc alone calls", "predict, describe" in unknown.stderr and "__tests" not in unknown.stderr, unknown.text)
    check("a refused run leaves no folder", not (folder / "runs").exists())


def bad_data(iris, folder):
    file = folder / "flowers.csv"
    file.write_text("sepal_length,sepal_width,petal_length,petal_width,species\n" +
                    "".join(f"5.{i},3.0,1.4,0.2,setosa\n" for i in range(10)))
    there = ["--out", folder / "runs", "--set", "data.file=flowers.csv"]
    refuses("missing data file", run(iris, "fit", "--no-bar", "--set", "data.file=nothing.csv", cwd=folder), 3,
            "error[R3001]", "nothing.csv", "iris.ltr:18:")
    file.write_text(file.read_text() + "5.1,oops,1.4,0.2,setosa\n")
    refuses("bad number in the data", run(iris, "fit", "--no-bar", *there, cwd=folder), 3,
            "error[R3003]", "flowers.csv", "12", "oops", "sepal_width")
    file.write_text(file.read_text().replace("sepal_width", "sepal_girth"))
    refuses("missing column", run(iris, "fit", "--no-bar", *there, cwd=folder), 3,
            "error[R3002]", "flowers.csv", "sepal_width")


def bad_programs(folder):
    text = (EXAMPLES / "iris.ltr").read_text()

    def program(title, old, new, *texts):
        assert old in text, old
        file = folder / "wrong.ltr"
        file.write_text(text.replace(old, new))
        refuses(title, run(LTRC, "run", file, "fit", "--no-bar", cwd=folder), 1, *texts)

    program("misspelt name", "cross_entropy(net(x)", "cross_entropi(net(x)", "error[E0301]", "wrong.ltr:32:12",
            "did you mean `cross_entropy`?")
    program("wrong shape", "Linear(hidden, 3)", "Linear(hidden + 1, 3)", "error[E0303]", "wrong.ltr:", "hidden + 1")
    program("broadcast into the wrong loss", "loss = cross_entropy(net(x), species)\n    minimize",
            "loss = mean((net(x)[:, .. 1] - species.to(float)) ** 2)\n    minimize", "error[E0304]", "wrong.ltr:32:")
    check("a wrong program leaves no run folder", not (folder / "runs").exists())


def unknown_lengths(folder):
    """A schedule whose length is that of training, which only time ends; and sizes that do not fit each other."""
    file = folder / "timed.ltr"
    file.write_text(source(model(optimizer="opt = SGD(net.weights, lr = 0.05) { schedule = cosine() }"),
                           "experiment timed { data = Points(), model = Net(), trainer { max_time = 1 min } }\n"))
    timed = build(file, folder)
    runs = folder / "runs-timed"
    refuses("a schedule of unknown length", fit(timed, runs), 2, "error[R2009]", "cosine", "total = ")
    check("with an end in steps it has one", fit(timed, runs, "--steps", 3).returncode == 0)
    refuses("a global batch that batches do not make up", fit(timed, runs, "--steps", 3, "--set", "trainer.global_batch=7"), 2,
            "error[R2013]", "the batch size 4 does not divide global_batch = 7")
    refused = folder / "a" / "refused"
    fit(timed, refused, "--steps", 3, "--set", "trainer.global_batch=7")
    check("and leaves no folder", not (folder / "a").exists(), list((folder / "a").glob("**/*")))


def bad_checkpoints(iris, folder):
    runs = folder / "damaged"
    result = fit(iris, runs, "--epochs", 6)
    check("fit for the checkpoints exits 0", result.returncode == 0, result.text)
    checkpoints = newest(runs) / "checkpoints"
    last = (checkpoints / "last").resolve()
    best = (checkpoints / "best").resolve()
    check("best and last are two checkpoints", last != best)

    weights = last / "weights.safetensors"
    good = weights.read_bytes()
    weights.write_bytes(good[:300])
    for title, options in {"fit --resume": ["fit", "--resume", last, "--epochs", 7],
                           "validate --weights": ["validate", "--weights", last]}.items():
        refuses(f"{title} of a truncated checkpoint", run(iris, *options, "--out", runs), 2,
                "error[R2011]", "weights.safetensors has 300 bytes")

    weights.write_bytes(good)
    manifest = last / "checkpoint.json"
    ours = manifest.read_text()
    manifest.write_text(re.sub(r'"version": *\d+', '"version": 99', ours))
    for options in (["fit", "--resume", last, "--epochs", 7], ["validate", "--weights", last]):
        refuses(f"{options[0]} of a checkpoint of a later version", run(iris, *options, "--out", runs), 2, "error[R2012]", "has version 99; this program reads up to 2")
    manifest.write_text(ours)

    weights.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    refuses("one flipped bit", run(iris, "fit", "--resume", last, "--epochs", 7, "--out", runs), 2, "error[R2011]")
    shutil.copytree(runs, folder / "fallback", symlinks=True)
    result = fit(iris, folder / "fallback", "--resume", "last", "--epochs", 7)
    check("--resume last takes the checkpoint before a damaged one", result.returncode == 0, result.text)
    check("and says so", "R2011" in result.stderr or "damaged" in result.stderr, result.text)
    refuses("a checkpoint that is not there", run(iris, "fit", "--resume", runs / "nothing", "--out", runs), 2,
            "error[R2010]", "nothing")

    weights.write_bytes(good)
    for verb, option in (("fit", "--resume"), ("validate", "--weights")):
        result = run(iris, verb, "--hidden", 8, option, last, "--out", runs)
        refuses(f"{option}: a model of another size", result, 2, "error[R2010]", "net.0.weight", "16")
        check(f"{option}: no line of the program is to blame", "iris.ltr:" not in result.stderr, result.text)


def signals(iris, folder):
    for number, exit_code in ((signal.SIGINT, 130), (signal.SIGTERM, 75), (signal.SIGHUP, 75), (signal.SIGUSR1, 75), (signal.SIGUSR2, 75)):
        runs = folder / number.name
        code, text = interrupt(iris, runs, 5, number, "--epochs", 100000, "--set", "callbacks.EarlyStop=off")
        check(f"{number.name} exits {exit_code}", code == exit_code, f"exit {code}\n{text}")
        run_folder = newest(runs)
        check(f"{number.name} leaves a checkpoint",
              (run_folder / "checkpoints/last/weights.safetensors").exists(), text)
        check(f"{number.name} leaves no DONE", not (run_folder / "DONE").exists())


with scratch() as place:
    folder = pathlib.Path(place)
    iris = build(EXAMPLES / "iris.ltr", folder)
    bad_usage(iris, folder)
    bad_data(iris, folder)
    shutil.rmtree(folder / "runs", ignore_errors=True)
    bad_programs(folder)
    unknown_lengths(folder)
    bad_checkpoints(iris, folder)
    signals(iris, folder)
finish()

#!/usr/bin/env python3
"""How a program ends: signals from its first instruction to its last, pipes that close, devices that are full, crashes.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import ctypes
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import EXAMPLES, LTRC, build, check, finish, fit, newest, run, scratch
from programs import LISTS

LONG = ("--epochs", 100000, "--set", "callbacks.EarlyStop=off", "--set", "callbacks.Checkpoint=off")


def words(*command):
    return [str(word) for word in command]


processes = []


def started(program, runs, *options, until, **how):
    """A fit that runs on, once a line of its JSON events holds `until`."""
    process = subprocess.Popen(words(program, "fit", "--json", "--threads", 1, "--out", runs, *options),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1, **how)
    processes.append(process)
    for line in process.stdout:
        if until in line:
            return process
    sys.exit(f"no {until} came:\n{process.stderr.read()}")


def record(runs):
    return json.loads((newest(runs) / "run.json").read_text())


def before_training(iris, folder):
    """A pipe as data file: the start waits in it, before there is a run."""
    pipe = folder / "slow.csv"
    os.mkfifo(pipe)
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 75)):
        runs = folder / f"start-{number.name}"
        process = subprocess.Popen(words(iris, "fit", "--out", runs, "--set", f"data.file={pipe}"),
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        writer = os.open(pipe, os.O_WRONLY)  # opens once the program reads
        process.send_signal(number)
        exit_code = process.wait(60)
        text = process.stdout.read()
        os.close(writer)
        check(f"{number.name} before the trainer starts exits {code}", exit_code == code, f"exit {exit_code}\n{text}")
        check("and says so, and leaves nothing", "nothing to save" in text and not runs.exists(), text)


def before_main(iris, folder):
    """A library that the system loads with the others and that sends a signal where it starts up, before there is a `main`."""
    source, library = folder / "early.cpp", folder / "early.so"
    source.write_text('#include <csignal>\n#include <cstdlib>\n'
                      '__attribute__((constructor)) static void start() {\n'
                      '  if (const char* number = std::getenv("EARLY_SIGNAL")) std::raise(std::atoi(number));\n}\n')
    if run(os.environ.get("CXX", "c++"), "-shared", "-fPIC", source, "-o", library).returncode != 0:
        sys.exit("no C++ compiler made the library")
    runs = folder / "early-runs"
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 75), (signal.SIGUSR1, 75), (signal.SIGHUP, 75)):
        result = subprocess.run(words(iris, "fit", "--out", runs), capture_output=True, text=True, timeout=60,
                                env={**os.environ, "LD_PRELOAD": str(library), "EARLY_SIGNAL": str(int(number))})
        check(f"{number.name} while libraries start up exits {code}, says so and leaves nothing",
              result.returncode == code and "nothing to save" in result.stderr and not runs.exists(), f"exit {result.returncode}\n{result.stderr}")


def twice(iris, folder):
    runs = folder / "once"
    process = started(iris, runs, *LONG, until='"event":"step"')
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    process.stdout.read()
    check("a Ctrl-C that a launcher delivers twice is one", process.wait(60) == 130)
    # A step that takes long: the second one comes while it runs.
    slow = folder / "slow.ltr"
    slow.write_text(SLOW)
    program = build(slow, folder)
    runs = folder / "slow-runs"
    process = started(program, runs, until='"event":"print"')
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)  # longer than a launcher takes to deliver one twice
    process.send_signal(signal.SIGINT)
    code = process.wait(60)
    text = process.stderr.read()
    last = os.readlink(newest(runs) / "checkpoints/last")
    check("the second Ctrl-C exits 1", code == 1, f"exit {code}\n{text}")
    check("with R1010 and the last checkpoint", "R1010" in text and last in text, f"{last}\n{text}")
    check("run.json says so", record(runs)["status"] == "failed" and "R1010" in record(runs)["reason"], record(runs))
    # A pass stops at the border of a batch.
    for verb in ("validate", "predict"):
        process = subprocess.Popen(words(program, verb, "--out", runs, "--write", "-") if verb == "predict"
                                   else words(program, verb, "--out", runs),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        code = process.wait(60)
        check(f"{verb} stops at a batch with 130", code == 130, f"exit {code}\n{process.stderr.read()}")


SLOW = """ltr 1

data Points() {
  batch[B] { x: float[B, 2] }
  fn point(s: {i: int}) -> {x: float[2]} = (x = full(2, 1.0 * s.i))
  train = synthetic(400, point) |> collate(4)
  val = synthetic(4000, point) |> collate(4)
  predict = synthetic(4000, point) |> collate(4)
}

model Slow() {
  weight w: float[2] = zeros(2)
  optimizer opt = SGD(w, lr = 0.1)
  fn busy() -> float[] {
    a = eye(500)
    for i in 0 .. 20 { a = matmul(a, a) * 0.0001 }
    return mean(a)
  }
  step train[B](x: float[B, 2]) {
    if global_step > 2 { for i in 0 .. 100 { print "{busy():.1}" } }
    loss = mean((x * w) ** 2)
    minimize loss
    log loss
  }
  step val[B](x: float[B, 2]) {
    if batch_index == 0 { print "begun" }
    log loss = mean((x * w) ** 2) + 0 * busy()
  }
  step predict[B](x: float[B, 2]) -> float[B, 2] = x * w + 0 * busy()
}

experiment slow {
  data = Points()
  model = Slow()
  trainer { epochs = 2, sanity_val = 0, log_every = 1 }
  callbacks { Checkpoint(every = 1 steps) }
}
"""


def pipes(iris, folder):
    runs = folder / "pipe"
    line = subprocess.run(f"{iris} fit --json --threads 1 --epochs 6 --out {runs} | head -1; exit ${{PIPESTATUS[0]}}",
                          shell=True, executable="/bin/bash", capture_output=True, text=True, timeout=120)
    check("fit --json | head -1 trains to its end", line.returncode == 0 and (newest(runs) / "DONE").exists(), line)
    check("run.json says finished", record(runs)["status"] == "finished", record(runs))
    check("and that nobody reads on is said once", line.stderr.count("takes nothing any more") == 1, line.stderr)
    runs = folder / "pipe2"
    line = subprocess.run(f"{iris} fit --threads 1 --epochs 6 --out {runs} 2>&1 | head -1; exit ${{PIPESTATUS[0]}}",
                          shell=True, executable="/bin/bash", capture_output=True, text=True, timeout=120)
    check("fit | head -1 ends 0", line.returncode == 0, line)
    runs = folder / "closed"
    line = subprocess.run(f"{iris} fit --threads 1 --epochs 6 --out {runs} >&- 2>&-", shell=True, timeout=120)
    check("fit with closed outputs ends 0", line.returncode == 0, line)
    check("and its files are its own", (newest(runs) / "metrics.csv").read_text().startswith("step,epoch"))
    for verb in ("validate", "config", "describe", "version", "--help"):
        command = words(iris, verb, "--out", runs)[:None if verb != "--help" else 2]
        codes, texts = closed(command)
        check(f"{verb} into a pipe that nobody reads ends 0, without a word of it", codes == {0}
              and not any("cannot write" in text for text in texts), (codes, texts))
        with open("/dev/full", "w") as full:
            result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        check(f"{verb} > /dev/full is R1004, exit 1", result.returncode == 1 and "R1004" in result.stderr, result)


def closed(command):
    """Exit codes and what stderr said where the reader is gone before the first byte, and after it."""
    codes, texts = set(), set()
    for takes in (0, 1):
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        process.stdout.read(takes)
        process.stdout.close()
        texts.add(process.stderr.read())
        codes.add(process.wait(timeout=60))
    return codes, texts


def unblocked(command):
    """Exit code and output where a parent made the pipe non-blocking, and reads late."""
    reads, writes = os.pipe()
    fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(writes, False)
    process = subprocess.Popen([str(word) for word in command], stdout=writes)
    os.close(writes)
    time.sleep(0.5)
    with open(reads, "rb") as pipe:
        text = pipe.read()
    return process.wait(timeout=60), text


def compilers(folder):
    """Every verb of ltrc that prints."""
    source = folder / "printed.ltr"
    shutil.copy(EXAMPLES / "iris.ltr", source)
    shutil.copytree(EXAMPLES / "data", folder / "data", ignore=lambda *_: {"photo_patches", "mnist-5k"})
    verbs = [["doc"], ["doc", "Linear"], ["check", "-v", source], ["fmt", "--stdout", source], ["dump", "cpp", source],
             ["explain", "E0304"], ["info"], ["plan", source], ["new", "--list"], ["--help"], ["--version"], ["test", source]]
    for verb in verbs:
        title = " ".join(str(getattr(word, "name", word)) for word in ["ltrc", *verb])
        whole = subprocess.run([LTRC, *verb], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=120)
        with open("/dev/full", "w") as full:
            result = subprocess.run([LTRC, *verb], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
        check(f"{title} > /dev/full ends 1 and says why", whole.returncode == 0 and result.returncode == 1
              and "error: cannot write standard output: No space left on device" in result.stderr, result)
        codes, texts = closed([LTRC, *verb])
        check(f"{title} into a pipe that nobody reads ends 0", codes == {0} and texts == {whole.stderr}, (codes, texts))
    command = [LTRC, "dump", "cpp", source]
    whole = subprocess.run(command, stdout=subprocess.PIPE, timeout=120).stdout
    code, text = unblocked(command)
    check("a small pipe that does not block takes all, when there is room", code == 0 and len(whole) > 4096 and text == whole,
          f"exit {code}, {len(text)} of {len(whole)} bytes")
    source.write_text(source.read_text().replace("cross_entropy(net(x), species)", "cross_entropy(net(x), specie)"))
    codes, _ = closed([LTRC, "check", "--message-format", "json", source])
    check("a program with errors ends 1 whoever reads", codes == {1}, codes)


def leaves_libraries(iris):
    """The dynamic linker tells what it ends: our library, and none of those below it, whose end takes a third of a start."""
    told = run("env", "LD_DEBUG=files", iris, "describe").stderr
    ended = {pathlib.Path(name).name for name in re.findall(r"calling fini: (\S+)", told)}
    check("a program ends before LibTorch does", "libltr_runtime.so" in ended and "libtorch_cpu.so" not in ended, ended)


def predicts_into_full(folder):
    source = pathlib.Path(__file__).parents[1] / "faults/all_ways.ltr"
    program = build(source, folder)
    runs = folder / "all_ways-runs"
    check("fit of all_ways", fit(program, runs).returncode == 0)
    for verb in (("predict", "--write", "-"), ("test",)):
        with open("/dev/full", "w") as full:
            result = subprocess.run(words(program, *verb, "--out", runs), stdout=full, stderr=subprocess.PIPE, text=True,
                                    timeout=60)
        check(f"{' '.join(verb)} > /dev/full is R1004, exit 1", result.returncode == 1 and "R1004" in result.stderr, result)
        codes, texts = closed(words(program, *verb, "--out", runs))
        check(f"{' '.join(verb)} into a pipe that nobody reads ends 0", codes == {0}, (codes, texts))
    return program, runs


def crashes(iris, folder):
    runs = folder / "crash"
    process = started(iris, runs, *LONG, until='"event":"step"')
    # To the thread that trains: one that a process is sent goes to any, to one that was just started, too.
    ctypes.CDLL(None).tgkill(process.pid, process.pid, signal.SIGSEGV)
    code = process.wait(60)
    text = process.stderr.read()
    check("a crash ends by its signal", code == -signal.SIGSEGV, code)
    check("R1009 with the line, a stack and the run",
          all(part in text for part in ("error[R1009]", "iris.ltr:", "libltr_runtime", str(newest(runs)), "--resume")), text)
    check("run.json says so", record(runs)["status"] == "failed" and "R1009" in record(runs)["reason"], record(runs))


def nohup(iris, folder):
    runs = folder / "nohup"
    process = started(iris, runs, *LONG, until='"event":"step"',
                      preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    process.send_signal(signal.SIGHUP)
    for _ in range(5):
        process.stdout.readline()
    check("under nohup a hang-up changes nothing", process.poll() is None)
    process.send_signal(signal.SIGTERM)
    process.stdout.read()
    check("and SIGTERM stops it", process.wait(60) == 75)


def resumes(iris, folder):
    runs = folder / "resumes"
    fit(iris, runs, "--epochs", 3)
    (newest(runs) / "DONE").unlink()
    for step in (newest(runs) / "checkpoints").glob("step*"):
        (step / "weights.safetensors").write_bytes(b"x")
    result = fit(iris, runs, "--resume", "auto", "--epochs", 3)
    check("--resume auto of damaged checkpoints alone is R2011 and starts nothing",
          result.returncode == 2 and "R2011" in result.text and "--resume none" in result.text and len(list(runs.glob("iris/0*"))) == 1,
          result.text)
    runs = folder / "locked"
    process = started(iris, runs, *LONG, "--set", "trainer.checkpoint=false", until='"event":"step"')
    result = fit(iris, runs, "--resume", "auto")
    check("--resume auto of a run that runs is R1007", result.returncode == 1 and "R1007" in result.text, result.text)
    process.kill()
    process.wait()
    result = fit(iris, runs, "--resume", "auto", "--epochs", 2)
    check("of one killed before its first checkpoint, a new run and a word",
          result.returncode == 0 and "a new run begins" in result.text, result.text)
    result = fit(iris, runs, "--resume", "last", "--run", "9" * 40)
    check("--run with a huge number", result.returncode == 2 and "R2010" in result.text and "stoll" not in result.text, result.text)
    result = run(iris, "fit", "--out", runs, "--resume", newest(runs), "--epochs", 4, "--set", "topology.precision=f64")
    check("an f32 checkpoint does not go on in f64", result.returncode == 2 and "R2010" in result.text, result.text)
    result = run(iris, "validate", "--out", runs, "--set", "topology.precision=f64")
    check("but its weights may be used in f64", result.returncode == 0, result.text)
    process = started(iris, runs, *LONG, "--set", "trainer.checkpoint=false", until='"event":"step"')
    process.kill()
    process.wait()
    for words in (("validate",), ("fit", "--resume", "last")):
        result = run(iris, *words, "--out", runs)
        check(f"{words[0]} of a newest run without a checkpoint names one that has it",
              result.returncode == 2 and "R2010" in result.text and "iris/0002: --run 2" in result.text, result.text)


def deleted(iris, folder):
    runs = folder / "deleted"
    process = started(iris, runs, *LONG, until='"event":"step"')
    newest(runs).rename(folder / "gone")  # at once: a tree that is removed while checkpoints come into it may stay
    shutil.rmtree(folder / "gone", ignore_errors=True)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    text = process.stdout.read() + process.stderr.read()
    code = process.wait(60)
    check("a run whose folder is deleted ends with R1004", code == 1 and "R1004" in text and "deleted" in text, f"exit {code}\n{text}")


def settings(iris, folder):
    runs = folder / "settings"
    result = fit(iris, runs, "--set", "loggers.Csv.file=../../x.csv")
    check("Csv.file stays in the run folder", result.returncode == 2 and "R2006" in result.text, result.text)
    check("a refused run leaves no folder", not runs.exists(), list(runs.glob("**/*")))
    big = folder / "settings-big"
    result = fit(iris, runs, "--set", "loggers.Csv.file=../../x.csv", "--set", f"callbacks.Checkpoint.dir={big}")
    check("nor one for its checkpoints", result.returncode == 2 and not runs.exists() and not big.exists(), result.text)
    (runs / "iris").mkdir(parents=True)
    fit(iris, runs, "--set", "loggers.Csv.file=../../x.csv")
    check("folders that were there before stay", (runs / "iris").is_dir() and not list(runs.glob("iris/*")), list(runs.glob("iris/*")))
    result = fit(iris, runs, "--set", "trainer.log_every=0", "--set", "topology.threads=x", "--lr", -1)
    check("all faults of settings in one run", all(part in result.text for part in ("log_every", "threads", "lr > 0")), result.text)
    result = fit(iris, runs, "--epochs", 2, "--set", "callbacks.Checkpoint.monitor=none")
    check("--set callbacks.Checkpoint.monitor=none", result.returncode == 0, result.text)


def tables(iris, folder):
    (folder / "lists.ltr").write_text(LISTS)
    text = run(build(folder / "lists.ltr", folder), "describe").text
    check("lists of blocks are rows of the table", "3 × Residual" in text and "84" in text, text)
    check("buffers are not frozen weights", "104 trainable, 0 frozen, " in text and "in buffers" in text, text)
    source = pathlib.Path(__file__).parents[1] / "faults/all_ways.ltr"
    text = run(LTRC, "run", source, "fit", "--out", folder / "advice").text
    check("the advice can be typed", f"ltrc run {source} test --run {folder}/advice/all_ways/0001" in text, text)


def checkpoints_elsewhere(iris, folder):
    for title, dir_, place in (("inside", "states", "states"), ("elsewhere", folder / "big", folder / "big/iris/0001")):
        runs = folder / f"dir-{title}"
        more = ("--set", f"callbacks.Checkpoint.dir={dir_}", "--set", "callbacks.EarlyStop=off")
        result = fit(iris, runs, "--epochs", 2, *more)
        target = newest(runs) / place
        steps = list(target.glob("step*"))
        check(f"Checkpoint.dir {title} of the run", result.returncode == 0 and steps, f"{list(target.glob('*'))}\n{result.text}")
        result = fit(iris, runs, "--epochs", 4, "--resume", "last", *more)
        check("--resume last goes on from there", result.returncode == 0 and "4 epochs" in result.text, result.text)
        result = fit(iris, runs, "--epochs", 6, "--resume", (target / "last").resolve(), *more)
        check("--resume PATH goes on in the same run",
              result.returncode == 0 and len(list(runs.glob("iris/0*"))) == 1, result.text)
        check("validate finds its weights", run(iris, "validate", "--out", runs).returncode == 0)
    # Runs of two folders have one number.
    shared, kept = folder / "shared", []
    for out in ("one", "two"):
        result = fit(iris, folder / out, "--epochs", 2, "--lr", 0.01 if out == "one" else 0.001, "--set", f"callbacks.Checkpoint.dir={shared}", "--set", "callbacks.EarlyStop=off")
        kept.append((newest(folder / out) / "checkpoints").resolve())
    check("each run has its own folder in one that they share", result.returncode == 0 and kept == [shared / "iris" / "0001", shared / "iris" / "0001-2"], (kept, result.text))
    check("and each of the two is its run's", [(one / "run").resolve() == newest(folder / out).resolve() for one, out in zip(kept, ("one", "two"))] == [True, True], kept)
    result = fit(iris, folder / "dir-out", "--set", "callbacks.Checkpoint.dir=../x")
    check("Checkpoint.dir does not leave the run folder", result.returncode == 2 and "R2006" in result.text, result.text)


def columns(folder):
    source = (EXAMPLES / "iris.ltr").read_text()
    program = build(EXAMPLES / "iris.ltr", folder)
    runs = folder / "columns"
    fit(program, runs, "--epochs", 3)
    old = (newest(runs) / "metrics.csv").read_text().splitlines()
    more = folder / "more" / "iris.ltr"
    more.parent.mkdir()
    more.write_text(source.replace("log acc = accuracy(logits, species) bar",
                                   "log hits = accuracy(logits, species) bar\n    log spread = std(logits)")
                    .replace("val.acc", "val.hits"))
    shutil.copytree(EXAMPLES / "data", more.parent / "data", ignore=shutil.ignore_patterns("*mnist*", "*.txt", "*.png"))
    program = build(more, folder / "more")
    result = run(program, "fit", "--no-bar", "--threads", 1, "--out", runs, "--resume", "last", "--epochs", 5,
                 "--set", "callbacks.EarlyStop=off")
    new = (newest(runs) / "metrics.csv").read_text().splitlines()
    check("a run goes on after its logs changed", result.returncode == 0 and len(new) > len(old), result.text)
    head = new[0].split(",")
    place = {name: head.index(name) for name in old[0].split(",")}
    check("new and old columns are there", {"val/hits", "val/spread", "val/acc"} <= set(head), new[0])
    kept = [line for line in old[1:] if int(line.split(",")[0]) < int(old[-1].split(",")[0])]
    check("old rows stand under their names",
          all([new[i + 1].split(",")[place[name]] for name in old[0].split(",")] == line.split(",") for i, line in enumerate(kept)),
          "\n".join(new))
    last = dict(zip(head, next(line for line in new if line.split(",")[0] == old[-1].split(",")[0]).split(",")))
    check("and what the last one had of columns that are no more", last["val/acc"] and last["val/acc"] in old[-1].split(","),
          "\n".join(new))


def secrets(iris, folder):
    place = folder / "git"
    place.mkdir()
    shutil.copytree(EXAMPLES / "data", place / "data", ignore=shutil.ignore_patterns("*mnist*", "*.txt", "*.png"))
    shutil.copy(EXAMPLES / "iris.ltr", place)
    (place / "notes.txt").write_text("nothing\n")
    git = ["git", "-C", str(place), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    if shutil.which("git") is None:
        return
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run(git + command, check=True)
    (place / ".env").write_text("DEPLOY=open-sesame\n")
    (place / "notes.txt").write_text("the token is ghp_0123456789abcdefABCDEF0123456789abcd\nplain words\n")
    subprocess.run(git + ["add", "."], check=True)
    program = build(place / "iris.ltr", place)
    result = fit(program, place / "runs", "--epochs", 1)
    diff = (newest(place / "runs") / "source/uncommitted.diff").read_text()
    check("staged secrets are left out of the run",
          result.returncode == 0 and "open-sesame" not in diff and "ghp_" not in diff and "plain words" in diff, diff)


with scratch() as place:
    folder = pathlib.Path(place)
    iris = build(EXAMPLES / "iris.ltr", folder)
    try:
        before_main(iris, folder)
        before_training(iris, folder)
        pipes(iris, folder)
        compilers(folder)
        leaves_libraries(iris)
        predicts_into_full(folder)
        crashes(iris, folder)
        nohup(iris, folder)
        resumes(iris, folder)
        deleted(iris, folder)
        settings(iris, folder)
        tables(iris, folder)
        checkpoints_elsewhere(iris, folder)
        columns(folder)
        secrets(iris, folder)
        twice(iris, folder)
    finally:
        for process in processes:
            process.kill()
finish()

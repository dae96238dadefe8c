#!/usr/bin/env python3
"""`--find-lr`, `--find-batch`, `--then-fit`: what they find, write and print, and that they leave nothing else.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import csv
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import EXAMPLES, PATIENCE, build, check, finish, interrupt, newest, result_of, run, scratch

DATA = """
hparam lr: float = 0.05 where lr > 0
hparam batch: int = 16 where batch % 4 == 0
hparam rows: int = 16

data Points(count: int = 150, size: int = 16) {
  batch[B] { x: float[B, 3], y: float[B, 1], id: i64[B] }
  fn point(s: {i: int}) -> {x: float[3], y: float[1]} =
    (x = stack([0.01 * s.i, 0.02 * (s.i % 7), 0.5 - 0.01 * (s.i % 50)]), y = full(1, 0.02 * s.i))
  train = synthetic(count, point) |> shuffle(1) |> collate(size)
  val   = synthetic(20, point) |> collate(4)
  predict = range(4) |> map(row => (x = zeros(3), id = row.i)) |> collate(4)  # of which no step trains with the id
}
"""

NET = """
model {name}(lr: float = 0.05) {{
  net = [Linear(3, 8), tanh, Dropout(0.1), Linear(8, 1)]
  norm = BatchNorm1d(8)
  optimizer opt = {rule} {{
    clip_norm = 1.0
    schedule = cosine(warmup = 5 steps)
  }}
  step train[B](x: float[B, 3], y: float[B, 1]) {{
    loss = mean((net(x) - y) ** 2) + 0 * mean(norm(zeros(B, 8)))
    minimize loss
    log loss
  }}
  step val[B](x: float[B, 3], y: float[B, 1]) {{ log loss = mean((net(x) - y) ** 2) }}
}}
"""

TWO = """
model Two(lr: float) {
  first = Linear(3, 1)
  second = Linear(3, 1)
  optimizer opt_a = SGD(first.weights, lr = lr)
  optimizer opt_b = SGD(second.weights, lr = lr)
  step train[B](x: float[B, 3], y: float[B, 1]) {
    minimize mean((first(x) - y) ** 2) with opt_a
    minimize mean((second(x) - y) ** 2) with opt_b
  }
}
model ByHand(lr: float) {
  net = Linear(3, 1)
  optimizer opt = SGD(net.weights, lr = lr)
  step train[B](x: float[B, 3], y: float[B, 1]) manual {
    backward mean((net(x) - y) ** 2)
    opt.step()
    opt.zero_grad()
  }
}
model Broken(lr: float) {
  net = Linear(3, 1)
  optimizer opt = SGD(net.weights, lr = lr)
  step train[B](x: float[B, 3], y: float[B, 1]) { minimize mean(log(net(x) - net(x) - 1)) }
}
"""

EXPERIMENTS = """
callback Counts() {
  state batches: int = 0
  on train_batch_start { batches = batches + 1 }
  on fit_start { print "the fit begins" }
  on train_end { print "batches: {batches}" }
}
experiment plain {
  data = Points(size = batch)
  model = Net(lr)
  trainer { epochs = 3, log_every = 1 }
  callbacks { Counts(), Ema(0.9), Checkpoint() }
  loggers { Csv() }
}
experiment fixed amends plain { data = Points()
  model = Fixed() }
experiment two { data = Points(size = batch)
  model = Two(lr)
  trainer { epochs = 1 } }
experiment by_hand { data = Points(size = rows)
  model = ByHand(lr)
  trainer { epochs = 1 } }
experiment broken { data = Points()
  model = Broken(lr)
  trainer { epochs = 1 } }
"""

PROGRAM = "".join(["ltr 1\n", DATA, NET.format(name="Net", rule="Adam(net.weights, lr = lr)"),
                   NET.format(name="Fixed", rule='SGD(net.weights, lr = 0.05, momentum = 0.9)'), TWO, EXPERIMENTS]).replace(
    "net.weights, lr = lr)", "[net, norm].weights, lr = lr)", 1).replace("net.weights, lr = 0.05, m", "[net, norm].weights, lr = 0.05, m")

# Batches of 64 KiB a record, so that memory ends somewhere.
WIDE = """ltr 1
hparam batch: int = 8 where batch % 4 == 0
hparam pack: int = 8192 where pack % 8192 == 0
data Rows(size: int = 8) {
  batch[B] { x: float[B, 16384] }
  fn row(s: {i: int}) -> {x: float[16384]} = (x = full(16384, 0.001 * (s.i % 9)))
  train = synthetic(100000, row) |> shuffle(1) |> collate(size)
  val   = synthetic(8, row) |> collate(8)
}
data Literal() {
  batch[B] { x: float[B, 16384] }
  fn row(s: {i: int}) -> {x: float[16384]} = (x = full(16384, 0.001 * (s.i % 9)))
  train = synthetic(100, row) |> shuffle(1) |> collate(32)
}
model Net() {
  net = [Linear(16384, 8), relu, Linear(8, 1)]
  optimizer opt = SGD(net.weights, lr = 0.001)
  step train[B](x: float[B, 16384]) {
    loss = mean(relu(x * 2 - 1)) + mean(net(x) ** 2)
    minimize loss
    log loss
  }
}
experiment wide { data = Rows(batch)
  model = Net()
  trainer { steps = 3 } }
experiment packed { data = Rows(pack)
  model = Net()
  trainer { steps = 3 } }
experiment literal { data = Literal()
  model = Net()
  trainer { steps = 3 } }
"""

LIMIT = 420 << 20


def rows_of(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def fit(program, runs, experiment, *options, **how):
    return run(program, "fit", experiment, "--no-bar", "--threads", 1, "--workers", 1, "--out", runs, *options, **how)


def limited(*command, limit=LIMIT):
    """With so many bytes of memory, each process."""
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=240 * PATIENCE,
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)))
    result.text = result.stdout + result.stderr
    return result


def processes_of(program, variable=""):
    """Those that run `program`, with `variable` among theirs."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(folder / "exe") == str(program) and variable in (folder / "environ").read_text():
                found.append(int(folder.name))
        except (OSError, UnicodeDecodeError):
            continue
    return found


def rates(program, folder):
    result = fit(program, folder / "alone", "plain", "--find-lr")
    table = folder / "alone/plain/find_lr.csv"
    if not check("--find-lr exits 0", result.returncode == 0, result.text):
        return
    curve = rows_of(table)
    check("its curve is a file, and there is no run", [path.name for path in (folder / "alone/plain").iterdir()] == ["find_lr.csv"])
    wanted = [1e-8 * 1e8 ** (t / 99) for t in range(len(curve))]
    check("rates rise from 1e-8 by equal factors", len(curve) > 20 and all(abs(float(row["lr"]) / rate - 1) < 1e-12
                                                                            for row, rate in zip(curve, wanted)))
    line = result.stdout.splitlines()[-1]
    value = line.split()[1]
    check("it says what to type", f"use it:  --lr {value}" in line, line)
    check("no hook ran", "begins" not in result.text)
    check("the plot fits the terminal", max(len(one) for one in result.stdout.splitlines()[:-1]) <= 80, result.stdout)
    check("a pipe gets no bar", "\r" not in result.text and result.stderr == "", result.stderr)

    then = fit(program, folder / "then", "plain", "--find-lr", "--then-fit")
    flag = fit(program, folder / "flag", "plain", "--lr", value)
    found = newest(folder / "then")
    check("--then-fit trains", then.returncode == 0 and flag.returncode == 0, then.text + flag.text)
    check("the same bytes as with the flag", result_of(found) == result_of(newest(folder / "flag")))
    check("hooks began as ever", then.stdout.split("begins")[1:] == flag.stdout.split("begins")[1:] or "batches: 30" in then.stdout, then.stdout)
    check("the run has the curve", (found / "find_lr.csv").read_bytes() == table.read_bytes())
    config = json.loads((found / "config.json").read_text())
    check("config.json says where the value is from", config["lr"] == {"value": float(value), "from": "find-lr", "at": f"--lr {value}"}, config["lr"])

    again = fit(program, folder / "config", "plain", "--config", found / "config.json")
    check("config.json repeats the run", again.returncode == 0 and result_of(newest(folder / "config")) == result_of(found), again.text)

    quiet = fit(program, folder / "quiet", "plain", "--find-lr", "--quiet")
    check("--quiet says the result alone", len(quiet.stdout.splitlines()) == 1 and value in quiet.stdout, quiet.text)
    events = [json.loads(line) for line in fit(program, folder / "json", "plain", "--find-lr", "--json").stdout.splitlines()]
    check("--json: events of the search, and its end", [one["event"] for one in events[:-1]] == ["search"] * (len(curve) if len(curve) == 100 else len(curve) - 1)
          and events[-1]["event"] == "find_lr" and events[-1]["lr"] == float(value) and events[-1]["option"] == f"--lr {value}", events[-1])

    fixed = fit(program, folder / "fixed", "fixed", "--find-lr")
    check("without an hparam it is --set", "--set model.opt.lr=" in fixed.stdout, fixed.text)
    setting = fixed.stdout.split("--set ")[1].split()[0]
    then = fit(program, folder / "fixed-then", "fixed", "--find-lr", "--then-fit", "--set", "trainer.accumulate=2")
    search = fit(program, folder / "fixed-search", "fixed", "--find-lr", "--set", "trainer.accumulate=2")
    setting = search.stdout.split("--set ")[1].split()[0]
    flag = fit(program, folder / "fixed-flag", "fixed", "--set", setting, "--set", "trainer.accumulate=2")
    check("with accumulation and momentum the same bytes", then.returncode == flag.returncode == 0
          and result_of(newest(folder / "fixed-then")) == result_of(newest(folder / "fixed-flag")), then.text + flag.text)


def going_on(program, folder):
    runs = folder / "on"
    search = ("plain", "--find-lr", "--then-fit")
    code, said = interrupt(program, runs, 7, signal.SIGTERM, *search, "--set", "trainer.epochs=2000")
    begun = newest(runs)
    check("a run with a found rate is stopped", code == 75, said)
    steps = json.loads((begun / "checkpoints/last/checkpoint.json").read_text())["step"]
    end = ("--steps", steps + 9, "--set", "trainer.epochs=2000")
    resumed = fit(program, runs, *search, "--resume", "auto", *end)
    check("one that goes on keeps what was found", resumed.returncode == 0 and "use it" not in resumed.stdout
          and json.loads((begun / "config.json").read_text())["lr"]["from"] == "find-lr", resumed.text)
    resume = said.split("go on with:  ")[-1]
    check("what goes on with it has the value", "--lr" in resume and "--find-lr" not in resume, resume)
    plain = folder / "unsearched"
    fit(program, plain, "plain", "--steps", 7)
    (newest(plain) / "DONE").unlink()
    refused = fit(program, plain, "plain", "--find-lr", "--then-fit", "--resume", "auto")
    check("one that began without is refused", refused.returncode == 2 and "R2006" in refused.text and "goes on" in refused.text, refused.text)


def refused(program, folder):
    for title, words, code, parts in (
            ("several optimizers are listed", ("two", "--find-lr"), 2, ("R2006", "opt_a, opt_b", "--find-lr=opt_a")),
            ("a misspelt one", ("two", "--find-lr=opt_c"), 2, ("R2001", "did you mean --find-lr=opt_", "opt_a, opt_b")),
            ("a manual step", ("by_hand", "--find-lr"), 2, ("R2006", "manual", "finders.ltr:", "--set model.opt.lr=")),
            ("--then-fit alone", ("plain", "--then-fit"), 2, ("R2006", "--find-lr or --find-batch")),
            ("--fast-dev-run", ("plain", "--find-lr", "--fast-dev-run"), 2, ("R2006", "--fast-dev-run")),
            ("a loss that is not finite", ("broken", "--find-lr"), 1, ("R1013", "not finite", "find_lr.csv")),
            ("settings are read before", ("plain", "--find-lr", "--lr", "-1"), 2, ("R2004",))):
        result = fit(program, folder / "refused", *words)
        check(f"refused: {title}", result.returncode == code and all(part in result.text for part in parts), result.text)
    one = fit(program, folder / "one", "two", "--find-lr=opt_b")
    check("of two optimizers with one hparam the setting is named", one.returncode == 0 and "--set model.opt_b.lr=" in one.stdout, one.text)


def batches(program, folder):
    result = fit(program, folder / "samples", "plain", "--find-batch")
    check("everything fits: as many as there are samples, by the rule of the hparam",
          result.returncode == 0 and "--batch 148" in result.stdout, result.text)
    other = fit(program, folder / "by-hand", "by_hand", "--find-batch")
    check("a manual step, and an hparam of the same value beside it", other.returncode == 0 and "--rows 150" in other.stdout, other.text)
    fixed = fit(program, folder / "path", "fixed", "--find-batch")
    check("without an hparam it is --set", fixed.returncode == 0 and "--set data.size=150" in fixed.stdout, fixed.text)
    divided = fit(program, folder / "global", "plain", "--find-batch", "--set", "trainer.global_batch=48")
    check("global_batch divides", divided.returncode == 0 and "--batch 48" in divided.stdout, divided.text)
    iris = build(EXAMPLES / "iris.ltr", folder)
    result = run(iris, "fit", "--find-batch", "--no-bar", "--threads", 1, "--out", folder / "iris-runs", cwd=folder)
    check("files beside the program are found from any folder", result.returncode == 0 and "--set data.size=120" in result.stdout, result.text)
    both = fit(program, folder / "both", "plain", "--find-batch", "--find-lr", "--then-fit", "--epochs", 1)
    found = newest(folder / "both")
    config = json.loads((found / "config.json").read_text())
    check("both, then the fit", both.returncode == 0 and config["batch"]["value"] == 148 and config["batch"]["from"] == "find-batch"
          and config["lr"]["from"] == "find-lr" and (found / "find_batch.csv").exists() and (found / "find_lr.csv").exists(), both.text)
    flags = fit(program, folder / "both-flags", "plain", "--batch", 148, "--lr", config["lr"]["value"], "--epochs", 1)
    check("in the same bytes as with both flags", flags.returncode == 0 and result_of(newest(folder / "both-flags")) == result_of(found))


def memory(wide, folder):
    command = (wide, "fit", "wide", "--no-bar", "--threads", 1, "--workers", 1, "--out")
    result = limited(*command, folder / "memory", "--find-batch")
    if not check("--find-batch under a limit exits 0", result.returncode == 0, result.text):
        return
    trials = rows_of(folder / "memory/wide/find_batch.csv")
    sizes = {int(row["batch"]): row["outcome"] for row in trials}
    largest = max(size for size, outcome in sizes.items() if outcome == "fits")
    found = int(result.stdout.split("--batch ")[1].split()[0])
    check("doubled, then halved", [int(row["batch"]) for row in trials][:3] == [8, 16, 32] and "no memory" in sizes.values(), trials)
    check("all are allowed", all(size % 4 == 0 for size in sizes))
    check("it is 0.95 of the largest that fits", largest * 0.95 - 4 < found <= largest * 0.95, (largest, found))
    check("memory rises with the batch", [float(row["bytes"]) for row in trials if row["outcome"] == "fits"][0] < max(float(row["bytes"] or 0) for row in trials))
    check("what was found fits", limited(*command, folder / "fits", "--batch", found).returncode == 0)
    failing = min(size for size, outcome in sizes.items() if outcome != "fits")
    check("what did not, does not", "R1001" in limited(*command, folder / "fails", "--batch", failing * 8).text)
    none = limited(wide, "fit", "packed", "--threads", 1, "--workers", 1, "--find-batch", "--out", folder / "none")
    check("not even the smallest fits", none.returncode == 1 and "R1001" in none.text and "not even a batch of 8192" in none.text, none.text)
    literal = run(wide, "fit", "literal", "--find-batch", "--out", folder / "literal")
    check("a literal size is said so", literal.returncode == 2 and "32 records" in literal.text and "wide.ltr:" in literal.text
          and "hparam batch" in literal.text, literal.text)


def started(program, folder, *options):
    return subprocess.Popen([str(word) for word in (program, "fit", *options, "--json", "--threads", 1, "--workers", 1, "--out", folder)],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1, start_new_session=True)


def signals(program, wide, folder):
    # Windows end with the epoch: only long ones outlast the signal on a machine that does much else.
    slow = ("--set", "trainer.accumulate=3000", "--set", "data.count=48000")
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 75)):
        for title, process, at in (("--find-lr", started(program, folder / "stop", "plain", "--find-lr", *slow), program),
                                   ("--find-batch", started(wide, folder / "stop", "wide", "--find-batch"), wide)):
            process.stdout.readline()  # the first of what it tried
            process.send_signal(number)
            said = process.stdout.read()
            check(f"{title} ends by {number.name}, and says so", process.wait(20 * PATIENCE) == code
                  and f"stopped by {number.name}: the search is given up" in said, said)
            check("and leaves no process", not processes_of(at))
    check("nor a file", not (folder / "stop").exists(), list(folder.glob("stop/*/*")))

    # A trial that the kernel kills did not fit.
    process = started(wide, folder / "killed", "wide", "--find-batch", "--batch", 256)
    end = time.monotonic() + 30 * PATIENCE
    trials = []
    while not trials and time.monotonic() < end:
        trials = processes_of(wide, "LTR_TRIAL=")
    os.kill(trials[0], signal.SIGKILL)
    first = json.loads(process.stdout.readline())
    check("a trial that is killed does not fit", first["event"] == "search" and first["values"] == {"batch": 256, "fits": 0}, first)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    end = time.monotonic() + 10 * PATIENCE
    while processes_of(wide) and time.monotonic() < end:
        time.sleep(0.05)
    check("trials end with the program that started them", not processes_of(wide))


with scratch() as name:
    base = pathlib.Path(name).resolve()
    (base / "finders.ltr").write_text(PROGRAM)
    (base / "wide.ltr").write_text(WIDE)
    program, wide = build(base / "finders.ltr", base), build(base / "wide.ltr", base)
    rates(program, base)
    going_on(program, base)
    refused(program, base)
    batches(program, base)
    memory(wide, base)
    signals(program, wide, base)
finish()

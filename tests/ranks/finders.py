#!/usr/bin/env python3
"""Finders on several ranks: the curve of `--find-lr` is that of one process with the same global batch, whatever the ranks
divide, and `--find-batch` finds one size for all of them. Rank 0 alone speaks; nothing is left behind.

Tolerance: 1e-9 relative in every loss, in f64; 1e-5 in f32 with batch norm.

  finders.py          LTRC and LTR_SOURCE say which compiler and sources, if not these
"""
import csv
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "support"))
from team import EXAMPLES, PATIENCE, build, check, clean_up, finish, free_ports, members, newest, result_of, run, scratch, words

GLOBAL = 24
WAYS = {
    "ddp over 2": (2, "--set", "topology.strategy=ddp"),
    "zero1 over 2": (2, "--set", "topology.strategy=zero1"),
    "zero2 over 2": (2, "--set", "topology.strategy=zero2"),
    "fsdp over 2": (2, "--topology", "fsdp2"),
    "hsdp over 2 x 2": (4, "--topology", "hsdp4"),
}
LIMIT = 420 << 20

WIDE = """ltr 1
hparam batch: int = 32
data Rows(size: int = 32) {
  batch[B] { x: float[B, 16384] }
  fn row(s: {i: int}) -> {x: float[16384]} = (x = full(16384, 0.001 * (s.i % 9)))
  train = synthetic(100000, row) |> shuffle(1) |> collate(size)
}
model Net() {
  net = [Linear(16384, 8), relu, Linear(8, 1)]
  optimizer opt = SGD(net.weights, lr = 0.001)
  step train[B](x: float[B, 16384]) { minimize mean(relu(x * 2 - 1)) + mean(net(x) ** 2) }
}
experiment wide { data = Rows(batch)
  model = Net()
  trainer { steps = 3 } }
"""


def curve(runs):
    with open(next(runs.glob("*/find_lr.csv"))) as file:
        return [(float(row["lr"]), float(row["loss"])) for row in csv.DictReader(file)]


def search(program, runs, world, size, *options):
    return run(program, "fit", "--no-bar", "--threads", 1, "--nproc", world, "--size", size, "--out", runs, *options, timeout=120)


def same(title, found, wanted, tolerance):
    worst = max((abs(a - b) / abs(b) for (_, a), (_, b) in zip(found, wanted)), default=float("inf"))
    check(f"{title}: {len(wanted)} rates, {worst:.1e}", [rate for rate, _ in found] == [rate for rate, _ in wanted] and worst <= tolerance, worst)


def curves(folder):
    program = build(HERE / "sharded.ltr", folder)
    alone = search(program, folder / "one", 1, GLOBAL, "--find-lr=opt")
    if not check("one process", alone.returncode == 0, alone.text):
        return
    said = alone.stdout.splitlines()[-1].split(" · the curve")[0]
    for title, (world, *options) in WAYS.items():
        runs = folder / title.replace(" ", "-")
        result = search(program, runs, world, GLOBAL // world, "--find-lr=opt", *options)
        if check(f"{title} exits 0", result.returncode == 0, result.text):
            same(title, curve(runs), curve(folder / "one"), 1e-9)
            check(f"{title}: the same rate, said once", result.stdout.count("use it") == 1 and said in result.stdout, result.text)
    then = search(program, folder / "then", 2, GLOBAL // 2, "--find-lr=opt", "--then-fit", "--topology", "fsdp2", "--steps", 9)
    option = said.split("use it:  ")[1].split()
    flag = search(program, folder / "flag", 2, GLOBAL // 2, *option, "--topology", "fsdp2", "--steps", 9)
    check("under fsdp --then-fit gives the bytes of the flag", then.returncode == flag.returncode == 0
          and weights(folder / "then") == weights(folder / "flag")
          and (newest(folder / "then") / "metrics.csv").read_bytes() == (newest(folder / "flag") / "metrics.csv").read_bytes(), then.text + flag.text)


def weights(runs):
    return [file.read_bytes() for file in sorted((newest(runs) / "checkpoints/last").glob("weights*.safetensors"))]


def with_batch_norm(folder):
    program = build(HERE / "digits.ltr", folder)
    data = ("--set", f"data.root={EXAMPLES / 'data/mnist-5k'}")
    # 413 samples: some rows are uneven, and the last of an epoch has a rank without samples. Several ranks have no plans, and the
    # largest rates enlarge a last bit.
    for title, options in (("uneven rows", ()), ("three rows a window", ("--set", "trainer.accumulate=3"))):
        found = {}
        for world in (1, 2):
            result = search(program, folder / f"{title}-{world}", world, 24 // world, "--find-lr", *data, *options, "--backend", "torch")
            check(f"{title}, {world} ranks", result.returncode == 0, result.text)
            found[world] = curve(folder / f"{title}-{world}")
        same(title, found[2], found[1], 1e-5)


def limited(*command, env=None):
    return subprocess.Popen(words(*command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **(env or {})},
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT)))


def sizes(folder):
    (folder / "wide.ltr").write_text(WIDE)
    program = build(folder / "wide.ltr", folder)
    options = ("--threads", 1, "--workers", 1, "--find-batch", "--no-bar", "--out")
    team = limited(program, "fit", "--nproc", 2, *options, folder / "own")
    said = team.communicate(timeout=200 * PATIENCE)[0]
    check("--find-batch of 2 ranks", team.returncode == 0 and said.count("use it:  --batch") == 1, said)
    with open(folder / "own/wide/find_batch.csv") as file:
        trials = list(csv.DictReader(file))
    # A library that gets no memory may crash, just above the size that fits.
    ends = {row["outcome"] for row in trials}
    check("some fit and some do not", {"fits", "no memory"} <= ends <= {"fits", "no memory", "crashed"}, trials)
    biggest = max(int(row["batch"]) for row in trials if row["outcome"] == "fits")
    check("all that end otherwise are larger", all(int(row["batch"]) > biggest for row in trials if row["outcome"] != "fits"), trials)
    size = said.split("--batch ")[1].split()[0]
    fitting = limited(program, "fit", "--nproc", 2, "--threads", 1, "--workers", 1, "--batch", size, "--out", folder / "fits")
    said = fitting.communicate(timeout=100 * PATIENCE)[0]
    check("what was found fits", fitting.returncode == 0, said)

    # Ranks that a launcher started: their trials meet elsewhere.
    port = free_ports(1)[0]
    ranks = [limited(program, "fit", *options, folder / "launched", env={
        "RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port)}) for rank in range(2)]
    texts = [one.communicate(timeout=200 * PATIENCE)[0] for one in ranks]
    check("under torchrun's variables", [one.returncode for one in ranks] == [0, 0] and (folder / "launched/wide/find_batch.csv").exists(), texts)
    check("the second rank is silent", "use it" in texts[0] and texts[1] == "", texts[1])
    return program


def stopped(folder, program):
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 75)):
        for finder in ("--find-batch", "--find-lr"):
            options = ("--set", "trainer.accumulate=200") if finder == "--find-lr" else ()
            process = subprocess.Popen(words(program, "fit", finder, "--json", "--nproc", 2, "--threads", 1, "--workers", 1, *options, "--out", folder / "stop"),
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1, start_new_session=True)
            first = process.stdout.readline()
            process.send_signal(number)
            said = process.stdout.read()
            check(f"{finder} of 2 ranks ends by {number.name}", process.wait(30 * PATIENCE) == code and json.loads(first)["event"] == "search", first + said)
            check("and leaves no process", not members(program))
    check("nor a file", not (folder / "stop").exists())


with scratch() as name:
    base = pathlib.Path(name).resolve()
    curves(base)
    with_batch_norm(base)
    wide = sizes(base)
    stopped(base, wide)
    check("nothing is left", clean_up(wide))
finish()

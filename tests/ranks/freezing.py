#!/usr/bin/env python3
"""Weights that callbacks hold back, and averages of late epochs, under each strategy: 2 processes train as one with the same global batch,
and go on from each other's checkpoints; what is held keeps its bits.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import array
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "support"))
from team import build, check, clean_up, compare, finish, newest, rows, run, scratch
from torch_file import tensors_of

GLOBAL = 24
TOLERANCE = 1e-9  # of f64
CALLBACKS = """  callbacks {
    FreezeUntil("net.body", except = "net.body.3", epoch = 1, lr_ratio = 0.5, growth = 1.5)
    Unfreeze([("net.mix", 2)], lr_ratio = 0.25)
    Swa(lr = 5e-3, start = 0.4, anneal = 2 epochs)
    Begin()
    Checkpoint(every = 1 epoch, keep = 9, filename = "after-{epoch}")
  }
"""
WAYS = {
    "ddp": ("--set", "topology.strategy=ddp"),
    "zero1": ("--set", "topology.strategy=zero1"),
    "zero2": ("--set", "topology.strategy=zero2"),
    "fsdp": ("--topology", "fsdp2"),
}
# Of 27 planned steps no whole epoch lies behind the start; it begins later in the whole run, too.
NO_AVERAGES = ("--set", "callbacks.Swa=off")
HELD_FIRST = tuple(f"net.body.{i}.{part}" for i in range(3) for part in ("up.weight", "up.bias", "down.weight"))
HELD_LONGER = tuple(f"net.mix.{i}.weight" for i in range(3))


def fit(program, runs, world, *options, steps=80):
    """80 steps are 4 epochs."""
    return run(program, "fit", "frozen", "--no-bar", "--threads", 1, "--nproc", world, "--size", GLOBAL // world, "--out", runs,
               "--steps", steps, *options, timeout=180)


def tensors_at(runs, name, kind="weights"):
    """{path: numbers} of a checkpoint."""
    files = sorted((newest(runs) / "checkpoints" / name).glob(f"{kind}*.safetensors"))
    return {path: array.array("d", data) for file in files for path, (_, _, data) in tensors_of(file).items()}


def same(title, runs, whole):
    compare(title, rows(runs), rows(whole), TOLERANCE)
    for kind in ("weights", "averages"):
        found, wanted = tensors_at(runs, "last", kind), tensors_at(whole, "last", kind)
        largest = max(abs(number) for numbers in wanted.values() for number in numbers)
        worst = max((abs(a - b) / largest, name) for name in wanted for a, b in zip(wanted[name], found.get(name, []), strict=True))
        check(f"{title}, {kind}: {worst[0]:.1e}", wanted.keys() == found.keys() and worst[0] <= TOLERANCE, worst)


with scratch() as name:
    folder = pathlib.Path(name).resolve()
    source = folder / "frozen.ltr"
    text = (HERE / "sharded.ltr").read_text()
    source.write_text(text + "\ncallback Begin() { on train_start { if global_step == 0 { save(\"begin\") } } }\n"
                      f"experiment frozen amends sharded {{\n{CALLBACKS}}}\n")
    program = build(source, folder)
    alone = folder / "alone"
    result = fit(program, alone, 1)
    check("one process", result.returncode == 0, result.text)
    for way, options in WAYS.items():
        runs = folder / way
        result = fit(program, runs, 2, *options)
        if not check(f"{way}: 2 processes", result.returncode == 0, result.text):
            continue
        same(f"{way} as one process", runs, alone)
        begin, first, second = (tensors_at(runs, one) for one in ("begin", "after-0", "after-1"))
        check(f"{way}: what is held keeps its bits", all(begin[one] == first[one] for one in HELD_FIRST) and all(begin[one] == second[one] for one in HELD_LONGER))
        check(f"{way}: and moves from its epoch on", all(begin[one] != second[one] for one in HELD_FIRST))
        runs = folder / f"{way}-stopped"
        fit(program, runs, 2, *options, *NO_AVERAGES, steps=27)
        result = fit(program, runs, 2, *options, "--resume", "last")
        check(f"{way}: stopped in a stage, it goes on", result.returncode == 0, result.text)
        check(f"{way}: to the same bits", tensors_at(runs, "last") == tensors_at(folder / way, "last") and tensors_at(runs, "last", "averages") == tensors_at(folder / way, "last", "averages"))
    runs = folder / "worlds"
    fit(program, runs, 2, *WAYS["fsdp"], *NO_AVERAGES, steps=27)
    result = fit(program, runs, 1, "--resume", "last")
    if check("one process goes on with what two began", result.returncode == 0, result.text):
        same("two, then one", runs, alone)
    check("no process is left", clean_up(program))

finish()

#!/usr/bin/env python3
"""What ranks divide does not show in the numbers: 1, 2 and 4 processes under each strategy train as one with the same
global batch, and go on from each other's checkpoints (docs: runs, several processes).

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
WAYS = {
    "ddp over 2": (2, "--set", "topology.strategy=ddp"),
    "zero1 over 2": (2, "--set", "topology.strategy=zero1"),
    "zero2 over 2": (2, "--set", "topology.strategy=zero2"),
    "fsdp over 2": (2, "--topology", "fsdp2"),
    "ddp over 4": (4, "--set", "topology.strategy=ddp"),
    "zero1 over 4": (4, "--set", "topology.strategy=zero1"),
    "zero2 over 4": (4, "--set", "topology.strategy=zero2"),
    "fsdp over 4": (4, "--topology", "fsdp4"),
    "hsdp over 2 x 2": (4, "--topology", "hsdp4"),
}


def fit(program, runs, world, *options):
    return run(program, "fit", "--no-bar", "--threads", 1, "--nproc", world, "--size", GLOBAL // world, "--out", runs,
               *options, timeout=120)


def tensors_in(run, kind):
    """{path: numbers} of its last checkpoint: of one file, or of one for each rank."""
    files = sorted((run / "checkpoints/last").glob(f"{kind}*.safetensors"))
    return {name: array.array("d", data) for file in files for name, (_, _, data) in tensors_of(file).items()}


def check_equal(title, runs, whole):
    """Losses, norms, weights and averages of the newest of `runs` are those of one process."""
    compare(title, rows(runs), rows(whole), TOLERANCE, least=1e-2)
    for kind in ("weights", "averages"):
        found, wanted = tensors_in(newest(runs), kind), tensors_in(newest(whole), kind)
        worst = max((abs(a - b), name) for name in wanted for a, b in zip(found[name], wanted[name]))
        check(f"{title}: {kind}", found.keys() == wanted.keys() and worst[0] <= TOLERANCE, worst)


def same_as(title, result, runs, whole):
    if check(f"{title} exits 0", result.returncode == 0, result.text):
        check_equal(title, runs, whole)


with scratch() as name:
    base = pathlib.Path(name).resolve()
    program = build(HERE / "sharded.ltr", base)
    result = fit(program, base / "one", 1)
    if not check("one process", result.returncode == 0, result.text):
        finish()
    whole = base / "one"
    for title, (world, *options) in WAYS.items():
        runs = base / title.replace(" ", "-")
        same_as(title, fit(program, runs, world, *options), runs, whole)
    # What one way wrote another one goes on from, each at the sample where the one before stopped.
    runs = base / "in-turn"
    turns = ["fsdp over 4", "zero2 over 2", "hsdp over 2 x 2", "one process"]
    for turn, title in enumerate(turns):
        world, *options = WAYS.get(title, (1,))
        resume = ("--resume", "last") if turn > 0 else ()
        result = fit(program, runs, world, *options, *resume, "--steps", 50 * (turn + 1) // len(turns))
        check(f"{title} goes on to step {50 * (turn + 1) // len(turns)}", result.returncode == 0, result.text)
    check_equal("one after the other", runs, whole)
    # A checkpoint of which a part is gone is none.
    part = newest(base / "fsdp-over-4") / "checkpoints/last/train-2.safetensors"
    part.unlink()
    result = fit(program, base / "fsdp-over-4", 1, "--resume", part.parent, "--steps", 60)
    check("half a set is R2011", result.returncode == 2 and "R2011" in result.text and part.name in result.text, result.text)
    check("no process is left", clean_up(program))
finish()

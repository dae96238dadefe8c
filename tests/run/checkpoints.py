#!/usr/bin/env python3
"""The verb `checkpoints`: lists what a run has, verifies it, and puts right what killed writers left."""
import itertools
import json
import pathlib
import shutil
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import EXAMPLES, build, check, finish, fit, newest, run, scratch
from points import model, source


def listed(program, *words):
    result = run(program, "checkpoints", *words, "--json")
    rows = json.loads(result.stdout)["checkpoints"] if result.stdout.startswith("{") else []
    return result, {row["name"]: row for row in rows}


def come_and_go(checkpoints, names, stop):
    """As a run does that keeps few of them: each comes and goes as a whole, and none comes back under its name."""
    source = checkpoints / min(names)
    for first in itertools.count(0, 20):
        if stop.is_set():
            return
        for number in range(first, first + 20):
            shutil.copytree(source, checkpoints / f".tmp-{number}")
            (checkpoints / f".tmp-{number}").rename(checkpoints / f"step99{number:05}")
        for number in range(first, first + 20):
            (checkpoints / f"step99{number:05}").rename(checkpoints / f".tmp-gone-{number}")
            shutil.rmtree(checkpoints / f".tmp-gone-{number}")


with scratch() as name:
    folder = pathlib.Path(name)
    program = build(EXAMPLES / "iris.ltr", folder)
    result = fit(program, folder / "runs", "--epochs", 6, "--set", "callbacks.Checkpoint.keep=3")
    check("a run", result.returncode == 0, result.text)
    at = newest(folder / "runs")
    checkpoints = at / "checkpoints"
    result, rows = listed(program, at)
    on_disk = {path.name for path in checkpoints.iterdir() if not path.is_symlink()}
    check("lists all that are there, whole", result.returncode == 0 and set(rows) == on_disk and all(row["whole"] for row in rows.values()), result.text)
    check("and which are last and best", [row["name"] for row in rows.values() if row["last"]] == [(checkpoints / "last").readlink().name]
          and [row["name"] for row in rows.values() if row["best"]] == [(checkpoints / "best").readlink().name], result.text)
    for which in ((), (1,), ("--run", at)):
        result, same = listed(program, *which, "--out", folder / "runs")
        check(f"the run is found by {which}", same == rows, result.text)
    text = run(program, "checkpoints", at).stdout
    check("for people, too", f"{len(rows)} checkpoints" in text and "whole  last" in text, text)

    stop = threading.Event()
    going = threading.Thread(target=come_and_go, args=(checkpoints, on_disk, stop))
    going.start()
    results = [listed(program, at) for _ in range(10)]
    stop.set()
    going.join()
    check("a run that removes checkpoints meanwhile disturbs nothing",
          all(result.returncode == 0 and set(found) >= on_disk for result, found in results), [result.text for result, _ in results])

    last = (checkpoints / "last").readlink().name
    weights = checkpoints / last / "weights.safetensors"
    bytes_before = weights.read_bytes()
    weights.write_bytes(bytes_before[:-1] + bytes([bytes_before[-1] ^ 1]))
    (checkpoints / ".tmp-step0000099").mkdir()
    result, found = listed(program, at)
    check("a flipped bit is found", result.returncode == 2 and not found[last]["whole"] and "digest" in found[last]["damage"], result.text)
    check("nothing was changed by looking", (checkpoints / ".tmp-step0000099").exists() and (checkpoints / "last").readlink().name == last)
    result, found = listed(program, at, "--repair")
    whole = max((row for row in found.values() if row["whole"]), key=lambda row: row["step"])
    check("--repair points last at the newest whole one", whole["last"] and f"last is {whole['name']} now" in result.stderr, result.text)
    check("and takes leftovers away", not (checkpoints / ".tmp-step0000099").exists() and "1 leftover" in result.stderr, result.text)
    check("the damaged one is still told of", result.returncode == 2 and not found[last]["whole"], result.text)
    result = fit(program, folder / "runs", "--resume", "last", "--epochs", 8)
    check("a run goes on from it", result.returncode == 0, result.text)
    result = run(program, "checkpoints", "nowhere", "--out", folder / "runs")
    check("no such run", result.returncode == 2 and "R2010" in result.stderr and "no run nowhere" in result.stderr, result.text)

    # Epochs of 4 steps, a checkpoint each of which would be most of the run. Those that are the best of what is monitored are for more.
    epochs = 400
    best_of = "Checkpoint(monitor = train.worse, mode = min{})".format
    for listed_one, is_each in (("", False), (best_of(""), False), (best_of(", keep = all"), True), ("Checkpoint(every = 1 epoch)", True)):
        text = source(model(more="    log worse = 0 - loss on epoch\n"), f"experiment short {{\n  data = Points()\n  model = Net()\n  trainer {{ epochs = {epochs} }}\n"
                      f"  callbacks {{ {listed_one} }}\n}}\n")
        (folder / "short.ltr").write_text(text)
        result = fit(build(folder / "short.ltr", folder), folder / "short-runs")
        at = newest(folder / "short-runs")
        events = [json.loads(line) for line in (at / "log.jsonl").read_text().splitlines()]
        written = sum(event.get("event") == "checkpoint" for event in events)
        check(f"short epochs, {listed_one or 'none listed'}: {written} checkpoints",
              result.returncode == 0 and (written == epochs if is_each else 1 < written < epochs), result.text)
        last = (at / "checkpoints" / "last").readlink().name
        check("the end has its own", last.split("-")[0] == f"step{4 * epochs:07}", last)
        if "monitor" in listed_one:
            best = (at / "checkpoints" / "best").readlink().name
            check("the best is there, written or not what followed", best.startswith("step0000004-"), best)
finish()

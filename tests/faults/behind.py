#!/usr/bin/env python3
"""Checkpoints that are written while training goes on (`async = true`): they hold what those hold that training waits for,
and what is there stays whole whatever becomes of the writer. On one rank, on two that hold the same, on two that divide it.

  behind.py              what ctest runs: 12 kills
  behind.py --kills 200  as many
"""
import argparse
import json
import pathlib
import random
import re
import signal

from faults import HERE, Program, build_stop, check, differences, finish, fit, leftovers, newest, outcome, scratch, start

WORLDS = {"one rank": (), "two ranks": ("--nproc", 2), "two that divide": ("--nproc", 2, "--topology", "divided")}
AT_ONCE = ("--set", "callbacks.Checkpoint.async=false", "--set", "callbacks.Checkpoint.1.async=false")
TIMES = ("train_s", "round_time_s", "last_time_s", "digest", "settings")


def events(text, kind):
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return [line for line in lines if line["event"] == kind]


def without_times(value):
    """A manifest without what differs from run to run."""
    if isinstance(value, dict):
        return {name: without_times(one) for name, one in value.items() if name not in TIMES}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def kept(run):
    """{name: {file: its bytes, or what a manifest says}} of all checkpoints, and where links point."""
    found = {}
    for path in sorted((run / "checkpoints").iterdir()):
        if path.is_symlink():
            found[path.name] = path.readlink().name
        else:
            found[path.name] = {file.name: without_times(json.loads(file.read_text())) if file.name == "checkpoint.json"
                                else file.read_bytes() for file in path.iterdir()}
    return found


def equal(program, folder, title, options):
    results = {}
    for name, more in (("behind", ()), ("at-once", AT_ONCE)):
        runs = folder / name
        result = fit(program.path, runs, *options, *more)
        if not check(f"{title}: {name}", result.code == 0, result.text):
            return
        results[name] = newest(runs)
    found = differences(outcome(results["behind"]), outcome(results["at-once"]))
    check(f"{title}: trains alike", not found, "\n".join(found))
    behind, at_once = kept(results["behind"]), kept(results["at-once"])
    unlike = [f"{name}/{file}" for name in behind.keys() | at_once.keys() if isinstance(behind.get(name), dict)
              for file in behind[name] if behind[name][file] != at_once.get(name, {}).get(file)]
    check(f"{title}: the same is kept, bit for bit", behind.keys() == at_once.keys() and not unlike, unlike or (list(behind), list(at_once)))
    check(f"{title}: links", all(behind[link] == at_once[link] for link in ("last", "best")))
    # The first half written behind training, then the rest from it.
    runs = folder / "resumed"
    fit(program.path, runs, *options, "--steps", 8)
    result = fit(program.path, runs, "--resume", "last", *options)
    found = [result.text] if result.code != 0 else differences(outcome(results["at-once"]), outcome(newest(runs)))
    check(f"{title}: goes on from one as if nothing had been", not found, "\n".join(found))


def slow(program, folder, title, options):
    """The disk takes longer than the steps between two checkpoints."""
    runs = folder / "slow"
    result = fit(program.path, runs, *options, env=program.env(SLOW_US=3000, FAULT_BELOW=f"{runs}/behind/0001/checkpoints"))
    waits = [event["text"] for event in events(result.text, "note") if "are due faster" in event["text"]]
    check(f"{title}: a slow disk is told of once", result.code == 0 and len(waits) == 1, result.text)
    if waits:
        seconds = float(waits[0].split(" waited ")[1].split()[0])
        check(f"{title}: and how long one waited", 0 < seconds < 60 and " was written" in waits[0], waits[0])
    whole = fit(program.path, folder / "quick", *options, *AT_ONCE)
    check(f"{title}: none is left out", len(events(result.text, "checkpoint")) == len(events(whole.text, "checkpoint")), result.text)
    check(f"{title}: a quick disk's checkpoints that nobody waits for are not told of", "are due faster" not in whole.text)


def full(program, folder, title, options, at):
    """No room for a while: one warning with its code, as where training waits, and the run goes on to its end."""
    runs = folder / f"full-{at}"
    below = f"{runs}/behind/0001/checkpoints"
    first = {"STOP_RANK": 0} if options else {}
    # So many that what needs room is among them, and not only what makes some.
    result = fit(program.path, runs, *options, env=program.env(FULL_AT=at, FULL_FOR=15, FAULT_BELOW=below, **first))
    warnings = [event["text"] for event in events(result.text, "warning")]
    failed = [text for text in warnings if re.search("No space left on device.*; training goes on", text)]
    again = [event for event in events(result.text, "note") if event["text"] == "checkpoints are written again"]
    check(f"{title}: full at event {at} is a warning", result.code == 0 and 1 <= len(failed) == len(again) <= 2, result.text)
    # What could not be written, or not be linked to, nobody counts on.
    said = {pathlib.Path(event["path"]).name for event in events(result.text, "checkpoint")}
    kept = [json.loads(file.read_text()).get("callbacks") for file in newest(runs).glob("checkpoints/*/checkpoint.json")]
    named = set(re.findall(r'"((?:step|best-)\d[^"]*)"', json.dumps(kept)))
    check(f"{title}: what could not be written is forgotten", named and named <= said, f"{named - said}\n{result.text}")
    check(f"{title}: nothing is left over", not leftovers(newest(runs)), leftovers(newest(runs)))
    whole = fit(program.path, folder / f"whole-{at}", *options)
    found = differences(outcome(newest(folder / f"whole-{at}")), outcome(newest(runs))) if whole.code == 0 else [whole.text]
    check(f"{title}: and training is what it was", not found, "\n".join(found))


def killed(program, folder, at):
    """After a kill the newest that was told of, or a later one, is there and whole."""
    runs = folder / f"killed-{at}"
    result = fit(program.path, runs, env=program.env(STOP_AT=at, STOP_SIGNAL=int(signal.SIGKILL), FAULT_BELOW=runs))
    told = [int(pathlib.Path(event["path"]).name.split("step")[-1].split("-")[-1]) for event in events(result.text, "checkpoint")]
    title = f"killed at {at}"
    if told:
        listed = start(program.path, "checkpoints", newest(runs), "--json")
        rows = json.loads(listed.text)["checkpoints"] if listed.text.startswith("{") else []
        last = [row for row in rows if row["last"]]
        check(f"{title}: `last` is whole, and no older than step {max(told)}",
              len(last) == 1 and last[0]["whole"] and last[0]["step"] >= max(told) and all(row["whole"] for row in rows), listed.text)
    result = fit(program.path, runs, "--resume", "auto")
    found = [result.text] if result.code != 0 else differences(program.whole, outcome(newest(runs)))
    check(f"{title}: the rest", not found and not leftovers(newest(runs)), "\n".join(found))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with scratch() as place:
        folder = pathlib.Path(place).absolute()
        program = Program(HERE / "programs/behind.ltr", folder, build_stop(folder))
        for title, words in WORLDS.items():
            at = folder / title.replace(" ", "-")
            equal(program, at, title, words)
            full(program, at, title, words, 4)
            full(program, at, title, words, 60)
        slow(program, folder, "one rank", ())
        chance = random.Random(options.seed)
        for _ in range(options.kills):
            killed(program, folder, chance.randint(1, program.events))
    finish()


main()

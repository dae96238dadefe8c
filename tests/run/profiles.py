#!/usr/bin/env python3
"""What `describe --plan` and `--profile` tell of steps: planned ones by line and kernel, others by operation, all by part; and in a trace."""
import collections
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, fit, newest, result_of, run, scratch
from programs import ROWS


def explained(program, folder):
    """`describe --plan` shows how a step is computed, `--profile` where its time went; nothing of the first is kept."""
    result = run(program, "describe", "--plan", "--out", folder / "described")
    check("describe --plan", result.returncode == 0 and "step train, batches of 8: " in result.text and "planned for " in result.text and "  kernels for " in result.text and
          "] cross_entropy" in result.text and "rows.ltr:" in result.text and "threads meet" in result.text, result.text)
    most, *lying = [(float(size), rest) for size, rest in re.findall(r"^ +([0-9.]+) MiB (.*)$", result.text.split("\nstep ")[1], re.M)]
    check("describe --plan says what lies in its memory", "of them at one time" in most[1] and "rows.ltr:" in lying[0][1]
          and lying[0][0] <= most[0] and [size for size, _ in lying[:-1]] == sorted((size for size, _ in lying[:-1]), reverse=True), (most, lying))
    lines = [line for line in result.text.splitlines() if line.startswith("  at start ")]
    check("a rule is said once", len(lines) == len(set(lines)), result.text)
    check("and keeps nothing", not (folder / "described").exists(), result.text)
    result = run(program, "describe", "--plan", "--backend", "torch", "--out", folder / "described")
    check("nothing is planned for torch, and it says so", result.returncode == 0 and "op by op, as --backend torch has it" in result.text, result.text)
    result = fit(program, folder / "torch", "--profile", "--backend", "torch")
    check("it has a profile by operation, too", result.returncode == 0 and "op by op, as --backend torch has it" in result.text and
          re.search(r"rows\.ltr:\d+ +aten::\w+", result.text) and "operation of LibTorch" in result.text, result.text)
    result = fit(program, folder / "f64", "--profile", "--precision", "f64")
    check("nor has f64", result.returncode == 0 and "op by op, since the run computes in f64" in result.text, result.text)
    result = run(program, "describe", "--plan", "--precision", "bf16", "--out", folder / "described")
    check("describe --plan in bf16", result.returncode == 0 and " product in bf16" in result.text and "] cross_entropy (" in result.text, result.text)
    result = fit(program, folder / "narrow", "--profile", "--precision", "bf16")
    check("--profile in bf16", result.returncode == 0 and "GFLOP/s in products in bf16" in result.text, result.text)
    result = fit(program, folder / "profiled", "--profile")
    check("--profile", result.returncode == 0 and " runs, " in result.text and "GFLOP/s" in result.text and "updates, logs" in result.text and
          "a thread of this machine does" in result.text, result.text)
    parts = re.findall(r"^ +([0-9.]+) +([0-9.]+) +(\d+|-) +[0-9.-]+  ([a-z][a-z ]*)$", result.text, re.M)
    names, shares = [name for *_, name in parts], [float(share) for _, share, *_ in parts]
    check("every part has its share", {"data wait", "forward", "backward", "update", "logs", "what lies between"} <= set(names) and
          abs(sum(shares) - 100) < 1, parts)
    check("what is counted", {name: count for *_, count, name in parts}.get("backward") == "10", parts)
    traces(program, folder)
    same = fit(program, folder / "unprofiled")
    check("and changes no bit", same.returncode == 0 and result_of(newest(folder / "profiled")) == result_of(newest(folder / "unprofiled")), same.text)


# `val` on the records of `train`, and a step that asks for what changes.
WITH_VAL = ROWS.replace("  train = range", "  val = range(16) |> map(point) |> collate(8)\n  train = range").replace("    log loss\n  }", """    every 4 steps { log often = mean(x) }
    log loss
  }
  step val[B](x: float[B, 4], y: i64[B]) { log loss = cross_entropy(net(x), y) }""")


def planning(folder):
    """What plans take is counted wherever it is: also in the rounds that evaluate, in front of training and in it."""
    (folder / "with_val.ltr").write_text(WITH_VAL)
    program = build(folder / "with_val.ltr", folder)
    for rounds in (0, 2):
        result = fit(program, folder / f"rounds-{rounds}", "--profile", "--set", f"trainer.sanity_val={rounds}")
        counts = {name: int(count) for count, name in re.findall(r"^ +[0-9.]+ +[0-9.]+ +(\d+) +[0-9.]+  ([a-z][a-z ]*)$", result.text, re.M)}
        # Each form that comes twice is rehearsed twice: batches of 8 with `every` due and not, and those of `val`; once those of 4, due and not.
        check(f"sanity_val = {rounds}: planning of val has its place in the row", result.returncode == 0 and counts.get("planning") == 8,
              (counts, result.text))
        check(f"sanity_val = {rounds}: rounds are counted", counts.get("validation") == 2 + (rounds > 0), counts)
    result = run(program, "describe", "--plan")
    held = re.findall(r"^  holds for (.*)$", result.text, re.M)
    check("describe --plan says what a plan holds for", result.returncode == 0 and held == [
        "x f32[8, 4], y i64[8], t f32[8], while every 4 steps is due",
        "x f32[8, 4], y i64[8]"], held)
    check("and why a small step has one thread", re.search(
        r"^step val, .*, planned for 1 thread \(a second one would save about \d+ us, and \d+ meetings take \d+\), ", result.text, re.M), result.text)
    check("describe says that steps are planned", " · planned\n" in run(program, "describe").stdout)
    for options, reason in ((("--backend", "torch"), "--backend torch"), (("--precision", "f64"), "it computes in f64")):
        text = run(program, "describe", *options).stdout
        check(f"or why they are not: {reason}", f"\nop by op: {reason}\n" in text and " · planned" not in text, text)
    result = fit(program, folder / "told", "--epochs", 1)
    check("so does a fit", " · planned\n" in result.stdout, result.stdout)
    events = [json.loads(line) for line in run(program, "fit", "--json", "--out", folder / "json").stdout.splitlines() if line.startswith("{")]
    check("and what values of plans took is in its last event", any(one.get("plan_bytes", 0) > 0 for one in events), events[-1:])


def traces(program, folder):
    """`--profile=trace` keeps steps 10 to 20 in the format of Chrome's traces."""
    for backend in ("native", "torch"):
        out = folder / f"traced-{backend}"
        result = fit(program, out, "--profile=trace", "--epochs", 6, "--backend", backend)
        path = newest(out) / "profile/trace.json"
        if not check(f"{backend}: --profile=trace", result.returncode == 0 and path.exists(), result.text):
            continue
        events = [one for one in json.loads(path.read_text())["traceEvents"] if one["ph"] == "X"]
        counts = collections.Counter(one["name"] for one in events)
        check(f"{backend}: eleven steps, with their parts", counts["backward"] == counts["update"] == 11, counts)
        outer = [one for one in events if one["name"] == "forward"]
        inner = [one for one in events if "args" in one]
        check(f"{backend}: what runs in them lies in them, at a line of the program", inner and all(
            any(step["ts"] - 1 <= one["ts"] and one["ts"] + one["dur"] <= step["ts"] + step["dur"] + 1 for step in outer)
            and re.fullmatch(r"(rows|.*/)?.*\.ltr:\d+", one["args"]["line"]) for one in inner if "rows.ltr" in one["args"]["line"]), inner[:5])
        check(f"{backend}: one behind the other", [one["ts"] for one in events] == sorted(one["ts"] for one in events))
    result = fit(program, folder / "held", "--profile=memory", "--epochs", 1)
    table = {name: float(share) for share, name in re.findall(r"^ +[0-9.]+ [KMG]?i?B +([0-9.]+) %  (.+)$", result.stdout, re.M)}
    check("--profile=memory says what lies in memory", result.returncode == 0 and list(table) == [
        "weights", "gradients", "states of optimizers", "values, data and libraries"] and 99 < sum(table.values()) < 101
        and "in all" in result.stdout and "at most, since it began" in result.stdout and "calls" not in table, (table, result.text))
    check("and plans by their values, in the run, too", "memory of this process" in (newest(folder / "held") / "profile/steps.txt").read_text()
          and "batches of" in result.stdout and "mean ms" not in result.stdout, result.text)
    result = fit(program, folder / "unknown", "--profile=nvtx")
    check("another kind is R2003", result.returncode == 2 and "R2003" in result.text and "simple, trace or memory" in result.text, result.text)


with scratch() as path:
    source = pathlib.Path(path) / "rows.ltr"
    source.write_text(ROWS)
    explained(build(source, path), pathlib.Path(path))
    planning(pathlib.Path(path))
finish()

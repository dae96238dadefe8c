#!/usr/bin/env python3
"""A value passes the same check by whatever way it comes in: flag, `--set`, `--config`, `LTR_ARGS`."""
import json
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import EXAMPLES, build, check, finish, fit, newest, run, scratch
import points

PROGRAM = """ltr 1
hparam rate: float = 0.1 where rate > 0
hparam width: int = 8 where width % 4 == 0
data Points() {
  batch[B] { x: float[B, 3], y: float[B, 1] }
  fn point(s: {i: int}) -> {x: float[3], y: float[1]} = (x = full(3, 0.1 * s.i), y = full(1, 0.2 * s.i))
  train = synthetic(16, point) |> shuffle(1) |> collate(4)
}
model Net(lr: float, width: int) {
  net = [Linear(3, width), Linear(width, 1)]
  optimizer opt = SGD(net.weights, lr = lr) { clip_norm = 1.0 }
  step train[B](x: float[B, 3], y: float[B, 1]) { minimize mean((net(x) - y) ** 2) }
}
hparam fade: float = 0.5
hparam wide: int = 8
data Sized(size: int) {
  batch[B] { x: float[B, size] }
  fn point(s: {i: int}) -> {x: float[size]} = (x = full(size, 0.1 * s.i))
  train = synthetic(16, point) |> collate(4)
}
model Pair(inputs: int, left: int, right: int, gamma: float) {
  a = Linear(inputs, left)
  b = Linear(inputs, right)
  optimizer opt = SGD([a.weights, b.weights], lr = 0.1) { schedule = step(every = 2 steps, gamma = gamma) }
  step train[B](x: float[B, inputs]) { minimize mean((a(x) - b(x)) ** 2) }
}
experiment pair { data = Sized(3)
  model = Pair(3, wide, wide, fade)
  trainer { epochs = 1 } }
experiment ways { data = Points()
  model = Net(rate, width)
  trainer { epochs = 1 }
  callbacks { Ema(decay = 0.9) } }
"""
# path, value, what is said
WRONG = [
    ("model.lr", "-1", "model.lr -1 does not satisfy `rate > 0`"),
    ("model.width", "6", "model.width 6 does not satisfy `width % 4 == 0`"),
    ("model.opt.lr", "-1", "model.opt.lr -1 does not satisfy `lr >= 0`"),
    ("model.opt.clip_norm", "0", "model.opt.clip_norm 0 does not satisfy `clip_norm > 0`"),
    ("rate", "nan", 'rate is "nan", but a finite number is wanted'),
    ("rate", "1e400", 'rate is "1e400", but a finite number is wanted'),
    ("model.opt.momentum", "inf", 'model.opt.momentum is "inf", but a finite number is wanted'),
    ("trainer.val_every", "0 epochs", "trainer.val_every 0 epochs does not satisfy `val_every > 0`"),
    ("trainer.max_time", "-1 s", "trainer.max_time -1 s does not satisfy `max_time > 0`"),
    ("trainer.nan_limit", "-1", "trainer.nan_limit -1 does not satisfy `nan_limit >= 1`"),
    ("trainer.limit_train", "0", "trainer.limit_train 0 does not satisfy `limit_train > 0`"),
    ("trainer.limit_train", "0%", "trainer.limit_train 0% does not satisfy `limit_train > 0`"),
    ("callbacks.Ema.decay", "1", "callbacks.Ema.decay 1 does not satisfy `decay < 1`"),
]
# Of the experiment `pair`: what follows from the program's own arguments must follow from those that are given.
RULES = [
    ("model.left", "1", "R2007]: `left == right` does not hold: model.left = 1, model.right = 8"),
    ("model.inputs", "1", "R2007]: `inputs == size` does not hold: data.size = 3, model.inputs = 1"),
    ("data.size", "1", "R2007]: `inputs == size` does not hold: data.size = 1, model.inputs = 3"),
    ("model.gamma", "-1", "R2004]: step.gamma -1.0 does not satisfy `gamma >= 0`"),
    ("fade", "-1", "R2004]: step.gamma -1.0 does not satisfy `gamma >= 0`"),
]

# Files of settings, the line and column of what is wrong, and what is said.
FILES = [
    ('{"trainer": {\n  "epochs": "x"}}', "2:3", "[R2003]: trainer.epochs is \"x\", but a whole number is wanted"),
    ('{\n\n "trainer.epochs": 0}', "3:2", "[R2004]: trainer.epochs 0 does not satisfy `epochs >= 1`"),
    ('{\n "trainer": {"steps": 3, "epoch": 4}}', "2:26", "[R2002]: no setting trainer.epoch; did you mean trainer.epochs?"),
    ('{"trainer.epochs": 3,\n "trainer": {"epochs": 4}}', "1:2", "[R2014]: {file}: the setting trainer.epochs is given twice"),
    ('{"trainer": {\n "epochs": 3, "epochs": 4}}', "2:15", "[R2014]: {file}: the name \"epochs\" stands twice in one object"),
    ('{"trainer": {\n "epochs": 3,\n}}', "3:1", "[R2014]: {file}: no JSON: unexpected '}'; expected string literal"),
    ('{\n "rate": -2}', "2:2", "[R2004]: rate -2 does not satisfy `rate > 0`"),
    ('{"model": {\n "opt": {"lr": -0.5}}}', "2:10", "[R2004]: model.opt.lr -0.5 does not satisfy `lr >= 0`"),
    ('{\n "model.opt.clip_norm": 0}', "2:2", "[R2004]: model.opt.clip_norm 0 does not satisfy `clip_norm > 0`"),
]

# What is handed on to a layer and to a stage keeps their rules, unless it is `none`.
HANDED_ON = """ltr 1
data Ids(buffer: option[int] = none) {
  batch[B] { ids: i64[B] }
  train = range(8) |> map(one => (ids = one.i % 3)) |> shuffle(1, buffer) |> collate(4)
}
model Net(pad: option[int] = none) {
  given = Embedding(3, 2, padding_idx = pad)
  optimizer opt = SGD(given.weights, lr = 0.1)
  step train[B](ids: i64[B]) { minimize mean(given(ids)) }
}
experiment base { data = Ids(), model = Net(), trainer { steps = 1 } }
"""

with scratch() as name:
    folder = pathlib.Path(name)
    source = folder / "ways.ltr"
    source.write_text(PROGRAM)
    program = build(source, folder)
    start = (program, "fit", "ways", "--fast-dev-run", "--no-bar")
    for path, value, words in WRONG:
        (folder / "c.json").write_text(json.dumps({path: value}))
        results = {"--set": run(*start, "--set", f"{path}={value}"), "--config": run(*start, "--config", folder / "c.json")}
        os.environ["LTR_ARGS"] = f"--set '{path}={value}'"
        results["LTR_ARGS"] = run(*start)
        del os.environ["LTR_ARGS"]
        for way, result in results.items():
            check(f"{way} {path}={value} is refused", result.returncode == 2 and words in result.text, result.text)
    pair = (program, "fit", "pair", "--fast-dev-run", "--no-bar")
    for path, value, words in RULES:
        result = run(*pair, "--set", f"{path}={value}")
        check(f"--set {path}={value} is refused", result.returncode == 2 and words in result.text
              and result.text.count("error[") == 1, result.text)
    fits = ("model.left=5", "model.right=5", "model.inputs=2", "data.size=2")
    result = run(*pair, *(word for one in fits for word in ("--set", one)))
    check("sizes that go together pass", result.returncode == 0, result.text)
    result = run(*start, "--set", "trainer.epochs=abc", "--epochs", "1")
    check("a value that another one overrides is read, too", result.returncode == 2 and '"abc"' in result.text, result.text)
    result = run(*start, "--run", "ways")
    check("a run that nothing is taken of", result.returncode == 2 and "R2006]: --run ways: a new run begins" in result.text
          and "--resume last --run ways" in result.text, result.text)
    result = run(*start, "--rate", "0.5", "--width", "12", "--set", "model.opt.momentum=0.9")
    check("what fits passes", result.returncode == 0, result.text)
    for epochs, steps, words in ((4, "none", " · 4 epochs = 16 steps"), (4, 5, " · 5 steps, at most 4 epochs"), (1, 5, " · 1 epoch = 4 steps")):
        result = run(program, "describe", "ways", "--set", f"trainer.epochs={epochs}", "--set", f"trainer.steps={steps}")
        check(f"the plan of {epochs} epochs, {steps} steps", result.returncode == 0 and words in result.text, result.text)
    (folder / "c.json").write_text(json.dumps({"topology.strategy": "fsdp"}))
    result = run(program, "describe", "ways", "--config", folder / "c.json")
    check("a file is the place of what it says", result.returncode == 2 and f"[R2006]: topology.strategy=fsdp in {folder / 'c.json'}:1: " in result.text, result.text)
    for text, line, words in FILES:
        (folder / "c.json").write_text(text)
        result = run(program, "config", "ways", "--config", folder / "c.json")
        check(f"the line of {text!r}", result.returncode == 2 and words.replace("{file}", str(folder / "c.json")) in result.text and f"--> {folder / 'c.json'}:{line}\n" in result.text
              and result.text.count("error[") == 1, result.text)
    for setting, words in (("model.opt.lrr=0.7", "no setting model.opt.lrr; did you mean model.opt.lr?"), ("model.opt.lr=-3", "model.opt.lr -3 does not satisfy `lr >= 0`"),
                           ("data.sise=3", "no setting data.sise"), ("callbacks.Ema.decay=2", "callbacks.Ema.decay 2 does not satisfy")):
        result = run(program, "config", "ways", "--set", setting)
        check(f"config refuses {setting}", result.returncode == 2 and words in result.text, result.text)
    result = run(program, "config", "ways", "--epochs", "-1")
    check("an option that config does not take is one error, whatever its value", result.returncode == 2 and "[R2001]: no option --epochs for config" in result.text
          and result.text.count("error[") == 1, result.text)
    result = run(program, "config", "ways", "--set", "model.opt.momentum=0.5")
    check("config shows what the model is set to", re.search(r"^model.opt.momentum +0.5 +flag  --set model.opt.momentum=0.5$", result.stdout, re.MULTILINE)
          and re.search(r"^model.opt.lr +0.1 +experiment ", result.stdout, re.MULTILINE), result.text)
    listed = run(program, "config", "ways").stdout
    check("config shows what callbacks are told", re.search(r"^callbacks.Ema.decay +0.9 +experiment$", listed, re.MULTILINE)
          and re.search(r"^callbacks.Checkpoint.keep +1 +default$", listed, re.MULTILINE), listed)
    for setting, said in (("callbacks.Ema.decay=0.2", "callbacks.Ema.decay: 0.2 → 0.9"), ("callbacks.Ema=off", "callbacks.Ema: off → on")):
        runs = folder / said[:15]
        result = fit(program, runs, "ways", "--set", setting)
        before = newest(runs)
        again = fit(program, runs, "ways", "--resume", before, "--epochs", 2, "--strict-resume")
        check(f"{setting} of the first start is not forgotten", result.returncode == 0 and again.returncode == 2 and said in again.stderr, again.text)
        again = fit(program, runs, "ways", "--resume", before, "--epochs", 2, "--strict-resume", "--set", setting)
        check(f"and {setting} given again is the same", again.returncode == 0, again.text)
        name, value = setting.split("=")
        differs = json.loads(run(program, "config", "ways", "--json", "--diff", before).stdout)
        check("config --diff --json has both values of each", all(set(one) == {"before", "now"} for one in differs.values()), differs)
        other = run(program, "config", "ways", "--diff", before)
        check(f"config --diff shows {setting}", name in other.stdout, other.text)
        again = json.loads(run(program, "config", "ways", "--json", "--config", before / "config.json").stdout)
        check(f"config.json holds {setting}", str(again[name]["value"]) == value, again)
    os.environ["LTR_ARGS"] = "--devices cuda[9]"
    result = run(program, "describe", "ways")
    del os.environ["LTR_ARGS"]
    check("and so is LTR_ARGS", result.returncode == 2 and "[R2008]: topology.devices=cuda[9] in LTR_ARGS, but " in result.text, result.text)
    result = fit(program, folder / "runs", "ways", "--steps", 1, "--set", "topology.bucket=1.5 MiB")
    again = run(program, "config", "ways", "--config", newest(folder / "runs") / "config.json")
    check("a size is written as it is read", again.returncode == 0 and re.search(r"topology.bucket.* 1536 KiB", again.stdout), again.text)
    schema = json.loads(run(program, "config", "ways", "--schema").stdout)
    own, trainer, topology = schema["properties"], schema["properties"]["trainer"]["properties"], schema["properties"]["topology"]["properties"]
    check("the schema of the settings has types, ranges, rules and what holds", own["width"] == {"type": "integer", "description": "where width % 4 == 0", "default": 8}
          and trainer["epochs"] == {"type": "integer", "minimum": 1.0, "description": "training ends after so many epochs", "default": 1}
          and trainer["max_time"]["anyOf"][1] == {"type": "null"} and "f32" in topology["precision"]["enum"] and "precision.reduce" in topology
          and own["callbacks"] == {"type": "object"} and not schema["additionalProperties"], json.dumps(schema)[:3000])
    values = json.loads(run(program, "config", "ways", "--json").stdout)
    paths = []

    def walk(part, prefix):
        for name, one in part["properties"].items():
            if "properties" in one:
                walk(one, f"{prefix}{name}.")
            elif name not in ("callbacks", "loggers"):
                paths.append(prefix + name)

    walk(schema, "")
    check("and all of them", {path for path, one in values.items() if one.get("type") != "fixed"} >= set(paths) and len(paths) > 40, sorted(set(values) ^ set(paths)))
    (folder / "slow.ltr").write_text(PROGRAM.replace("step(every = 2 steps, gamma = gamma)", "cosine(warmup = 17 steps)"))
    program = build(folder / "slow.ltr", folder)
    for epochs, is_long in ((4, True), (5, False)):
        result = fit(program, folder / "runs", "pair", "--epochs", epochs)
        check(f"a warm-up of 17 updates in {4 * epochs}", result.returncode == 0
              and ("the warm-up of cosine takes 17 updates, and has 16" in result.text) == is_long, result.text)
    result = fit(program, folder / "runs", "pair", "--set", "model.opt.schedule=cosine(warmup = 90 steps)")
    check("what an option gives has no place in a file", "warning: model.opt.schedule: the warm-up of cosine takes 90" in result.text and result.stderr.count("takes 90") == 1, result.text)
    result = fit(program, folder / "runs", "pair", "--set", "model.opt.schedule=cosine(total = 90 steps)")
    check("nor does training end before what a schedule is told without a word", "the whole of cosine takes 90" in result.text, result.text)
    (folder / "signs.ltr").write_text(points.source(points.model(optimizer="opt = Rprop(net.weights)"),
                                            "experiment signs { data = Points(), model = Net(), trainer { epochs = 2 } }\n"))
    program = build(folder / "signs.ltr", folder)
    for value, code, text in (("(1.2, 0.5)", 2, "etas[0] < 1"), ("(0.4, 1.0)", 2, "etas[1] > 1"), ("(0.4, 1.3)", 0, "finished")):
        result = fit(program, folder / "runs", "--set", f"model.opt.etas={value}")
        check(f"each of a pair has its range: {value}", result.returncode == code and text in result.text, result.text)
    (folder / "handed_on.ltr").write_text(HANDED_ON)
    program = build(folder / "handed_on.ltr", folder)
    for setting, says in (("model.pad=2", ""), ("model.pad=-3", ""), ("data.buffer=4", ""), ("data.buffer=none", ""),
                          ("model.pad=3", "`count > padding_idx` does not hold: model.pad = 3"),
                          ("model.pad=-4", "`-count <= padding_idx` does not hold: model.pad = -4"),
                          ("data.buffer=0", "`buffer >= 1` does not hold: data.buffer = 0")):
        result = fit(program, folder / "runs", "--set", setting)
        check(f"{setting}, which is handed on", result.returncode == (2 if says else 0) and says in result.text, result.text)
    program = build(EXAMPLES / "iris.ltr", folder)
    result = run(program, "fit", "--no-bar", "--epochs", 4, "--set", "trainer.val_every=2 epochs", "--out", folder / "runs")
    lines = {number: line for number, line in re.findall(r"^epoch (\d)/4  (step .*)$", result.text, re.MULTILINE)}
    check("an epoch without a round shows none of an earlier one", "train/" in lines["3"] and "val/" not in lines["3"], result.text)
finish()

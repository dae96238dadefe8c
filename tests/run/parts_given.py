#!/usr/bin/env python3
"""Lists, tuples, options and records that settings and flags give: to data and model, to callbacks, to `step predict`."""
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, run, scratch

PROGRAM = """ltr 1
data Points(sizes: list[int] = [6, 4]) {
  batch[B] { x: float[B, 2] }
  fn point(s: {i: int}) -> {x: float[2]} = (x = full(2, 0.5 * s.i))
  train = synthetic(sizes[0], point) |> shuffle(1) |> collate(sizes[1])
  predict = synthetic(2, point) |> collate(2)
}
model Net(widths: list[int] = [3, 5], pair: (int, float) = (1, 0.5), names: list[str] = ["a"]) {
  net = [Linear(2, widths[0]), Linear(widths[0], widths[1])]
  base = Linear(2, pair[0])
  optimizer opt = SGD(net.weights, lr = pair[1])
  step train[B](x: float[B, 2]) { minimize mean((net(x) - mean(frozen(base)(x))) ** 2) }
  step predict[B](x: float[B, 2], scale: option[float] = none, how: one_of[first, last] = first, words: list[str] = ["a"],
                  part: float = 1.0 / 2, both: (int, float) = (1, 2.0), shift: float[1] = [1])
    -> {scaled: float[B], how: float[B], words: i64[B], part: float[B], both: float[B], shift: float[B]} =
    (scaled = full(B, or_else(scale, -1.0)), how = full(B, if how == first then 1.0 else 2.0), words = full(B, words.length),
     part = full(B, part), both = full(B, both[0] * both[1]), shift = zeros(B) + shift)
}
type Config = {a: int, b: list[(str, int)]}
callback Tell(pair: (int, str) = (1, "x"), list: list[(int, float)] = [(1, 2.0)], maybe: option[(int, int)] = none,
              count: option[int] = 3, record: Config = (a = 7, b = [("y", 8)])) {
  on fit_end {
    print "told {pair[1]}{pair[0]} {list.length} {list[0][1]} {or_else(maybe, (0, 0))[1]} {or_else(count, 0)} {record.a} {record.b[0][1]}"
  }
}
experiment parts { data = Points()
  model = Net()
  trainer { epochs = 1 }
  callbacks { Tell() } }
"""
DEFAULTS = {"scaled": -1, "how": 1, "words": 1, "part": 0.5, "both": 2, "shift": 1}

with scratch() as place:
    folder = pathlib.Path(place)
    source = folder / "parts.ltr"
    source.write_text(PROGRAM)
    program = build(source, folder)

    fit = (program, "fit", "--no-bar", "--out", folder / "runs")
    result = run(*fit)
    check("what the program says", result.returncode == 0 and "told x1 1 2 0 3 7 8" in result.text, result.text)
    check("weights that no optimizer moves are frozen", "29 trainable, 3 frozen" in result.text, result.text)
    shares = [int(one) for one in re.findall(r"(?:train|val|data wait|checkpoints) (\d+) %", result.text)]
    check("shares of a short run", len(shares) == 4 and shares[0] > 0 and sum(shares) <= 102, result.text)
    for path, value, words in (("pair", '(2, "z")', "told z2 "), ("pair", '[2, "z"]', "told z2 "), ("list", "[[1, 3], [4, 5]]", "told x1 2 3 "),
                               ("maybe", "[4, 5]", " 5 3 7 8"), ("count", "none", " 0 0 7 8"), ("count", "null", " 0 0 7 8")):
        result = run(*fit, "--set", f"callbacks.Tell.{path}={value}")
        check(f"callback: {path} = {value}", result.returncode == 0 and words in result.text, result.text)
    result = run(*fit, "--set", "callbacks.Tell.record=5")
    check("a record stays as it is", result.returncode == 2 and "R2003" in result.text and "records are given in the program" in result.text, result.text)
    result = run(program, "config")
    check("config has them", all(word in result.stdout for word in ("model.widths", "model.pair", "model.names", "data.sizes")), result.text)
    result = run(*fit, "--set", "model.widths=[4, 2]", "--set", "data.sizes=[8, 2]", "--set", "model.pair=(2, 0.1)")
    check("lists of model and data", result.returncode == 0 and "22 trainable, 6 frozen" in result.text and "train 8 samples, 4 batches" in result.text, result.text)
    (folder / "c.json").write_text(json.dumps({"model.widths": [4, 2], "model.pair": [2, 0.1]}))
    result = run(*fit, "--config", folder / "c.json")
    check("from JSON", result.returncode == 0 and "22 trainable, 6 frozen" in result.text, result.text)
    result = run(*fit, "--set", "model.widths=[4, x]")
    check("a list of others", result.returncode == 2 and "R2003" in result.text, result.text)

    result = run(*fit, "--fast-dev-run")
    check("a fast dev run predicts with the defaults", result.returncode == 0, result.text)
    predict = (program, "predict", "--weights", "new", "--write", "-")
    for given, differs in ((), {}), (("--scale", "2"), {"scaled": 2}), (("--scale", "null"), {}), (("--how", "last"), {"how": 2}), (
            ("--words", '["a", "b"]'), {"words": 2}), (("--both", "[2, 3]"), {"both": 6}), (("--shift", "[4]"), {"shift": 4}):
        result = run(*predict, *given)
        rows = [json.loads(line) for line in result.stdout.splitlines()] if result.returncode == 0 else []
        check(f"predict {' '.join(given)}", rows == [DEFAULTS | differs] * 2, result.text)
    for given in ("[4, 5]", "[[1], [2]]"):
        result = run(*predict, "--shift", given)
        check(f"a tensor of other sizes: {given}", result.returncode == 2 and "R2003" in result.text and "float[1] is wanted" in result.text, result.text)
    result = run(*predict, "--how", "middle")
    check("a word that is none", result.returncode == 2 and "first or last" in result.text, result.text)
finish()

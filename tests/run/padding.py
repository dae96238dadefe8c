#!/usr/bin/env python3
"""What `collate` fills up with, how far, and on which side.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, fit, scratch

PROGRAM = """ltr 1

hparam value: float = 7
hparam multiple: int = 1

data Lists() {{
  batch[B, S, T] {{ ids: i64[B, S], wave: float[B, 1, T], n: i64[B] }}
  fn of(s: {{i: int}}) -> {{ids: i64[?], wave: float[1, ?]{field}}} = (ids = arange(s.i + 1) + 1, wave = (arange(3 - s.i).to(float) + 1.0).unsqueeze(0){value})
  train = range(3) |> map(of) |> collate(3, {padding})
}}

model Reader() {{
  weight w: float[1] = ones(1)
  optimizer opt = SGD(w, lr = 1e-9)
  step train[B, S, T](ids: i64[B, S], wave: float[B, 1, T], n: i64[B]) {{
    for k in 0 .. B {{
      print "{{k}} n {{n[k]}}"
      for j in 0 .. S {{ print "{{k}} ids {{ids[k, j]}}" }}
      for j in 0 .. T {{ print "{{k}} wave {{wave[k, 0, j]:.6}}" }}
    }}
    minimize mean(wave) * mean(w)
  }}
}}

experiment e {{ data = Lists(), model = Reader(), trainer {{ epochs = 1 }} }}
"""


def batch(folder, name, padding, *options):
    """The rows of `ids` and `wave`, and the lengths; the whole text if there are none.

    Lengths are counted by `collate`, and by the map where the padding stands in front.
    """
    source = folder / f"{name}.ltr"
    if "side = left" in padding:
        text = PROGRAM.format(padding=padding, field=", n: int", value=", n = s.i + 1")
    else:
        text = PROGRAM.format(padding=f'{padding}, lengths = "n"', field="", value="")
    source.write_text(text)
    done = fit(build(source, folder), folder / f"{name}-runs", *options)
    if done.returncode != 0:
        return done.text
    rows = {key: [[float(value) for value in re.findall(rf"^{k} {key} (\S+)$", done.stdout, re.MULTILINE)] for k in range(3)] for key in ("ids", "wave", "n")}
    return rows["ids"], rows["wave"], [n for row in rows["n"] for n in row]


with scratch() as place:
    folder = pathlib.Path(place)
    lengths = [1, 2, 3]
    found = batch(folder, "one", "pad = 9")
    check("one value for all, at the end", found == ([[1, 9, 9], [1, 2, 9], [1, 2, 3]], [[1, 2, 3], [1, 2, 9], [1, 9, 9]], lengths), found)
    found = batch(folder, "own", 'pad = 9, pads = [("ids", -100.0)]')
    check("a value of its own", found == ([[1, -100, -100], [1, 2, -100], [1, 2, 3]], [[1, 2, 3], [1, 2, 9], [1, 9, 9]], lengths), found)
    found = batch(folder, "left", 'pads = [("ids", 0.0), ("wave", 0.5)], side = left')
    check("in front", found == ([[0, 0, 1], [0, 1, 2], [1, 2, 3]], [[1, 2, 3], [0.5, 1, 2], [0.5, 0.5, 1]], lengths), found)
    found = batch(folder, "multiple", "pad = 0, pad_to = 4")
    check("to a multiple", found == ([[1, 0, 0, 0], [1, 2, 0, 0], [1, 2, 3, 0]], [[1, 2, 3, 0], [1, 2, 0, 0], [1, 0, 0, 0]], lengths), found)
    found = batch(folder, "given", 'pad = 0, pads = [("ids", value)], pad_to = multiple, side = left', "--multiple", 2)
    check("what hparams say", found == ([[7, 7, 7, 1], [7, 7, 1, 2], [7, 1, 2, 3]], [[0, 1, 2, 3], [0, 0, 1, 2], [0, 0, 0, 1]], lengths), found)
    for words, texts in ((("--value", 0.5), ("R2004", "a value of ids")), (("--multiple", 0), ("R2007", "pad_to >= 1"))):
        refused = batch(folder, "given", 'pad = 0, pads = [("ids", value)], pad_to = multiple, side = left', *words)
        check(f"{words[0]} {words[1]} is refused", isinstance(refused, str) and all(text in refused for text in texts), refused)
    # A length of each field, by two names; both are counted before anything is filled up.
    source = folder / "both.ltr"
    source.write_text(PROGRAM.format(padding='pad = 9, lengths = [("ids", "n"), ("wave", "m")]', field="", value="")
                      .replace("n: i64[B]", "n: i64[B], m: i64[B]").replace("n {n[k]}", "n {n[k]} m {m[k]}"))
    result = fit(build(source, folder), folder / "both-runs")
    found = sorted(re.findall(r"^(\d) n (\d) m (\d)$", result.stdout, re.MULTILINE))
    check("lengths of two fields", found == [("0", "1", "3"), ("1", "2", "2"), ("2", "3", "1")], result.text)
finish()

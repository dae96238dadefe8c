#!/usr/bin/env python3
"""Rules over what only the data knows are asked when a run starts: a row of a table that is as long as a vocabulary.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, run, scratch

PROGRAM = """ltr 1

hparam padding: int = -1

data Lines() {
  batch[B] { ids: i64[B, 2], y: float[B] }
  fn words(s: {text: str}) -> list[str] = s.text.split(" ")
  fn one(s: {text: str}) -> {ids: i64[2], y: float} = (ids = zeros(2).to(i64), y = 0.5)
  let rows = csv("lines.csv") as {text: str}
  let known = vocab(rows, of = words, special = ["<unk>"])
  train = rows |> shuffle(1) |> map(one) |> collate(2)
}

model Net(count: int, padding: int) {
  table = Embedding(count, 3, padding_idx = padding)
  optimizer opt = SGD(table.weights, lr = 0.1)
  step train[B](ids: i64[B, 2], y: float[B]) { minimize mse(table(ids).mean([1, 2]), y) }
}

experiment lines {
  data = Lines()
  model = Net(data.known.size, padding)
  trainer { epochs = 1 }
}
"""

with scratch() as place:
    folder = pathlib.Path(place)
    (folder / "lines.ltr").write_text(PROGRAM)
    (folder / "lines.csv").write_text("text\nred\nblue red\ngreen\nblue\n")
    program = build(folder / "lines.ltr", folder)
    result = run(program, "fit", "--no-bar", "--out", folder / "runs", cwd=folder)
    check("a row that the table has", result.returncode == 0, result.text)
    for padding in (-100, 4):
        result = run(program, "fit", "--no-bar", "--out", folder / "refused", f"--padding={padding}", cwd=folder)
        check(f"padding_idx = {padding} of four words", result.returncode == 2 and "R2007" in result.text and "padding_idx" in result.text, result.text)
    check("and no run was begun", not (folder / "refused").exists())
finish()

#!/usr/bin/env python3
"""Rows of files that are not as the program wants them: nothing is left out, made up or taken without a word."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, fit, newest, run, scratch

PROGRAM = """ltr 1
data Rows() {
  batch[B] { x: float[B], y: float[B] }
  fn same(r: {x: float, y: float}) -> {x: float, y: float} = r
  let rows = csv("rows.csv") as {x: float, y: float} |> map(same, on_bad = skip(2))
  train = rows |> collate(2)
  val = rows |> collate(2)
  test = rows |> collate(2)
  predict = rows |> collate(2)
}
model Net() {
  net = Linear(1, 1)
  optimizer opt = SGD(net.weights, lr = 0.01)
  step train[B](x: float[B], y: float[B]) {
    loss = mean((net(x.unsqueeze(1)).squeeze(1) - y) ** 2)
    minimize loss
    log loss
  }
  step val[B](x: float[B], y: float[B]) { log loss = mean((net(x.unsqueeze(1)).squeeze(1) - y) ** 2) }
  step test[B](x: float[B], y: float[B]) { log loss = mean((net(x.unsqueeze(1)).squeeze(1) - y) ** 2) }
  step predict[B](x: float[B]) -> float[B] = net(x.unsqueeze(1)).squeeze(1)
}
experiment rows { data = Rows()
  model = Net()
  trainer { epochs = 2 } }
"""


def manifest(run_folder):
    return json.loads((run_folder / "checkpoints/last/checkpoint.json").read_text())


def left_out(program, folder):
    file = folder / "rows.csv"
    file.write_text("x,y\n1,2\nbad,3\n2,4\n3,6\nworse,1\n4,8\n5,10\n")
    words = f'2 bad records left out, the first is {file}:3: the field x is "bad", but float is wanted'
    result = fit(program, folder / "out")
    whole = newest(folder / "out")
    check("left out: said at the end of the first epoch, once", result.stderr.count(words) == 1
          and "faults/bad_records.jsonl has all" in result.stderr, result.stderr)
    check("left out: said in the report", words in result.stdout, result.stdout)
    events = [json.loads(line) for line in (whole / "log.jsonl").read_text().splitlines() if '"left_out"' in line]
    check("left out: an event of the journal", [(one["records"], one["step"]) for one in events] == [(2, 4)], events)
    saved = [one["place"] for one in manifest(whole)["left_out"]["records"]]
    check("left out: counted in the checkpoint", saved == [f"{file}:3", f"{file}:6"], saved)
    lines = (whole / "faults/bad_records.jsonl").read_text()
    check("left out: listed with places", len(lines.splitlines()) == 2, lines)
    result = fit(program, folder / "out", "--resume", whole, "--epochs", "3")
    check("left out: a resume counts none of them anew", words in result.stdout and words not in result.stderr
          and (whole / "faults/bad_records.jsonl").read_text() == lines, result.text)
    for verb in ("test", "predict"):
        result = run(program, verb, "--out", folder / "out")
        check(f"left out: {verb} says it too", result.returncode == 0 and words in result.stderr, result.text)
    file.write_text("x,y\n1,2\nbad,3\n2,4\n3,6\nworse,1\n4,8\nno,10\n")
    result = fit(program, folder / "more")
    check("left out: one too many is R3004", result.returncode == 3 and "R3004" in result.text and f"{file}:8" in result.text,
          result.text)
    result = fit(program, folder / "out", "--resume", whole, "--epochs", "4", "--accept-data")
    check("left out: also when the others were met before the resume", result.returncode == 3 and "R3004" in result.text,
          result.text)


def main():
    with scratch() as name:
        folder = pathlib.Path(name)
        source = folder / "rows.ltr"
        source.write_text(PROGRAM.replace("rows.csv", str(folder / "rows.csv")))
        program = build(source, folder)
        left_out(program, folder)
    finish()


main()

#!/usr/bin/env python3
"""Rows of files that are not as the program wants them: nothing is left out, made up or taken without a word."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, fit, newest, run, scratch

PROGRAM = """ltr 1
hparam bad: int = 2
data Rows() {
  batch[B] { x: float[B], y: float[B] }
  fn same(r: {x: float, y: float}) -> {x: float, y: float} = r
  let rows = csv("rows.csv") as {x: float, y: float} |> map(same, on_bad = skip(bad))
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

# Predictions hang on x and size: what kind a row is of is for training only.
LABELLED = """ltr 1
data Rows() {
  batch[B] { x: float[B], size: i64[B], kind: i64[B] }
  fn known(r: {x: float, size: str, kind: str}) -> {x: float, size: i64, kind: i64} =
    (x = r.x, size = class_of(r.size, ["s", "m"]), kind = class_of(r.kind, ["a", "b"]))
  let rows = csv("own.csv") as {x: float, size: str, kind: str} |> map(known)
  train = rows |> shuffle(1) |> collate(2)
  predict = rows |> collate(2)
}
model Net() {
  net = Linear(1, 2)
  optimizer opt = SGD(net.weights, lr = 0.01)
  step train[B](x: float[B], kind: i64[B]) { minimize cross_entropy(net(x.unsqueeze(1)), kind) }
  step predict[B](x: float[B], size: i64[B]) -> float[B] = x / (x - 5.0) + size.to(float)
}
callback Tell for Net { on predict_batch_end { print "told {output:.2}" } }
experiment labelled { data = Rows()
  model = Net()
  trainer { epochs = 1 }
  callbacks { Tell() } }
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
    result = fit(program, folder / "out", "--bad", "-1")
    check("left out: no number below 0", result.returncode == 2 and "error[R2004]: map: skip -1" in result.text, result.text)
    result = fit(program, folder / "out", "--resume", whole, "--epochs", "4", "--accept-data")
    check("left out: also when the others were met before the resume", result.returncode == 3 and "R3004" in result.text,
          result.text)


def not_finite(program, folder):
    file = folder / "rows.csv"
    file.write_text("x,y\n1,2\ninf,3\n2,\n1e400,6\n3,1e39\n")
    result = fit(program, folder / "nan", "--set", "trainer.nan=skip", "--epochs", "1")
    check("a number that is not finite is said with its place", f"note: {file}:3: the field x is inf; 2 numbers of this "
          "file are not finite" in result.stderr, result.text)
    places = [line for line in (newest(folder / "nan") / "faults/bad_records.jsonl").read_text().splitlines()]
    check("a number too large is a bad cell", len(places) == 2 and f"{file}:5" in places[0] and "1e400" in places[0]
          and f"{file}:6" in places[1] and "too large for f32" in places[1], places)


def read(program, folder, text, *options, name="in.csv"):
    file = folder / name
    file.write_text(text)
    result = run(program, "predict", "--weights", "new", "--read", file, *options, cwd=folder)
    result.rows = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    return result


def foreign(program, folder):
    result = read(program, folder, "x,size\n1,s\n2,m\n", "--json", "--write", "-")
    check("read: what is printed are predictions alone, with --json too", [sorted(row) for row in result.rows] == [["prediction"]] * 2, result.text)
    lines = result.stdout.splitlines()
    check("read: what hooks print is beside the predictions, on standard error", all(line.startswith("{") for line in lines)
          and "told [" in result.stderr, result.text)
    result = read(program, folder, "x,size\n1,s\n2,m\n", "--json", "--write", folder / "two.csv")
    check("read: of a file --json says what was made", result.rows[-1]["event"] == "end" and result.rows[-1]["samples"] == 2
          and result.rows[-1]["files"] == [str(folder / "two.csv")], result.text)
    result = read(program, folder, "x,size\n1,s\n", "--write", folder / "in.csv")
    check("read: what is read is not written over", result.returncode == 2 and "R2006" in result.text
          and (folder / "in.csv").read_text() == "x,size\n1,s\n", result.text)
    facts = json.loads(run(program, "version", "--json").stdout)
    check("version --json: an object", facts["program"] and facts["source"] in run(program, "version").stdout, facts)
    refused = run(program, "describe", "--json")
    check("describe has no --json", refused.returncode == 2 and "--json for describe" in refused.stderr, refused.text)
    result = read(program, folder, "x,size\n1,s\n2,m\n")
    check("read: a label is not needed", result.returncode == 0 and len(result.rows) == 2, result.text)
    result = read(program, folder, "x,size,kind\n1,s,zebra\n2,s,b\n3,m,emu\n")
    check("read: of no known class is no matter either", result.returncode == 0 and len(result.rows) == 3, result.text)
    result = read(program, folder, "x,size,kind\n1,s,\n2,m,zebra\n")
    check("read: nor if no row is of a known one", result.returncode == 0 and len(result.rows) == 2, result.text)
    result = read(program, folder, "x,kind,colour\n1,a,red\n", "--ignore-columns")
    check("read: what the prediction hangs on is", result.returncode == 3 and "no field size" in result.text, result.text)
    result = read(program, folder, "x,size,colour\n1,huge,red\n500,s,blue\n2,m,red\n", "--ignore-columns")
    check("read: a row that a map refuses has its place and reason, the others are predicted", result.returncode == 1
          and [sorted(row) for row in result.rows] == [["error"], ["prediction"], ["prediction"]]
          and "in.csv:2" in result.rows[0]["error"] and "huge" in result.rows[0]["error"], result.text)
    check("read: columns of no use are named", "not read, as no field of the records: colour" in result.stderr, result.stderr)
    result = read(program, folder, "x,siez\n1,s\n")
    check("read: a misspelt one is refused", result.returncode == 3 and "no field siez (did you mean size?)" in result.text, result.text)
    result = read(program, folder, "x,size,kind,colour\n1,s,a,red\n")
    check("read: without --ignore-columns they are refused", result.returncode == 3 and "no field colour" in result.text, result.text)
    result = read(program, folder, "x,size,kind\n1,s,a\n500,huge,a\n", "--strict")
    check("read: --strict ends at a row that a map refuses", result.returncode == 3 and "in.csv:3" in result.text, result.text)
    (folder / "out.jsonl").write_text("precious")
    result = read(program, folder, "x,size,kind\n1,s,a\n500,huge,a\n", "--strict", "--write", folder / "out.jsonl")
    check("read: what was there stays when a prediction fails", result.returncode == 3
          and (folder / "out.jsonl").read_text() == "precious" and not (folder / "out.jsonl.part").exists(), result.text)
    result = read(program, folder, '{"x": 1, "x": 2, "size": "s"}\n', name="in.jsonl")
    check("read: one name twice is a fault with its line", result.returncode == 1
          and 'in.jsonl:1: the name "x" stands twice' in result.rows[0]["error"], result.text)
    result = read(program, folder, 'x,size\n1,"s\n2,m\n')
    check("read: a quote that is not closed has file and line", result.returncode == 3 and "in.csv:2: " in result.text, result.text)
    result = read(program, folder, "x,size\n1,s\n5,m\n")
    check("predictions that are not finite are counted", "1 of 2 predictions is not finite; the first is number 2"
          in result.stderr, result.text)
    for name in ("out.jsonl", "out.csv", "out.npy"):
        result = read(program, folder, "x,size,colour\n1,s,red\n", "--ignore-columns", "--write", folder / name)
        check(f"read: columns of no use are a note with {name}, too, and one prediction is one", result.returncode == 0
              and "not read, as no field of the records: colour" in result.stderr and "1 prediction in " in result.stderr, result.text)
        result = read(program, folder, "x,size,colour\n1,s,red\n", "--write", folder / name)
        check(f"read: and they are refused with {name}", result.returncode == 3 and "no field colour" in result.text, result.text)
    result = read(program, folder, "x;size;kind\n1;s;a\n")
    check("read: a header in one piece is guessed", result.returncode == 3
          and "R3002]: " in result.text and "separated by `;`" in result.text, result.text)
    result = run(program, "predict", "--weights", "new", "--topology", "cluster", cwd=folder)
    check("a topology of a program that has none", result.returncode == 2
          and "R2008]: no topology cluster (this program declares none)" in result.text, result.text)
    (folder / "own.csv").write_text("x\tsize\tkind\n1\ts\ta\n")
    result = run(program, "predict", "--weights", "new", cwd=folder)
    check("csv: so is that of the program's own table", result.returncode == 3 and 'csv(…, sep = "\\t")' in result.text, result.text)
    (folder / "own.csv").write_text("x,size,kind\n1,s,a\n2,m,b\n3,s,a\n")
    result = run(program, "predict", "--weights", "new", "--out", "p.npy", cwd=folder)
    check("--out for --write is refused", result.returncode == 2 and "--write p.npy" in result.text, result.text)


def main():
    with scratch() as name:
        folder = pathlib.Path(name)
        source = folder / "rows.ltr"
        source.write_text(PROGRAM.replace("rows.csv", str(folder / "rows.csv")))
        program = build(source, folder)
        left_out(program, folder)
        not_finite(program, folder)
        source = folder / "labelled.ltr"
        source.write_text(LABELLED)
        (folder / "own.csv").write_text("x,size,kind\n1,s,a\n2,m,b\n3,s,a\n")
        labelled = build(source, folder)
        foreign(labelled, folder)
        (folder / "own.csv").unlink()
        result = run(labelled, "describe", cwd=folder)
        check("a file that is missing was looked for at each place once", result.returncode == 3
              and "looked for: own.csv\n" in result.text, result.text)
    finish()


main()

#!/usr/bin/env python3
"""What comes from outside: rows and tensors of predict, bad data, weights of PyTorch files. None of it is guessed at.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import json
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import SOURCE, build, check, finish, fit, newest, run, scratch

ECHO = """ltr 1

data Nothing() {
  batch[B] { x: float[B, 1] }
  fn one(s: {i: int}) -> {x: float[1]} = (x = full(1, 1.0))
  train = range(2) |> map(one) |> collate(2)
}

model Echo() {
  net = Linear(1, 1)
  optimizer opt = SGD(net.weights, lr = 0.1)
  step train[B](x: float[B, 1]) { minimize mean(net(x)) }
  step predict[B, N](v: float[B, N]) -> float[B, N] = v
}

experiment echo {
  data  = Nothing()
  model = Echo()
  trainer { epochs = 1 }
}
"""

ROWS = """ltr 1

data Points(file: path = "points.csv") {
  batch[B] { x: float[B, 2], y: i64[B] }
  fn point(s: {width: float, height: float, kind: int}) -> {x: float[2], y: i64} =
    (x = stack([s.width, s.height]), y = stack([s.kind]).sum())
  let rows = csv(file) as {width: float, height: float, kind: int}
  train = rows |> map(point, on_bad = skip(1)) |> collate(4)
  predict.a = rows |> map(point, on_bad = skip(1)) |> collate(4)
  predict.b = rows |> take(2) |> map(point, on_bad = skip(1)) |> collate(4)
}

data OnePoints(file: path = "points.csv") {
  batch[B] { x: float[B, 2], y: i64[B] }
  fn point(s: {width: float, height: float, kind: int}) -> {x: float[2], y: i64} =
    (x = stack([s.width, s.height]), y = stack([s.kind]).sum())
  let rows = csv(file) as {width: float, height: float, kind: int}
  train = rows |> map(point) |> collate(4)
  predict = rows |> map(point) |> collate(4)
}

model Sum() {
  net = Linear(2, 3)
  optimizer opt = SGD(net.weights, lr = 0.01)
  step train[B](x: float[B, 2], y: i64[B]) { minimize cross_entropy(net(x), y) }
  step predict[B](x: float[B, 2]) -> float[B] = x.sum(1)
}

experiment several {
  data  = Points()
  model = Sum()
  trainer { epochs = 1 }
}

experiment one {
  data  = OnePoints()
  model = Sum()
  trainer { epochs = 1 }
}
"""

IMAGES = """ltr 1

data Photos() {
  batch[B] { x: float[B, 1], y: i64[B] }
  fn shade(s: {image: u8[3, ?, ?], label: i64}) -> {x: float[1], y: i64} =
    (x = stack([s.image.to(float).mean() / 255.0]), y = s.label)
  train = image_folder("photos") |> map(shade) |> collate(2)
}

model Shade() {
  net = Linear(1, 2)
  optimizer opt = SGD(net.weights, lr = 0.1)
  step train[B](x: float[B, 1], y: i64[B]) { minimize cross_entropy(net(x), y) }
}

experiment shades {
  data  = Photos()
  model = Shade()
  trainer { epochs = 1 }
}
"""


def refuses(title, result, exit_code, *texts, without=()):
    """`result` has this exit code, and its errors hold all of `texts` and none of `without`."""
    missing = [text for text in texts if text not in result.stderr]
    there = [text for text in without if text in result.stderr]
    check(title, result.returncode == exit_code and not missing and not there,
          f"exit {result.returncode}, not {exit_code}; missing {missing}; there is {there}\n{result.text}")


def program(folder, name, text):
    (folder / f"{name}.ltr").write_text(text)
    return build(folder / f"{name}.ltr", folder)


def flags(folder):
    echo = program(folder, "echo", ECHO)

    def predict(value):
        return run(echo, "predict", "--weights", "new", "--v", value, cwd=folder)

    row = list(range(13))
    result = predict(json.dumps([row]))
    check("thirteen elements come back in their order",
          result.returncode == 0 and json.loads(result.stdout)["prediction"] == row, result.text)
    refuses("a ragged list", predict("[[1, 2], 3]"), 2, "error[R2003]", "[1] is 3, but those before it are lists")
    refuses("a word", predict("[1, 2"), 2, "error[R2003]: --v is no JSON: unexpected end of input")
    deep = "[" * 100_000
    (folder / "deep.json").write_text(deep)
    refuses("JSON 100,000 deep in a file", predict("@deep.json"), 2, "error[R2003]", "nested deeper than 64")
    refuses("JSON 100,000 deep in a flag", predict(deep), 2, "error[R2003]", "nested deeper than 64")
    refuses("JSON 100,000 deep in --config", run(echo, "config", "--config", "deep.json", cwd=folder), 2,
            "error[R2014]", "deep.json", "nested deeper than 64")


def rows(folder):
    points = program(folder, "points", ROWS)
    (folder / "points.csv").write_text("width,height,kind\n1,2,0\n3,4,1\n5,6,2\n")

    def predict(experiment, *options, weights="new", stdin=""):
        return run(points, "predict", experiment, "--weights", weights, *options, cwd=folder, stdin=stdin)

    result = predict("several")
    check("all predict streams are read", [json.loads(line)["prediction"] for line in result.stdout.splitlines()] ==
          [3, 7, 11, 3, 7], result.text)

    file = folder / "in.csv"
    file.write_text("widht,height,kind\n1,2,0\n")
    refuses("an unknown column", predict("one", "--read", "in.csv"), 3, "error[R3002]", "in.csv", "widht",
            "did you mean width?", without=["points.ltr:"])
    file.write_text("height,kind\n2,0\n")
    refuses("a missing column", predict("one", "--read", "in.csv"), 3, "error[R3002]", "in.csv", "no field width",
            without=["points.ltr:"])
    file.write_text("width,height\n1,2\n")
    result = predict("one", "--read", "in.csv")
    check("a label that the step does not read may be missing",
          result.returncode == 0 and json.loads(result.stdout)["prediction"] == 3, result.text)
    file.write_text("width,height,kind\n1,2,0\n3,wide,0\n5,6,0\n")
    result = predict("one", "--read", "in.csv")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    check("a bad row says so in its place, and the exit is 1", result.returncode == 1 and len(lines) == 3 and
          lines[0] == {"prediction": 3} and "in.csv:3" in lines[1].get("error", "") and lines[2] == {"prediction": 11},
          result.text)
    refuses("a bad row with --strict", predict("one", "--read", "in.csv", "--strict"), 3, "error[R3003]", "in.csv:3",
            "wide", without=["points.ltr:"])
    refuses("deep JSON on stdin", predict("one", "--read", "-", "--strict", stdin="[" * 100_000 + "\n"), 3,
            "error[R3003]", "stdin:1", "nested deeper than 64")
    refuses("weights that are not there", predict("one", weights="none.pt"), 2, "error[R2010]", "none.pt",
            without=["points.ltr:"])

    data = folder / "points.csv"
    data.write_text("width,height,kind\n1,2,0\n3,wide,1\n5,6,2\n")
    refuses("a bad cell stops the run", fit(points, folder / "runs", "one", "--set", f"data.file={data}"), 3,
            "error[R3003]", "points.csv:3", "wide")
    result = run(points, "fit", "several", "--no-bar", "--out", folder / "runs", cwd=folder)
    if check("on_bad = skip trains on", result.returncode == 0, result.text):
        told = newest(folder / "runs") / "faults/bad_records.jsonl"
        check("and writes down what it left out",
              told.exists() and "points.csv:3" in json.loads(told.read_text())["record"], result.text)
    for label in (-100, 7):
        data.write_text(f"width,height,kind\n1,2,0\n3,4,{label}\n5,6,2\n")
        refuses(f"a label of {label}", run(points, "fit", "one", "--no-bar", "--out", folder / "runs", cwd=folder), 3,
                "error[R3007]", "points.csv:3", f"the class {label} is not in [0, 3)",
                *(("`ignore_index = -100`",) if label < 0 else ()))


def images(folder):
    photos = program(folder, "photos_program", IMAGES)
    whole = (SOURCE / "tests/doors/Inputs/photo.jpg").read_bytes()
    for place in ("photos/cat", "photos/dog"):
        (folder / place).mkdir(parents=True)
        (folder / place / "1.jpg").write_bytes(whole)

    def start():
        return run(photos, "fit", "--no-bar", "--out", folder / "runs", cwd=folder)

    check("whole photos train", start().returncode == 0)
    (folder / "photos/dog/2.jpg").write_bytes(whole[:700])
    refuses("a JPEG of 700 bytes", start(), 3, "error[R3003]", "photos/dog/2.jpg")
    (folder / "photos/dog/2.jpg").unlink()
    (folder / "photos/bird").mkdir()
    refuses("a class without an image", start(), 3, "error[R3003]", "photos/bird")
    shutil.rmtree(folder / "photos/bird")


with scratch() as place:
    folder = pathlib.Path(place)
    flags(folder)
    rows(folder)
    images(folder)
finish()

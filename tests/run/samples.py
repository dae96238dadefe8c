#!/usr/bin/env python3
"""What rounds show: `SamplePredictions` and `ImageGrid`. The records and the answers of `predict`, in files and for loggers; training
is the same with them and without, over workers and a resume; what they cannot show is said at the start.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import EXAMPLES, build, check, finish, newest, run, scratch  # noqa: E402

PROGRAM = """ltr 1

data Mnist() {
  batch[B] { image: float[B, 1, 28, 28], label: i64[B] }
  fn prepare(s: {image: u8[28, 28], label: u8}) -> {image: float[1, 28, 28], label: i64} =
    (image = (s.image.to(float) / 255).unsqueeze(0), label = s.label.to(i64))
  let given = mnist("DATA", train = true)
  train = given |> take(320) |> shuffle(1) |> map(prepare) |> collate(32)
  val.clean = given |> skip(400) |> take(100) |> map(prepare) |> collate(24)
  val.other = given |> skip(600) |> take(40) |> map(prepare) |> collate(24)
  predict = given |> skip(400) |> take(30) |> map(prepare) |> collate(7)
}

model Net() {
  drop = Dropout(0.3)
  fc = Linear(784, 10)
  optimizer opt = Adam(fc.weights)
  fn forward[B](image: float[B, 1, 28, 28]) -> float[B, 10] = image |> flatten(1) |> drop |> fc
  step train[B](image: float[B, 1, 28, 28], label: i64[B]) {
    loss = cross_entropy(forward(image), label)
    minimize loss
    log loss
  }
  step val[B](image: float[B, 1, 28, 28], label: i64[B]) { log loss = cross_entropy(forward(image), label) }
  PREDICT
}

topology one { devices = cpu }

experiment shown {
  data = Mnist()
  model = Net()
  topology = one
  trainer { epochs = 4, val_every = 0.5 epochs, log_every = 1 }
  callbacks { Checkpoint(every = 10 steps, keep = 10) CALLBACKS }
  loggers { Csv(), TensorBoard() }
}
""".replace("DATA", str(EXAMPLES / "data/mnist-5k"))
PREDICT = """step predict[B](image: float[B, 1, 28, 28]) -> {digit: i64[B], sure: float[B]} {
    p = softmax(forward(image), 1)
    return (digit = p.argmax(1), sure = p.max(1))
  }"""
BOTH = ', SamplePredictions(n = 30, stream = "val.clean"), ImageGrid("image", n = 30, columns = 10, every = 20 steps)'


def made(folder, name, callbacks, predict=PREDICT):
    (folder / name).mkdir()
    source = folder / name / "shown.ltr"
    source.write_text(PROGRAM.replace("CALLBACKS", callbacks).replace("PREDICT", predict))
    return build(source, folder / name, "shown")


def fit(program, out, *options):
    return run(program, "fit", "--no-bar", "--threads", 1, "--out", out, *options, cwd=program.parent)


def shown(folder):
    program = made(folder, "both", BOTH)
    result = fit(program, folder / "a")
    check("a run with both", result.returncode == 0, result.text)
    of = newest(folder / "a")
    names = sorted(path.name for path in (of / "samples").iterdir())
    # Rounds behind 5, 10, … 40 steps: the first of each epoch, and the first of each 20 steps.
    check("a round of each epoch, and of each 20 steps", names == sorted(
        [f"val.clean-step{step:07}.jsonl" for step in (5, 15, 25, 35)] + [f"val.clean.image-step{step:07}.png" for step in (5, 20, 40)]), names)
    answers = run(program, "predict", "--weights", of / "checkpoints/last", "--write", folder / "answers.jsonl", cwd=program.parent)
    check("predict", answers.returncode == 0, answers.text)

    plain = made(folder, "plain", "")
    fit(plain, folder / "b")
    without = newest(folder / "b")
    check("training is the same without them", (of / "metrics.csv").read_bytes() == (without / "metrics.csv").read_bytes())
    weights = "checkpoints/last/weights.safetensors"
    check("and its weights", (of / weights).read_bytes() == (without / weights).read_bytes())

    fit(program, folder / "c", "--workers", 3)
    again = newest(folder / "c")
    same = [(of / "samples" / name).read_bytes() == (again / "samples" / name).read_bytes() for name in names]
    check("they are the same with other workers", all(same), names)

    fit(program, folder / "d", "--steps", 30)
    fit(program, folder / "d", "--resume", "last")
    resumed = newest(folder / "d")
    check("over a resume each is shown once more, and the same", sorted(path.name for path in (resumed / "samples").iterdir()) == names
          and all((of / "samples" / name).read_bytes() == (resumed / "samples" / name).read_bytes() for name in names),
          sorted(path.name for path in (resumed / "samples").iterdir()))
    return program, of


def answers_agree(folder, of):
    program = made(folder, "late", ', SamplePredictions(n = 30, stream = "val.clean", every = 1 steps)')
    fit(program, folder / "e")
    run_folder = newest(folder / "e")
    rows = [json.loads(line) for line in (run_folder / "samples/val.clean-step0000040.jsonl").read_text().splitlines()]
    run(program, "predict", "--weights", run_folder / "checkpoints/last", "--write", folder / "late.jsonl", cwd=program.parent)
    answers = [json.loads(line) for line in (folder / "late.jsonl").read_text().splitlines()]
    check("thirty records", [row["record"] for row in rows] == list(range(30)), rows[:2])
    check("with the sizes of what is large, and the numbers of what is not",
          all(row["batch"]["image"] == {"shape": [1, 28, 28]} and 0 <= row["batch"]["label"] <= 9 for row in rows), rows[0])
    near = [row["output"]["digit"] == answer["digit"] and abs(row["output"]["sure"] - answer["sure"]) < 1e-6
            for row, answer in zip(rows, answers, strict=True)]
    check("and the answers of predict", all(near), (rows[0], answers[0]))
    fit(program, folder / "parts", "--set", "callbacks.SamplePredictions.every=1.5 epochs")
    names = sorted(path.name for path in (newest(folder / "parts") / "samples").iterdir())
    check("in the first round of each epoch and a half", names == [f"val.clean-step{step:07}.jsonl" for step in (5, 20, 35)], names)
    journal = [json.loads(line) for line in (of / "log.jsonl").read_text().splitlines()]
    check("loggers have them", any("val/clean/samples" in json.dumps(row) for row in journal), journal[-1])


def refused(folder):
    for name, callbacks, predict, given, code, words in (
            ("nowhere", ", SamplePredictions()", PREDICT, "SamplePredictions.stream=val.dirty", "R2006", ("val.dirty", "val.clean")),
            ("field", ', ImageGrid("image")', PREDICT, "ImageGrid.field=picture", "R2002", ("picture", "the batch has image")),
            ("numbers", ', ImageGrid("image")', PREDICT, "ImageGrid.field=label", "R2006", ("label holds no images",))):
        options = ("--set", f"callbacks.{given}") if given else ()
        program = made(folder, name, callbacks, predict)
        result = fit(program, folder / "f", *options)
        check(f"{name}: {code}", result.returncode == 2 and code in result.text and all(word in result.text for word in words), result.text)
    result = fit(made(folder, "unsure", ', ImageGrid("image", n = 3)', ""), folder / "g")
    files = [path.name for path in (newest(folder / "g") / "samples").iterdir()]
    check("images need no step predict", result.returncode == 0 and len(files) == 4, result.text)


with scratch() as place:
    folder = pathlib.Path(place)
    _, of = shown(folder)
    answers_agree(folder, of)
    refused(folder)
finish()

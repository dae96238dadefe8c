#!/usr/bin/env python3
"""What evaluates is planned, too: `val` in a fit, behind each epoch with the weights that it has then, and `validate`, `test` and
`predict`, from a checkpoint or new, with shorter last batches. All of it gives what `--backend torch` gives."""
import csv
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, fit, newest, run, scratch

# Relative, of what a forward pass gives in f32: sums may have another order.
TOLERANCE = 1e-5
# Batch norms behind convolutions of each kind and behind a linear layer.
PROGRAM = """ltr 1
data Images() {
  batch[B] { x: float[B, 3, 12, 12], y: i64[B] }
  fn image(row: {i: int}) -> {x: float[3, 12, 12], y: i64} =
    (x = sin(arange(432).to(float) * 0.1 * (row.i % 17 + 1)).reshape(3, 12, 12), y = row.i % 4)
  train = range(44) |> map(image) |> shuffle(1) |> collate(8)
  val = range(30) |> map(image) |> collate(8)
  test = range(27) |> map(image) |> collate(8)
  predict = range(21) |> map(image) |> collate(8)
}
block Net() {
  conv1 = Conv2d(3, 16, 3, padding = 1)
  norm1 = BatchNorm2d(16)
  conv2 = Conv2d(16, 16, 3, padding = 1, bias = false)
  norm2 = BatchNorm2d(16)
  conv3 = Conv2d(16, 24, 3, stride = 2, groups = 2)
  norm3 = BatchNorm2d(24)
  up = ConvTranspose2d(24, 8, 2, stride = 2, groups = 2)
  norm4 = BatchNorm2d(8)
  fc = Linear(8, 12)
  norm5 = BatchNorm1d(12)
  drop = Dropout(0.3)
  head = Linear(12, 4)
  fn forward[B](x: float[B, 3, 12, 12]) -> float[B, 4] {
    a = x |> conv1 |> norm1 |> relu
    b = conv2(a)
    c = norm2(b) |> relu |> conv3 |> norm3 |> gelu |> up |> norm4
    return c.mean(3).mean(2) |> fc |> norm5 |> relu |> drop |> head
  }
}
model Classifier() {
  net = Net()
  seen = Accuracy(4)
  tested = Accuracy(4)
  optimizer opt = SGD(net.weights, lr = 0.2)
  step train[B](x: float[B, 3, 12, 12], y: i64[B]) {
    loss = cross_entropy(net(x), y)
    minimize loss
    log loss
  }
  step val[B](x: float[B, 3, 12, 12], y: i64[B]) {
    logits = net(x)
    log loss = cross_entropy(logits, y)
    log acc = seen(logits, y)
  }
  step test[B](x: float[B, 3, 12, 12], y: i64[B]) {
    logits = net(x)
    log loss = cross_entropy(logits, y)
    log acc = tested(logits, y)
  }
  step predict[B](x: float[B, 3, 12, 12]) -> {probs: float[B, 4], best: i64[B]} {
    logits = net(x)
    return (probs = softmax(logits, 1), best = logits.argmax(1))
  }
}
experiment evaluation {
  data = Images()
  model = Classifier()
  trainer { epochs = 3, seed = 3, log_every = 1 }
  callbacks { Checkpoint(every = 1 epochs), Ema(decay = 0.5) }
  loggers { Csv() }
}
"""
BACKENDS = ("native", "torch")


def is_near(ours, theirs, tolerance=TOLERANCE):
    return ours.keys() == theirs.keys() and all(abs(ours[name] - theirs[name]) <= tolerance * max(abs(theirs[name]), 1e-3) for name in ours)


def val_rows(folder):
    with open(newest(folder) / "metrics.csv") as file:
        rows = [{name: float(value) for name, value in row.items() if value and name.startswith("val/")} for row in csv.DictReader(file)]
    return [{name: row[name] for name in row if "samples_per" not in name} for row in rows if "val/loss" in row]


def printed(text):
    """The values that a round of `validate` or `test` says, by name."""
    return {name: float(value) for name, value in re.findall(r"^  (\w+) +([\d.e+-]+)$", text, re.M)}


def rounds_of_a_fit(program, folder):
    found = {}
    for backend in BACKENDS:
        result = fit(program, folder / backend, "--backend", backend)
        check(f"fit with val: {backend}", result.returncode == 0, result.text)
        found[backend] = val_rows(folder / backend)
    ours, theirs = found["native"], found["torch"]
    # Between them lie steps of training, which drift apart as those of `backends` do.
    check("each epoch's round sees the weights of then", len(ours) == len(theirs) == 3 and len({row["val/loss"] for row in ours}) == 3 and
          all(is_near(a, b, 1e-4) for a, b in zip(ours, theirs)), (ours, theirs))
    return newest(folder / "torch") / "checkpoints/last"


def rounds_alone(program, weights, title):
    for verb in ("validate", "test"):
        texts = {backend: run(program, verb, "--weights", weights, "--backend", backend) for backend in BACKENDS}
        values = {backend: printed(result.stdout) for backend, result in texts.items()}
        check(f"{verb} of {title}", all(result.returncode == 0 for result in texts.values()) and len(values["torch"]) == 3 and
              is_near(values["native"], values["torch"], 1e-3), values)  # as many digits as are printed


def predictions(program, weights, folder, title):
    found = {}
    for backend in BACKENDS:
        path = folder / f"{backend}.csv"
        result = run(program, "predict", "--weights", weights, "--backend", backend, "--write", path)
        check(f"predict of {title}: {backend}", result.returncode == 0, result.text)
        with open(path) as file:
            found[backend] = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    check(f"predict of {title}: the same rows", len(found["torch"]) == 21 and
          all(is_near(a, b) for a, b in zip(found["native"], found["torch"])), found)


def main():
    with scratch() as path:
        folder = pathlib.Path(path)
        source = folder / "evaluation.ltr"
        source.write_text(PROGRAM)
        program = build(source, folder)
        last = rounds_of_a_fit(program, folder)
        for title, weights in (("a checkpoint", last), ("new weights", "new")):
            rounds_alone(program, weights, title)
            predictions(program, weights, folder, title)
        result = run(program, "describe", "--plan")
        for step in ("train", "val", "test", "predict"):
            check(f"describe --plan shows step {step}", f"step {step}, batches of 8: " in result.text, result.text)
        calls = re.findall(r"^ +(?:alone|samples|shares) .*", result.text, re.M)
        folded, whole = (sum(part in call for call in calls) for part in ("factors of a norm", " sub mul mul add"))
        check("norms are folded into the layers before them", (folded, whole) == (3 * 5, 5), result.text)  # whole in training
        check("a choice of kernels says why", all(f"convolution{way}\n" in result.text for way in (
            " (tiles begin at 16 channels, not 3)", " by tiles (16 products in place of 36 for each tile)", " (tiles are for stride 1)")),
            result.text)
        check("all of it has kernels", "  LibTorch " not in result.text, result.text)
        source = folder / "asks.ltr"
        source.write_text(PROGRAM.replace("(probs = softmax", "(probs = (1.0 + 0 * mean(x).item()) * softmax"))
        asks = build(source, folder)
        line = source.read_text()[:source.read_text().index(".item()")].count("\n") + 1
        result = run(asks, "predict", "--weights", "new", "--backend", "native", "--write", folder / "asks.csv")
        check("predict that has no plan is R2015 at its line", result.returncode == 2 and f"asks.ltr:{line}" in result.text and
              "error[R2015]: step predict has no plan" in result.text, result.text)
        result = run(asks, "predict", "--weights", "new", "--write", folder / "asks.csv")
        single = run(asks, "predict", "--weights", "new", "--limit-predict", 1, "--write", folder / "single.csv")
        check("a single batch is done before a plan is asked for", single.returncode == 0 and "op by op" not in single.text, single.text)
        check("and runs op by op, which is said once", result.returncode == 0 and
              result.text.count("step predict runs op by op: it reads a tensor's value on the host") == 1, result.text)
    finish()


main()

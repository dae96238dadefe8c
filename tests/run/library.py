#!/usr/bin/env python3
"""What the library refuses only when it runs, and the precisions that the examples train in."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import EXAMPLES, LTRC, build, check, finish, fit, run, scratch

WIDTHS = """ltr 1

test "one output" {{
  metric = {0}()
  metric.update(randn(5, 1), randn(5, 1))
}}

test "three outputs for one" {{
  metric = {0}()
  keep = ones(3) > 0
  metric.update(randn(5, 3)[:, keep], randn(5, 3)[:, keep])
}}
"""


def widths(folder):
    """A metric of one output does not read three as more samples, whose number only the run knows."""
    for metric in ("R2Score", "ExplainedVariance", "PearsonCorrCoef", "SpearmanCorrCoef"):
        source = folder / f"{metric}.ltr"
        source.write_text(WIDTHS.format(metric))
        result = run(LTRC, "test", source)
        check(f"{metric} refuses another width",
              result.returncode != 0 and "1 passed, 1 failed" in result.text
              and "a tensor [5, 3] of 15 elements does not fit into [5" in result.text, result.text)


LABELS = """ltr 1

test "a label that is no class" {{
  metric = {0}
  metric.update({1})
}}
"""


INDICES = """ltr 1

test "a class that is none" {{
  print {0}
}}
"""


def indices(folder):
    """So is one in a loss or lookup."""
    for number, call in enumerate(("focal(randn(4, 3), [0, 1, {}, 2])", "one_hot([0, 1, {}, 2], 3).sum()",
                                   "randn(4, 3).gather(1, [0, 1, {}, 2].unsqueeze(1)).sum()")):
        for wrong in (-100, 3):
            source = folder / f"indices{number}.ltr"
            source.write_text(INDICES.format(call.format(wrong)))
            result = run(LTRC, "test", source)
            check(f"{call.format(wrong)} is refused", result.returncode != 0 and "R3007" in result.text
                  and f"{wrong} is not in [0, 3)" in result.text, result.text)


def labels(folder):
    """A label that is none of the classes counts nowhere, so it is refused unless `ignore` says that it is meant."""
    scores = "randn(4, 3), [0, 1, {}, 2]"
    for number, (metric, given, shown) in enumerate((
            ("Accuracy(3)", scores.format(-100), "`ignore = -100` in a metric"),
            ("F1Score(3, top_k = 2)", scores.format(-100), "the label -100 is not in [0, 3)"),
            ("Accuracy(3, ignore = -100)", scores.format(3), "the label 3 is not in [0, 3)"),
            ("F1Score(3)", scores.format(-1), "the label -1 is not in [0, 3)"),
            ("ConfusionMatrix(3)", scores.format(7), "the label 7 is not in [0, 3)"),
            ("ExactMatch(3)", scores.format(-100), "the label -100 is not in [0, 3)"),
            ("CalibrationError(3)", scores.format(-100), "the label -100 is not in [0, 3)"),
            ("AUROC(3)", scores.format(-100), "the label -100 is not in [0, 3)"),
            ("BinaryAccuracy()", "randn(3), [0, 1, 2]", "the label 2 is not in [0, 2)"),
            ("BinaryAveragePrecision()", "randn(3), [0, 1, -100]", "the label -100 is not in [0, 2)"),
            ("MultilabelAUROC(2)", "randn(2, 2), stack([0, 1, 1, -100]).reshape(2, 2)", "the label -100 is not in [0, 2)"),
            ("RetrievalMAP()", "[0.9, 0.1], [2, 0]", "the relevance 2 is not in [0, 2)"),
            ("RetrievalRecall()", "[0.9, 0.1], [-1, 0], [1, 1]", "the relevance -1 is not in [0, 2)"),
            ("RetrievalNormalizedDCG()", "[0.9, 0.1], [-1, 7]", "the relevance -1 is not in [0, "),
            ("Perplexity()", "randn(1, 3, 4), stack([0, 1, -100]).reshape(1, 3)", "the class -100 is not in [0, 4)"))):
        source = folder / f"labels{number}.ltr"
        source.write_text(LABELS.format(metric, given))
        result = run(LTRC, "test", source)
        check(f"{metric} refuses such a label", result.returncode != 0 and "R3007" in result.text and shown in result.text,
              result.text)


def matrices_and_lengths(folder):
    """A matrix without inverse, one that is not positive, and a length that no row has are told, with their line."""
    for number, (call, shown) in enumerate((
            ("inv(stack([eye(2), ones(2, 2)]))", "singular"), ("solve(zeros(3, 3), ones(3, 1))", "singular"),
            ("cholesky(-eye(3))", "not positive-definite"),
            ("length_mask([2, 4], 3)", "4 is not in [0, 4)"), ("length_mask([-1, 3], 3)", "-1 is not in [0, 4)"))):
        source = folder / f"values{number}.ltr"
        source.write_text(INDICES.format(call))
        result = run(LTRC, "test", source)
        check(f"{call} is refused", result.returncode != 0 and "R3007" in result.text and shown in result.text
              and f"values{number}.ltr:4" in result.text, result.text)


RULES = """ltr 1

hparam p: float = 0.3
hparam q: float = 0.1
hparam k: int = 2

metric Most(k: option[int] = none, of: float = 1.0) {
  state total: f64 = 0 reduce sum
  state seen: f64 = 0 reduce sum
  fn update[B](x: float[B]) where or_else(k, 1) >= 1 and of < 1.5 {
    total += sum(x).to(f64) * of / or_else(k, 1)
    seen += B
  }
  fn compute() -> f64 = total / seen
}

fn part[B](x: float[B], q: float) -> float[B] where q > 0 and q < 1 = x * q

data Made() {
  batch[B] { x: float[B, 3] }
  fn make(i: int) -> {x: float[3]} = (x = randn(3))
  train = synthetic(4, make) |> collate(2)
}

model Net(p: float, q: float, k: int) {
  net = Linear(3, 3)
  most = Most(k, q)
  hits = RetrievalHitRate(k)
  optimizer opt = SGD(net.weights, lr = 0.1)
  step train[B](x: float[B, 3]) {
    minimize mean(net(dropout(x, p))) + sum(part(x[:, 0], q))
    log most = most(x[:, 0])
    log hits = hits(x, (x > 0).to(i64))
  }
}

experiment e {
  data = Made()
  model = Net(p, q, k)
  trainer { epochs = 1 }
}
"""

# Rules over what the data is known for, and over the length of a list.
SHOWN = """ltr 1

hparam heads: int = 2
hparam widths: list[int] = [3, 4, 5, 6]

type Row = {a: float, b: float, label: str}

data Rows() {
  batch[B] { x: float[B, 2], y: i64[B] }
  let seen = csv("rows.csv") as Row |> facts
  fn row(r: Row) -> {x: float[2], y: i64} = (x = stack([r.a, r.b]), y = class_of(r.label, seen.label.classes))
  train = csv("rows.csv") as Row |> map(row) |> shuffle(1) |> collate(2)
}

model Net(classes: int, heads: int, widths: list[int]) {
  a = Linear(2, classes)
  b = Linear(2, widths[3])
  optimizer opt = SGD([a.weights, b.weights], lr = 0.1)
  step train[B](x: float[B, 2], y: i64[B]) {
    parts = a(x).reshape(B, heads, classes / heads)
    minimize cross_entropy(a(x), y) + mean(parts) + mean(b(x))
  }
}

experiment e {
  data = Rows()
  model = Net(data.seen.label.unique, heads, widths)
  trainer { epochs = 1 }
}
"""


def rules(folder):
    """What a function asks of its params is asked of hparams before anything is trained, of the library and of a program."""
    source = folder / "rules.ltr"
    source.write_text(RULES)
    program = build(source, folder)
    check("values that fit train", fit(program, folder / "fits").returncode == 0)
    for title, given, shown in (("the library's", ("--p", "3"), "`p <= 1` does not hold: p = 3"),
                                ("a program's", ("--q", "-1"), "`q > 0` does not hold: q = -1"),
                                ("a metric's", ("--k", "0"), "`or_else(k, 1) >= 1` does not hold: k = 0")):
        result = fit(program, folder / "none", *given)
        check(f"{title} rule is asked at the start", result.returncode == 2 and "error[R2007]: " + shown in result.text
              and not (folder / "none").exists(), result.text)
    rows = folder / "rows.csv"
    (folder / "shown.ltr").write_text(SHOWN.replace("rows.csv", str(rows)))
    program = build(folder / "shown.ltr", folder)
    for given, shown in (((), "`classes % heads == 0` does not hold: heads = 2, classes = 3"),
                         (("--widths", "[3, 4]"), "`widths.length >= 4` does not hold: widths = [3, 4], widths.length = 2")):
        rows.unlink(missing_ok=True)  # The length of a list is asked for before any data is opened.
        if not given:
            rows.write_text("a,b,label\n1,2,x\n3,4,y\n5,6,z\n")
        result = fit(program, folder / "none", *given)
        check(f"{shown} is said at the start", result.returncode == 2 and "error[R2007]: " + shown in result.text
              and not (folder / "none").exists(), result.text)
    source.write_text(re.sub(r"(optimizer opt = \w+\([^{}\n]*\))", r"\1 { schedule = sequential([]) }", RULES, count=1))
    result = fit(build(source, folder), folder / "none")
    check("schedules one after another are some", result.returncode == 2 and "sequential is []" in result.text, result.text)


def precisions(folder):
    """Batches of `float` have the width that the program computes in: layers, a recurrent stack, images."""
    for name in ("iris", "forecast", "mnist"):
        program = build(EXAMPLES / f"{name}.ltr", folder)
        for precision in ("f64", "bf16", "bf16_pure"):
            result = fit(program, folder / "runs" / precision, "--set", f"topology.precision={precision}",
                         "--set", "trainer.steps=4")
            check(f"{name} trains in {precision}", result.returncode == 0, result.text)
    result = run(program, "predict", "--out", folder / "runs/bf16_pure", cwd=EXAMPLES)
    check("mnist predicts in bf16_pure", result.returncode == 0, result.text)


with scratch() as place:
    folder = pathlib.Path(place)
    widths(folder)
    labels(folder)
    indices(folder)
    matrices_and_lengths(folder)
    rules(folder)
    precisions(folder)
finish()

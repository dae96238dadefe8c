#!/usr/bin/env python3
"""Which records come, and how often: `sample`, `balance`, `folds`, `shuffle` of a stream without end. The same whatever the workers are, another
choice in each epoch, and exact over a resume.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import collections
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import check, finish, newest, scratch
from row_case import Case

NUMBERED = "  fn of(s: {i: int}) -> {x: float[2]} = (x = stack([1.0 * s.i, 1.0 * (s.i % 3)]))\n"


def numbers(rows):
    return [int(row[0]) for row in rows]


def is_exact(title, case, epochs):
    """The same records with other workers, and in two halves."""
    case.run()
    whole = [case.rows(epoch) for epoch in range(epochs)]
    check(f"{title}: the same with three workers", [case.rows(epoch, "--workers", 3) for epoch in range(epochs)] == whole)
    begun = case.run("--steps", 1)
    folder = newest(case.folder / "runs")
    rest = case.run("--resume", folder, "--steps", 10**6)
    text = begun.stdout + rest.stdout
    halves = [[tuple(map(float, row)) for row in re.findall(rf"row {epoch} (\S+) (\S+)", text)] for epoch in range(epochs)]
    check(f"{title}: exact over a resume", halves == whole, (halves, whole, rest.text[-1500:]))


def sampled(folder):
    case = Case(folder, "sample", NUMBERED + """  fn weight(s: {i: int}) -> float = if s.i < 10 then 3.0 else (if s.i < 20 then 1.0 else 0.0)
  train = range(30) |> sample(weight, seed = 5, count = 4000) |> map(of) |> collate(500)""", 2)
    first = collections.Counter(numbers(case.rows()))
    check("as many as are wanted, by their weights", sum(first.values()) == 4000
          and abs(sum(first[i] for i in range(10)) - 3000) < 120 and not any(first[i] for i in range(20, 30)), first)
    # 5 times the standard deviation of a share.
    check("each as often as others of its weight", all(abs(first[i] - 300) < 85 for i in range(10)) and all(abs(first[i] - 100) < 50 for i in range(10, 20)), first)
    check("another choice in the next epoch", numbers(case.rows(1)) != numbers(case.rows()))
    is_exact("sample", case, 2)
    once = Case(folder, "once", """  fn of(s: {i: int}) -> {x: float[2], w: float} = (x = stack([1.0 * s.i, 1.0 * (s.i % 3)]), w = 0.01 + s.i % 3)
  train = range(30) |> map(of)
    |> sample("w", seed = 5, count = 12, replacement = false) |> select("x") |> collate(6)""", 2)
    rows = once.rows()
    check("without replacement none comes twice", len(set(numbers(rows))) == len(rows) == 12, rows)
    check("and the weighty come first", sum(row[1] for row in rows) > 12, rows)
    is_exact("without replacement", once, 2)
    for title, weight, code, words in (("a weight below 0", "1.0 - s.i", "R3003", ("record 2", "the weight is -1")),
                                       ("a weight that is not finite", "log(1.0 * s.i - 5.0)", "R3003", ("record 0", "the weight is nan")),
                                       ("no weight", "0.0", "R3005", ("no record has a weight above 0",))):
        Case(folder, title, NUMBERED + f"  train = range(5) |> sample(s => {weight}, seed = 1) |> map(of) |> collate(2)").refuses(title, code, *words)
    Case(folder, "too many", NUMBERED + "  train = range(5) |> sample(s => 1.0, seed = 1, count = 6, replacement = false) |> map(of) |> collate(2)") \
        .refuses("more than there are", "R3005", "6 different records, 5")
    bad = Case(folder, "bad", """  train = csv("a.csv") as {w: float, y: int} |> sample("w", seed = 1) |> map(s => (x = stack([s.w, 1.0 * s.y]))) |> collate(2)""")
    bad.write("a.csv", "w,y\n1,2\n1,many\n").refuses("a record that cannot be read", "R3003", "a.csv:3", "many")


def balanced(folder):
    case = Case(folder, "balance", """  train = csv("a.csv") as {i: int, kind: str} |> balance(by = "kind", seed = 2)
    |> map(s => (x = stack([1.0 * s.i, 1.0 * class_of(s.kind, ["a", "b", "c"])]))) |> collate(12)""", 2)
    kinds = "a" * 20 + "b" * 5 + "c" * 2
    case.write("a.csv", "i,kind\n" + "".join(f"{i},{kind}\n" for i, kind in enumerate(kinds)))
    rows = case.rows()
    check("of k records in a row there is one of each class", len(rows) == 60 and all({row[1] for row in rows[at:at + 3]} == {0, 1, 2} for at in range(0, 60, 3)), rows)
    counts = collections.Counter(numbers(rows))
    check("each of a class as often as its others", [counts[i] for i in range(27)] == [1] * 20 + [4] * 5 + [10] * 2, counts)
    order = [int(i) for i, kind in rows if kind == 1]
    check("each pass of a class in an order of its own", len({tuple(order[at:at + 5]) for at in range(0, 20, 5)}) > 1, order)
    check("another order in the next epoch", case.rows(1) != rows)
    is_exact("balance", case, 2)
    case.write("a.csv", "i,kind\n1,a\n2,b\nmany,a\n").refuses("a record that cannot be read", "R3003", "a.csv:4", "many")
    case.write("a.csv", "i,kind\n").refuses("no records", "R3005", "no record has a class")


def folded(folder):
    for by, name in (("", "folds"), (', by = "kind"', "folds by")):
        seen = []
        for fold in range(3):
            case = Case(folder, f"{name} {fold}", f"""  let rows = range(30) |> map(s => (i = s.i, kind = floor(s.i / 10)))
  let parts = rows |> folds(3, {fold}, seed = 4{by})
  train = parts[0] |> shuffle(1) |> map(s => (x = stack([1.0 * s.i, 0.0]))) |> collate(4)
  val   = parts[1] |> map(s => (x = stack([1.0 * s.i, 1.0]))) |> collate(4)""")
            text = (case.folder / "rows.ltr").read_text()
            (case.folder / "rows.ltr").write_text(text.replace("\n}\n\nexperiment", """
  step val[B](x: float[B, 2]) { for k in 0 .. B { print "row 0 {x[k, 0]:.6} {x[k, 1]:.6}" } }
}

experiment""").replace("trainer { epochs = 1 }", "trainer { epochs = 1, sanity_val = 0 }"))
            rows = case.rows()
            train, val = [int(i) for i, which in rows if which == 0], [int(i) for i, which in rows if which == 1]
            check(f"{name}: fold {fold} and the rest are all", sorted(train + val) == list(range(30)) and len(val) == 10, (train, val, rows))
            if by:
                per = collections.Counter(i // 10 for i in val)
                check(f"{name}: values spread evenly", max(per.values()) - min(per.values()) <= 1, per)
            seen += val
        check(f"{name}: each record is measured once", sorted(seen) == list(range(30)), seen)


def endless(folder):
    case = Case(folder, "endless", NUMBERED + "  train = range(1000) |> repeat() |> shuffle(3, buffer = 100) |> map(of) |> take(3000) |> collate(100)", 1)
    order = numbers(case.rows())
    check("every record once in a pass, but for those at its border", collections.Counter(order).most_common(1)[0][1] <= 4, collections.Counter(order).most_common(3))
    far = max(min(abs(i - at % 1000), 1000 - abs(i - at % 1000)) for at, i in enumerate(order))
    check("none comes further than the buffer from its place", 25 < far < 100, far)
    blocks = sum(i // 50 != at % 1000 // 50 for at, i in enumerate(order))
    check("records leave their blocks", blocks > 900, blocks)
    check("another order in each pass", order[:1000] != order[1000:2000])
    is_exact("endless", case, 1)


with scratch() as folder:
    sampled(folder)
    balanced(folder)
    folded(folder)
    endless(folder)
finish()

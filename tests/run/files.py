#!/usr/bin/env python3
"""Programs of several files: declarations of one name in two of them are each what its own file says, and a built program finds its data
from any folder.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import json
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import LTRC, build, check, finish, run, scratch

# Two files that have all names in common: NUMBER tells them apart.
PART = """ltr 1
data D() {
  batch[B] { x: float[B, 2] }
  train = range(8) |> map(r => (x = full(2, r.i * 1.0))) |> shuffle(1) |> collate(4)
}
model M() {
  netNUMBER = Linear(2, NUMBER)
  optimizer opt = SGD(netNUMBER.weights, lr = 1e-3)
  step train[B](x: float[B, 2]) { minimize mean(netNUMBER(x) ** 2) }
}
callback Say(times: int = 1) { on train_end { print "NUMBER says {times}" } }
callback Count for M { on train_end { print "NUMBER has {count(model.netNUMBER.weights)}" } }
callback Throughput(unit: int) { on train_end { print "NUMBER's own {unit}" } }
experiment eNUMBER { data = D(), model = M(), trainer { epochs = 1 }, callbacks { Say(), Count() } }
"""

MAIN = """ltr 1
import one
import two
callback Say() { on train_end { print "main says" } }
experiment first amends one.e3 { callbacks += { Say(), Throughput(unit = samples) } }
experiment second amends two.e4 { callbacks += { Say(), one.Say(times = 2), two.Throughput(7) } }
"""

HIDING = """ltr 1
import listing
callback Throughput() { on train_end { print "hiding's own" } }
experiment theirs amends listing.e { trainer { epochs = 2 } }
experiment ours amends listing.e { callbacks { Throughput() } }
"""

KNOWN = """ltr 1
data Small() {
  batch[B] { h: float[B], y: float[B] }
  let rows = range(10)
  let seen = facts(rows)
  let words = vocab(rows, of = word)
  fn word(r: {i: int}) -> list[str] = ["w{r.i % 2}"]
  train = rows |> map(r => (h = r.i - seen.i.mean, y = 1.0 * r.i)) |> collate(5)
  predict = rows |> take(1) |> map(r => (h = r.i - seen.i.mean, y = 1.0 * words.size)) |> collate(1)
}
data Large() {
  batch[B] { h: float[B], y: float[B] }
  let rows = range(1000)
  let seen = facts(rows)
  let words = vocab(rows, of = word)
  fn word(r: {i: int}) -> list[str] = ["w{r.i % 5}"]
  train = rows |> map(r => (h = r.i - seen.i.mean, y = 1.0 * r.i)) |> collate(5)
  predict = rows |> take(1) |> map(r => (h = r.i - seen.i.mean, y = 1.0 * words.size)) |> collate(1)
}
model M() {
  net = Linear(1, 1)
  optimizer opt = SGD(net.weights, lr = 1e-9)
  step train[B](h: float[B], y: float[B]) { minimize mse(net(h.unsqueeze(1)).squeeze(1), y) }
  step predict[B](h: float[B], y: float[B]) -> {mean: float[B], words: float[B]} = (mean = -h, words = y)
}
experiment small { data = Small(), model = M(), trainer { epochs = 1 } }
experiment large { data = Large(), model = M(), trainer { epochs = 1 } }
"""

BESIDE = """ltr 1
data D() {
  batch[B] { x: float[B, 1] }
  train = csv("d.csv") as {x: float} |> map(r => (x = full(1, r.x))) |> shuffle(1) |> collate(2)
}
model M() {
  net = Linear(1, 1)
  optimizer opt = SGD(net.weights, lr = 0.1)
  step train[B](x: float[B, 1]) { minimize mean(net(x) ** 2) }
}
experiment e { data = D(), model = M(), trainer { epochs = 1 } }
"""


def prints(result):
    return [line for line in result.stdout.splitlines() if " says" in line or " has" in line or "own" in line]


def same_names(folder):
    for name, number in (("one", "3"), ("two", "4")):
        (folder / f"{name}.ltr").write_text(PART.replace("NUMBER", number))
    (folder / "main.ltr").write_text(MAIN)
    (folder / "listing.ltr").write_text(BESIDE.replace('csv("d.csv") as {x: float} |> map(r => (x = full(1, r.x)))', "range(4) |> map(r => (x = full(1, 1.0 * r.i)))")
                                        .replace("epochs = 1 }", "epochs = 1 }, callbacks { Throughput(unit = samples) }"))
    program = build(folder / "main.ltr", folder)
    first = run(program, "fit", "first", "--no-bar", "--out", folder / "runs")
    check("callbacks of an amended experiment are those of its file, the library's its own", prints(first) == ["3 says 1", "3 has 9", "main says"],
          first.text)
    second = run(program, "fit", "second", "--no-bar", "--out", folder / "runs")
    check("each listed one is that of the file that is named", prints(second) == ["4 says 1", "4 has 12", "main says", "3 says 2", "4's own 7"],
          second.text)
    told = run(program, "config", "second", "--set", "callbacks.one.Say.times=5")
    check("an option names it as messages do", told.returncode == 0, told.text)
    (folder / "crossed.ltr").write_text("ltr 1\nimport one\nimport two\nexperiment x amends one.e3 { callbacks { two.Count() } }\n")
    crossed = run(LTRC, "check", folder / "crossed.ltr")
    check("a callback for the model of another file", crossed.returncode == 1 and "E0621" in crossed.text and "`two.M`" in crossed.text
          and "`one.M`" in crossed.text, crossed.text)


    (folder / "hiding.ltr").write_text(HIDING)
    hiding = build(folder / "hiding.ltr", folder)
    told = {name: run(hiding, "fit", name, "--no-bar", "--out", folder / "runs") for name in ("theirs", "ours")}
    check("a callback of the program takes the place of the library's in its own file alone",
          prints(told["theirs"]) == [] and prints(told["ours"]) == ["hiding's own"], told["theirs"].text + told["ours"].text)


def known(folder):
    (folder / "known.ltr").write_text(KNOWN)
    program = build(folder / "known.ltr", folder)
    for name, wanted in (("small", {"mean": 4.5, "words": 2}), ("large", {"mean": 499.5, "words": 5})):
        fitted = run(program, "fit", name, "--no-bar", "--out", folder / "runs")
        result = run(program, "predict", name, "--write", "-", "--out", folder / "runs")
        rows = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
        check(f"facts and vocabularies of {name} are of its own rows", rows == [wanted], f"{fitted.text}\n{result.text}")


def beside(folder):
    place = folder / "beside"
    place.mkdir()
    (place / "d.ltr").write_text(BESIDE)
    (place / "d.csv").write_text("x\n1\n2\n3\n4\n")
    built = run(LTRC, "build", "d.ltr", "-o", "d", cwd=place)
    far = run(place / "d", "fit", "--no-bar", "--out", folder / "far", cwd=folder)
    check("data beside the source is found from another folder", built.returncode == 0 and far.returncode == 0, built.text + far.text)
    moved = folder / "moved"
    shutil.copytree(place, moved)
    (place / "d.csv").unlink()
    again = run(moved / "d", "fit", "--no-bar", "--out", folder / "far", cwd=moved)
    check("and beside the program, where it was moved with it", again.returncode == 0, again.text)
    lost = run(moved / "d", "fit", "--no-bar", "--out", folder / "far", cwd=folder)
    check("what is in none of its places is told with them", lost.returncode == 3 and "R3001" in lost.text and str(place / "d.csv") in lost.text, lost.text)


def main():
    with scratch() as folder:
        folder = pathlib.Path(folder)
        same_names(folder)
        known(folder)
        beside(folder)
    finish()


main()

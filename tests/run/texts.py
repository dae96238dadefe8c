#!/usr/bin/env python3
"""A table and a text from rows to predictions: facts and a vocabulary of the training part, batches that are filled up, named
outputs with texts beside numbers; predictions need no training data."""
import csv
import json
import pathlib
import random
import sys
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, newest, run, scratch

LIBRARY = """ltr 1
## Neurons.
hparam width: int = 8 where width > 0
type Row = {id: int, age: option[float], city: option[str], text: str, label: str}
"""

PROGRAM = """ltr 1
import lib.rows.{Row, width}

data Texts(size: int = 8) {
  batch[B, S] { id: i64[B], text: str[B], ids: i64[B, S], n: i64[B], age: float[B], city: float[B, seen.city.unique], label: i64[B] }

  fn tokens(row: Row) -> list[str] = row.text.lower().split()
  fn prepare(row: Row) -> {id: int, text: str, ids: i64[?], age: float, city: float[seen.city.unique], label: int} =
    (id = row.id, text = row.text, ids = words.encode(tokens(row)),
     age = (or_else(row.age, seen.age.median) - seen.age.mean) / seen.age.std,
     city = one_hot(class_of(row.city, seen.city.classes, missing = 0, other = 0), seen.city.unique).to(float),
     label = class_of(row.label, seen.label.classes))
  fn long(row: {ids: i64[?]}) -> int = row.ids.shape[0]

  let rows  = csv("rows.csv") as Row
  let parts = rows |> split([0.8, 0.2], seed = 0)
  let seen  = facts(parts[0])
  let words = vocab(parts[0], of = tokens, min_count = 2, special = ["<pad>", "<unk>"])

  train   = parts[0] |> map(prepare) |> shuffle(0) |> bucket(by = long) |> collate(size, pad = 0, lengths = "n")
  val     = parts[1] |> map(prepare) |> collate(size, pad = 0, lengths = "n")
  predict = parts[1] |> map(prepare) |> collate(size, pad = 0, lengths = "n")
}

model Net(words: int, cities: int, classes: int, width: int, weights: list[float]) {
  table = Embedding(words, width)
  head  = Linear(width + 1 + cities, classes)
  optimizer opt = Adam([table.weights, head.weights], lr = 0.05)

  fn scores[B, S](ids: i64[B, S], n: i64[B], age: float[B], city: float[B, cities]) -> float[B, classes] {
    mask = (ids > 0).to(float).unsqueeze(2)
    mean = (table(ids) * mask).sum(1) / n.to(float).unsqueeze(1)
    return head(cat([mean, age.unsqueeze(1), city], 1))
  }

  step train[B, S](ids: i64[B, S], n: i64[B], age: float[B], city: float[B, cities], label: i64[B]) {
    loss = cross_entropy(scores(ids, n, age, city), label)
    minimize loss
    log loss
  }
  step val[B, S](ids: i64[B, S], n: i64[B], age: float[B], city: float[B, cities], label: i64[B]) {
    log acc = mean((scores(ids, n, age, city).argmax(1) == label).to(float))
  }
  step predict[B, S](id: i64[B], text: str[B], ids: i64[B, S], n: i64[B], age: float[B], city: float[B, cities])
    -> {id: i64[B], text: str[B], known: str[B], class: i64[B], probs: float[B, classes]} {
    probs = softmax(scores(ids, n, age, city), 1)
    return (id = id, text = text, known = data.words.decode(ids, sep = "_"), class = probs.argmax(1), probs = probs)
  }
}

experiment texts {
  data    = Texts()
  model   = Net(data.words.size, data.seen.city.unique, data.seen.label.unique, width, data.seen.label.class_weights)
  trainer { epochs = 12 }
}
"""


def table(path, count=200):
    random.seed(1)
    words = {"sport": ["Ball", "goal", "team", "naïve"], "food": ["bread", "salt", "größe", "soup"]}
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["id", "age", "city", "text", "label", "spare"])
        for i in range(count):
            label = random.choice(["food", "sport", "sport"])
            text = " ".join(random.choice(words[label]) for _ in range(random.randint(1, 9)))
            out.writerow([i, random.choice(["", f"{random.gauss(40, 10):.2f}"]), random.choice(["", "Bonn", "Ulm", "Köln"]), text, label, "x"])


def main():
    with scratch() as name:
        folder = pathlib.Path(name)
        (folder / "lib").mkdir()
        (folder / "lib/rows.ltr").write_text(LIBRARY)
        table(folder / "rows.csv")
        (folder / "texts.ltr").write_text(PROGRAM)
        program = build(folder / "texts.ltr", folder)
        result = run(program, "fit", cwd=folder)
        check("fit", result.returncode == 0, result.text)
        known = json.loads((newest(folder / "runs") / "checkpoints/last/checkpoint.json").read_text()).get("known")
        check("a checkpoint keeps what is known", known is not None and set(known) == {"seen", "words"}, known)
        seen, words = known["seen"], known["words"]
        check("facts are of the fields that are asked for", sorted(seen) == ["age", "city", "label"], seen)
        check("classes are in order", seen["city"]["classes"] == ["Bonn", "Köln", "Ulm"] and seen["label"]["classes"] == ["food", "sport"], seen)
        check("special words come first, then the most frequent", words[:2] == ["<pad>", "<unk>"] and "ball" in words and "Ball" not in words, words)
        check("missing values are counted", seen["age"]["missing"] + seen["age"]["count"] == 160, seen["age"])
        (folder / "rows.csv").rename(folder / "gone.csv")
        with open(folder / "new.csv", "w") as file:
            file.write("id,age,city,text\n7,,,Ball goal zebra\n8,41.5,Rom,bread größe\n")
        for name in ("out.csv", "out.jsonl", "out.npy", "out.npz"):
            result = run(program, "predict", "--read", "new.csv", "--write", name, cwd=folder)
            check(f"predict without the training data, to {name}", result.returncode == 0, result.text)
        result = run(program, "predict", "--read", "new.csv", "--backend", "native", cwd=folder)
        check("ids that become text have no plan", result.returncode == 2 and "R2015" in result.text and "turns ids into text" in result.text
              and "extern" not in result.text, result.text)
        rows = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
        check("outputs have names, texts stay texts", [row["id"] for row in rows] == [7, 8]
              and rows[1]["text"] == "bread größe" and rows[0]["known"] == "ball_goal_<unk>", rows)
        check("what was learnt holds", [row["class"] for row in rows] == [1, 0], rows)
        header = (folder / "out.csv").read_text().splitlines()[0]
        check("a table has a column for each", header == "id,text,known,class,probs_0,probs_1", header)
        check("an array for each output", (folder / "out.known.npy").exists() and b"<U" in (folder / "out.text.npy").read_bytes(), "")
        archive = zipfile.ZipFile(folder / "out.npz")
        check("in an archive each under its name, the same bytes", archive.testzip() is None and all(
              archive.read(f"{key}.npy") == (folder / f"out.{key}.npy").read_bytes() for key in rows[0]), archive.namelist())
        result = run(program, "predict", "--read", "new.csv", "--write", "out.safetensors", cwd=folder)
        check("texts are no safetensors", result.returncode == 2 and "text is texts, which safetensors cannot hold" in result.text
              and not list(folder.glob("out.safetensors*")), result.text)
        result = run(program, "predict", "--read", "new.csv", "--write", "-", "--set", "data.size=1", cwd=folder)
        alone = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
        check("padding changes no prediction", len(alone) == 2 and all(abs(a - b) < 1e-5 for one, two in zip(alone, rows)
              for a, b in zip(one["probs"], two["probs"])), result.text)
        result = run(program, "predict", cwd=folder)
        check("its own stream needs its file", result.returncode == 3 and "R3001" in result.text and "rows.csv" in result.text, result.text)
    finish()


main()

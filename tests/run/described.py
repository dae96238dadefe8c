#!/usr/bin/env python3
"""What `describe` tells of data: the files with their records, sizes and classes, what a record holds, what a batch does; without reading a record.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, run, scratch

PROGRAM = """ltr 1

data Photos() {
  batch[B] { x: float[B, 3], label: i64[B] }
  fn shade(s: {image: u8[3, ?, ?], label: i64}) -> {x: float[3], label: i64} = (x = s.image.to(float).mean([1, 2]), label = s.label)
  train = image_folder("photos") |> map(shade) |> collate(2)
}

data Small() {
  batch[B] { x: float[B, 3], label: i64[B] }
  fn shade(s: {image: u8[3, 32, 32], label: u8}) -> {x: float[3], label: i64} = (x = s.image.to(float).mean([1, 2]), label = s.label.to(i64))
  train = cifar10("small", train = false) |> map(shade) |> collate(2)
}

data Rows() {
  batch[B] { x: float[B, 3], label: i64[B] }
  fn row(s: {a: float, kind: str}) -> {x: float[3], label: i64} = (x = full(3, s.a), label = class_of(s.kind, ["no", "yes"]))
  let rows = csv("rows.csv") as {a: float, kind: str} |> map(row)
  train = rows |> take(2) |> collate(2)
  val = csv("more.csv") as {a: float, kind: str} |> map(row) |> collate(2)
}

model Net() {
  net = Linear(3, 10)
  optimizer opt = SGD(net.weights, lr = 0.1)
  step train[B](x: float[B, 3], label: i64[B]) { minimize cross_entropy(net(x), label) }
  step val[B](x: float[B, 3], label: i64[B]) { log loss = cross_entropy(net(x), label) }
}

experiment photos { data = Photos(), model = Net(), trainer { epochs = 1 } }
experiment small { data = Small(), model = Net(), trainer { epochs = 1 } }
experiment rows { data = Rows(), model = Net(), trainer { epochs = 1 } }
"""

with scratch() as place:
    folder = pathlib.Path(place)
    (folder / "described.ltr").write_text(PROGRAM)
    program = build(folder / "described.ltr", folder)
    for name, count in (("ash", 3), ("birch", 1), ("oak", 2)):
        (folder / "photos" / name).mkdir(parents=True)
        for i in range(count):
            (folder / "photos" / name / f"{i}.png").write_bytes(b"no image: nothing is read of it")
    text = run(program, "describe", "photos", cwd=folder).text
    check("a folder of images", "\nfiles\n  photos  6 records, 186 B, 3 classes of 1 to 3\nrecord image: u8[3, ?, ?], label: i64[]\nbatch x: float[?, 3], label: i64[?]\n" in text, text)
    check("behind it the streams", "6 samples" in text.split("batch x:")[1] and "3 batches of 2" in text, text)
    (folder / "small").mkdir()
    (folder / "small/test_batch.bin").write_bytes(b"".join(bytes([label]) + bytes(3072) for label in range(10)))
    text = run(program, "describe", "small", cwd=folder).text
    check("labels of a file that is in memory", "  small/test_batch.bin  10 records, 30.0 KiB, 10 classes of 1\n" in text, text)
    (folder / "rows.csv").write_text("a,kind,unread\n1,no,x\n2,yes,x\n3,maybe,x\n")
    (folder / "more.csv").write_text("a,kind\n1,no\n")
    text = run(program, "describe", "rows", cwd=folder).text
    check("each file of several", "files\n  rows.csv  3 records, 39 B\n  more.csv  1 record, 12 B\nrecord a: float, kind: str\nbatch" in text, text)
    text = run(program, "describe", "rows", "--mock-data", cwd=folder).text
    check("none of data that are made up", "files\n" not in text and "record a: float, kind: str\nbatch" in text, text)
finish()

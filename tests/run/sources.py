#!/usr/bin/env python3
"""Files that a source reads or refuses, and streams in turns: JSON lines, NumPy's arrays, sound; `mix` and `shuffle(buffer = …)`.
What each record holds is printed by the step.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import pathlib
import re
import struct
import sys
import wave
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, fit, scratch

PROGRAM = """ltr 1

data Rows() {{
  batch[B] {{ x: float[B, 2] }}
{source}
}}

model Reader() {{
  weight w: float[2] = ones(2)
  optimizer opt = SGD([w], lr = 1e-9)
  step train[B](x: float[B, 2]) {{
    for k in 0 .. B {{ print "row {{epoch}} {{x[k, 0]:.6}} {{x[k, 1]:.6}}" }}
    minimize mean(x * w)
  }}
}}

experiment e {{ data = Rows(), model = Reader(), trainer {{ epochs = {epochs} }} }}
"""


class Case:
    """A program over files of a folder of its own."""

    def __init__(self, folder, name, source, epochs=1):
        self.folder = pathlib.Path(folder) / name
        self.folder.mkdir()
        (self.folder / "rows.ltr").write_text(PROGRAM.format(source=source, epochs=epochs))
        self.program = None

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return self

    def run(self):
        self.program = self.program or build(self.folder / "rows.ltr", self.folder)
        return fit(self.program, self.folder / "runs")

    def rows(self, epoch=0):
        done = self.run()
        if done.returncode != 0:
            return done.text
        return [tuple(float(number) for number in row) for row in re.findall(rf"row {epoch} (\S+) (\S+)", done.stdout)]

    def refuses(self, title, code, *words):
        done = self.run()
        check(title, done.returncode == int(code[1]) and f"error[{code}]" in done.text and all(word in done.text for word in words), done.text)


def npy(descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * ((64 - (10 + len(header) + 1) % 64) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def npz(path, **arrays):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, array in arrays.items():
            file.writestr(name + ".npy", array)


def json_lines(folder):
    source = """  fn of(s: {{ids: i64[?], stars: option[float]}}) -> {{x: float[2]}} =
    (x = stack([s.ids.sum().to(float), stack([or_else(s.stars, -1.0)])[0]]))
  train = jsonl("*.jsonl") as {{ids: i64[?], stars: option[float]}} |> map(of{skip}) |> collate(2)"""
    good = Case(folder, "jsonl", source.format(skip="").replace("{{", "{").replace("}}", "}"))
    good.write("b.jsonl", '{"ids": [7], "other": {"a": 1}}\n')
    good.write("a.jsonl", '{"ids": [1, 2], "stars": 4.5}\r\n\n{"stars": null, "ids": []}')
    check("lines of several files, in the order of their names", good.rows() == [(3, 4.5), (0, -1), (7, -1)], good.rows())
    for title, line, words in (("a number that is none", '{"ids": [1.5]}', ("a.jsonl:2", "ids", "1.5")),
                               ("no JSON", '{"ids": [1}', ("a.jsonl:2",)),
                               ("a list", "[1, 2]", ("a.jsonl:2", "no JSON object")),
                               ("a field that is missing", '{"stars": 1}', ("a.jsonl:2", "the field ids is missing")),
                               ("a text for a number", '{"ids": [1], "stars": "many"}', ("a.jsonl:2", "stars", "many"))):
        good.write("a.jsonl", '{"ids": [1]}\n' + line + "\n").refuses(f"{title} is named by file and line", "R3003", *words)
    good.write("a.jsonl", '{"idz": [1]}\n').refuses("a misspelt field is the header's", "R3002", "a.jsonl:1", "did you mean idz?")
    plain = """  train = jsonl("*.jsonl") as {n: int} |> map(s => (x = stack([1.0 * s.n, 0.0])){skip}) |> collate(2)"""
    whole = Case(folder, "whole", plain.replace("{skip}", ""))
    for title, value, shown in (("a list", "[5]", "[5]"), ("two numbers", "[1,2]", "[1,2]"), ("an empty list", "[]", "[]"),
                                ("a long list", str(list(range(10**4))), "[0,1,2,3,4,5")):
        whole.write("a.jsonl", '{"n": 1}\n{"n": %s}\n' % value)
        whole.refuses(f"{title} for a whole number", "R3003", "a.jsonl:2", f"the field n is {shown}", "but int is wanted")
        check("and shown in part", len(whole.run().text) < 2000, whole.run().text)
    skipping = Case(folder, "lists", plain.replace("{skip}", ", on_bad = skip(4)"))
    skipping.write("a.jsonl", "".join('{"n": %s}\n' % value for value in ("7", "[5]", "[1, 2]", "[]", "8")))
    check("lists for whole numbers are left out", skipping.rows() == [(7, 0), (8, 0)], skipping.rows())
    skipping = Case(folder, "skipping", source.format(skip=", on_bad = skip(1)").replace("{{", "{").replace("}}", "}"))
    skipping.write("a.jsonl", '{"ids": [1]}\n{"ids": 1.5}\n{"ids": [2]}\n')
    check("a bad line is left out", skipping.rows() == [(1, -1), (2, -1)], skipping.rows())


def arrays(folder):
    case = Case(folder, "npz", """  fn of(s: {near: f32[2], far: float[]}) -> {x: float[2]} = (x = s.near.to(float) + s.far)
  train = npz("a.npz") as {near: f32[2], far: float[]} |> map(of) |> collate(2)""")
    near, far = npy("<f4", "(2, 2)", struct.pack("<4f", 1, 2, 3, 4)), npy("<f8", "(2,)", struct.pack("<2d", 10, 20))
    npz(case.folder / "a.npz", near=near, far=far)
    check("arrays of an archive, compressed", case.rows() == [(11, 12), (23, 24)], case.rows())
    packed = (case.folder / "a.npz").read_bytes()
    middle = packed.index(b"near.npy") + 20
    case.write("a.npz", packed[:middle] + bytes([packed[middle] ^ 0x55]) + packed[middle + 1:]).refuses("a flipped bit", "R3003", "a.npz")
    case.write("a.npz", packed[:-30]).refuses("an archive that is cut off", "R3003", "a.npz")
    npz(case.folder / "a.npz", nea=near, far=far)
    case.refuses("an array that is not there", "R3002", "did you mean nea?")
    npz(case.folder / "a.npz", near=far, far=far)
    case.refuses("an array of another type", "R3002", "near holds f64[], the program says f32[2]")
    npz(case.folder / "a.npz", near=near, far=npy("<f8", "(3,)", struct.pack("<3d", 1, 2, 3)))
    case.refuses("arrays of other lengths", "R3002", "near has 2 records, far has 3")
    case = Case(folder, "npy", """  train = npy("a.npy") as {x: float[2]} |> collate(2)""")
    case.write("a.npy", near)
    check("one array", case.rows() == [(1, 2), (3, 4)], case.rows())
    case.write("a.npy", near[:-4]).refuses("an array that is cut off", "R3003", "a.npy")


def sound(folder):
    case = Case(folder, "wav", """  fn of(s: {audio: float[?, ?], rate: int, path: str}) -> {x: float[2]} {
    last = s.audio[-1]
    return (x = stack([last[-1], 1.0 * s.rate]))
  }
  train = wav("*.wav") |> map(of) |> collate(2)""")
    for name, width, frames in (("a", 2, struct.pack("<4h", 0, 1, 2, 16384)), ("b", 1, bytes([128, 64])),
                                ("c", 3, b"\0\0\x40" + b"\0\0\xc0"), ("d", 4, struct.pack("<2i", 5, -1 << 30))):
        with wave.open(str(case.folder / f"{name}.wav"), "wb") as file:
            file.setnchannels(2)
            file.setsampwidth(width)
            file.setframerate(8000)
            file.writeframes(frames)
    check("integers of all widths are parts of their range",
          case.rows() == [(0.5, 8000), (-0.5, 8000), (-0.5, 8000), (-0.5, 8000)], case.rows())
    whole = (case.folder / "a.wav").read_bytes()
    case.write("a.wav", whole[:-2]).refuses("a sound that is cut off", "R3003", "a.wav")
    case.write("a.wav", whole.replace(b"fmt \x10\0\0\0\x01\0", b"fmt \x10\0\0\0\x02\0")).refuses("a compressed sound", "R3003", "a.wav")
    with open(case.folder / "a.wav", "wb") as file:
        file.write(whole[:44])
        file.truncate(2**30 + 1)  # a hole: it takes no room
    case.refuses("a sound beyond the bound", "R3003", "a.wav", "more than 1073741824 bytes")


def streams(folder):
    case = Case(folder, "mix", """  fn first(s: {i: int}) -> {x: float[2]} = (x = stack([1.0, 1.0 * s.i]))
  fn second(s: {i: int}) -> {x: float[2]} = (x = stack([2.0, 1.0 * s.i]))
  train = mix([range(70) |> map(first) |> shuffle(1), range(5) |> map(second) |> repeat()], [0.7, 0.3]) |> collate(10)""", 2)
    rows = case.rows()
    check("ten in a row hold the shares", len(rows) == 100 and all(sum(row[0] == 1 for row in rows[at:at + 10]) == 7 for at in range(0, 91, 10)), rows)
    check("each has its own order, every record of the first comes once", sorted(i for which, i in rows if which == 1) == list(range(70))
          and [i for which, i in rows if which == 2][:10] == [0, 1, 2, 3, 4] * 2, rows)
    check("another order in the next epoch", case.rows(1) != rows and sorted(i for which, i in case.rows(1) if which == 1) == list(range(70)))
    turns = [i for epoch in (0, 1) for which, i in case.rows(epoch) if which == 2]
    check("a stream without end goes on in the next epoch", turns == [at % 5 for at in range(60)], turns)
    case = Case(folder, "fixed", """  fn one(s: {i: int}) -> {x: float[2]} = (x = stack([1.0, 1.0 * s.i]))
  fn two(s: {i: int}) -> {x: float[2]} = (x = stack([2.0, 1.0 * s.i]))
  train = mix([range(3) |> map(one), range(5) |> map(two) |> repeat()]) |> collate(6)""", 2)
    turns = [i for epoch in (0, 1) for which, i in case.rows(epoch) if which == 2]
    check("and where nothing is shuffled", turns == [at % 5 for at in range(6)], turns)
    case = Case(folder, "zip", """  fn first(s: {i: int}) -> {a: int} = (a = s.i)
  fn both(s: {a: int, i: int}) -> {x: float[2]} = (x = stack([1.0 * s.a, 1.0 * s.i]))
  train = zip(range(4) |> map(first), range(7) |> repeat(), length = min) |> map(both) |> collate(4)""", 2)
    check("beside one that ends, too", [case.rows(epoch) for epoch in (0, 1)]
          == [[(0, 0), (1, 1), (2, 2), (3, 3)], [(0, 4), (1, 5), (2, 6), (3, 0)]], case.run().text)
    case = Case(folder, "buffer", """  train = range(43) |> map(s => (x = stack([1.0 * s.i, 0.0]))) |> shuffle(3, buffer = 10) |> collate(43)""", 2)
    places = [i for i, _ in case.rows()]
    blocks = [int(i) // 10 for i in places]
    runs = [block for at, block in enumerate(blocks) if at == 0 or blocks[at - 1] != block]
    check("blocks of neighbours come in another order", sorted(places) == list(range(43)) and sorted(runs) == list(range(5)) and runs != sorted(runs), places)
    check("and the records within each", any(places[at] > places[at + 1] for at in range(42) if blocks[at] == blocks[at + 1]), places)
    check("another order of blocks in the next epoch", [i for i, _ in case.rows(1)] != places)


with scratch() as folder:
    json_lines(folder)
    arrays(folder)
    sound(folder)
    streams(folder)
finish()

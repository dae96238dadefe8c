#!/usr/bin/env python3
"""What `step predict` returns is written: one tensor, a record by its names, a tuple by its places, in every form.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import json
import pathlib
import struct
import sys
import zipfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, run, scratch

PROGRAM = """ltr 1
data Points() {
  batch[B] { x: float[B, 2] }
  fn point(s: {i: int}) -> {x: float[2]} = (x = full(2, 0.5 * s.i))
  train = synthetic(3, point) |> shuffle(1) |> collate(3)
  predict = synthetic(3, point) |> collate(2)
}
data Unread() {
  batch[B] { x: float[B, 2] }
  fn point(s: {i: int}) -> {x: float[2]} = (x = full(2, 0.5 * s.i))
  train = synthetic(3, point) |> collate(3)
}
MODELS
experiment unread { data = Unread(), model = One(), trainer { epochs = 1 } }
"""
MODEL = """
model {name}() {{
  out = Linear(2, 2)
  optimizer opt = SGD(out.weights, lr = 0.1)
  step train[B](x: float[B, 2]) {{ minimize mean(out(x)) }}
  step predict[B](x: float[B, 2]) -> {type} = {value}
}}
experiment {lower} {{ data = Points(), model = {name}(), trainer {{ epochs = 1 }} }}
"""
FORMS = {
    "One": ("float[B, 2]", "x + 1.0"),
    "Named": ("{twice: float[B, 2], place: i64[B], is_far: bool[B]}",
              "(is_far = x.sum(1) > 1.5, twice = 2.0 * x, place = full(x.shape[0], 7))"),
    "Pair": ("(float[B, 2], i64[B])", "(x, full(x.shape[0], 3))"),
    "Fewer": ("float[?, 2]", "x[x.sum(1) == x.sum(1).max()]"),
    "Alike": ("{a: float[B, 2], a_1: i64[B]}", "(a = x, a_1 = full(x.shape[0], 3))"),
    "Ragged": ("float[B, B]", "zeros(x.shape[0], x.shape[0])"),
    "Picture": ("float[B, 3, 2, 4]", "x.reshape(-1, 1, 2, 1).expand(-1, 3, 2, 4)"),
    "Maps": ("{gray: float[B, 2, 1], bytes: u8[B, 1, 1, 2]}", "(gray = x.unsqueeze(2), bytes = (x * 100.0).to(u8).reshape(-1, 1, 1, 2))"),
    "Uneven": ("{a: float[B, 2], b: i64[?]}", "(a = x, b = arange(5)[arange(5) < 3])"),
}
WANTED = {
    "one": [{"prediction": [1, 1]}, {"prediction": [1.5, 1.5]}, {"prediction": [2, 2]}],
    "named": [{"twice": [i, i], "place": 7, "is_far": 0.5 * i * 2 > 1.5} for i in range(3)],
    "pair": [{"output_0": [0.5 * i, 0.5 * i], "output_1": 3} for i in range(3)],
}
HEADERS = {"one": "prediction_0,prediction_1", "named": "twice_0,twice_1,place,is_far", "pair": "output_0_0,output_0_1,output_1"}



def pixels(path):
    """Width, height, channels and the bytes of a PNG, by section 9.2 of its specification."""
    raw, at, data = path.read_bytes(), 8, b""
    while at < len(raw):
        size, kind = struct.unpack(">I4s", raw[at:at + 8])
        if kind == b"IHDR":
            width, height, _, colour = struct.unpack(">IIBB", raw[at + 8:at + 18])
        if kind == b"IDAT":
            data += raw[at + 8:at + 8 + size]
        at += size + 12
    channels = {0: 1, 2: 3, 4: 2, 6: 4}[colour]
    rows, wide = zlib.decompress(data), width * channels
    above, out = [0] * wide, []
    for start in range(0, len(rows), wide + 1):
        row = []
        for i, value in enumerate(rows[start + 1:start + 1 + wide]):
            left, up, corner = (row[i - channels], above[i], above[i - channels]) if i >= channels else (0, above[i], 0)
            near = min((left, up, corner), key=lambda one: abs(left + up - corner - one))
            row.append((value + (0, left, up, (left + up) // 2, near)[rows[start]]) % 256)
        out, above = out + row, row
    return width, height, channels, bytes(out)


with scratch() as place:
    folder = pathlib.Path(place)
    source = folder / "forms.ltr"
    models = [MODEL.format(name=name, lower=name.lower(), type=form[0], value=form[1]) for name, form in FORMS.items()]
    source.write_text(PROGRAM.replace("MODELS", "".join(models)))
    program = build(source, folder)
    for name, wanted in WANTED.items():
        start = ("predict", name, "--weights", "new", "--write")
        result = run(program, *start, "-")
        rows = [json.loads(line) for line in result.stdout.splitlines()]
        check(f"{name}: JSON lines, in the order in which they are named", rows == wanted
              and [list(row) for row in rows] == [list(row) for row in wanted], result.text)
        result = run(program, *start, folder / f"{name}.csv")
        table = (folder / f"{name}.csv").read_text().splitlines() if result.returncode == 0 else [result.text]
        check(f"{name}: a table", table[0] == HEADERS[name] and len(table) == 4, table)
        result = run(program, *start, folder / f"{name}.npy")
        files = {f"{name}.npy"} if name == "one" else {f"{name}.{key}.npy" for key in wanted[0]}
        check(f"{name}: what was written is what is named", all(str(folder / file) in result.stderr for file in files)
              and "3 predictions in " in result.stderr, result.text)
        check(f"{name}: npy", result.returncode == 0 and {path.name for path in folder.glob(f"{name}*.npy")} == files, result.text)
        result = run(program, *start, folder / f"{name}.npz")
        entries = zipfile.ZipFile(folder / f"{name}.npz").namelist() if result.returncode == 0 else []
        check(f"{name}: npz", entries == [f"{key}.npy" for key in wanted[0]] and str(folder / f"{name}.npz") in result.stderr, result.text)
        result = run(program, *start, folder / f"{name}.safetensors")
        raw = (folder / f"{name}.safetensors").read_bytes() if result.returncode == 0 else struct.pack("<Q", 2) + b"{}"
        header = json.loads(raw[8:8 + struct.unpack("<Q", raw[:8])[0]])
        check(f"{name}: safetensors", {key: header.get(key, {}).get("shape", [0])[0] for key in wanted[0]} == dict.fromkeys(wanted[0], 3), result.text)
    result = run(program, "predict", "ragged", "--weights", "new", "--write", folder / "ragged.npz")
    check("nor an array", result.returncode == 2 and not list(folder.glob("ragged.npz*")) and "differ in size, which an array cannot hold" in result.text, result.text)
    pictures = folder / "pictures"
    result = run(program, "predict", "picture", "--weights", "new", "--write", f"{pictures}/")
    names = sorted(path.name for path in pictures.glob("*"))
    check("images in a folder", result.returncode == 0 and names == ["000001.png", "000002.png", "000003.png"]
          and f"{pictures}/" in result.stderr, [result.text, names])
    check("their pixels", [pixels(pictures / name) for name in names]
          == [(4, 2, 3, bytes([value] * 24)) for value in (0, 128, 255)], [pixels(pictures / name) for name in names])
    result = run(program, "predict", "picture", "--weights", "new", "--write", f"{pictures}/")
    check("not among others", result.returncode == 2 and "something is there already" in result.text
          and len(list(pictures.glob("*"))) == 3, result.text)
    result = run(program, "predict", "maps", "--weights", "new", "--write", f"{folder}/maps/")
    check("of several outputs each", result.returncode == 0 and sorted(path.name for path in (folder / "maps").glob("*"))
          == [f"00000{i}.{key}.png" for i in (1, 2, 3) for key in ("bytes", "gray")]
          and pixels(folder / "maps/000002.bytes.png") == (2, 1, 1, bytes([50, 50]))
          and pixels(folder / "maps/000003.gray.png") == (1, 2, 1, bytes([255, 255])), result.text)
    result = run(program, "predict", "one", "--weights", "new", "--write", f"{folder}/none/")
    check("no images", result.returncode == 2 and "prediction is no image" in result.text
          and not list(folder.glob("none*")), result.text)
    result = run(program, "predict", "alike", "--weights", "new", "--write", folder / "alike.csv")
    check("two columns of one name are refused", result.returncode == 2 and "two columns would be named a_1" in result.text, result.text)
    result = run(program, "predict", "ragged", "--weights", "new", "--write", folder / "ragged.csv")
    check("rows of unequal length are no table", result.returncode == 2 and not (folder / "ragged.csv").exists()
          and "record 3 has 1 columns and the first 2, which a table cannot hold" in result.text, result.text)
    result = run(program, "predict", "ragged", "--weights", "new", "--write", "-")
    check("but lines of JSON", result.returncode == 0 and len(result.stdout.splitlines()) == 3, result.text)
    result = run(program, "predict", "uneven", "--weights", "new", "--write", "-")
    check("outputs of unequal length are refused", result.returncode == 2 and "2 rows of a, but 3 of b" in result.text, result.text)
    result = run(program, "predict", "unread", "--weights", "new", "--write", "-")
    check("data without a stream to predict from", result.returncode == 2
          and "the data Unread has no stream `predict`" in result.text, result.text)
    result = run(program, "predict", "unread", "--weights", "new", "--write", "-", "--x", "[[1, 2]]")
    check("but what is given on the line", result.returncode == 0 and json.loads(result.stdout) == {"prediction": [2, 3]}, result.text)
    result = run(program, "predict", "fewer", "--weights", "new", "--write", "-")
    check("as many rows as records", result.returncode == 2 and "1 rows of prediction for a batch of 2" in result.text, result.text)
finish()

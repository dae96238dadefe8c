#!/usr/bin/env python3
"""Parquet and Arrow files that pyarrow writes: every value of every kind of column, by all codecs, with nulls, in row groups and several files; Spark's
folders, the folders of Hugging Face's datasets; what is refused, with file, column and row; files that are cut off or damaged.
Needs pyarrow (exit 77 without); LTRC and LTR_SOURCE say which compiler and sources.
"""
import decimal
import json
import pathlib
import random
import shutil
import struct
import sys
import zlib

try:
    import pyarrow as pa
    import pyarrow.feather as feather
    import pyarrow.parquet as pq
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "run/support"))
from harness import LTRC, build, check, finish, fit, run, scratch  # noqa: E402

if not (LTRC.parent.parent / "lib/ltr/libltr_arrow.so").exists():
    print("skipped: this build has no libltr_arrow")
    sys.exit(77)

PROGRAM = """ltr 1

type Row = {{{row}}}

data Rows() {{
  batch[B{dims}] {{ {batch} }}
  fn shown(s: Row) -> {{{made}}} = ({values})
  let rows = {source} as Row
  train   = rows |> map(shown{on_bad}) |> shuffle(1) |> collate(3{pad})
  predict = rows |> map(shown{on_bad}) |> collate(3{pad})
}}

model Echo() {{
  weight w: float[1] = ones(1)
  optimizer opt = SGD([w], lr = 1e-9)
  step train[B](n: float[B]) {{ minimize mean(n) * mean(w) }}
  step predict[B{dims}]({batch}) -> {{{batch}}} = ({echo})
}}

experiment echo {{ data = Rows(), model = Echo(), trainer {{ epochs = 1 }} }}
"""


class Reader:
    """A program over files of its own folder that says what their records hold. `fields`: (name, its type in the file, its type in a batch, how the
    one becomes the other, with S for the value)."""

    def __init__(self, folder, name, source, fields, on_bad=""):
        self.folder = pathlib.Path(folder) / name
        self.folder.mkdir()
        made = [(name, made, value.replace("S", "s." + name)) for name, _, made, value in fields] + [("n", "float", "0.0")]
        dims = [f"D{i}" for i, one in enumerate(made) if "?" in one[1]]
        batch, names = [], iter(dims)
        for one in made:
            inner = one[1]
            if "[" not in inner:
                batch.append(f"{one[0]}: {dict(int='i64', float='float', bool='bool', str='str')[inner]}[B]")
            else:
                batch.append(f"{one[0]}: {inner.replace('[]', '[B]') if '[]' in inner else inner.replace('[', '[B, ').replace('?', next(names) if '?' in inner else '')}")
        (self.folder / "rows.ltr").write_text(PROGRAM.format(
            row=", ".join(f"{field[0]}: {field[1]}" for field in fields), dims="".join(f", {dim}" for dim in dims), batch=", ".join(batch),
            made=", ".join(f"{one[0]}: {one[1]}" for one in made), values=", ".join(f"{one[0]} = {one[2]}" for one in made),
            echo=", ".join(f"{one[0]} = {one[0]}" for one in made), source=source, on_bad=on_bad, pad=", pad = -1" if dims else ""))
        self.program = None

    def __truediv__(self, name):
        return self.folder / name

    def predict(self, *options):
        self.program = self.program or build(self.folder / "rows.ltr", self.folder)
        return run(self.program, "predict", "--weights", "new", "--write", "-", "--no-bar", *options, cwd=self.folder)

    def rows(self, *options):
        done = self.predict(*options)
        if done.returncode != 0:
            return done.text
        rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        for row in rows:
            del row["n"]
        return rows

    def refuses(self, title, code, *words):
        done = self.predict()
        check(title, done.returncode == int(code[1]) and f"error[{code}]" in done.text and all(word in done.text for word in words), done.text)


def png(width, height, pixels):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    lines = b"".join(b"\0" + pixels[y * width * 3:(y + 1) * width * 3] for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


FIELDS = [("flag", "bool", "bool", "S"), ("tiny", "int", "int", "S"), ("small", "u8[]", "u8[]", "S"), ("wide", "int", "int", "S"),
          ("unsigned", "int", "int", "S"), ("half", "float", "float", "S"), ("single", "f32[]", "f32[]", "S"), ("double", "float", "float", "S"),
          ("price", "float", "float", "S"), ("count", "float", "float", "S"), ("text", "str", "str", "S"), ("kind", "str", "str", "S"),
          ("old", "str", "str", "S"), ("age", "option[int]", "int", "or_else(S, -7)"), ("nick", "option[str]", "str", 'or_else(S, "nobody")'),
          ("ratio", "option[float]", "float", "or_else(S, -0.5)"), ("never", "option[float]", "float", "or_else(S, 9.0)"),
          ("ids", "i64[?]", "i64[?]", "S"), ("marks", "bool[2]", "i64[2]", "S.to(i64)"), ("grid", "i32[2, 3]", "i32[2, 3]", "S"),
          ("vector", "float[4]", "float[4]", "S"), ("bytes", "u8[?]", "i64[?]", "S.to(i64)")]


def table(count, seed):
    """Columns as pyarrow makes them, and the rows that they are."""
    chance = random.Random(seed)
    words = ["", "a", "größe", "日本語", "x" * 300, "\n\t\"'", "🎲"]
    rows = []
    for i in range(count):
        rows.append({
            "flag": chance.random() < 0.5, "tiny": chance.randint(-128, 127), "small": chance.randint(0, 255),
            "wide": chance.choice([2**63 - 1, -2**63, 0, chance.randint(-10**12, 10**12)]), "unsigned": chance.randint(0, 2**32 - 1),
            "half": chance.randint(-8, 8) / 4, "single": chance.randint(-100, 100) / 8, "double": chance.randint(-1000, 1000) / 16,
            "price": chance.randint(-1000, 1000) / 4, "count": chance.randint(-5, 5), "text": chance.choice(words), "kind": chance.choice(["one", "two", "drei"]),
            "old": chance.choice(words), "age": chance.choice([None, 1, 99]), "nick": chance.choice([None, *words]), "ratio": chance.choice([None, 0.25, -3.5]),
            "never": None, "ids": [chance.randint(0, 50000) for _ in range(chance.randint(0, 5))], "marks": [chance.random() < 0.5 for _ in range(2)],
            "grid": [[chance.randint(-9, 9) for _ in range(3)] for _ in range(2)], "vector": [chance.randint(-9, 9) / 2 for _ in range(4)],
            "bytes": bytes(chance.randint(0, 255) for _ in range(chance.randint(0, 4)))})
    types = {"flag": pa.bool_(), "tiny": pa.int8(), "small": pa.uint8(), "wide": pa.int64(), "unsigned": pa.uint32(), "half": pa.float16(),
             "single": pa.float32(), "double": pa.float64(), "price": pa.decimal128(9, 2), "count": pa.int16(), "text": pa.string(),
             "kind": pa.dictionary(pa.int8(), pa.string()), "old": pa.binary(), "age": pa.int32(), "nick": pa.large_string(), "ratio": pa.float32(),
             "never": pa.null(), "ids": pa.list_(pa.int32()), "marks": pa.list_(pa.bool_(), 2), "grid": pa.list_(pa.list_(pa.int16())),
             "vector": pa.list_(pa.float64(), 4), "bytes": pa.large_binary(), "unread": pa.timestamp("us")}
    columns = {}
    for name, kind in types.items():
        values = [row.get(name) for row in rows]
        if name == "price":
            values = [decimal.Decimal(value).quantize(decimal.Decimal("0.01")) for value in values]
        if name == "old":
            values = [value.encode() for value in values]
        columns[name] = pa.array(values, kind) if name != "kind" else pa.array(values).dictionary_encode()
    return pa.table(columns), rows


def expected(rows):
    """What the program prints of them."""
    longest = {name: [max(len(row[name]) for row in rows[i - i % 3:i - i % 3 + 3]) for i in range(len(rows))] for name in ("ids", "bytes")}
    shown = []
    for i, row in enumerate(rows):
        row = dict(row)
        row["age"] = -7 if row["age"] is None else row["age"]
        row["nick"] = "nobody" if row["nick"] is None else row["nick"]
        row["ratio"] = -0.5 if row["ratio"] is None else row["ratio"]
        row["never"] = 9.0
        row["marks"] = [int(one) for one in row["marks"]]
        for name in longest:
            row[name] = list(row[name]) + [-1] * (longest[name][i] - len(row[name]))
        shown.append(row)
    return shown


def same(title, reader, rows, *options):
    found = reader.rows(*options)
    if isinstance(found, str) or len(found) != len(rows):
        return check(title, False, found if isinstance(found, str) else f"{len(found)} rows, not {len(rows)}")
    wrong = [f"row {i} {name}: {found[i][name]!r}, not {value!r}" for i, row in enumerate(rows) for name, value in row.items() if found[i][name] != value]
    return check(title, not wrong, "\n".join(wrong[:5]))


def values(folder):
    whole, rows = table(50, 1)
    reader = Reader(folder, "parquet", 'parquet("*.parquet")', FIELDS)
    for codec in ("none", "snappy", "gzip", "zstd", "lz4", "brotli"):
        for form in ({}, {"use_dictionary": False}, {"data_page_version": "2.0", "row_group_size": 7}, ):
            pq.write_table(whole, reader / "a.parquet", compression=codec, **form)
            same(f"parquet, {codec} {form or ''}", reader, expected(rows))
    for encoding in ("DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"):
        column = "wide" if encoding.startswith("DELTA") else "double"
        pq.write_table(whole, reader / "a.parquet", use_dictionary=False, column_encoding={column: encoding})
        same(f"parquet, {encoding}", reader, expected(rows))
    (reader / "a.parquet").unlink()
    for i, begin in enumerate(range(0, 50, 12)):
        pq.write_table(whole.slice(begin, 12), reader / f"part-{i}.parquet", row_group_size=5)
    same("several files in row groups", reader, expected(rows))
    for workers in (0, 3):
        same(f"the same for {workers} workers", reader, expected(rows), "--set", f"topology.workers={workers}")

    reader = Reader(folder, "arrow", 'arrow("*.arrow")', FIELDS)
    for codec in (None, "lz4", "zstd"):
        options = pa.ipc.IpcWriteOptions(compression=codec)
        for kind, make in (("file", pa.ipc.new_file), ("stream", pa.ipc.new_stream)):
            with make(str(reader / "a.arrow"), whole.schema, options=options) as writer:
                writer.write_table(whole, max_chunksize=13)
            same(f"arrow {kind}, {codec}", reader, expected(rows))
    feather.write_feather(whole, str(reader / "a.arrow"))
    same("feather", reader, expected(rows))
    (reader / "a.arrow").write_bytes(b"FEA1" + bytes(60) + b"FEA1")
    reader.refuses("feather of version 1", "R3003", "a.arrow", "version 1")


def media(folder):
    fields = [("image", "u8[3, ?, ?]", "float", "S.to(float).sum().item()"), ("sound", "float[?, ?]", "float", "1.0 * S.shape[1]")]
    wav = b"RIFF" + struct.pack("<I", 44) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16) + b"data" + struct.pack("<I4h", 8, 0, 1, 2, 3)
    picture = png(2, 1, bytes([1, 2, 3, 4, 5, 6]))
    reader = Reader(folder, "media", 'parquet("a.parquet")', fields)

    def write(images, kind, sounds=None):
        pq.write_table(pa.table({"image": pa.array(images, kind), "sound": pa.array(sounds or [wav] * len(images))}), reader / "a.parquet")

    shown = [{"image": 21.0, "sound": 4.0}]
    write([picture], pa.binary())
    same("images and sound in bytes", reader, shown)
    record = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    (reader / "a.png").write_bytes(picture)
    write([{"bytes": picture, "path": "none.png"}, {"bytes": None, "path": "a.png"}], record)
    same("as Hugging Face's datasets keep them", reader, shown * 2)
    write(["a.png"], pa.string())
    same("in files that a cell names", reader, shown)
    write([[[[1, 2]], [[3, 4]], [[5, 6]]]], pa.list_(pa.list_(pa.list_(pa.uint8()))))
    same("as lists", reader, shown)
    write([picture, picture[:40]], pa.binary())
    reader.refuses("an image that is cut off", "R3003", "a.parquet row 2", "the field image")
    write(["none.png"], pa.string())
    reader.refuses("an image that is not there", "R3003", "a.parquet row 1", "none.png")
    write([picture], pa.binary(), [b"no sound"])
    reader.refuses("a text as sound", "R3003", "a.parquet row 1", "the field sound")


def refusals(folder):
    one = [("x", "float", "float", "S")]
    reader = Reader(folder, "wrong", 'parquet("a.parquet")', one)
    for title, column, words in (("a text for a number", pa.array(["many"]), ("the column x holds string", "float")),
                                 ("dates", pa.array([0], pa.timestamp("s")), ("holds timestamp[", "timestamp()")),
                                 ("lists", pa.array([[1.0]]), ("holds list<",)), ("a truth", pa.array([True]), ("holds bool",))):
        pq.write_table(pa.table({"x": column}), reader / "a.parquet")
        reader.refuses(title, "R3002", "a.parquet", *words)
    pq.write_table(pa.table({"y": [1.0], "xx": [2.0]}), reader / "a.parquet")
    reader.refuses("a column that is not there", "R3002", "a.parquet", "no column x", "y, xx")
    result = run(LTRC, "check", reader / "rows.ltr")
    check("which the compiler says, too", result.returncode == 1 and "error[E0512]" in result.text and "xx" in result.text, result.text)
    pq.write_table(pa.table([pa.array([1.0]), pa.array([2.0])], names=["x", "x"]), reader / "a.parquet")
    reader.refuses("two columns of one name", "R3002", "a.parquet", "two columns x")
    pq.write_table(pa.table({"x": [1.0, None, 3.0]}), reader / "a.parquet")
    done = reader.predict()
    check("null is nan of a float, and told", "null in 1 of 3 rows" in done.text and "NaN" in done.text.replace("nan", "NaN"), done.text)
    arrow, table = Reader(folder, "nulls", 'arrow("a.arrow")', one), pa.table({"x": [1.0, None, 3.0]})
    for codec in (None, "zstd"):
        for kind, make in (("file", pa.ipc.new_file), ("stream", pa.ipc.new_stream)):
            with make(str(arrow / "a.arrow"), table.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as writer:
                writer.write_table(table)
            done = arrow.predict()
            check(f"so of an arrow {kind}, {codec}", "null in 1 of 3 rows" in done.text, done.text)
    for title, kind, column, words in (
            ("null without an option", "int", pa.array([1, None, 3]), ("a.parquet row 2", "the field x is null", "option")),
            ("a number that no i64 holds", "int", pa.array([0, 2**64 - 1], pa.uint64()), ("a.parquet row 2", "18446744073709551615")),
            ("a list of another length", "i64[2]", pa.array([[1, 2], [3]]), ("a.parquet row 2", "is [1]", "i64[2]")),
            ("lists of two lengths", "i64[2, 2]", pa.array([[[1, 2], [3]]]), ("a.parquet row 1", "of 2 and of 1")),
            ("a null in a list", "i64[2]", pa.array([[1, None]]), ("a.parquet row 1", "null among its numbers")),
            ("a list that is null", "i64[2]", pa.array([[1, 2], None]), ("a.parquet row 2", "is null")),
            ("a number that is too large", "u8[2]", pa.array([[1, 300]]), ("a.parquet row 1", "no u8"))):
        wrong = Reader(folder, title, 'parquet("a.parquet")', [("x", kind, "float", "1.0")])
        pq.write_table(pa.table({"x": column}), wrong / "a.parquet")
        wrong.refuses(title, "R3003", *words)
    skipping = Reader(folder, "skipped", 'parquet("a.parquet")', [("x", "int", "int", "S")], ", on_bad = skip(1)")
    pq.write_table(pa.table({"x": [1, None, 3]}), skipping / "a.parquet")
    same("a bad row is left out", skipping, [{"x": 1}, {"x": 3}])
    pq.write_table(pa.table({"x": pa.array([], pa.int64())}), skipping / "a.parquet")
    skipping.refuses("a file without rows", "R3005", "no batch")
    (skipping / "a.parquet").unlink()
    skipping.refuses("a file that is not there", "R3001", "a.parquet")


def folders(folder):
    fields = [("x", "int", "int", "S"), ("year", "int", "int", "S"), ("town", "str", "str", "S")]
    reader = Reader(folder, "spark", 'parquet("out")', fields)
    shown = []
    for year in (2023, 2024):
        for town in ("Bonn", "Köln am Rhein/2"):
            place = reader / f"out/year={year}/town={town.replace('/', '%2F').replace(' ', '%20')}"
            place.mkdir(parents=True)
            pq.write_table(pa.table({"x": [year, 1]}), place / "part-00000-1.snappy.parquet")
            (place / ".part-00000-1.snappy.parquet.crc").write_bytes(b"crc")
            shown += [{"x": x, "year": year, "town": town} for x in (year, 1)]
    (reader / "out/_SUCCESS").write_bytes(b"")
    (reader / "out/_temporary").mkdir()
    (reader / "out/_temporary/a.parquet").write_bytes(b"half")
    same("a folder as Spark writes it, its folders as columns", reader, shown)
    (reader / "out/year=2024").rename(reader / "out/year=many")
    reader.refuses("a folder that is no number", "R3002", "year=many", "year in its path is \"many\"", "int is wanted")
    (reader / "out/year=many").rename(reader / "out/month=1")
    reader.refuses("a column that no file or folder has", "R3002", "no column year", "month")
    shutil.rmtree(reader / "out")
    (reader / "out").mkdir()
    reader.refuses("an empty folder", "R3001", "out", ".parquet")


def hugging_face(folder):
    features = {"text": {"dtype": "string", "_type": "Value"}, "label": {"names": ["neg", "pos"], "_type": "ClassLabel"}}
    schema = pa.schema([("text", pa.string()), ("label", pa.int64())], metadata={"huggingface": json.dumps({"info": {"features": features}})})

    def rows(begin, count):
        return pa.table({"text": [f"t{i}" for i in range(begin, begin + count)], "label": [i % 2 for i in range(begin, begin + count)]}, schema=schema)

    fields = [("text", "str", "str", "S"), ("label", "option[str]", "str", 'or_else(S, "nothing")')]
    shown = [{"text": f"t{i}", "label": ["neg", "pos"][i % 2]} for i in range(5)]
    reader = Reader(folder, "hf", 'hf_dataset("set", "train")', fields)

    def write(path, content):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))

    def stream(path, content):
        with pa.ipc.new_stream(str(path), content.schema) as writer:
            writer.write_table(content, max_chunksize=2)

    state = {"_data_files": [{"filename": "data-00000-of-00002.arrow"}, {"filename": "data-00001-of-00002.arrow"}], "_indices_data_files": None, "_split": "train"}
    for place, title in ((reader / "set/train", "a dict of data sets"), (reader / "set", "one data set")):
        if title.startswith("a dict"):
            write(reader / "set/dataset_dict.json", {"splits": ["train", "test"]})
        else:
            (reader / "set/dataset_dict.json").unlink()
        write(place / "state.json", state)
        stream(place / "data-00000-of-00002.arrow", rows(0, 3))
        stream(place / "data-00001-of-00002.arrow", rows(3, 2))
        same(f"{title} that was saved, labels by their names", reader, shown)
        if title.startswith("a dict"):
            write(reader / "set/dataset_dict.json", {"splits": ["test", "training"]})
            reader.refuses("a split that is not there", "R3002", "no split train", "did you mean training")
            write(reader / "set/dataset_dict.json", {"splits": ["train", "test"]})
    for title, content, words in (("an index", {**state, "_indices_data_files": [{"filename": "i.arrow"}]}, ("flatten_indices",)),
                                  ("a file elsewhere", {**state, "_data_files": [{"filename": "../../etc/x.arrow"}]}, ("outside of its folder",)),
                                  ("files that are none", {**state, "_data_files": [3]}, ("filename",)), ("no files", {}, ("_data_files",)), ("no JSON", "{", ("state.json",))):
        write(reader / "set/state.json", content)
        reader.refuses(f"a data set with {title}", "R3003", "state.json", *words)
    write(reader / "set/state.json", {**state, "_split": "test"})
    reader.refuses("another split", "R3002", "no split train", "test")

    for title, names in (("of the hub", ["data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet", "data/test-00000-of-00001.parquet"]),
                         ("of the hub, converted", ["default/train/0000.parquet", "default/train/0001.parquet", "default/test/0000.parquet"]),
                         ("of the cache", ["s-train-00000-of-00002.arrow", "s-train-00001-of-00002.arrow", "s-test.arrow"])):
        place = Reader(folder, title, 'hf_dataset("set", "train")', fields)
        for name, part in zip(names, (rows(0, 3), rows(3, 2), rows(5, 1))):
            (place / "set" / name).parent.mkdir(parents=True, exist_ok=True)
            stream(place / "set" / name, part) if name.endswith(".arrow") else pq.write_table(part, place / "set" / name)
        same(f"files {title}", place, shown)
        if title == "of the hub":
            (place / "set/other").mkdir()
            pq.write_table(rows(0, 1), place / "set/other/train-00000-of-00001.parquet")
            place.refuses("two sets in one folder", "R3002", "train is there more than once", "other")
    (place / "set").rename(place / "sets")
    (place / "set").mkdir()
    place.refuses("an empty folder", "R3001", "dataset_dict.json")
    unlabelled = Reader(folder, "unlabelled", 'hf_dataset("set", "test")', fields)
    (unlabelled / "set").mkdir()
    labels = pa.table({"text": ["a", "b", "c"], "label": [1, -1, None]}, schema=schema)
    pq.write_table(labels, unlabelled / "set/test.parquet")
    same("-1 is no label", unlabelled, [{"text": "a", "label": "pos"}, {"text": "b", "label": "nothing"}, {"text": "c", "label": "nothing"}])
    pq.write_table(pa.table({"text": ["a"], "label": [2]}, schema=schema), unlabelled / "set/test.parquet")
    unlabelled.refuses("a label beyond its classes", "R3003", "test.parquet row 1", "the field label is 2", "0 to 1")
    numbers = Reader(folder, "numbers", 'hf_dataset("set", "test")', [("label", "int", "int", "S")])
    (numbers / "set").mkdir()
    pq.write_table(rows(0, 2), numbers / "set/test.parquet")
    same("labels by their numbers", numbers, [{"label": 0}, {"label": 1}])


def damage(folder):
    """What a damaged file gives is a code and its name, or the rows; never an end without a word."""
    fields = [("x", "float", "float", "S"), ("t", "str", "str", "S"), ("v", "i64[2]", "i64[2]", "S")]
    content = pa.table({"x": [float(i) for i in range(40)], "t": [f"t{i}" for i in range(40)], "v": [[i, i + 1] for i in range(40)]})
    for source, ending in (("parquet", "parquet"), ("arrow", "file"), ("arrow", "stream")):
        reader = Reader(folder, f"damaged {ending}", f'{source}("a.data")', fields)
        if ending == "parquet":
            pq.write_table(content, reader / "a.data", row_group_size=10, compression="zstd")
        else:
            with (pa.ipc.new_file if ending == "file" else pa.ipc.new_stream)(str(reader / "a.data"), content.schema) as writer:
                writer.write_table(content, max_chunksize=10)
        whole = (reader / "a.data").read_bytes()
        chance = random.Random(3)
        faults, codes = [], set()

        def tried(title, bytes_):
            (reader / "a.data").write_bytes(bytes_)
            done = reader.predict()
            codes.add(done.returncode)
            is_said = done.returncode == 3 and ("error[R3003]" in done.text or "error[R3002]" in done.text) and "a.data" in done.text
            if done.returncode != 0 and not is_said:
                faults.append(f"{title}: exit {done.returncode}\n{done.text[-500:]}")

        for size in (0, 1, 4, 7, 8, len(whole) // 3, len(whole) - 9, len(whole) - 1):
            tried(f"cut to {size}", whole[:size])
        for _ in range(24):
            bytes_ = bytearray(whole)
            for _ in range(chance.randint(1, 8)):
                # The end of a file says where all lies.
                at = chance.randrange(len(whole)) if chance.random() < 0.5 else max(0, len(whole) - 1 - chance.randrange(300))
                bytes_[at] = chance.choice([0, 255, 127, 128, chance.randrange(256)])
            tried("bytes", bytes(bytes_))
        check(f"{ending}: damage is said", not faults and 3 in codes, "\n".join(faults[:3]))
        (reader / "a.data").write_bytes(b"PK\x03\x04 something else entirely")
        reader.refuses(f"{ending}: another format", "R3003", "a.data")
    other = Reader(folder, "exchanged", 'parquet("a.data")', fields)
    with pa.ipc.new_file(str(other / "a.data"), content.schema) as writer:
        writer.write_table(content)
    other.refuses("an Arrow file as Parquet", "R3003", "a.data", "arrow(")


def without_library(folder):
    """A runtime that stands elsewhere, without the library beside it."""
    reader = Reader(folder, "missing", 'parquet("a.parquet")', [("x", "float", "float", "S")])
    pq.write_table(pa.table({"x": [1.0]}), reader / "a.parquet")
    reader.rows()
    runtime = LTRC.parent.parent / "lib/ltr/libltr_runtime.so"
    (reader / "lib").mkdir()
    (reader / "lib/libltr_runtime.so").write_bytes(runtime.read_bytes())
    done = run("env", f"LD_PRELOAD={reader / 'lib/libltr_runtime.so'}", reader.program, "predict", "--weights", "new", "--write", "-", "--no-bar", cwd=reader.folder)
    check("without its library: R3001 says how to get it", done.returncode == 3 and "error[R3001]" in done.text and "libltr_arrow.so is missing" in done.text
          and "LTR_ARROW" in done.text, done.text)


with scratch() as place:
    for part in (values, media, refusals, folders, hugging_face, damage, without_library):
        if len(sys.argv) < 2 or part.__name__ in sys.argv[1:]:
            part(place)
finish()

#!/usr/bin/env python3
"""Files that a source reads or refuses, and streams in turns: tables with images, JSON lines, NumPy's arrays, tensors, whole files,
examples of TensorFlow, databases, archives, sound, small photographs; `mix` and `shuffle(buffer = …)`. What each record holds is printed by the step.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import ctypes
import gzip
import io
import json
import math
import pathlib
import sqlite3
import struct
import sys
import tarfile
import wave
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import check, finish, scratch
from png import png
from row_case import Case

def npy(descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * ((64 - (10 + len(header) + 1) % 64) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def npz(path, **arrays):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, array in arrays.items():
            file.writestr(name + ".npy", array)


def flac(path, channels, rate, bits, samples):
    """Writes interleaved `samples` with libFLAC, which the runtime decodes with."""
    library = ctypes.CDLL("libFLAC.so.12")
    library.FLAC__stream_encoder_new.restype = ctypes.c_void_p
    encoder = ctypes.c_void_p(library.FLAC__stream_encoder_new())
    for setting, value in (("channels", channels), ("sample_rate", rate), ("bits_per_sample", bits), ("compression_level", 5)):
        getattr(library, f"FLAC__stream_encoder_set_{setting}")(encoder, value)
    library.FLAC__stream_encoder_init_file(encoder, str(path).encode(), None, None)
    library.FLAC__stream_encoder_process_interleaved(encoder, (ctypes.c_int32 * len(samples))(*samples), len(samples) // channels)
    library.FLAC__stream_encoder_finish(encoder)
    library.FLAC__stream_encoder_delete(encoder)


def images(folder):
    """A picture and its mask, which a table or a line names."""
    source = """  fn of(s: {image: u8[3, ?, ?], mask: u8[1, ?, ?], n: int}) -> {x: float[2]} =
    (x = stack([s.image.to(float).sum() + 1.0 * s.n, s.mask.to(float).mean()]))
  train = %s as {image: u8[3, ?, ?], mask: u8[1, ?, ?], n: int} |> map(of) |> collate(2)"""
    for kind, call in (("csv", 'csv("a.csv")'), ("jsonl", 'jsonl("a.jsonl")')):
        case = Case(folder, f"{kind} images", source % call)
        (case.folder / "p").mkdir()
        case.write("p/a.png", png(2, 1, 3, bytes([1, 2, 3, 4, 5, 6]))).write("p/m.png", png(2, 2, 1, bytes([0, 4, 8, 8])))
        row = {"image": "p/a.png", "mask": "p/m.png", "n": 7}
        name = f"a.{kind}"

        def write(*rows):
            lines = [json.dumps(one) for one in rows] if kind == "jsonl" else ["image,mask,n"] + [",".join(map(str, one.values())) for one in rows]
            case.write(name, "\n".join(lines) + "\n")
            return case

        check(f"{kind}: images that a cell names", write(row, {**row, "n": 0}).rows() == [(28, 5), (21, 5)], case.run().text)
        line = 3 if kind == "csv" else 2
        write(row, {**row, "image": "p/none.png"}).refuses(f"{kind}: an image that is not there", "R3003", f"{name}:{line}", "p/none.png", "No such file")
        case.write("p/half.png", (case.folder / "p/a.png").read_bytes()[:50])
        write(row, {**row, "image": "p/half.png"}).refuses(f"{kind}: an image that is cut off", "R3003", f"{name}:{line}", "p/half.png")
        case.write("p/text.png", "no image")
        write(row, {**row, "mask": "p/text.png"}).refuses(f"{kind}: a text as image", "R3003", f"{name}:{line}", "the field mask", "p/text.png")
    case = Case(folder, "sized", """  train = csv("a.csv") as {image: u8[3, 2, 2]} |> map(s => (x = stack([s.image.to(float).sum(), 0.0]))) |> collate(1)""")
    case.write("a.png", png(2, 1, 3, bytes(6))).write("a.csv", "image\na.png\n").refuses("an image of another size", "R3003", "a.csv:2", "the image is 1 x 2")
    case = Case(folder, "wide", """  train = csv("a.csv") as {x: float[2]} |> collate(1)""")
    case.write("a.csv", "x\n1\n").refuses("a tensor in a cell", "R3002", "x is float[2], but a cell is one number", "stack")


def databases(folder):
    source = """  fn of(s: {a: int, b: float, c: option[str], v: f32[2]}) -> {x: float[2]} =
    (x = stack([stack([1.0 * s.a + s.b + class_of(s.c, ["one", "two"], missing = 5)])[0], s.v.to(float).sum()]))
  train = sqlite("x.db", "%s") as {a: int, b: float, c: option[str], v: f32[2]} |> map(of%s) |> collate(2)"""
    case = Case(folder, "sqlite", source % ("select * from t order by a", ""))

    def fill(case, rows):
        (case.folder / "x.db").unlink(missing_ok=True)
        with sqlite3.connect(case.folder / "x.db") as base:
            base.execute("create table t (a, b, c, v)")
            base.executemany("insert into t values (?, ?, ?, ?)", rows)
        base.close()
        return case

    good = [(2, 0.5, "two", struct.pack("<2f", 3, 4)), (1, 7, None, struct.pack("<2f", 1, 1)), (3, 1e3, "one", struct.pack("<2f", 0, 0))]
    check("the rows of a query, in its order", fill(case, good).rows() == [(13, 2), (3.5, 7), (1003, 0)], case.run().text)
    for title, row, words in (("a text for a number", ("many", 1, "one", good[0][3]), ("row 1", "the field a is \"'many'\"", "int is wanted")),
                              ("a part for a whole number", (0.5, 1, "one", good[0][3]), ("row 1", "the field a is \"0.5\"")),
                              ("a whole number that is kept as a part", (1.0, 1, "one", good[0][3]), ("row 1", "the field a is \"1.0\"")),
                              ("NULL where there is no option", (0, None, "one", good[0][3]), ("row 1", "the field b is empty")),
                              ("a blob of another size", (0, 1, "one", b"123"), ("row 1", "the field v: 3 bytes, not 8"))):
        fill(case, [row, *good]).refuses(title, "R3003", "x.db row 1" if row[0] != "many" else "x.db row 4", *[word for word in words if word != "row 1"])
    skipping = Case(folder, "skipped rows", source % ("select * from t order by rowid", ", on_bad = skip(1)"))
    check("a bad row is left out", fill(skipping, [good[0], ("x", 1, None, good[0][3]), good[1]]).rows() == [(3.5, 7), (13, 2)], skipping.run().text)
    with sqlite3.connect(case.folder / "x.db") as base:
        base.execute("pragma journal_mode = wal")
        base.execute("insert into t values (9, 9, 'one', null)")
        base.commit()
        case.refuses("a database whose newest rows lie beside it", "R3003", "x.db-wal", "wal_checkpoint")
    base.close()
    case.write("x.db", b"no database at all" * 100).refuses("no database", "R3003", "x.db", "not a database")
    whole = (fill(case, good * 200).folder / "x.db").read_bytes()
    case.write("x.db", whole[:len(whole) // 2]).refuses("a database that is cut off", "R3003", "x.db", "malformed")
    fill(case, good)
    (case.folder / "x.db").unlink()
    case.refuses("a database that is not there", "R3001", "x.db")
    for title, query, words in (("a misspelt table", "select a, b, c, v from tt", ("no such table",)),
                                ("a query that writes", "delete from t", ("gives no rows",)),
                                ("two queries", "select * from t; select 1", ("more than one statement",)),
                                ("a column that the query lacks", "select a, b, c from t", ("no column v", "a, b, c"))):
        wrong = Case(folder, title, source % (query, ""))
        wrong.run()  # The compiler looks into a database that is there, too.
        fill(wrong, good).refuses(title, "R3002", *words)
    wrong = Case(folder, "unordered", source % ("select * from t", ""))
    check("an order that nobody says is told", "order by" in fill(wrong, good).run().text, wrong.run().text)


def archives(folder):
    source = """  fn of(s: {png: u8[3, ?, ?], cls: int, txt: option[str], seg_npy: i64[?], __key__: str}) -> {x: float[2]} =
    (x = stack([s.png.to(float).sum() + 100.0 * s.cls, s.seg_npy.sum().to(float) + 1000.0 * s.__key__.length]))
  train = tar_shards("*.tar%s") as {png: u8[3, ?, ?], cls: int, txt: option[str], seg_npy: i64[?], __key__: str} |> map(of%s) |> collate(2)"""
    image, seg = png(2, 1, 3, bytes([1, 2, 3, 4, 5, 6])), npy("<i8", "(2,)", struct.pack("<2q", 3, 4))
    sample = {"png": image, "cls": b"3\n", "seg.npy": seg}

    def write(case, name, *samples, kind=tarfile.GNU_FORMAT):
        with tarfile.open(case.folder / name, "w:gz" if name.endswith("gz") else "w", format=kind) as archive:
            for key, members in samples:
                for ending, data in members.items() if isinstance(members, dict) else members:
                    entry = tarfile.TarInfo(f"{key}.{ending}")
                    entry.size = len(data)
                    archive.addfile(entry, io.BytesIO(data))
        return case

    case = Case(folder, "tar", source % ("", ""))
    write(case, "b.tar", ("x" * 150 + "/c", sample), kind=tarfile.PAX_FORMAT)
    write(case, "a.tar", ("k/a", sample), ("k/b", {**sample, "cls": b"0", "txt": b"hello"}), ("__notes", {"json": b"{}"}))
    check("samples of several archives", case.rows() == [(321, 3007), (21, 3007), (321, 152007)], case.run().text)
    (case.folder / "b.tar").unlink()
    for title, members, words in (("a number that is none", {**sample, "cls": b"many"}, ("a.tar:k/b", "cls", "many")),
                                  ("an image that is none", {**sample, "png": b"text"}, ("a.tar:k/b", "png")),
                                  ("an image that is cut off", {**sample, "png": image[:-30]}, ("a.tar:k/b", "png")),
                                  ("an array that is cut off", {**sample, "seg.npy": seg[:-3]}, ("a.tar:k/b", "seg_npy")),
                                  ("an array of parts", {**sample, "seg.npy": npy("<f4", "(2,)", bytes(8))}, ("a.tar:k/b", "seg_npy", "f32")),
                                  
                                  ("a file that is missing", {"png": image, "cls": b"1"}, ("a.tar:k/b", "seg_npy", "no file of this sample")),
                                  ("two files of one ending", [*sample.items(), ("cls", b"4")], ("a.tar:k/b", "two files", "cls"))):
        write(case, "a.tar", ("k/a", sample), ("k/b", members)).refuses(title, "R3003", *words)
    write(case, "a.tar", ("k/a", {"png": image, "cls": b"1", "seg.npz": seg})).refuses("a misspelt ending", "R3002", "a.tar:k/a", "did you mean seg_npz?")
    wide = Case(folder, "tar of numbers", """  train = tar_shards("*.tar") as {v_npy: float[2], n_json: option[float]} |> map(r => (x = r.v_npy + or_else(r.n_json, 5.0))) |> collate(2)""")
    floats = npy("<f4", "(2,)", struct.pack("<2f", 1, 2))
    write(wide, "a.tar", ("a", {"v.npy": floats, "n.json": b"null"}), ("b", {"v.npy": floats, "n.json": b"1"}), ("c", {"v.npy": floats}))
    check("null of an option is none", wide.rows() == [(6, 7), (2, 3), (6, 7)], wide.run().text)
    write(wide, "a.tar", ("a", {"v.npy": npy("<f8", "(2,)", struct.pack("<2d", 1, 2))})).refuses(
        "an array of more digits", "R3003", "a.tar:a", "the field v_npy: it holds f64, of which float would lose some")
    write(wide, "a.tar", ("a", {"v.npy": floats, "n.json": b'"x"'})).refuses("a text that is no number", "R3003", 'a.tar:a: the field n_json is "x", but float is wanted')
    whole = (write(case, "a.tar", ("k/a", sample), ("k/b", sample)).folder / "a.tar").read_bytes()
    case.write("a.tar", whole[:2000]).refuses("an archive that is cut off", "R3003", "a.tar", "ends early")
    case.write("a.tar", whole[:6144]).refuses("one that is cut off between files", "R3003", "a.tar", "ends early")
    case.write("a.tar", whole[:100] + b"7" + whole[101:]).refuses("a header that was changed", "R3003", "a.tar")
    case.write("a.tar", b"x" * 2000).refuses("no archive", "R3003", "a.tar", "no tar archive")
    case.write("a.tar", whole + whole).refuses("two archives in one file", "R3003", "a.tar", "more behind the end")
    skipping = Case(folder, "skipped samples", source % ("", ", on_bad = skip(1)"))
    write(skipping, "a.tar", ("a", sample), ("b", {**sample, "cls": b"x"}), ("c", sample))
    check("a bad sample is left out", skipping.rows() == [(321, 1007), (321, 1007)], skipping.run().text)
    packed = Case(folder, "packed", source % (".gz", ""))
    check("an archive that is packed", write(packed, "a.tar.gz", ("aa", sample)).rows() == [(321, 2007)], packed.run().text)


def photographs(folder):
    for name, labels, files in (("cifar10", 1, ["test_batch.bin"]), ("cifar100", 2, ["test.bin"])):
        coarse = ", coarse: u8" if labels == 2 else ""
        second = "s.coarse" if labels == 2 else "s.image[2, 0, 0]"
        case = Case(folder, name, f"""  fn of(s: {{image: u8[3, 32, 32], label: u8{coarse}}}) -> {{x: float[2]}} =
    (x = stack([s.image.to(float).mean() + s.label.to(float), {second}.to(float)]))
  train = {name}(".", train = false) |> map(of) |> collate(2)""")
        record = lambda label, other, value: (bytes([other]) if labels == 2 else b"") + bytes([label]) + bytes([value]) * 3072
        case.write(files[0], record(1, 4, 7) + record(9, 3, 2))
        check(f"{name}: labels and images", case.rows() == ([(8, 4), (11, 3)] if labels == 2 else [(8, 7), (11, 2)]), case.run().text)
        case.write(files[0], record(1, 4, 7) + record(200, 3, 2)).refuses(f"{name}: a label that is no class", "R3007", f"{files[0]} record 1", "200")
        case.write(files[0], record(1, 4, 7)[:-1]).refuses(f"{name}: a record that is cut off", "R3003", files[0], "middle of record 0")
        case.write(files[0], b"").refuses(f"{name}: an empty file", "R3005", files[0])
        (case.folder / files[0]).unlink()
        case.refuses(f"{name}: no file", "R3001", files[0])


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
    for title, value, shown in (("a list", "[5]", "[5]"), ("two numbers", "[1,2]", "[1,2]"), ("an empty list", "[]", "[]"), ("a truth", "true", "true"),
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
    plain = Case(folder, "plain", """  fn of(s: {far: float, n: int}) -> {x: float[2]} = (x = stack([s.far, 1.0 * s.n]))
  train = npz("a.npz") as {far: float, n: int} |> map(of) |> collate(2)""")
    npz(plain.folder / "a.npz", far=far, n=npy("<i4", "(2,)", struct.pack("<2i", 7, -8)))
    check("a number for each record is a `float` or an `int`", plain.rows() == [(10, 7), (20, -8)], plain.rows())
    check("numbers that are finite are not spoken of", "not finite" not in plain.run().text and "the field" not in plain.run().text, plain.run().text)
    npz(plain.folder / "a.npz", far=npy("<f8", "(3,)", struct.pack("<3d", 10, math.nan, -math.inf)), n=npy("<i4", "(3,)", struct.pack("<3i", 7, -8, 9)))
    check("one that is not is said with its file, record and field", "a.npz record 1: the field far is nan; 2 numbers of this file are not finite" in plain.run().text, plain.run().text)
    npz(plain.folder / "a.npz", far=npy("<f8", "(2,)", struct.pack("<2d", 10, -math.inf)), n=npy("<i4", "(2,)", struct.pack("<2i", 7, -8)))
    check("and if there is one alone, so it is", "a.npz record 1: the field far is -inf\n" in plain.run().text, plain.run().text)
    lined = Case(folder, "lined", """  train = npy("a.npy") as {x: f32[2]} |> map(s => (x = s.x.to(float))) |> collate(2)""").write("a.npy", npy("<f4", "(3, 2)", struct.pack("<6f", 1, 2, 3, math.inf, 5, 6)))
    check("of a row of numbers its place is said, too", "a.npy record 1: the field x[1] is inf\n" in lined.run().text, lined.run().text)
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
    case.write("a.npy", near.replace(b"False", b"True ")).refuses("an array of columns", "R3003", "a.npy", "np.ascontiguousarray")
    npz(case.folder / "a.npy", near=near)
    case.refuses("an archive for an array", "R3003", "a.npy", "`npz` reads it")
    case.write("a.npy", npy("<f4", "(2, 3)", struct.pack("<6f", 1, 2, 3, 4, 5, 6)))
    case.refuses("an array of other sizes", "R3002", "x holds f32[3], the program says float[2]", "write the sizes that it holds")


def safetensors(path, header, data):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def tensors(folder):
    case = Case(folder, "safetensors", """  fn of(s: {near: f32[2], far: int}) -> {x: float[2]} = (x = s.near.to(float) + 1.0 * s.far)
  train = safetensors("a.safetensors") as {near: f32[2], far: int} |> map(of) |> collate(2)""")
    near, far = struct.pack("<4f", 1, 2, 3, 4), struct.pack("<2i", 10, -20)
    path = case.folder / "a.safetensors"

    def entry(dtype, shape, begin, end):
        return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    header = {"near": entry("F32", [2, 2], 0, 16), "far": entry("I32", [2], 16, 24), "__metadata__": {"format": "pt"}}
    safetensors(path, header, near + far)
    check("tensors of a file", case.rows() == [(11, 12), (-17, -16)], case.run().text)
    whole = path.read_bytes()
    case.write("a.safetensors", whole[:-1]).refuses("tensors that are cut off", "R3003", "a.safetensors", "far goes beyond the file")
    case.write("a.safetensors", whole[:40]).refuses("a header that is cut off", "R3003", "a.safetensors", "the header goes beyond the file")
    case.write("a.safetensors", b"").refuses("an empty file", "R3003", "a.safetensors", "too short")
    case.write("a.safetensors", b"\xff" * 8 + whole[8:]).refuses("a header of 2^64 bytes", "R3003", "a.safetensors", "longer than 100 MB")
    case.write("a.safetensors", whole[:8] + b"[" + whole[9:]).refuses("a header that is no object", "R3003", "a.safetensors", "at byte 8")
    safetensors(path, {**header, "near": entry("F32", [1 << 40, 1 << 40], 0, 16)}, near + far)
    case.refuses("sizes that overflow", "R3003", "a.safetensors", "near: its size overflows", "at byte")
    safetensors(path, {**header, "near": entry("F32", [4, 2], 0, 16)}, near + far)
    case.refuses("bytes that do not fit the shape", "R3003", "near has bytes that do not fit", "at byte")
    safetensors(path, {**header, "far": entry("I32", [2], 8, 16)}, near)
    case.refuses("tensors that overlap", "R3003", "far overlaps", "at byte")
    safetensors(path, {"nea": header["near"], "far": header["far"]}, near + far)
    case.refuses("a tensor that is not there", "R3002", "a.safetensors", "did you mean nea?")
    safetensors(path, {**header, "near": entry("F64", [2, 1], 0, 16)}, near + far)
    case.refuses("a tensor of another type", "R3002", "near holds f64[1], the program says f32[2]")
    safetensors(path, {**header, "near": entry("U64", [2, 1], 0, 16)}, near + far)
    case.refuses("a type that no field has", "R3002", "near holds U64, which no field can be")
    safetensors(path, {**header, "near": entry("F32", [1, 2, 2], 0, 16)}, near + far)
    case.refuses("another number of records", "R3002", "near holds f32[2, 2], the program says f32[2]")
    safetensors(path, {**header, "near": entry("F32", [1, 2], 0, 8), "far": entry("I32", [4], 8, 24)}, near + far)
    case.refuses("tensors of other lengths", "R3002", "near has 1 records, far has 4")
    path.unlink()
    case.refuses("a file that is not there", "R3001", "a.safetensors")


def whole_files(folder):
    case = Case(folder, "files", """  fn of(f: {path: str, content: u8[?]}) -> {x: float[2]} =
    (x = stack([1.0 * f.content.shape[0], f.content.to(float).sum().item()]) + (if f.path.contains("b.") then 0.5 else 0.0))
  train = files("d/*") |> map(of) |> collate(2)""")
    (case.folder / "d/folder.bin").mkdir(parents=True)
    case.write("d/b.bin", bytes([7, 255])).write("d/a.bin", b"").write("d/c.gz", b"\x1f\x8b\x08")
    check("files as they lie, in the order of their names, without folders", case.rows() == [(0, 0), (2.5, 262.5), (3, 0x1F + 0x8B + 8)], case.run().text)
    for name in "a.bin", "b.bin", "c.gz":
        (case.folder / "d" / name).unlink()
    case.refuses("a pattern that names folders alone", "R3001", "d/*", "what it names are folders")
    (case.folder / "d/folder.bin").rmdir()
    case.refuses("a pattern that names nothing", "R3001", "d/*")


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ 0x82F63B78 if crc & 1 else crc >> 1
    return crc ^ 0xFFFFFFFF


def frame(payload):
    def masked(data):
        crc = crc32c(data)
        return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
    size = struct.pack("<Q", len(payload))
    return size + masked(size) + payload + masked(payload)


def varint(number):
    number &= (1 << 64) - 1
    out = b""
    while number >= 128:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def part(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def example(packed=True, **features):
    """A `tf.train.Example`; lists as TensorFlow writes them, packed, or one by one."""
    def feature(values):
        if not values:
            return b""
        if isinstance(values[0], bytes):
            return part(1, b"".join(part(1, value) for value in values))
        if isinstance(values[0], float):
            return part(2, part(1, struct.pack(f"<{len(values)}f", *values)) if packed else b"".join(b"\x0d" + struct.pack("<f", value) for value in values))
        return part(3, part(1, b"".join(map(varint, values))) if packed else b"".join(b"\x08" + varint(value) for value in values))
    return part(1, b"".join(part(1, part(1, name.encode()) + part(2, feature(values))) for name, values in features.items()))


def examples(folder):
    case = Case(folder, "tfrecord", """  fn of(s: {ids: i64[?], n: int, name: str, share: option[float], grid: float[2, ?], image: u8[3, ?, ?], raw: u8[?], is_good: bool}) -> {x: float[2]} =
    (x = stack([1.0 * s.n + s.ids.sum().to(float) + or_else(s.share, 1000.0) + s.grid[1].sum(),
                s.image.to(float).sum() + 1.0 * s.raw.shape[0] + 1.0 * s.name.length + (if s.is_good then 0.5 else 0.0)]))
  train = tfrecord("*.tfrecord") as {ids: i64[?], n: int, name: str, share: option[float], grid: float[2, ?], image: u8[3, ?, ?], raw: u8[?], is_good: bool}
    |> map(of) |> collate(2)""")
    good = {"ids": [1, -2, 3], "n": [-7], "name": [b"ab"], "share": [0.25], "grid": [1.0, 2.0, 3.0, 4.0], "image": [png(1, 1, 3, bytes([1, 2, 3]))],
            "raw": [b"\0\1\2"], "is_good": [1], "unread": [b"\xff", b""]}
    fewer = {key: value for key, value in good.items() if key not in ("share", "ids")} | {"ids": [], "grid": [0.0, 1.5], "is_good": [0]}
    case.write("a.tfrecord", frame(example(**good)) + frame(example(False, **good))).write("b.tfrecord", b"")
    wanted = (-7 + 2 + 0.25 + 7, 6 + 3 + 2 + 0.5)
    check("lists, packed and one by one", case.rows() == [wanted, wanted], case.run().text)
    two = frame(example(**good)) + frame(example(**{**fewer, "ids": [5]}))
    check("what is missing of an option", case.write("a.tfrecord", two).rows() == [wanted, (-7 + 5 + 1000 + 1.5, 11)], case.run().text)
    case.write("a.tfrecord", two[:40] + bytes([two[40] ^ 1]) + two[41:]).refuses("a flipped bit", "R3003", "a.tfrecord", "checksum")
    case.write("a.tfrecord", two[:-1]).refuses("a file that is cut off", "R3003", "a.tfrecord", "ends within a record", "at byte")
    size = len(frame(example(**good)))
    case.write("a.tfrecord", two[:size] + b"\xff" * 7 + two[size + 7:]).refuses("a damaged length", "R3003", "a.tfrecord", f"at byte {size}")
    case.write("a.tfrecord", b"n,name\n1,not one of these files\n").refuses("another file", "R3003", "a.tfrecord", "no TFRecord file")
    case.write("a.tfrecord", frame(b"\xff\xff\xff")).refuses("a record that is no example", "R3003", "a.tfrecord", "no tf.train.Example")
    case.write("a.tfrecord", frame(part(1, part(1, part(1, b"ids") + part(2, part(3, part(1, b"\xff"))))))).refuses("a name that is missing", "R3002", "record 0", "there is no feature n")
    case.write("a.tfrecord", frame(example(**{**good, "nam": [b"ab"], "name": [1]}))).refuses("ints for a text", "R3003", "record 0", "the field name holds 1 ints, but str is wanted")
    case.write("a.tfrecord", frame(example(**{**good, "n": [1, 2]}))).refuses("two numbers for one", "R3003", "the field n holds 2 ints, but int is wanted")
    case.write("a.tfrecord", frame(example(**{**good, "ids": [1.5]}))).refuses("floats for ints", "R3003", "the field ids holds 1 floats, but i64[?] is wanted")
    case.write("a.tfrecord", frame(example(**{**good, "grid": [1.0, 2.0, 3.0]}))).refuses("a list that fits no shape", "R3003", "record 0", "the field grid is [3]")
    case.write("a.tfrecord", frame(example(**{**good, "image": [b"no image"]}))).refuses("bytes that are no image", "R3003", "record 0", "the field image")
    case.write("a.tfrecord", frame(example(**good)) + frame(example(**{**fewer, "ids": [5], "n": []}))).refuses("an empty feature", "R3003", "record 1", "the field n is missing")
    (case.folder / "a.tfrecord").unlink()
    (case.folder / "b.tfrecord").unlink()
    case.refuses("a pattern that names no file", "R3001", "*.tfrecord")
    skipping = Case(folder, "skipped", """  train = tfrecord("a.tfrecord.gz") as {x: float[2]} |> map(s => (x = s.x), on_bad = skip(1)) |> collate(2)""")
    bad = frame(example(x=[5.0, 6.0]))
    text = frame(example(x=[1.0, 2.0])) + bad[:-1] + bytes([bad[-1] ^ 1]) + frame(example(x=[3, 4]))
    check("a damaged record is left out, in a packed file", skipping.write("a.tfrecord.gz", gzip.compress(text)).rows() == [(1, 2), (3, 4)], skipping.run().text)


def facts(folder):
    """What is learnt of a table that has no records, or of a column without values."""
    case = Case(folder, "facts", """  let table = csv("a.csv") as {age: option[float], city: str}
  let seen = facts(table)
  fn of(s: {age: option[float], city: str}) -> {x: float[2]} = (x = full(2, or_else(s.age, seen.age.median)))
  train = table |> map(of) |> collate(2)""")
    case.write("a.csv", "age,city\n3,a\n,b\n")
    check("the median of those that are there", case.rows() == [(3, 3), (3, 3)], case.rows())
    case.write("a.csv", "age,city\n,a\n,b\n").refuses("the median of no value", "R3003", "seen.age.median", "no record has a value of the field age")
    case.write("a.csv", "age,city\n").refuses("a table of names alone", "R3005", "has no batch")


def sound(folder):
    case = Case(folder, "wav", """  fn of(s: {audio: float[?, ?], rate: int, path: str}) -> {x: float[2]} {
    last = s.audio[-1]
    return (x = stack([last[-1], 1.0 * s.rate]))
  }
  train = audio("*.wav") |> map(of) |> collate(2)""")
    for name, width, frames in (("a", 2, struct.pack("<4h", 0, 1, 2, 16384)), ("b", 1, bytes([128, 64])),
                                ("c", 3, b"\0\0\x40" + b"\0\0\xc0"), ("d", 4, struct.pack("<2i", 5, -1 << 30))):
        with wave.open(str(case.folder / f"{name}.wav"), "wb") as file:
            file.setnchannels(2)
            file.setsampwidth(width)
            file.setframerate(8000)
            file.writeframes(frames)
    check("integers of all widths are parts of their range",
          case.rows() == [(0.5, 8000), (-0.5, 8000), (-0.5, 8000), (-0.5, 8000)], case.rows())
    for name in "abcd":
        (case.folder / f"{name}.wav").rename(case.folder / f"{name}.was")
    samples = [(i * 7919) % 30000 - 15000 for i in range(20000)]
    both = Case(folder, "flac", """  fn of(s: {audio: float[?, ?], rate: int, path: str}) -> {x: float[2]} = (x = stack([s.audio.sum(), s.audio.abs().max()]) + 1.0 * s.rate)
  train = audio("?.*a*") |> map(of) |> collate(2)""")
    flac(both.folder / "a.flac", 2, 8000, 16, samples)
    with wave.open(str(both.folder / "b.wav"), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(struct.pack(f"<{len(samples)}h", *samples))
    rows = both.rows()
    check("FLAC and WAVE of the same samples are the same", len(rows) == 2 and rows[0] == rows[1] and rows[0][1] > 8000.45, rows)
    flac(both.folder / "b.wav", 1, 8000, 24, [2**22, -(2**22)] * 3000)
    check("of 24 bits, too, whatever its name", both.rows()[1] == (8000, 8000.5), both.rows())
    packed = (both.folder / "a.flac").read_bytes()
    both.write("a.flac", packed[:len(packed) // 2]).refuses("FLAC that is cut off", "R3003", "a.flac")
    both.write("a.flac", packed[:-3]).refuses("FLAC that lacks its last bytes", "R3003", "a.flac")
    middle = len(packed) // 2
    both.write("a.flac", packed[:middle] + bytes([packed[middle] ^ 0x10]) + packed[middle + 1:]).refuses("FLAC with a flipped bit", "R3003", "a.flac")
    both.write("a.flac", packed[:30] + bytes([packed[30] ^ 1]) + packed[31:]).refuses("FLAC with another sum", "R3003", "a.flac", "MD5")
    both.write("a.flac", b"ID3" + packed).refuses("another kind of sound", "R3003", "a.flac", "neither a WAVE nor a FLAC file")
    for name in "abcd":
        (case.folder / f"{name}.was").rename(case.folder / f"{name}.wav")
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
    images(folder)
    json_lines(folder)
    arrays(folder)
    tensors(folder)
    whole_files(folder)
    examples(folder)
    facts(folder)
    databases(folder)
    archives(folder)
    photographs(folder)
    sound(folder)
    streams(folder)
finish()

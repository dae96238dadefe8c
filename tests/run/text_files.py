#!/usr/bin/env python3
"""Text that is no UTF-8 is refused where it is read, by file, row and place, in every source of texts; what is no text is called what it is;
cells that are missing in other words than an empty one.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import io
import pathlib
import sqlite3
import sys
import tarfile

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import LTRC, SOURCE, check, finish, run, scratch
from row_case import Case

CLASSES = '["Möller", "Ann"]'
BAD = "Möller".encode("latin-1")
GOOD = "Möller".encode()


def table(bad):
    """A row of a name, another one, and the first again, or what is no UTF-8."""
    return b"a,name\n1," + GOOD + b"\n2,Ann\n3," + (bad if bad else GOOD) + b"\n"


def database(path, last):
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as base:
        base.execute("create table t (a, name)")
        base.execute("insert into t values (1, 'Möller'), (2, 'Ann')")
        base.execute("insert into t values (3, cast(? as text))", (last,))
    base.close()


def archive(last):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for key, name, number in (("k1", GOOD, 1), ("k2", b"Ann", 2), ("k3", last, 3)):
            for ending, content in (("txt", name), ("cls", str(number).encode())):
                info = tarfile.TarInfo(f"{key}.{ending}")
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def case_of(folder, name, source, field="name", number="a", more=""):
    return Case(folder, name, f"""  let rows = {source}
  train = rows |> map(row => (x = stack([1.0 * class_of(row.{field}, {CLASSES}), 1.0 * row.{number}])){more}) |> collate(3)""")


def names(folder):
    """The same three records of each source, and one of them in Latin-1."""
    schema = "as {a: int, name: str}"
    rows = [(0, 1), (1, 2), (0, 3)]
    lines = b'{"a": 1, "name": "%s"}\n\n{"a": 2, "name": "Ann"}\n{"a": 3, "name": "%s"}\n'
    mark = b"\xef\xbb\xbf"
    wanted = "the byte 0xF6 at character "

    csv = case_of(folder, "csv", f'csv("a.csv") {schema}')
    check("csv: UTF-8 with a mark in front is read", csv.write("a.csv", mark + table(b"")).rows() == rows, csv.run().text)
    csv.write("a.csv", table(BAD)).refuses("csv: a text in Latin-1", "R3003", "a.csv:4: the field name: " + wanted + "2 is no UTF-8", "iconv -f LATIN1 -t UTF-8")
    skipping = case_of(folder, "skips", f'csv("a.csv") {schema}', more=", on_bad = skip(1)")
    check("csv: such a record can be left out", skipping.write("a.csv", table(BAD)).rows() == rows[:2], skipping.run().text)
    csv.write("a.csv", b"a,name\n" + BAD + b",Ann\n").refuses("csv: a number in Latin-1", "R3003", "a.csv:2: the field a: " + wanted)
    csv.write("a.csv", b"a,Gr\xf6\xdfe\n1,2\n").refuses("csv: a header in Latin-1", "R3003", "a.csv:1: " + wanted + "5 is no UTF-8")

    json_lines = case_of(folder, "jsonl", f'jsonl("a.jsonl") {schema}')
    check("jsonl: UTF-8 with a mark in front is read", json_lines.write("a.jsonl", mark + lines % (GOOD, GOOD)).rows() == rows, json_lines.run().text)
    json_lines.write("a.jsonl", lines % (GOOD, BAD)).refuses("jsonl: a line in Latin-1", "R3003", "a.jsonl:4: " + wanted + "20 is no UTF-8")

    sql = case_of(folder, "sqlite", f'sqlite("a.db", "select a, name from t order by a") {schema}')
    database(sql.folder / "a.db", GOOD)
    check("sqlite: UTF-8 is read", sql.rows() == rows, sql.run().text)
    database(sql.folder / "a.db", BAD)
    sql.refuses("sqlite: a text in Latin-1", "R3003", "a.db row 3: the field name: " + wanted)

    tar = case_of(folder, "tar", 'tar_shards("a.tar") as {txt: str, cls: int}', "txt", "cls")
    check("tar_shards: UTF-8 is read", tar.write("a.tar", archive(GOOD)).rows() == rows, tar.run().text)
    tar.write("a.tar", archive(BAD)).refuses("tar_shards: a text in Latin-1", "R3003", "a.tar:k3: the field txt: " + wanted)

    text = Case(folder, "lines", f"""  train = text_lines("a.txt") |> map(row => (x = stack([1.0 * class_of(row.text, {CLASSES}), 0.0]))) |> collate(3)""")
    check("text_lines: UTF-8 is read", text.write("a.txt", GOOD + b"\nAnn\n" + GOOD + b"\n").rows() == [(0, 0), (1, 0), (0, 0)], text.run().text)
    text.write("a.txt", b"\xef\xbb\xbfAnn\n" + GOOD + b"\n")
    check("text_lines: a byte-order mark is no part of the first line", text.rows() == [(1, 0), (0, 0)], text.run().text)
    text.write("a.txt", GOOD + b"\nAnn\n" + BAD + b"\n").refuses("text_lines: a line in Latin-1", "R3003", "a.txt:3: " + wanted + "2")

    chars = Case(folder, "chars", """  train = text_chars("a.txt") |> map(s => (x = stack([s.ids.to(float), 0.0]))) |> collate(4)""")
    check("text_chars: UTF-8 with a mark in front is read", chars.write("a.txt", mark + "böa\n".encode()).rows() == [(2, 0), (3, 0), (1, 0), (0, 0)], chars.run().text)
    chars.write("a.txt", b"a\nb\xf6a\n").refuses("text_chars: Latin-1", "R3003", "a.txt:2: " + wanted + "2")
    for title, bad in (("an overlong form", b"\xc0\x80"), ("a surrogate", b"\xed\xa0\x80"), ("a character that is cut off", b"\xe2\x89")):
        chars.write("a.txt", b"ab" + bad).refuses(f"text_chars: {title}", "R3003", "a.txt:1: the byte 0x", "at character 3")


def kinds(folder):
    """What is no text."""
    parquet = (SOURCE / "tests/corpus/data/rows.parquet").read_bytes()
    for source, file, word in (("csv", "a.csv", "column"), ("jsonl", "a.jsonl", "field")):
        case = case_of(folder, f"kind-{source}", f'{source}("{file}") as {{a: int, name: str}}')
        case.program = None
        case.write(file, table(b"") if source == "csv" else b'{"a": 1, "name": "Ann"}\n').run()
        case.write(file, parquet).refuses(f"{source}: a Parquet file at run", "R3002", file, "it is a Parquet file", "`parquet(…)` reads it")
        told = run(LTRC, "check", case.folder / "rows.ltr")
        check(f"{source}: a Parquet file by check", told.returncode == 1 and f'error[E0512]: "{file}" has no {word} `a`' in told.text and "it is a Parquet file" in told.text
              and "`parquet(…)` reads it" in told.text and told.text.count("error[") == 1 and "PAR1" not in told.text, told.text)
        case.write(file, "a,name\n1,Ann\n".encode("utf-16")).refuses(f"{source}: UTF-16", "R3002", "text in UTF-16", "iconv -f UTF-16 -t UTF-8")
    headless = case_of(folder, "headless", 'csv("a.csv") as {a: int, name: str}').write("a.csv", "a,name\n1,Ann\n")
    headless.run()
    headless.write("a.csv", "1,Ann\n2,Bob\n").refuses("a table without a header at run", "R3002", "a.csv", "there seems to be no header: 1 is a number")
    told = run(LTRC, "check", headless.folder / "rows.ltr")
    check("a table without a header by check", told.returncode == 1 and "there seems to be no header: 1 is a number" in told.text and told.text.count("error[") == 1, told.text)


def missing(folder):
    """`missing = […]`."""
    source = """  fn of(row: {a: float, b: option[float], c: option[str]}) -> {x: float[2]} =
    (x = stack([(if row.b == none then 10.0 else or_else(row.b, 0.0)), if row.c == none then 1.0 else 2.0]))
  train = csv("a.csv"%s) as {a: float, b: option[float], c: option[str]} |> map(of) |> collate(3)"""
    content = "a,b,c\n1,NA,x\n-,2,-\n3,4,NA\n"
    case = Case(folder, "missing", source % ', missing = ["NA", "-"]').write("a.csv", content)
    check("cells that are named so are missing", case.rows() == [(10, 2), (2, 1), (4, 1)], case.run().text)
    plain = Case(folder, "empty", source % "").write("a.csv", content.replace("NA,x", "2,x").replace("-,2", "1,2"))
    check("an empty one alone is, otherwise", [row[1] for row in plain.rows()] == [2, 2, 2], plain.run().text)
    marked = Case(folder, "marked", source % "").write("a.csv", content)
    marked.refuses("a mark in a column of numbers", "R3003", 'csv(…, missing = ["-"]) takes it for an empty cell')
    more = Case(folder, "more", source % ', missing = ["NA"]').write("a.csv", content)
    more.refuses("another mark beside those that are named", "R3003", 'csv(…, missing = ["NA", "-"]) takes it for an empty cell')
    strict = case_of(folder, "strict", 'csv("a.csv", missing = ["NA"]) as {a: int, name: str}')
    strict.write("a.csv", "a,name\nNA,Ann\n").refuses("where a value must be, it is not", "R3003", "a.csv:2: the field a is empty; int has no value for that",
                                                           '(`missing` has "NA")')


with scratch() as place:
    names(place)
    kinds(place)
    missing(place)
finish()

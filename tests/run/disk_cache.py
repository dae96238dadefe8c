#!/usr/bin/env python3
"""`cache(disk)`: what is made once is read by later runs, is made anew when what it hangs on changes, and is never wrong: files that are
damaged, cut off or of other records, a run that was killed, processes and ranks at once, a limit, a disk that is full or not there.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, fit, newest, result_of, run, scratch
from png import png

# A record has a number, a text, a missing value, a tensor of a size of its own, and one of a fixed size.
PROGRAM = """ltr 1

hparam scale: float = 1.0

extern "count.cpp" {{ fn counted[N](x: float[N]) -> float[N] }}

type Made = {{n: int, name: str, age: option[float], long: float[?], wide: float[{width}]}}

data Rows(scale: float) {{
  batch[B, S] {{ n: i64[B], letters: float[B], age: float[B], long: float[B, S], wide: float[B, {width}] }}
  fn made(row: {{n: int, name: str, age: option[float]}}) -> Made =
    (n = row.n, name = row.name + "!", age = row.age, long = counted(full(row.n % 5 + 1, scale * row.n / 3.0)), wide = full({width}, -0.1 * row.n))
  fn whole(row: Made) -> {{n: int, letters: float, age: float, long: float[?], wide: float[{width}]}} =
    (n = row.n, letters = 1.0 * row.name.length, age = or_else(row.age, -1.0), long = row.long, wide = row.wide)
  train = csv("rows.csv") as {{n: int, name: str, age: option[float]}} |> map(made) {cache} |> map(whole) |> shuffle(1) |> collate(7, pad = 0)
}}

model Reader() {{
  weight w: float[{width}] = ones({width})
  optimizer opt = SGD(w, lr = 0.01)
  step train[B, S](n: i64[B], letters: float[B], age: float[B], long: float[B, S], wide: float[B, {width}]) {{
    for k in 0 .. B {{ print "row {{epoch}} {{n[k]}} {{letters[k]:.6}} {{age[k]:.6}} {{sum(long[k]):.8}} {{wide[k, 0]:.8}}" }}
    minimize mean((wide * w) ** 2) + mean(long) + mean(age)
  }}
}}

experiment e {{ data = Rows(scale), model = Reader(), trainer {{ epochs = 2, log_every = 1 }}, callbacks {{ Checkpoint(every = 1 epochs) }}, loggers {{ Csv() }} }}
"""

COUNT = """#include "count.ltr.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

// A line in a file for each record that is made: of all processes.
ltr::Tensor counted(const ltr::Tensor& x) {
  const char* const path = std::getenv("MADE");
  if (std::FILE* const file = path != nullptr ? std::fopen(path, "a") : nullptr; file != nullptr) {
    std::fputs("x\\n", file);
    std::fclose(file);
  }
  if (std::getenv("SLOWLY") != nullptr) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return x;
}
"""

ROWS = 60


def table(change=""):
    return "n,name,age\n" + "".join(f"{i},row {i}{change if i == 7 else ''},{'' if i % 4 == 0 else i / 8}\n" for i in range(ROWS))


class Place:
    """A program over a table, with a cache of its own."""

    def __init__(self, folder, name, cache="|> cache(disk)", width=3):
        self.folder = folder / name
        self.folder.mkdir()
        (self.folder / "count.cpp").write_text(COUNT)
        (self.folder / "rows.csv").write_text(table())
        (self.folder / "rows.ltr").write_text(PROGRAM.format(cache=cache, width=width))
        self.program = build(self.folder / "rows.ltr", self.folder)
        self.cache = self.folder / "cache"
        self.made_file = self.folder / "made"

    def env(self, **more):
        return {**os.environ, "LTR_CACHE_DIR": str(self.cache), "MADE": str(self.made_file), **more}

    def command(self, *options, runs="runs"):
        return [str(word) for word in (self.program, "fit", "--no-bar", "--threads", 1, "--out", self.folder / runs, *options)]

    def fit(self, *options, runs="runs", around=(), **more):
        """Trains; the result has `rows`, what the steps printed, and `made`, how many records were made."""
        self.made_file.unlink(missing_ok=True)
        result = subprocess.run([*around, *self.command(*options, runs=runs)], capture_output=True, text=True, timeout=240, env=self.env(**more))
        result.text = result.stdout + result.stderr
        result.rows = re.findall(r"^row .*$", result.stdout, re.MULTILINE)
        result.made = self.made()
        return result

    def made(self):
        return len(self.made_file.read_text().splitlines()) if self.made_file.exists() else 0

    def files(self, kind="records"):
        return sorted(self.cache.glob(f"records/*/*.{kind}"))


def results(place):
    """The bytes of the newest run, but for where they lie."""
    return result_of(newest(place.folder / "runs"))


def whole(place, plain, rows):
    """The second run makes nothing; all are as without a cache."""
    first = place.fit()
    check("each record is made once", first.returncode == 0 and first.made == ROWS, first.text[-2000:])
    check("the records are those without a cache", first.rows == rows and len(rows) == 2 * ROWS, first.text[-2000:])
    check("so are metrics and weights", results(place) == plain)
    check("there is one whole file and nothing else", len(place.files()) == 1 and not place.files("part"), place.files("*"))
    for words in ((), ("--set", "topology.workers=3"), ("--seed", "5"), ("--set", "topology.workers=0")):
        again = place.fit(*words)
        check(f"a later run makes none{' with ' + words[-1] if words else ''}", again.returncode == 0 and again.made == 0, again.text[-2000:])
        if "--seed" not in words:
            check("and gives the same, bit for bit", again.rows == rows and results(place) == plain)
    evaluated = place.fit("--precision", "f64")
    check("numbers of another precision are other records", evaluated.made == ROWS, evaluated.text[-2000:])


def changes(place, rows):
    """What records hang on makes them anew."""
    scaled = place.fit("--scale", 2)
    check("another hparam: made anew", scaled.made == ROWS and scaled.rows != rows, scaled.text[-2000:])
    check("the first ones are still there", place.fit().made == 0)
    (place.folder / "rows.csv").write_text(table("?"))
    other = place.fit()
    check("another file: made anew", other.made == ROWS and any(" 7 7 " in row for row in other.rows) and not any(" 7 7 " in row for row in rows), other.text[-2000:])
    (place.folder / "rows.csv").write_text(table())
    check("a file that was written anew is read anew", place.fit().made == ROWS)
    (place.folder / "count.cpp").write_text(COUNT.replace("return x;", "return x * 2.0;"))
    place.program = build(place.folder / "rows.ltr", place.folder)
    doubled = place.fit()
    check("other C++: made anew", doubled.made == ROWS and doubled.rows != rows, doubled.text[-2000:])


def damage(place, rows):
    """Each kind of damage is said once and mended."""
    shutil.rmtree(place.cache)
    place.fit()
    if not check("there is a file to damage", len(place.files()) == 1, place.files("*")):
        return
    file = place.files()[0]
    good = file.read_bytes()
    middle = 72 + (len(good) - 72) // 3

    def flip(at):
        return good[:at] + bytes([good[at] ^ 0x40]) + good[at + 1:]

    for title, content in (("a flipped bit in a record", flip(middle)), ("in the head", flip(20)), ("in the index", flip(len(good) - 40)),
                           ("in the count", flip(len(good) - 16)), ("cut off", good[:-100]), ("empty", b""), ("a count that is too large", good[:-16] + b"\xff" * 16),
                           ("zeros", bytes(len(good)))):
        for old in place.files():
            old.unlink()
        file.write_bytes(content)
        mended = place.fit()
        check(f"{title}: the records are right", mended.returncode == 0 and mended.rows == rows, mended.text[-2000:])
        check(f"{title}: it is said, once, with the file", mended.stderr.count("is damaged") == 1 and file.name in mended.stderr, mended.stderr[-2000:])
        check(f"{title}: the file is written anew", mended.made >= 1 and place.fit().made == 0 and not file.exists(), mended.made)
    # Of other records, but whole.
    for old in place.files():
        old.unlink()
    other = place.fit("--scale", 3)
    moved = [path for path in place.files() if path.parent != file.parent]
    shutil.copy(max(moved, key=lambda path: path.stat().st_mtime), file.parent / "0123456789abcdef.records")
    mended = place.fit()
    check("a file of other records is none of these", other.returncode == 0 and mended.rows == rows and "is damaged" in mended.stderr, mended.text[-2000:])


def kills(place, rows):
    """A run that is killed leaves no half file, and what it has written whole is used."""
    shutil.rmtree(place.cache, ignore_errors=True)
    process = subprocess.Popen(place.command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=place.env(SLOWLY="1"))
    deadline = time.monotonic() + 60
    while not place.files("part") and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    check("what was begun has no name yet", len(place.files("part")) == 1 and not place.files(), place.files("*"))
    after = place.fit()
    check("after a kill the records are right", after.rows == rows and after.made == ROWS and "warning" not in after.stderr, after.text[-2000:])
    check("and nothing half is left", len(place.files()) == 1 and not place.files("part"), place.files("*"))
    # A run that is stopped keeps what it has.
    shutil.rmtree(place.cache)
    stopped = place.fit("--limit-train", 3, "--set", "trainer.epochs=1")
    check("a run over a part keeps that part", stopped.returncode == 0 and place.fit().made == ROWS - stopped.made and 21 <= stopped.made < ROWS, stopped.made)


def together(place, plain, rows):
    """Several processes fill one cache."""
    shutil.rmtree(place.cache)
    place.made_file.unlink(missing_ok=True)
    started = [subprocess.Popen(place.command(runs=f"runs-{i}"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=place.env(SLOWLY="1")) for i in range(3)]
    ended = [process.communicate(timeout=240) for process in started]
    check("three runs at once are right", all(re.findall(r"^row .*$", out, re.MULTILINE) == rows for out, _ in ended)
          and not any("warning" in err for _, err in ended), ended[0][1][-2000:])
    check("and leave whole files", place.files() and not place.files("part") and place.fit().made == 0, place.files("*"))
    shutil.rmtree(place.cache)
    ranked = place.fit("--devices", "cpu[2]")
    check("two ranks", ranked.returncode == 0 and ranked.made <= 2 * ROWS, ranked.text[-2000:])
    check("fill it for one", place.fit().made == 0 and results(place) == plain)


def room(folder, rows):
    """What has no room is made anew, and the run says so."""
    small = Place(folder, "small", "|> cache(disk, limit = 4 KiB)")
    first = small.fit()
    check("a limit: the records are right", first.returncode == 0 and first.rows == rows, first.text[-2000:])
    said = re.search(r"(\d+) of 60 records fill its `limit`", first.stderr)
    check("what fits is kept, and it is said once", said is not None and first.stderr.count("fill its `limit`") == 1
          and ROWS < first.made < 2 * ROWS and sum(path.stat().st_size for path in small.files()) < 4096 + 200, first.text[-2000:])
    again = small.fit()
    check("a later run makes only the others", said is not None and again.made == 2 * (ROWS - int(said[1])) and again.rows == rows, again.made)
    place = Place(folder, "places")
    place.cache.write_text("a file where the cache should be")
    refused = place.fit()
    check("no place for it: a warning, and the run goes on", refused.returncode == 0 and refused.rows == rows and refused.stderr.count("cache(disk)") == 1
          and "rows.ltr:15" in refused.stderr, refused.text[-2000:])
    place.cache.unlink()
    place.cache.mkdir()
    inside = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=4k tmpfs "$0" && exec "$@"', str(place.cache)]
    if run("unshare", "--mount", "true").returncode != 0:
        return print("skip: no file systems of its own here")
    full = place.fit(around=inside)
    check("a full disk: a warning, and the run goes on", full.returncode == 0 and full.rows == rows and full.stderr.count("No space left") == 1, full.text[-2000:])


PICTURES = """ltr 1

import std.vision.{to_float}

data Pictures() {
  batch[B] { image: float[B, 1, 2, 2], wanted: float[B] }
  fn prepare(row: {file: u8[1, 2, 2], wanted: float}) -> {image: float[1, 2, 2], wanted: float} =
    (image = to_float(row.file), wanted = row.wanted)
  train = csv("pictures.csv") as {file: u8[1, 2, 2], wanted: float} |> map(prepare) |> cache(disk) |> collate(2)
}
model Net() {
  net = Linear(4, 1)
  optimizer opt = SGD(net.weights, lr = 0.1)
  step train[B](image: float[B, 1, 2, 2], wanted: float[B]) {
    print "shade {mean(image):.4}"
    minimize mse(net(image.flatten(1)).squeeze(1), wanted)
  }
}
experiment e { data = Pictures(), model = Net(), trainer { epochs = 1 } }
"""


def named(folder):
    """Files that records name, and that the cache does not know before it reads one."""
    place = folder / "pictures"
    place.mkdir()
    for name in "ab":
        (place / f"{name}.png").write_bytes(png(2, 2, 1, bytes([51] * 4)))
    (place / "pictures.csv").write_text("file,wanted\na.png,1\nb.png,0\n")
    (place / "pictures.ltr").write_text(PICTURES)
    program = build(place / "pictures.ltr", place)

    def shades():
        command = [str(word) for word in (program, "fit", "--no-bar", "--threads", 1, "--out", place / "runs")]
        result = subprocess.run(command, capture_output=True, text=True, timeout=240, env={**os.environ, "LTR_CACHE_DIR": str(place / "cache")})
        return re.findall(r"^shade .*$", result.stdout + result.stderr, re.MULTILINE)
    check("pictures that records name", shades() == ["shade 0.2"], shades())
    (place / "b.png").write_bytes(png(2, 2, 1, bytes([153] * 4)))
    check("another picture of the same name is read anew", shades() == ["shade 0.4"], shades())
    check("and kept", shades() == ["shade 0.4"], shades())


with scratch() as scratch_place:
    folder = pathlib.Path(scratch_place)
    without = Place(folder, "plain", "")
    rows = without.fit().rows
    plain = results(without)
    place = Place(folder, "disk")
    whole(place, plain, rows)
    damage(place, rows)
    kills(place, rows)
    together(place, plain, rows)
    changes(place, rows)
    room(folder, rows)
    named(folder)
finish()

"""`ltrc lock`: what it writes, what `--check` finds, and what `fit --locked` refuses.

    lock.py LTRC [run]
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

PROGRAM = '''ltr 1

hparam number: int = 3

data Lines(root: path = "texts") {
  batch[B] { x: float[B, 1] }
  fn length(row: {text: str}) -> {x: float[1]} = (x = stack([1.0 * row.text.length]))
  fn value(row: {x: float}) -> {x: float[1]} = (x = stack([row.x]))
  train = text_lines("{root}/part{number}.txt") |> shuffle(1) |> map(length) |> collate(2)
  val = text_lines("{root}/held*.txt") |> map(length) |> collate(2)
  test = csv("rows.csv") as {x: float} |> map(value) |> collate(2)
}

block Net() {
  out = Linear(1, 1)
  fn forward[B](x: float[B, 1]) -> float[B, 1] = out(x)
}

model Fit() {
  net = Net()
  optimizer opt = SGD(net.weights, lr = 0.001)
  step train[B](x: float[B, 1]) { minimize mean(net(x) ** 2) }
  step val[B](x: float[B, 1]) { log loss = mean(net(x) ** 2) }
  step test[B](x: float[B, 1]) { log loss = mean(net(x) ** 2) }
}

experiment lines {
  data = Lines()
  model = Fit()
  trainer { epochs = 1 }
}

experiment other amends lines {
  set number = 4
}
'''
FILES = {"texts/part3.txt": "a\nbb\nccc\n", "texts/part4.txt": "dddd\ne\n", "texts/held1.txt": "f\n",
         "texts/held2.txt": "gg\n", "rows.csv": "x\n1\n2\n"}

faults = []


def check(what, holds, shown=""):
    if not holds:
        faults.append(f"{what}\n{shown}")


def sha(data):
    return hashlib.sha256(data).hexdigest()


class Folder:
    def __init__(self, ltrc, path):
        self.ltrc, self.path = ltrc, pathlib.Path(path)
        self.lock = self.path / "ltr.lock"
        self.cache = self.path / "cache"
        self.write("lines.ltr", PROGRAM)
        for name, text in FILES.items():
            self.write(name, text)

    def write(self, name, text):
        path = self.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        # Sums of files that are older than a moment are kept.
        os.utime(path, (time.time() - 100,) * 2)

    def run(self, *words, cwd=None, **variables):
        done = subprocess.run([self.ltrc, *map(str, words)], cwd=cwd or self.path, capture_output=True, text=True,
                              env={**os.environ, "LTR_CACHE_DIR": str(self.cache), **variables})
        done.text = done.stdout + done.stderr
        return done

    def expect(self, what, code, *parts, words=("lock", "--check"), **where):
        done = self.run(*words, **where)
        check(what, done.returncode == code and all(part in done.text for part in parts), f"{done.returncode}\n{done.text}")
        return done


def written(folder):
    folder.expect("nothing is named", 2, "no program is named", words=("lock",))
    folder.expect("--check without a lock", 2, "there is no ltr.lock", words=("lock", "--check", "lines.ltr"))
    folder.expect("lock", 0, "experiments 2, data 4, weights 0", words=("lock", "lines.ltr"))
    text = folder.lock.read_text()
    lock = json.loads(text)
    check("sorted keys", list(lock) == sorted(lock) and all(list(one) == sorted(one) for one in lock.values() if isinstance(one, dict)), text)
    check("one entry a line", all(text.count(f'\n  "{name}": ') == 1 for name in (*lock["data"], *lock["experiments"])), text)
    check("experiments", set(lock["experiments"]) == {"lines.ltr lines", "lines.ltr other"}, text)
    dump = folder.run("dump", "canonical", "lines.ltr").text
    check("the two compute different things", len(set(lock["experiments"].values())) == 2, text + dump)
    one = FILES["texts/part3.txt"].encode()
    check("a file", lock["data"]["texts/part3.txt"] == {"bytes": len(one), "sha256": sha(one)}, text)
    lines = "".join(f"{name} {len(FILES['texts/' + name])} {sha(FILES['texts/' + name].encode())}\n" for name in ("held1.txt", "held2.txt"))
    check("a pattern", lock["data"]["texts/held*.txt"] == {"bytes": 5, "files": 2, "sha256": sha(lines.encode())}, text)
    check("sources", lock["sources"] == {"lines.ltr": "sha256:" + sha(PROGRAM.encode())}, text)
    folder.run("lock")
    check("the same again, by the programs of the lock", folder.lock.read_text() == text)
    folder.expect("as it was", 0, "as it was locked")
    folder.expect("from another folder", 0, "as it was locked", words=("lock", "--check", folder.path / "lines.ltr"), cwd="/")


def differences(folder):
    folder.write("lines.ltr", "# A comment.\n".join(PROGRAM.split("\n\n", 1)).replace("ltr 1", "ltr 1\n", 1))
    folder.expect("a comment", 0, "as it was locked")
    folder.write("lines.ltr", PROGRAM.replace("lr = 0.001", "lr = 0.002"))
    folder.expect("another rate", 1, "lines.ltr lines: computes something else", "lines.ltr other: computes something else")
    folder.write("lines.ltr", PROGRAM.replace("experiment other amends", "experiment third amends"))
    folder.expect("another experiment", 1, "lines.ltr third: is not locked", "lines.ltr other: is locked, and is gone")
    folder.write("lines.ltr", "ltr 1\nfn (\n")
    folder.expect("a program that is wrong", 2, "error[")
    folder.write("lines.ltr", PROGRAM)
    folder.write("rows.csv", "x\n1\n3\n")
    folder.expect("another byte", 1, "rows.csv: holds something else")
    folder.expect("ltrc check says so", 0, "warning[W1001]: `rows.csv`", words=("check", "--message-format=short", "lines.ltr"))
    folder.write("rows.csv", "x\n1\n2\n3\n")
    folder.expect("a longer file", 1, "rows.csv: has 8 bytes, and 6 are locked")
    (folder.path / "rows.csv").unlink()
    folder.expect("a file less", 1, "rows.csv: is not there (lines.ltr:11:")
    folder.expect("no lock without it", 2, "rows.csv is not there", words=("lock", "lines.ltr"))
    folder.write("rows.csv", FILES["rows.csv"])
    folder.write("texts/held3.txt", "h\n")
    folder.expect("a file more of a pattern", 1, "texts/held*.txt: has 7 bytes, and 5 are locked")
    (folder.path / "texts/held3.txt").unlink()
    text = folder.lock.read_text()
    for what, damaged in (("no JSON", text[:50]), ("no lock", "[]"), ("newer", text.replace('"lock": 1', '"lock": 2'))):
        folder.lock.write_text(damaged)
        folder.expect(f"a damaged lock: {what}", 2, "ltr.lock")
    folder.lock.write_text(text.replace('"edition": 1', '"edition": 0'))
    folder.expect("another edition", 1, "edition: 0 is locked, this is 1")
    folder.lock.write_text(text)
    folder.expect("all as it was", 0, "as it was locked")


def kept_sums(folder):
    """What has its size, time and inode is not read again: the lock does not see a byte that was put in behind them."""
    path = folder.path / "rows.csv"
    folder.expect("known", 0)
    before = path.stat()
    path.write_text("x\n1\n9\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    folder.expect("the kept sum", 0, "as it was locked")
    folder.expect("without it", 1, "rows.csv: holds something else", LTR_CACHE_DIR=str(folder.path / "empty"))
    folder.write("rows.csv", FILES["rows.csv"])


def locked_runs(folder):
    words = ("run", "lines.ltr", "fit", "lines", "--locked", "--quiet", "--devices", "cpu")
    folder.run("lock", "lines.ltr")
    folder.expect("a run of what is locked", 0, words=words)
    folder.write("rows.csv", "x\n1\n3\n")
    folder.expect("another byte", 2, "error[R2017]", "rows.csv holds something else", "ltrc lock lines.ltr", words=words)
    folder.write("rows.csv", FILES["rows.csv"])
    for name in [one for one in FILES if one.startswith("texts/")]:
        folder.write(name.replace("texts", "more"), FILES[name])
    folder.expect("another folder", 2, "error[R2017]", "more/part3.txt is not locked", words=(*words, "--set", "data.root=more"))
    folder.write("lines.ltr", PROGRAM.replace("lr = 0.001", "lr = 0.002"))
    folder.expect("another rate", 2, "error[R2017]", "the experiment lines computes something else", words=words)
    folder.lock.unlink()
    folder.expect("no lock", 2, "error[R2017]", "there is no ltr.lock beside lines.ltr", words=words)


def main(ltrc, *what):
    with tempfile.TemporaryDirectory() as path:
        folder = Folder(str(pathlib.Path(ltrc).resolve()), path)
        written(folder)
        if what == ("run",):
            locked_runs(folder)
        else:
            differences(folder)
            kept_sums(folder)
    print("\n".join(faults + [f"{len(faults)} faults"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

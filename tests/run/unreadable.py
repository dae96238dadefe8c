#!/usr/bin/env python3
"""Files that no source can read: a folder in a file's place, a link to nothing, a file of somebody else. Each source names the file and ends
the run with the code of missing files; and `token_shards` with files that are damaged.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import pathlib
import shutil
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, fit, run, scratch
from row_case import Case

# Of each source the file that is put in another's place, the files that lie beside it, and what the program says.
SOURCES = {
    "csv": ("f.csv", [], 'csv("f.csv") as {a: float}'),
    "jsonl": ("f.jsonl", [], 'jsonl("*.jsonl") as {a: float}'),
    "npz": ("f.npz", [], 'npz("f.npz") as {a: float}'),
    "npy": ("f.npy", [], 'npy("f.npy") as {a: float}'),
    "safetensors": ("f.safetensors", [], 'safetensors("f.safetensors") as {a: float}'),
    "audio": ("f.wav", [], 'audio("*.wav")'),
    "sqlite": ("f.db", [], 'sqlite("f.db", "select a from t order by a") as {a: float}'),
    "tar_shards": ("f.tar", [], 'tar_shards("*.tar") as {cls: int}'),
    "tfrecord": ("f.tfrecord", [], 'tfrecord("*.tfrecord") as {a: float}'),
    "parquet": ("f.parquet", [], 'parquet("f.parquet") as {a: float}'),
    "arrow": ("f.arrow", [], 'arrow("f.arrow") as {a: float}'),
    "hf_dataset": ("hf/train/data-0.arrow", [("hf/dataset_dict.json", '{"splits": ["train"]}'), ("hf/train/state.json", '{"_data_files": [{"filename": "data-0.arrow"}]}')],
                   'hf_dataset("hf", "train") as {a: float}'),
    "text_lines": ("f.txt", [], 'text_lines("*.txt")'),
    "text_chars": ("f.chars", [], 'text_chars("f.chars")'),
    "token_shards": ("f.bin", [], 'token_shards("*.bin", window = 2)'),
    "image_folder": ("photos/a/f.png", [], 'image_folder("photos")'),
    "files": ("any/f.any", [], 'files("any/*")'),
    "idx": ("f.idx", [], 'idx("f.idx") as {value: u8[2]}'),
    "mnist": ("t10k-images-idx3-ubyte", [("t10k-labels-idx1-ubyte", "")], 'mnist(".", train = false)'),
    "fashion_mnist": ("fashion/t10k-images-idx3-ubyte", [("fashion/t10k-labels-idx1-ubyte", "")], 'fashion_mnist("fashion", train = false)'),
    "cifar10": ("test_batch.bin", [], 'cifar10(".", train = false)'),
    "cifar100": ("test.bin", [], 'cifar100(".", train = false)'),
}

HEAD = """ltr 1

model Reader() {
  weight w: float[2] = ones(2)
  optimizer opt = SGD([w], lr = 1e-9)
  step train[B](x: float[B, 2]) { minimize mean(x * w) }
}
"""
EACH = """
data Rows_{name}() {{
  batch[B] {{ x: float[B, 2] }}
  train = {call} |> map(s => (x = ones(2))) |> collate(2)
}}

experiment {name} {{
  data = Rows_{name}()
  model = Reader()
  trainer {{ epochs = 1 }}
}}
"""
# Whoever reads a tokenizer's file reads it before the data.
TOKENIZER = """
data Rows_tokenizer() {
  batch[B] { x: float[B, 2] }
  let tok = tokenizer("tok.json")
  train = text_lines("lines.txt") |> tokenize(tok) |> map(s => (x = ones(2))) |> collate(2)
}

experiment tokenizer {
  data = Rows_tokenizer()
  model = Reader()
  trainer { epochs = 1 }
}
"""


def as_stranger(folder):
    """What stands before a command so that it may read nothing of others, which root may; None where that cannot be had."""
    locked = folder / "locked"
    locked.touch()
    locked.chmod(0)
    for words in ([], ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]):
        if (not words or shutil.which("setpriv") is not None) and "Permission denied" in run(*words, "cat", locked).text:
            return words
    print("skip  files that may not be read: this user may read all, and setpriv does not take that away")
    return None


def unreadable(folder):
    stranger = as_stranger(folder)
    (folder / "all.ltr").write_text(HEAD + "".join(EACH.format(name=name, call=call) for name, (_, _, call) in SOURCES.items()) + TOKENIZER)
    program = build(folder / "all.ltr", folder)
    for name, (file, beside, _) in {**SOURCES, "tokenizer": ("tok.json", [("lines.txt", "one\n")], "")}.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        for other, text in beside:
            (folder / other).write_text(text)

        def refuses(title, *command, code="R3001"):
            done = run(*command, name, cwd=folder, timeout=120)
            told = [line for line in done.text.splitlines() if "error[" in line]
            # Of files that a pattern names, none but folders is left.
            shown = "any/*" if path.is_dir() and name == "files" else file
            check(f"{name}: {title}", done.returncode == 3 and len(told) == 1 and f"error[{code}]" in told[0] and shown in done.text, done.text)

        starts = [program, "fit", "--no-bar", "--threads", 1, "--out", folder / "runs"]
        path.mkdir()
        # Whatever lies in the folder of a class must be an image.
        refuses("a folder in the file's place", *starts, code="R3003" if name == "image_folder" else "R3001")
        path.rmdir()
        path.symlink_to(folder / "nowhere")
        refuses("a link to nothing", *starts)
        path.unlink()
        path.write_text("a")
        path.chmod(0)
        if stranger is not None:
            refuses("a file that may not be read", *stranger, *starts)
        path.unlink()


def shards(folder):
    case = Case(folder, "shards", """  train = token_shards("*.bin", window = 2) |> map(s => (x = s.tokens.to(float))) |> collate(2)""")
    ids = struct.pack("<4H", 1, 2, 3, 65535)
    head = lambda magic, version, count: struct.pack("<3i", magic, version, count) + bytes(1024 - 12)
    check("ids as they lie", case.write("a.bin", ids).rows() == [(1, 2), (3, 65535)], case.run().text)
    check("ids behind a header", case.write("a.bin", head(20240520, 1, 4) + ids).rows() == [(1, 2), (3, 65535)], case.run().text)
    wide = struct.pack("<2I", 70000, 3)
    check("wide ids behind a header", case.write("a.bin", head(20240801, 7, 2) + wide).rows() == [(70000, 3)], case.run().text)
    case.write("a.bin", ids[:-1]).refuses("half an id at the end", "R3003", "a.bin", "the file ends inside an id")
    case.write("a.bin", head(20240520, 1, 4) + ids[:-2]).refuses("a file that is cut off", "R3003", "a.bin", "the header says 4 ids, the file holds 3")
    case.write("a.bin", head(20240801, 7, 2) + wide[:-2]).refuses("a wide id that is cut off", "R3003", "a.bin", "the file ends inside an id")
    case.write("a.bin", head(20240520, 1, -4) + ids).refuses("a count below 0", "R3003", "a.bin", "the header says -4 ids")
    case.write("a.bin", head(20240520, 1, 2**31 - 1) + ids).refuses("a count beyond the file", "R3003", "a.bin", "the file holds 4")
    case.write("a.bin", head(20240801, 7, 2) + struct.pack("<2I", 1, 2**31)).refuses("an id that no i32 is", "R3003", "a.bin token 1")
    case.write("a.bin", head(20240520, 9, 4) + ids).refuses("a version that nobody knows", "R3003", "a.bin", "version 9")
    case.write("a.bin", b"").refuses("an empty file", "R3005", "a.bin is empty")
    case.write("a.bin", struct.pack("<H", 1)).refuses("a file below one window", "R3005", "no file has 2 ids")
    case.write("a.bin", ids).write("b.bin", ids[:3]).refuses("one of two files", "R3003", "b.bin", "the file ends inside an id")


with scratch() as folder:
    folder = pathlib.Path(folder)
    folder.chmod(0o755)
    unreadable(folder)
    shards(folder)
finish()

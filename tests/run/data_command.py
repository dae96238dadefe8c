#!/usr/bin/env python3
"""`ltrc data`: what is fetched has the sum that is published, or is not kept; what was cut off goes on where it stood; mirrors, files
brought by hand, and no network at all. A server of its own on the loopback stands for all others.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import hashlib
import http.server
import io
import json
import os
import pathlib
import sys
import tarfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import LTRC, check, finish, run, scratch

CONTENT = bytes(range(256)) * 4000
asked = []


class Server(http.server.BaseHTTPRequestHandler):
    """`/whole` answers ranges, `/plain` does not, `/cut` ends early, `/cut_ranges` too but goes on, `/other` is another file, `/long` longer."""

    def do_GET(self):
        path = self.path.strip("/").split("/")[0]
        begin = self.headers.get("Range")
        asked.append((path, begin, self.headers.get("If-Range")))
        content = {"other": CONTENT[::-1], "long": CONTENT + b"x"}.get(path, ARCHIVE if path == "tar" else CONTENT)
        if path == "none":
            return self.send_error(404)
        start = int(begin.split("=")[1].rstrip("-")) if begin and path in ("whole", "cut_ranges") else 0
        if start and self.headers.get("If-Range") not in (None, '"one"'):
            start = 0
        body = content[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("ETag", '"one"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:300_000] if path.startswith("cut") and not (start and path == "cut_ranges") else body)
        self.close_connection = True

    def log_message(self, *_):
        pass


def tar_of(*members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, data in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


ARCHIVE = tar_of(("set/a.bin", b"one"), ("set/b.bin", b"two"))


def entry(name, *urls, content=CONTENT, sha=None, **more):
    return {"name": name, "files": [{"name": "x.bin", "bytes": len(content), "sha256": sha or hashlib.sha256(content).hexdigest(),
                                     "urls": [f"{BASE}/{url}" for url in urls], **more}]}


with scratch() as place:
    folder = pathlib.Path(place)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    BASE = f"http://127.0.0.1:{server.server_address[1]}"
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        os.environ.pop(name, None)
    (folder / "own.json").write_text(json.dumps({"entries": [
        entry("good", "whole"), entry("plain", "plain"), entry("mirrored", "none", "other", "whole"), entry("wrong", "other"), entry("long", "long"),
        entry("cut", "cut"), entry("goes_on", "cut_ranges"), entry("packed", "tar", content=ARCHIVE, unpack="tar"), entry("gone", "none")]}))

    def data(*words):
        return run(LTRC, "data", *words, "--catalog", folder / "own.json", cwd=folder)

    def there(name):
        path = folder / "data" / name / "x.bin"
        return path.read_bytes() if path.exists() else None

    listed = run(LTRC, "data", "list", cwd=folder)
    check("list: what there is, with its size", listed.returncode == 0 and all(name in listed.stdout for name in ("mnist", "fashion-mnist", "cifar10", "cifar100", "170.1 MB")), listed.text)
    result = data("get", "good")
    check("get: the file, its sum right", result.returncode == 0 and there("good") == CONTENT and "its sum is right" in result.stdout
          and [path.name for path in (folder / "data/good").iterdir()] == ["x.bin"], result.text)
    before = len(asked)
    result = data("get", "good")
    check("get again: nobody is asked", result.returncode == 0 and "there" in result.stdout and len(asked) == before, result.text)
    (folder / "data/good/x.bin").write_bytes(CONTENT[:-1] + b"?")
    result = data("check", "good")
    check("check: a changed byte", result.returncode == 1 and "x.bin: not as it was published" in result.stdout, result.text)
    check("get: and it is replaced", data("get", "good").returncode == 0 and there("good") == CONTENT)
    check("check: right, and what is missing", data("check", "good").returncode == 0 and data("check", "plain").returncode == 1 and data("check").returncode == 0)

    result = data("get", "mirrored")
    check("mirrors in order, two tries each", result.returncode == 0 and there("mirrored") == CONTENT
          and [path for path, _, _ in asked[-5:]] == ["none", "none", "other", "other", "whole"], (result.text, asked[-5:]))
    check("a wrong sum is said", "error[R3009]" in result.text and hashlib.sha256(CONTENT).hexdigest() in result.text, result.text)
    for name in ("wrong", "long", "gone"):
        result = data("get", name)
        check(f"{name}: nothing is kept, and the way out is said", result.returncode == 1 and there(name) is None
              and f"ltrc data get {name} --from DIR" in result.text and BASE in result.text, result.text)
    check("wrong: no rest of it either", not list((folder / "data/wrong").iterdir()), list((folder / "data/wrong").iterdir()))
    result = data("get", "cut")
    check("cut: what came is kept for the next time", result.returncode == 1 and there("cut") is None and (folder / "data/cut/x.bin.part").exists(), result.text)
    result = data("get", "goes_on")
    check("what was cut off goes on where it stood", result.returncode == 0 and there("goes_on") == CONTENT
          and asked[-1] == ("cut_ranges", "bytes=300000-", '"one"'), (result.text, asked[-2:]))
    (folder / "data/plain").mkdir()
    (folder / "data/plain/x.bin.part").write_bytes(b"y" * 1000)
    check("a server that cannot go on begins anew", data("get", "plain").returncode == 0 and there("plain") == CONTENT)
    (folder / "again").mkdir()
    (folder / "again/x.bin.part").write_bytes(CONTENT[:1000])
    (folder / "again/x.bin.part.tag").write_text('"zero"')
    check("and one that has another version by now", data("get", "good", "--to", "again").returncode == 0
          and asked[-1] == ("whole", "bytes=1000-", '"zero"') and (folder / "again/x.bin").read_bytes() == CONTENT, asked[-1])

    result = data("get", "gone", "--offline")
    check("offline: nobody is asked", result.returncode == 1 and "--offline" in result.text and asked[-1][0] != "gone", result.text)
    (folder / "stick").mkdir()
    (folder / "stick/x.bin").write_bytes(CONTENT)
    check("from a folder", data("get", "gone", "--from", "stick", "--offline").returncode == 0 and there("gone") == CONTENT and (folder / "stick/x.bin").exists())
    (folder / "stick/x.bin").write_bytes(CONTENT + b"x")
    result = data("get", "wrong", "--from", "stick")
    check("from a folder with another file", result.returncode == 1 and "error[R3009]" in result.text and there("wrong") is None, result.text)
    check("from another address", data("get", "wrong", "--from", f"{BASE}/whole").returncode == 0 and there("wrong") == CONTENT)

    result = data("get", "packed")
    unpacked = folder / "data/packed/set/b.bin"
    check("an archive is unpacked, and not kept", result.returncode == 0 and unpacked.read_bytes() == b"two" and there("packed") is None, result.text)
    check("check: its files", data("check", "packed").returncode == 0)
    unpacked.write_bytes(b"owt")
    result = data("check", "packed")
    check("check: a file of it that was changed", result.returncode == 1 and "set/b.bin: not as it was published" in result.stdout, result.text)
    unpacked.unlink()
    check("get: and one that is gone comes back", data("get", "packed").returncode == 0 and unpacked.read_bytes() == b"two")
    for title, archive in (("a path that leaves the folder", tar_of(("set/a.bin", b"1"), ("../out.bin", b"2"))), ("a path from the root", tar_of(("/tmp/ltr-out.bin", b"2"))),
                           ("no archive", b"x" * 2000), ("an archive that is cut off", ARCHIVE[:60])):
        (folder / "hostile.json").write_text(json.dumps({"entries": [entry("evil", "none", content=archive, unpack="tar")]}))
        (folder / "stick/x.bin").write_bytes(archive)
        result = run(LTRC, "data", "get", "evil", "--from", "stick", "--catalog", folder / "hostile.json", cwd=folder)
        check(f"{title}: nothing is unpacked", result.returncode == 1 and not (folder / "data/out.bin").exists() and not (folder / "data/evil/set").exists()
              and "cannot unpack" in result.text, result.text)
    for title, text in (("no JSON", "{"), ("no sum", json.dumps({"entries": [entry("a", "whole", sha="12")]})), ("a name that leaves its folder", json.dumps({"entries": [entry("../a", "whole")]}))):
        (folder / "broken.json").write_text(text)
        result = run(LTRC, "data", "list", "--catalog", folder / "broken.json", cwd=folder)
        check(f"a catalogue with {title}", result.returncode == 2 and "broken.json" in result.text, result.text)
    inner = folder / "project/programs"
    inner.mkdir(parents=True)
    (folder / "project/ours.json").write_text(json.dumps({"entries": [entry("ours", "whole"), {**entry("mnist", "whole"), "what": "digits of the project"}]}))
    (folder / "project/ltr.toml").write_text('[data]\ncatalog = "ours.json"\n')
    result = run(LTRC, "data", "get", "ours", cwd=inner)
    check("an entry of the project", result.returncode == 0 and (inner / "data/ours/x.bin").read_bytes() == CONTENT, result.text)
    result = run(LTRC, "data", "list", "mnist", cwd=inner)
    check("it stands for one of this version", result.returncode == 0 and "digits of the project" in result.text, result.text)
    (folder / "mine.json").write_text(json.dumps({"entries": [{**entry("mnist", "whole"), "what": "digits of mine"}]}))
    result = run(LTRC, "data", "list", "--catalog", folder / "mine.json", cwd=inner)
    check("and one of the option for it", "digits of mine" in result.text and "digits of the project" not in result.text and "ours" in result.text, result.text)
    for title, text, words in (("a file that is not there", '[data]\ncatalog = "none.json"\n', "there is no file"), ("a number", "[data]\ncatalog = 1\n", "the name of a file"),
                               ("another key", '[data]\ncatalogue = "ours.json"\n', "no key `catalogue`"), ("no table", 'data = "ours.json"\n', "`data` is a table")):
        (folder / "project/ltr.toml").write_text(text)
        result = run(LTRC, "data", "list", cwd=inner)
        check(f"ltr.toml with {title}", result.returncode == 1 and "error[E0011]" in result.text and words in result.text and "ltr.toml:" in result.text, result.text)
    (folder / "project/ltr.toml").write_text('[data]\ncatalog = "ours.json"\n')
    (folder / "project/ours.json").write_text("{")
    result = run(LTRC, "data", "list", cwd=inner)
    check("a damaged catalogue of the project", result.returncode == 2 and "ours.json" in result.text, result.text)
    result = run(LTRC, "data", "get", "mnits", cwd=folder)
    check("a misspelt name", result.returncode == 2 and "did you mean `mnist`" in result.text, result.text)
    result = run(LTRC, "data", "get", cwd=folder)
    check("no name", result.returncode == 2 and "ltrc data list" in result.text, result.text)
    os.environ["LTR_DATA_DIR"] = str(folder / "shared")
    check("where programs look for it", data("get", "good").returncode == 0 and (folder / "shared/good/x.bin").read_bytes() == CONTENT)
finish()

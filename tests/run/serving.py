#!/usr/bin/env python3
"""`serve`: every form of a request gets what `predict` gives, alone or with others; what it refuses, and how it ends.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import base64
import concurrent.futures
import http.client
import json
import pathlib
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, run, scratch
from png import png

PROGRAM = """ltr 1
import std.vision.{resize}
type Row = {x0: float, x1: float, kind: str, seen: int}
data Points() {
  batch[B] { x: float[B, 3], y: i64[B] }
  fn made(s: {i: int}) -> Row =
      (x0 = 0.1 * s.i, x1 = 0.2 * s.i, kind = if s.i % 2 == 0 then "low" else "high", seen = s.i % 2)
  fn ready(r: Row) -> {x: float[3], y: int} =
      (x = stack([r.x0, r.x1, 1.0 * class_of(r.kind, ["low", "high"])]), y = r.seen)
  train = synthetic(64, made) |> map(ready) |> shuffle(64) |> collate(16)
  predict = csv("rows.csv") as Row |> map(ready, on_bad = skip(1000)) |> collate(8)
}
data Pictures() {
  batch[B] { x: float[B, 1, 8, 8] }
  fn ready(r: {image: u8[1, ?, ?]}) -> {x: float[1, 8, 8]} = (x = resize(r.image, 8, 8).to(float) / 255.0)
  train = csv("pictures.csv") as {image: u8[1, ?, ?]} |> map(ready) |> shuffle(2) |> collate(2)
  predict = csv("pictures.csv") as {image: u8[1, ?, ?]} |> map(ready) |> collate(2)
}
data Unread() {
  batch[B] { x: float[B, 3] }
  fn made(s: {i: int}) -> {x: float[3]} = (x = full(3, 0.1 * s.i))
  train = synthetic(8, made) |> collate(8)
}
model Net() {
  net = [Linear(3, 16), relu, Linear(16, 2)]
  optimizer opt = Adam(net.weights, lr = 0.01)
  step train[B](x: float[B, 3], y: i64[B]) { minimize cross_entropy(net(x), y) }
  step predict[B](x: float[B, 3]) -> {label: i64[B], probs: float[B, 2]} {
    p = softmax(net(x), 1)
    return (label = p.argmax(1), probs = p)
  }
}
model Mean() {
  scale = Linear(64, 1)
  optimizer opt = SGD(scale.weights, lr = 0.01)
  step train[B](x: float[B, 1, 8, 8]) { minimize mean(scale(x.flatten(1))) }
  step predict[B](x: float[B, 1, 8, 8]) -> float[B, 1] = scale(x.flatten(1))
}
model Blind() {
  net = Linear(3, 1)
  optimizer opt = SGD(net.weights, lr = 0.01)
  step train[B](x: float[B, 3]) { minimize mean(net(x)) }
  step predict[B](x: float[B, 3]) -> float[B, 1] = net(x)
}
data Words() {
  batch[B] { id: i64[B] }
  train = range(4) |> map(r => (id = r.i)) |> shuffle(1) |> collate(4)
  predict = jsonl("words.jsonl") as {id: i64} |> collate(4)
}
model Table() {
  table = Embedding(4, 2)
  optimizer opt = SGD(table.weights, lr = 0.1)
  step train[B](id: i64[B]) { minimize mean(table(id) ** 2) }
  step predict[B](id: i64[B]) -> float[B, 2] = table(id)
}
experiment words { data = Words(), model = Table(), trainer { epochs = 1 }, serve { port = 1, wait = 700 ms } }
experiment points { data = Points(), model = Net(), trainer { epochs = 1 } }
experiment pictures { data = Pictures(), model = Mean(), trainer { epochs = 1 } }
experiment unread { data = Unread(), model = Blind(), trainer { epochs = 1 } }
"""
ROWS = [{"x0": 0.25 * i, "x1": 1.0 - 0.125 * i, "kind": "high" if i % 3 == 0 else "low"} for i in range(20)]


def picture(side, grey):
    return png(side, side, 1, bytes((grey + 7 * x * y) % 256 for y in range(side) for x in range(side)))


class Server:
    """A program that serves, on a port that it chose."""

    def __init__(self, program, folder, *options, experiment="points"):
        command = [str(program), "serve", experiment, "--port", "0", *options]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        self.port = int(self.url.rstrip("/").rsplit(":", 1)[1]) if self.url else 0

    def ask(self, method, path, body=None, kind="application/json", headers=None, connection=None):
        """Status, body."""
        wire = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        head = dict(headers or {})
        if kind and body is not None:
            head["Content-Type"] = kind
        wire.request(method, path, body, head)
        answer = wire.getresponse()
        return answer.status, answer.read().decode()

    def post(self, body, kind="application/json", connection=None):
        status, text = self.ask("POST", "/invocations", body if isinstance(body, (str, bytes)) else json.dumps(body),
                                kind, connection=connection)
        return status, json.loads(text) if text.startswith("{") else text

    def raw(self, data, wait=0.0):
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as wire:
            wire.sendall(data)
            time.sleep(wait)
            return wire.recv(65536).decode(errors="replace")

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, err


def forms(rows):
    """The same rows in every way in which they may be sent."""
    names = list(rows[0])
    table = [[row[name] for name in names] for row in rows]
    lines = "\n".join(json.dumps(row) for row in rows)
    csv = "\n".join([",".join(names)] + [",".join(str(cell) for cell in cells) for cells in table])
    yield "instances", json.dumps({"instances": rows}), "application/json"
    yield "instances with a charset", json.dumps({"instances": rows}), "application/json; charset=utf-8"
    yield "a list", json.dumps(rows), "application/json"
    yield "inputs as rows", json.dumps({"inputs": rows, "params": {}}), "application/json"
    yield "inputs as columns", json.dumps({"inputs": {n: [row[n] for row in rows] for n in names}}), "application/json"
    yield "dataframe_records", json.dumps({"dataframe_records": rows}), "application/json"
    frame = {"index": list(range(len(rows))), "columns": names, "data": table}
    yield "dataframe_split", json.dumps({"dataframe_split": frame}), "application/json"
    yield "csv", csv, "text/csv"
    yield "json lines", lines, "application/jsonlines"


def is_like(answer, wanted):
    """Whether an answer has these predictions. How many rows a batch has moves the last digit of a sum."""
    status, body = answer
    rows = body.get("predictions", []) if status == 200 else []
    if len(rows) != len(wanted):
        return False

    def near(a, b):
        if isinstance(a, list):
            return len(a) == len(b) and all(map(near, a, b))
        return abs(a - b) < 1e-6

    return all(row.keys() == one.keys() and all(near(row[name], one[name]) for name in row) for row, one in zip(rows, wanted))


def refused(server, title, body, words, kind="application/json", status=400):
    got, answer = server.post(body, kind)
    message = answer["message"] if isinstance(answer, dict) and "message" in answer else str(answer)
    check(f"{title}: {status}, {words!r}", got == status and all(word in message for word in words), (got, answer))


with scratch() as place:
    folder = pathlib.Path(place)
    (folder / "rows.csv").write_text("x0,x1,kind,seen\n1,2,low,0\n3,4,high,1\n")
    pictures = [picture(9, 10), picture(12, 90)]
    for i, bytes_of in enumerate(pictures):
        (folder / f"{i}.png").write_bytes(bytes_of)
    (folder / "pictures.csv").write_text("image\n0.png\n1.png\n")
    source = folder / "serving.ltr"
    source.write_text(PROGRAM)
    program = build(source, folder)
    (folder / "words.jsonl").write_text('{"id": 0}\n')
    for name in ("points", "pictures", "words", "unread"):
        assert run(program, "fit", name, "--no-bar", cwd=folder).returncode == 0
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    told = run(program, "predict", "points", "--read", "rows.jsonl", "--write", "-", "--no-bar", cwd=folder)
    wanted = [json.loads(line) for line in told.stdout.splitlines()]
    assert len(wanted) == len(ROWS), told.text

    server = Server(program, folder)
    for title, body, kind in forms(ROWS):
        got = server.post(body, kind)
        check(f"{title}: what predict gives", is_like(got, wanted), got)
    few = {"instances": [row["x0"] for row in ROWS]}
    refused(server, "values without names of what has several fields", few, ["no field x1, kind"])
    labelled = [{**row, "seen": 1} for row in ROWS]
    check("a label may be sent", is_like(server.post({"instances": labelled}), wanted))

    for path in ("/ping", "/health"):
        check(f"GET {path}", server.ask("GET", path) == (200, "ok\n"))
    status, text = server.ask("GET", "/version")
    check("GET /version names the weights", status == 200 and json.loads(text)["experiment"] == "points" and
          "checkpoints" in json.loads(text)["weights"], text)

    refused(server, "a misspelt field", {"instances": [{**ROWS[0], "x2": 1}]}, ["x2 (did you mean", "--ignore-columns"])
    bad = [ROWS[0], {**ROWS[1], "x0": "many"}]
    refused(server, "a wrong type", {"instances": bad}, ["row 2", "the field x0", '"many"'])
    refused(server, "a wrong cell of a table", "x0,x1,kind\n1,2,low\n1,two,low\n", ["body:3", "the field x1"], "text/csv")
    refused(server, "a line that is none", '{"x0": 1', ["body:1"], "application/jsonlines")
    refused(server, "what a map refuses", {"instances": [ROWS[0], {**ROWS[1], "kind": "odd"}]}, ["row 2", "odd"])
    refused(server, "a field that is needed", {"instances": [{"x0": 1.0, "kind": "low"}]}, ["no field x1", "hangs on it"])
    refused(server, "rows of other fields", {"instances": [ROWS[0], {"x0": 1.0}]}, ["row 2", "x1 is missing"])
    refused(server, "no rows", {"instances": []}, ["the body has no rows"])
    refused(server, "no form", {"rows": []}, ["rows is none of instances, inputs"])
    refused(server, "two forms", {"instances": ROWS, "inputs": ROWS}, ["both inputs and instances"])
    refused(server, "params", {"instances": ROWS, "params": {"a": 1}}, ["params", "flags"])
    refused(server, "uneven columns", {"inputs": {"x0": [1, 2], "x1": [1]}}, ["inputs.x1 has 1 values"])
    refused(server, "a frame without data", {"dataframe_split": {"columns": ["x0"]}}, ["columns and data"])
    refused(server, "no JSON", "{", ["the body"])
    refused(server, "JSON that is too deep", "[" * 1000 + "]" * 1000, ["the body"])
    refused(server, "another type", "x", ["application/xml", "application/json, text/csv"], "application/xml", 415)
    status, text = server.ask("POST", "/invocations", "x", kind=None)
    check("no type: 415", status == 415 and "of no type" in text, text)
    check("GET /invocations: 405", server.ask("GET", "/invocations")[0] == 405)
    check("PUT: 405", server.ask("PUT", "/invocations", "x")[0] == 405)
    check("another path: 404, with those that are there", server.ask("GET", "/x")[0] == 404 and
          "/invocations" in server.ask("GET", "/x")[1])
    head = "POST /invocations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    large = server.raw(f"{head}Content-Length: {65 << 20}\r\n\r\n".encode())
    check("a body beyond 64 MiB: 413, before it is read", large.startswith("HTTP/1.1 413"), large)
    waits = server.raw(f"{head}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n".encode(), 0.2)
    check("who asks whether to go on is told", waits.startswith("HTTP/1.1 100"), waits)
    foreign = server.raw(f"{head.replace('localhost', 'evil.example')}Content-Length: 2\r\n\r\n[]".encode())
    check("a name of somebody else: 403", foreign.startswith("HTTP/1.1 403"), foreign)

    kept = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    both = [server.post({"instances": ROWS[:3]}, connection=kept) for _ in range(2)]
    check("a connection takes several requests", all(is_like(one, wanted[:3]) for one in both), both)
    check("SIGTERM ends it with 0", server.end() == (0, ""))

    # Many at once: they are computed together, and each gets its own.
    server = Server(program, folder, "--wait", "50 ms", "--max-batch", "20")
    with socket.create_connection(("127.0.0.1", server.port)) as slow:
        slow.sendall(b"POST /invocations HTTP/1.1\r\nHost: localhost\r\nContent-")

        def one(i):
            row = i % len(ROWS)
            if i % 10 == 9:
                return server.post({"instances": [{**ROWS[row], "kind": "odd"}]})[0] == 400
            return is_like(server.post({"instances": [ROWS[row]]}), wanted[row:row + 1])

        with concurrent.futures.ThreadPoolExecutor(50) as pool:
            answers = list(pool.map(one, range(200)))
    check("200 clients beside one that never ends get their own", all(answers), answers.count(False))
    counts = {line.split()[0]: float(line.split()[1]) for line in server.ask("GET", "/metrics")[1].splitlines() if line[0] != "#"}
    check("they are counted", counts['ltr_requests_total{status="200"}'] == 180 and counts['ltr_requests_total{status="400"}'] == 20 and
          counts["ltr_request_seconds_count"] == 200 and counts["ltr_rows_total"] == 200, counts)
    check("and computed together", counts["ltr_batches_total"] < 150, counts)
    code, err = server.end(signal.SIGINT)
    check("Ctrl-C ends it with 130", code == 130 and "what waits is answered" in err, (code, err))

    server = Server(program, folder, "--wait", "1 s", "--queue", "1", "--max-batch", "1000")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        first = pool.submit(server.post, {"instances": ROWS})
        time.sleep(0.3)
        refused(server, "a full queue", {"instances": ROWS}, ["--queue"], status=503)
        time.sleep(1.0)
        last = pool.submit(server.post, {"instances": ROWS})
        time.sleep(0.2)
        code, err = server.end()
        check("the first in it is answered", is_like(first.result(), wanted))
        check("what waits when it ends is answered", is_like(last.result(), wanted) and code == 0, (last.result(), code, err))

    server = Server(program, folder, "--ignore-columns")
    check("--ignore-columns reads no others", is_like(server.post({"instances": [{**ROWS[0], "more": 1}]}), wanted[:1]))
    busy = run(program, "serve", "points", "--port", server.port, cwd=folder)
    check("a port that is taken", busy.returncode == 2 and "--port 0" in busy.text, busy.text)
    server.end()

    server = Server(program, folder, experiment="words")
    check("a flag goes before the section", server.port > 1, server.url)
    good = {"instances": [{"id": 3}]}
    alone = server.post(good)
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(server.post, body) for body in (good, {"instances": [{"id": 99}]}, good)]
        answers = [one.result() for one in asked]
    check("where the step throws, who asked for it is told, and nobody else", answers[0] == answers[2] == alone and
          alone[0] == 200 and answers[1][0] == 500 and "99" in answers[1][1]["message"], answers)
    check("and it goes on", server.post(good) == alone)
    server.end()

    told = run(program, "predict", "pictures", "--write", "-", "--no-bar", cwd=folder)
    wanted = [json.loads(line) for line in told.stdout.splitlines()]
    server = Server(program, folder, experiment="pictures")
    sent = [{"image": {"b64": base64.b64encode(bytes_of).decode()}} for bytes_of in pictures]
    check("pictures are sent as bytes", is_like(server.post({"instances": sent}), wanted), told.text)
    refused(server, "no base64", {"instances": [{"image": {"b64": "?"}}]}, ["row 1", "image", "base64"])
    refused(server, "no picture", {"instances": [{"image": {"b64": "AAAA"}}]}, ["row 1", "image"])
    refused(server, "a path of this machine", {"instances": [{"image": "0.png"}]}, ["row 1", "image"])
    server.end()

    for words, title, wanted_text in [
        (("unread",), "data without a predict stream", "has no stream `predict`"),
        (("points", "--port", "70000"), "a port that is none", "port <= 65535"),
        (("points", "--wait", "soon"), "a time that is none", "30 s"),
        (("points", "--host", "no.such.host.invalid"), "a host that is none", "cannot listen"),
        (("points", "--out", "empty"), "no run", "train one with fit"),
    ]:
        told = run(program, "serve", *words, cwd=folder)
        check(title, told.returncode == 2 and wanted_text in told.text, told.text)
finish()

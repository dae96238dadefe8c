#!/usr/bin/env python3
"""`ltrc ui`: its list and pages, live while a program trains and a browser looks; what it refuses.

Python's standard library, and Chromium where there is one (its part is left out without); LTRC and LTR_SOURCE say which
compiler and sources, if not these.
"""
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import browser
from harness import LTRC, build, check, finish, run, scratch

PROGRAM = """ltr 1
extern "slow.cpp" {
  fn linger(seconds: float) -> float
}
hparam lr: float = 0.1
hparam pause_time: float = 0.0
data Points() {
  batch[B] { x: float[B, 2], y: float[B, 1] }
  fn point(s: {i: int}) -> {x: float[2], y: float[1]} = (x = full(2, 0.01 * s.i), y = full(1, 0.02 * s.i))
  train = synthetic(32, point) |> shuffle(1) |> collate(4)
  val = synthetic(8, point) |> collate(4)
}
model Line(lr: float) {
  out = Linear(2, 1)
  optimizer opt = SGD(out.weights, lr = lr)
  step train[B](x: float[B, 2], y: float[B, 1]) {
    loss = mse(out(x), y)
    minimize loss
    log loss
  }
  step val[B](x: float[B, 2], y: float[B, 1]) {
    log loss = mse(out(x), y)
  }
}
callback Slow(seconds: float) {
  on after_step { if seconds > 0.0 { assert linger(seconds) > 0.0 } }
}
experiment line {
  data = Points()
  model = Line(lr)
  trainer { epochs = 3, log_every = 1 }
  callbacks { Checkpoint(monitor = val.loss), Slow(pause_time) }
  loggers { Csv() }
}
"""
SLOW = """#include <chrono>
#include <thread>
#include "slow.ltr.h"
double linger(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  return seconds;
}
"""


class Server:
    """`ltrc ui` on a free port."""

    def __init__(self, *words, cwd):
        self.process = subprocess.Popen([str(LTRC), "ui", *map(str, words), "--port", "0"], cwd=cwd, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.url = self.process.stdout.readline().strip()
        found = re.fullmatch(r"http://(.*):(\d+)/", self.url)
        self.host, self.port = (found[1], int(found[2])) if found else ("", 0)

    def get(self, target, method="GET", **headers):
        """(status, body, headers)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, target, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), answer.headers

    def send(self, text):
        """The first line that answers bytes as they are."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            connection.sendall(text)
            try:
                return connection.recv(4096).decode(errors="replace").split("\r\n")[0]
            except ConnectionResetError:
                return "reset"

    def end(self):
        """(exit code, what it said on stderr)"""
        self.process.send_signal(signal.SIGINT)
        try:
            _, said = self.process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return None, self.process.communicate()[1]
        return self.process.returncode, said


def curves(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])["runs"]


def cells(page):
    return [re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", page)]


def check_start(folder):
    missing = run(LTRC, "ui", folder / "nowhere")
    check("a missing folder: exit 2, named", missing.returncode == 2 and "nowhere" in missing.stderr and "help:" in missing.stderr,
          missing.text)
    plain = folder / "plain.txt"
    plain.write_text("x")
    check("a file is no folder: exit 2", run(LTRC, "ui", plain).returncode == 2)
    for words in (("--port", "70000"), ("--port", "x"), ("--prt", "1"), ("a", "b")):
        refused = run(LTRC, "ui", *words)
        check(f"{' '.join(words)}: exit 2", refused.returncode == 2 and "help:" in refused.stderr, refused.text)
    (folder / "empty").mkdir()
    server = Server(folder / "empty", cwd=folder)
    check("a folder without runs is served, too", server.get("/")[0] == 200)
    taken = run(LTRC, "ui", folder / "empty", "--port", server.port)
    check("a port that is taken: exit 1, with a cure", taken.returncode == 1 and str(server.port) in taken.stderr and
          "--port 0" in taken.stderr, taken.text)
    nobody = run(LTRC, "ui", folder / "empty", "--host", "203.0.113.1")
    check("an address of another machine: exit 1", nobody.returncode == 1 and "203.0.113.1" in nobody.stderr, nobody.text)
    code, said = server.end()
    check("Ctrl-C ends it with 130; there was no run yet", code == 130 and "no run below" in said, (code, said))


def check_pages(program, folder):
    server = Server(cwd=folder)
    check("it serves `runs` on this machine alone", server.host == "127.0.0.1", server.url)
    status, page, headers = server.get("/")
    check("the list has the run with what it came to", status == 200 and {"line/0001", "finished", "24", "val/loss"} <= set(cells(page)),
          cells(page))
    check("pages load nothing, and are not kept", "default-src 'none'" in headers["Content-Security-Policy"] and
          headers["Cache-Control"] == "no-store" and headers["X-Content-Type-Options"] == "nosniff", headers)
    version = re.search(r'data-version="(\d+)"', page)[1]
    check("nothing new of the list: 204", server.get(f"/list?version={version}")[0] == 204)
    status, page, _ = server.get("/runs/line/0001")
    [one] = curves(page)
    check("a run has its page, with its curves", status == 200 and {s["name"] for s in one["series"]} >= {"train/loss", "val/loss"}, one)
    check("nothing new of the run: 204", server.get(f"{one['news']}?from={one['cursor']}&status=finished")[0] == 204)
    status, page, _ = server.get("/compare?run=line/0001&run=line%2F0002")
    check("two are compared", status == 200 and [each["name"] for each in curves(page)] == ["line/0001", "line/0002"], page[:300])
    check("HEAD is GET without its body", server.get("/", "HEAD")[:2] == (200, ""))
    return server


def check_refusals(server, folder):
    secret = folder / "secret"
    shutil.copytree(folder / "runs/line/0001", secret / "0009", symlinks=True)
    (folder / "runs/out").symlink_to(secret)
    (folder / "runs/line/0008").symlink_to(secret / "0009")
    time.sleep(1)
    for target in ("/runs/../secret/0009", "/runs/%2e%2e/secret/0009", f"/runs/{secret}/0009", "/runs//" + str(secret / "0009"),
                   "/runs/out/0009", "/runs/line/0008", "/runs/line/latest", "/runs/line/0001/run.json", "/runs/line/0001/../0002",
                   "/runs/", "/news/../secret/0009", "/compare?run=../secret/0009", "/compare?run=out/0009", "/etc/passwd", "/runs/%252e%252e"):
        status, page, _ = server.get(target)
        check(f"{target}: 404", status == 404 and "passwd:" not in page and "0009</h1>" not in page, (status, page[:300]))
    page = server.get("/")[1]
    check("what a link leads to is not listed", "0009" not in page and "0008" not in page, cells(page))
    for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", ""):
        check(f"Host {host or 'empty'}: 403", server.get("/", Host=host)[0] == 403)
    for host in ("localhost:1", "127.0.0.1", "[::1]:80"):
        check(f"Host {host}: 200", server.get("/", Host=host)[0] == 200)
    check("no Host: 400", " 400 " in server.send(b"GET / HTTP/1.1\r\n\r\n"))
    check("two of them: 400", " 400 " in server.send(b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"))
    check("no compared run: 400", server.get("/compare")[0] == 400)
    check("too many: 400", server.get("/compare?" + "&".join(["run=line/0001"] * 33))[0] == 400)
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "X"):
        answer = server.send(f"{method} / HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        check(f"{method}: 405", " 405 " in answer, answer)
    for title, code, text in (
            ("a body", 413, b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody"),
            ("a body in chunks", 413, b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"),
            ("a huge header", 431, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 20000 + b"\r\n\r\n"),
            ("a huge target", 431, b"GET /" + b"x" * 20000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            ("another protocol", 400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
            ("an address of a proxy", 400, b"GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            ("an escape that is none", 400, b"GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            ("a header in a target", 400, b"GET /%0d%0aX:1 HTTP/1.1\r\nHost: localhost\r\n\r\n")):
        answer = server.send(text)
        check(f"{title}: {code}", f" {code} " in answer, answer)
    status, page, _ = server.get("/runs/%3Cscript%3Ealert(1)%3C/script%3E")
    check("what a target says is text", status == 404 and "<script>alert" not in page, page[:300])
    idle = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(20)]
    for one in idle:
        one.sendall(b"GET / HT")
    check("silent connections hold nobody up", server.get("/")[0] == 200)
    many = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(80)]
    for one in idle + many:
        one.close()
    time.sleep(0.5)
    check("nor do many", server.get("/")[0] == 200)
    (folder / "runs/out").unlink()
    (folder / "runs/line/0008").unlink()


def check_damage(server, folder):
    journal = folder / "runs/line/0002/log.jsonl"
    whole = journal.read_text()
    journal.write_text("{]\n" + whole)
    time.sleep(1)
    page = server.get("/")[1]
    check("a damaged run is listed as such, others as ever", {"damaged", "finished"} <= set(cells(page)) and "log.jsonl" in page, cells(page))
    status, page, _ = server.get("/runs/line/0002")
    check("its page says what is damaged", status == 500 and "log.jsonl: " in page and "at byte 0" not in page, page[-400:])
    check("a comparison, too", server.get("/compare?run=line/0001&run=line/0002")[0] == 500)
    journal.unlink()
    os.mkfifo(journal)
    time.sleep(1)
    check("a pipe in its place holds nobody up", server.get("/runs/line/0002")[0] == 500)
    journal.unlink()
    journal.symlink_to("/etc/passwd")
    time.sleep(1)
    status, page, _ = server.get("/runs/line/0002")
    check("nor is a link out of it read", status == 500 and "root:" not in page, page[-400:])
    journal.unlink()
    journal.write_text(whole)
    time.sleep(1)
    check("mended, it is whole again", server.get("/runs/line/0002")[0] == 200)


def check_live(program, server, folder):
    """A program trains while a browser looks."""
    if browser.PROGRAM is None:
        print("left out: live pages: there is no browser")
        return
    trained = subprocess.Popen([program, "fit", "--epochs", "1000", "--pause-time", "0.05", "--quiet"], cwd=folder,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with browser.Browser(folder) as page:
        try:
            page.open(server.url)
            row = "[...document.querySelectorAll('#rows tr')].find(row => row.textContent.includes('line/0003'))"
            check("a run that begins comes into the list", page.wait(f"{row} !== undefined && {row}.textContent.includes('running')"),
                  page.ask("document.body.innerText"))
            page.ask(f"{row}.querySelector('input').checked = true")
            steps = f"+{row}.children[5].textContent"
            first = page.ask(steps)
            check("its steps grow there", page.wait(f"{steps} > {first}"), first)
            check("what is chosen stays so", page.ask(f"{row}.querySelector('input').checked") is True)
            page.open(server.url + "runs/line/0003")
            points = "data.runs[0].series.find(one => one.name === 'train/loss').points.length"
            path = "document.querySelector('.chart path').getAttribute('d').split('L').length"
            count = "+document.querySelector('td[data-series=\"train/loss\"][data-what=count]').textContent"
            page.ask("document.getElementById('smooth').value = '0.5', document.getElementById('smooth').oninput({target: {value: 0.5}})")
            before = page.ask(points)
            check("its curve grows", page.wait(f"{points} > {before} + 10"), before)
            check("as drawn, and the numbers beside it", page.wait(f"{path} > {before} && {count} >= {before} + 10"), page.ask(count))
            check("what was chosen on the page stays", page.ask("view.smooth") == 0.5)
            page.open(server.url + "compare?run=line/0001&run=line/0003")
            before = page.ask(points.replace("runs[0]", "runs[1]"))
            check("curves of a comparison grow, too", page.wait(points.replace("runs[0]", "runs[1]") + f" > {before}"), before)
            page.open(server.url + "runs/line/0003")
            trained.send_signal(signal.SIGINT)
            check("its end is seen", trained.wait(60) == 130 and
                  page.wait("document.querySelector('.state').textContent === 'interrupted'"), page.ask("document.body.innerText"))
            check("each step stands once, in order", page.ask(
                "data.runs[0].series.every(one => one.points.every((p, i) => i === 0 || one.points[i - 1][0] < p[0]))"))
            run(program, "fit", "--resume", "runs/line/0003", "--epochs", "1000", "--steps", "400", "--quiet", cwd=folder)
            check("what a resumed run adds is seen, too", page.wait("document.querySelector('.state').textContent !== 'interrupted'") and
                  page.ask("data.runs[0].series.every(one => one.points.every((p, i) => i === 0 || one.points[i - 1][0] < p[0]))"))
            killed = subprocess.Popen([program, "fit", "--epochs", "1000", "--pause-time", "0.05", "--quiet"], cwd=folder,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            page.open(server.url)
            row = row.replace("0003", "0004")
            page.wait(f"{row} !== undefined && +{row}.children[5].textContent > 0")
            killed.kill()
            killed.wait()
            check("of a killed run it says that it is lost", page.wait(f"{row}.textContent.includes('lost')"),
                  page.ask("document.body.innerText"))
            check("no script failed", not page.errors, page.errors)
            code, _ = server.end()
            check("Ctrl-C ends it while a browser is there: 130", code == 130, code)
            check("which says so", page.wait("document.getElementById('note').textContent.includes('not followed now')"))
        finally:
            trained.kill()


with scratch() as folder:
    folder = pathlib.Path(folder)
    source = folder / "line.ltr"
    source.write_text(PROGRAM)
    (folder / "slow.cpp").write_text(SLOW)
    check_start(folder)
    program = build(source, folder)
    for lr in ("0.05", "0.2"):
        fitted = run(program, "fit", "--lr", lr, "--quiet", cwd=folder)
        check("it trains", fitted.returncode == 0, fitted.text)
    server = check_pages(program, folder)
    try:
        check_refusals(server, folder)
        check_damage(server, folder)
        check_live(program, server, folder)
    finally:
        server.process.kill()
finish()

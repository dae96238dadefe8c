#!/usr/bin/env python3
"""`Notify`: what servers of each kind are told of a run that starts, gets better, ends, fails and is stopped; the address is in no file and no
output; servers that are gone, hang or refuse are a warning, and change nothing of training.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these. With slack_sdk, its own models read the blocks.
"""
import http.server
import json
import os
import pathlib
import signal
import socket
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, fit, interrupt, newest, result_of, scratch

PROGRAM = """ltr 1

data Points() {{
  batch[B] {{ x: float[B, 4], y: float[B, 2] }}
  fn point(row: {{i: int}}) -> {{x: float[4], y: float[2]}} = (x = randn(4), y = ones(2) * row.i / 64.0)
  train = range(64) |> map(point) |> shuffle(1) |> collate(8)
  val = range(16) |> map(point) |> collate(8)
}}

model Net() {{
  net = Linear(4, 2)
  optimizer opt = SGD(net.weights, lr = 0.05)
  step train[B](x: float[B, 4], y: float[B, 2]) {{
    loss = mean((net(x) - y) ** 2)
    minimize loss
    log loss
  }}
  step val[B](x: float[B, 4], y: float[B, 2]) {{ log loss = mean((net(x) - y) ** 2) }}
}}

callback Breaks(at: int) {{ on train_epoch_start {{ assert epoch != at, "broken on purpose" }} }}

experiment e {{
  data = Points(), model = Net()
  trainer {{ epochs = 3 }}
  callbacks {{ {callbacks} }}
  loggers {{ Csv() }}
}}
"""


class Server(http.server.ThreadingHTTPServer):
    """Collects what comes; `answers` of them come first, 200 ever after."""

    def __init__(self, answers=(), body=b"ok"):
        self.got, self.answers, self.body = [], list(answers), body
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def address(self, path):
        return f"http://127.0.0.1:{self.server_address[1]}/{path}"


class Handler(http.server.BaseHTTPRequestHandler):
    def take(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.got.append((self.command, self.path, body))
        self.send_response(self.server.answers.pop(0) if self.server.answers else 200)
        self.end_headers()
        self.wfile.write(self.server.body)

    do_POST = do_PATCH = take

    def log_message(self, *_):
        pass


SECRET = "hook-5up3r-53cr3t"


def hidden(title, folder, result):
    """The address is nowhere."""
    everywhere = [path for path in folder.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    check(f"{title}: the address is in no file and no output", not everywhere and SECRET not in result.text, everywhere or result.text)


with scratch() as place:
    folder = pathlib.Path(place)
    runs = folder / "runs"

    def built(name, callbacks):
        (folder / f"{name}.ltr").write_text(PROGRAM.format(callbacks=callbacks))
        return build(folder / f"{name}.ltr", folder)

    def told(program, out, server, *options):
        os.environ["LTR_TEST_HOOK"] = server.address(SECRET) if isinstance(server, Server) else server
        result = fit(program, runs / out, *options)
        return result, server.got if isinstance(server, Server) else []

    BEST = "Checkpoint(monitor = val.loss)"
    plain = built("plain", f'Notify(webhook(env("LTR_TEST_HOOK"))), {BEST}')
    quiet = built("quiet", BEST)

    result, got = told(plain, "plain", Server())
    events = [body["event"] for _, _, body in got]
    check("a run tells how it goes", result.returncode == 0 and events[0] == "start" and events[-1] == "finish" and 1 <= events.count("best") <= 3, (events, result.text))
    method, path, body = got[-1]
    check("by POST, at its path", method == "POST" and path == f"/{SECRET}", got[-1])
    check("with experiment, run, step, metrics, host, time", body["experiment"] == "e" and body["run"].startswith("0001") and body["step"] == 24 and body["epoch"] == 3
          and body["metrics"]["val.loss"] > 0 and body["host"] == socket.gethostname() and time.strptime(body["time"], "%Y-%m-%dT%H:%M:%SZ"), body)
    hidden("plain", folder, result)
    fit(quiet, runs / "quiet")
    check("training is the same without it", result_of(newest(runs / "plain")) == result_of(newest(runs / "quiet")))

    result, got = told(built("few", f'Notify(webhook(env("LTR_TEST_HOOK")), on = [finish], every = none), {BEST}'), "few", Server())
    check("`on` says which", result.returncode == 0 and [body["event"] for _, _, body in got] == ["finish"], got)
    result, got = told(built("often", 'Notify(webhook(env("LTR_TEST_HOOK")), every = 1 ms)'), "often", Server(), "--set", "trainer.log_every=1")
    check("progress between", result.returncode == 0 and "progress" in [body["event"] for _, _, body in got], got)

    result, got = told(built("slack", f'Notify(slack(env("LTR_TEST_HOOK"))), {BEST}'), "slack", Server())
    bodies = [body for _, _, body in got]
    check("Slack gets blocks", result.returncode == 0 and bodies[0]["text"].startswith("e 0001") and bodies[0]["text"].endswith(": started") and bodies[-1]["text"].endswith(": finished")
          and bodies[-1]["blocks"][0]["type"] == "header" and any(one["text"] == "*state*\nfinished" for one in bodies[-1]["blocks"][1]["fields"]), bodies[-1:])
    try:
        from slack_sdk.models.blocks import Block
        check("which slack_sdk reads", all(Block.parse(block).validate_json() is None for body in bodies for block in body["blocks"]))
    except ImportError:
        print("skip: slack_sdk is not there")

    result, got = told(built("teams", 'Notify(teams(env("LTR_TEST_HOOK")))'), "teams", Server([202, 202]))
    check("Teams gets cards", result.returncode == 0 and len(got) == 2 and got[-1][2]["attachments"][0]["content"]["type"] == "AdaptiveCard", (got, result.text))

    result, got = told(built("discord", 'Notify(discord(env("LTR_TEST_HOOK")))'), "discord", Server(body=b'{"id": "77"}'))
    check("Discord's one message is kept current", result.returncode == 0 and [(method, path) for method, path, _ in got] ==
          [("POST", f"/{SECRET}?wait=true"), ("PATCH", f"/{SECRET}/messages/77")] and got[-1][2]["allowed_mentions"] == {"parse": []}, got)

    server = Server(body=b'{"id": "77"}')
    os.environ["LTR_TEST_HOOK"] = server.address(SECRET) + "?thread_id=5"
    result = fit(built("thread", 'Notify(discord(env("LTR_TEST_HOOK")))'), runs / "thread")
    check("in a thread of it, too", result.returncode == 0 and [path for _, path, _ in server.got] ==
          [f"/{SECRET}?thread_id=5&wait=true", f"/{SECRET}/messages/77?thread_id=5"], server.got)

    fails = built("fails", 'Notify(webhook(env("LTR_TEST_HOOK"))), Breaks(at = 1)')
    result, got = told(fails, "fails", Server())
    check("a failure is told, with its reason", result.returncode == 1 and got[-1][2]["event"] == "fail" and "broken on purpose" in got[-1][2]["reason"], (got[-1:], result.text))
    hidden("a failure", folder, result)

    server = Server()
    os.environ["LTR_TEST_HOOK"] = server.address(SECRET)
    code, text = interrupt(plain, runs / "stopped", 9, signal.SIGTERM, "--set", "trainer.epochs=400")
    check("a run that is stopped says so", code == 75 and server.got[-1][2]["event"] == "finish", (server.got[-1:], text))

    # Whatever the server does, nothing of training changes.
    result, got = told(plain, "retried", Server([500, 429]))
    check("what fails is tried again", result.returncode == 0 and [body["event"] for _, _, body in got][:3] == ["start"] * 3 and "is not told" not in result.text, (got, result.text))
    result, got = told(plain, "unwanted", Server([404] * 9))
    check("what is not wanted is not, and that is a warning", result.returncode == 0 and "webhook is not told of" in result.text and "it answers 404" in result.text, result.text)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        gone = f"http://127.0.0.1:{closed.getsockname()[1]}/{SECRET}"
    begin = time.monotonic()
    result, _ = told(plain, "gone", gone)
    took = time.monotonic() - begin
    check("which takes the end of a run two seconds at most", took < 5 and "%" in result.text, (took, result.text))
    check("a server that is gone is a warning", result.returncode == 0 and "webhook is not told of" in result.text, result.text)
    hidden("a server that is gone", folder, result)
    check("and training is the same", result_of(newest(runs / "gone")) == result_of(newest(runs / "quiet")))
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        begin = time.monotonic()
        result, _ = told(plain, "silent", f"http://127.0.0.1:{silent.getsockname()[1]}/{SECRET}")
        took = time.monotonic() - begin
    check("one that hangs costs seconds at the end, and no more", result.returncode == 0 and took < 30 and result_of(newest(runs / "silent")) == result_of(newest(runs / "quiet")), (took, result.text))

    os.environ["LTR_TEST_HOOK"] = "ftp://somewhere"
    result = fit(plain, runs / "refused")
    check("what is no address is refused", result.returncode == 2 and "LTR_TEST_HOOK holds no address" in result.text and "somewhere" not in result.text, result.text)
    del os.environ["LTR_TEST_HOOK"]
    result = fit(plain, runs / "refused")
    check("a variable that is not there is refused", result.returncode == 2 and "the environment has no LTR_TEST_HOOK" in result.text, result.text)
    os.environ["LTR_TEST_OTHER"] = Server().address(SECRET)
    result = fit(plain, runs / "other", "--set", 'callbacks.Notify.to=webhook(env("LTR_TEST_OTHER"))')
    check("a flag names another one", result.returncode == 0, result.text)
    config = json.loads((newest(runs / "other") / "config.json").read_text())
    check("settings have its name alone", SECRET not in json.dumps(config) and "LTR_TEST_OTHER" in json.dumps(config), config)

finish()

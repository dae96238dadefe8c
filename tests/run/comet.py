#!/usr/bin/env python3
"""`Comet()` against a server that notes every request: experiment, settings, the newest value of each series, the whole history as a file, the end;
a service that fails or is away costs a warning, and `ltrc sync` sends the rest. The key is in no file. The service itself was never reached.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import collections
import http.server
import json
import os
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import LTRC, build, check, finish, newest, run, scratch
from points import model, source

KEY = "aVerySecretKey42"
EXPERIMENT = """
experiment followed {
  data    = Points()
  model   = Net()
  trainer { epochs = 2, seed = 1, log_every = 1 }
  loggers { Csv(), Comet(workspace = "we", project = "plants") }
  tags { kind = "pots" }
}
"""


class Server(http.server.ThreadingHTTPServer):
    """What it was asked, in order; the first requests for a path in `fails` are answered with that status."""

    def __init__(self):
        self.asked, self.fails = [], collections.defaultdict(list)
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                path = self.path.split("/api/rest/v2/write/experiment/")[-1]
                status = outer.fails[path.split("?")[0]].pop(0) if outer.fails[path.split("?")[0]] else 200
                outer.asked.append((path, status, self.headers.get("Authorization"), body))
                told = json.dumps({"experimentKey": "k1"} if status == 200 else {"msg": "not now"}).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(told)))
                self.end_headers()
                self.wfile.write(told)

            do_GET = do_POST = do_PUT = answer

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def address(self):
        return f"http://127.0.0.1:{self.server_port}"

    def bodies(self, path):
        return [json.loads(body) for asked, status, _, body in self.asked if asked.split("?")[0] == path and status == 200]


def told(server, of_run, title):
    check(f"{title}: one experiment", [(one["workspaceName"], one["projectName"]) for one in server.bodies("create")] == [("we", "plants")], server.bodies("create"))
    given = {one["parameterName"]: one["parameterValue"] for one in server.bodies("parameter")}
    check(f"{title}: settings of the program", given.get("trainer.epochs") == "2" and given.get("trainer.seed") == "1", given)
    check(f"{title}: tags", any("kind=pots" in one["addedTags"] for one in server.bodies("tags")), server.bodies("tags"))
    losses = [one for one in server.bodies("metric") if one["metricName"] == "train/loss"]
    last = (of_run / "metrics.csv").read_text().strip().split("\n")[-1].split(",")
    check(f"{title}: the newest loss, with its step", losses and losses[-1]["step"] == int(last[0]) and float(losses[-1]["metricValue"]) == float(last[2]), (losses[-1:], last))
    check(f"{title}: every body names the experiment", all(one.get("experimentKey") == "k1" for path in ("parameter", "metric", "tags", "log-other") for one in server.bodies(path)))
    files = [path for path, status, _, _ in server.asked if path.startswith("upload-asset") and status == 200]
    check(f"{title}: the whole history and the settings as files", any("metrics.csv" in path for path in files) and any("config.json" in path for path in files), files)
    check(f"{title}: when it ended", any("endTimeMillis" in one for one in server.bodies("set-start-end-time")), server.bodies("set-start-end-time"))
    check(f"{title}: the key with each request", all(key == KEY for *_, key, _ in server.asked), {key for *_, key, _ in server.asked})


def keeps_secret(folder, title):
    found = [path for path in folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    check(f"{title}: the key is in no file", not found, found)


with scratch() as place:
    folder = pathlib.Path(place)
    (folder / "followed.ltr").write_text(source(model(), EXPERIMENT))
    program = build(folder / "followed.ltr", folder)
    os.environ.pop("COMET_API_KEY", None)
    result = run(program, "fit", "--no-bar", "--out", folder / "refused")
    check("without a key a run does not begin", result.returncode == 2 and "COMET_API_KEY" in result.text, result.text)
    os.environ["COMET_API_KEY"] = KEY

    server = Server()
    os.environ["COMET_URL_OVERRIDE"] = server.address()
    server.fails["create"], server.fails["parameter"] = [500], [429]
    result = run(program, "fit", "--no-bar", "--out", folder / "runs")
    check("a run that is followed", result.returncode == 0 and KEY not in result.text, result.text)
    of_run = newest(folder / "runs")
    sent = run(LTRC, "sync", of_run)
    check("`ltrc sync` has nothing to mend", sent.returncode == 0 and KEY not in sent.text, sent.text)
    told(server, of_run, "followed")
    keeps_secret(folder / "runs", "followed")
    server.shutdown()
    server.server_close()

    os.environ["COMET_URL_OVERRIDE"] = server.address()
    result = run(program, "fit", "--no-bar", "--out", folder / "alone")
    check("a service that is away costs a warning", result.returncode == 0 and "warning" in result.text and "ltrc sync" in result.text, result.text)
    of_run = newest(folder / "alone")
    again = Server()
    state = of_run / "sync/comet.json"
    state.write_text(state.read_text().replace(server.address(), again.address()))
    sent = run(LTRC, "sync", of_run)
    check("`ltrc sync` sends it later", sent.returncode == 0 and "all of" in sent.text, sent.text)
    told(again, of_run, "sent later")
    keeps_secret(folder / "alone", "sent later")
finish()

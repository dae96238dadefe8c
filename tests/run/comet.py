#!/usr/bin/env python3
"""`Comet()` against a server that notes every request: experiment, settings, the newest value of each series, the whole history as a file, the end;
a service that fails or is away costs a warning, and `ltrc sync` sends the rest. The key is in no file. The service itself was never reached.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import collections
import csv
import http.server
import json
import os
import pathlib
import signal
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import LTRC, build, check, finish, interrupt, newest, run, scratch
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


# What the service documents for each path: fields and their types; one with `_` behind it may be absent.
FIELDS = {
    "create": {"workspaceName": str, "projectName": str, "experimentName": str},
    "metric": {"experimentKey": str, "metricName": str, "metricValue": (int, float, str), "step": int, "epoch_": int, "timestamp": int},
    "parameter": {"experimentKey": str, "parameterName": str, "parameterValue": str, "timestamp": int},
    "log-other": {"experimentKey": str, "key": str, "value": str, "timestamp": int},
    "tags": {"experimentKey": str, "addedTags": list},
    "git/metadata": {"experimentKey": str, "parent": str, "branch": str, "origin": str},
    "set-start-end-time": {"experimentKey": str, "startTimeMillis_": int, "endTimeMillis_": int},
}


def faults(path, body):
    """Where a request is not what the service documents."""
    name, _, query = path.partition("?")
    if name.endswith("/experiments"):
        return [] if query == "workspaceName=we&projectName=plants" else [path]
    if name in ("set-status", "upload-asset"):
        return [] if query.startswith("experimentKey=k") else [path]
    if name not in FIELDS:
        return [f"unknown path {path}"]
    told, known = json.loads(body), {field.rstrip("_"): kind for field, kind in FIELDS[name].items()}
    wrong = [f"{name}: {field} = {value!r}" for field, value in told.items() if field not in known or not isinstance(value, known[field]) or isinstance(value, bool)]
    wrong += [f"{name}: {field} is missing" for field in FIELDS[name] if not field.endswith("_") and field not in told]
    if name == "metric" and isinstance(told.get("metricValue"), str) and told["metricValue"] not in ("NaN", "Infinity", "-Infinity"):
        wrong.append(f"metric: {told}")
    return wrong


LOST = 0


class Server(http.server.ThreadingHTTPServer):
    """What it was asked, in order; the first requests for a path in `fails` are answered with that status, or done and not answered where it is `LOST`."""

    def __init__(self):
        self.asked, self.times, self.made, self.fails = [], [], {}, collections.defaultdict(list)
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                path = self.path.split("/api/rest/v2/write/experiment/")[-1]
                status = outer.fails[path.split("?")[0]].pop(0) if outer.fails[path.split("?")[0]] else 200
                if path.startswith("metric"):
                    outer.times.append(time.monotonic())
                outer.asked.append((path, status or 200, self.headers.get("Authorization"), body))
                told = {"msg": "not now"} if status not in (LOST, 200) else outer.told(path, body)
                if status == LOST:
                    self.close_connection = True
                    return
                told = json.dumps(told).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(told)))
                self.end_headers()
                self.wfile.write(told)

            do_GET = do_POST = do_PUT = answer

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def told(self, path, body):
        if path.split("?")[0].endswith("/experiments"):
            return {"experiments": [{"experimentKey": key, "experimentName": name} for key, name in self.made.items()]}
        if path == "create":
            key = f"k{len(self.made) + 1}"
            self.made[key] = json.loads(body)["experimentName"]
            return {"experimentKey": key}
        told = json.loads(body) if path == "log-other" else {}
        if told.get("key") == "Name":
            self.made[told["experimentKey"]] = told["value"]
        return {}

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
    wrong = [one for path, _, _, body in server.asked for one in faults(path, body)]
    check(f"{title}: every request is what is documented", not wrong, wrong)
    took = server.times[-1] - server.times[0] if server.times else 0
    check(f"{title}: five values a second at most", len(server.times) < 5 or took > 0.15 * (len(server.times) - 1), server.times)
    check(f"{title}: the key with each request", all(key == KEY for *_, key, _ in server.asked), {key for *_, key, _ in server.asked})


def table_of(server):
    """{series: {step: value}} of the history that was sent last."""
    body = [body for path, _, _, body in server.asked if path.startswith("upload-asset") and "metrics.csv" in path][-1].decode()
    mark = body[2:body.index("\r\n")]
    part = body.split("--" + mark)[1].split("\r\n\r\n", 1)[1].removesuffix("\r\n")
    return by_series(part)


def by_series(text):
    out = {}
    for row in csv.DictReader(text.splitlines()):
        for name, value in row.items():
            if name not in ("step", "epoch") and value != "":
                out.setdefault(name, {})[int(row["step"])] = repr(float(value))
    return out


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
    ours = by_series((of_run / "metrics.csv").read_text())
    check("followed: the history is that of Csv", {name: table_of(server).get(name) for name in ours} == ours, (table_of(server), ours))
    status = [one["value"] for one in server.bodies("log-other") if one["key"] == "status"]
    check("followed: how it ended", status == ["finished"], status)
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

    # What is no number, a run that goes on, and a service that refuses.
    (folder / "odd.ltr").write_text(source(model(more="    log odd = (loss - loss) / (loss - loss)\n"), EXPERIMENT.replace('workspace = "we", ', "")))
    odd = build(folder / "odd.ltr", folder)
    result = run(odd, "fit", "--no-bar", "--out", folder / "refused")
    check("without a workspace a run does not begin", result.returncode == 2 and "COMET_WORKSPACE" in result.text, result.text)
    os.environ["COMET_WORKSPACE"] = "we"
    server = Server()
    os.environ["COMET_URL_OVERRIDE"] = server.address() + "/clientlib/"
    got, text = interrupt(odd, folder / "stopped", 40, signal.SIGTERM, "--epochs", 60)
    check("a run that is stopped", got == 75 and not any("endTimeMillis" in one for one in server.bodies("set-start-end-time")), (got, text[-500:]))
    result = run(odd, "fit", "--no-bar", "--out", folder / "stopped", "--resume", "auto", "--epochs", 60)
    of_run = newest(folder / "stopped")
    check("goes on as the same experiment", result.returncode == 0 and len(server.bodies("create")) == 1, (server.bodies("create"), result.text))
    ours = by_series((of_run / "metrics.csv").read_text())
    check("with its whole history, once", {name: table_of(server).get(name) for name in ours} == ours and len(ours["train/loss"]) == 240, len(ours["train/loss"]))
    values = [one for one in server.bodies("metric") if one["metricName"] == "train/odd"]
    check("and what is no number as text", values and all(one["metricValue"] == "NaN" for one in values) and values[-1]["step"] == 240, values[-1:])
    check("its values go on from step to step", [one["step"] for one in values] == sorted({one["step"] for one in values}), values)
    keeps_secret(folder / "stopped", "goes on")
    # Who makes an experiment, and is cut off before it can say so, made one all the same; one of another with that name is not taken for it.
    (folder / "named.ltr").write_text(source(model(), EXPERIMENT.replace('project = "plants"', 'project = "plants", name = "the roses"')))
    named = build(folder / "named.ltr", folder)
    for title, followed, wanted in (("a lost answer", program, "followed/"), ("a lost answer of a run with a name", named, "the roses")):
        server = Server()
        os.environ["COMET_URL_OVERRIDE"] = server.address()
        server.made["k9"] = "the roses"
        server.fails["create"] = [503] * 50
        result = run(followed, "fit", "--no-bar", "--out", folder / "lost")
        check(f"{title}: the run ends well", result.returncode == 0, result.text)
        server.fails["create"] = [LOST]
        sent = [run(LTRC, "sync", newest(folder / "lost")) for _ in range(2)]
        check(f"{title}: the next try finds it, and nothing is left", [one.returncode for one in sent] == [0, 0], sent[0].text + sent[1].text)
        check(f"{title}: one experiment", len(server.bodies("create")) == 1 and len(server.made) == 2, server.made)
        name = server.made["k2"]
        check(f"{title}: its name, without the mark", name.startswith(wanted) and len(name) < 20 and name == server.bodies("log-other")[0]["value"], server.made)
        check(f"{title}: all goes there", {one["experimentKey"] for one in server.bodies("metric")} == {"k2"}, server.bodies("metric"))
        wrong = [one for path, _, _, body in server.asked for one in faults(path, body)]
        check(f"{title}: every request is what is documented", not wrong, wrong)

    server = Server()
    os.environ["COMET_URL_OVERRIDE"] = server.address()
    server.fails["create"] = [401] * 100
    result = run(program, "fit", "--no-bar", "--out", folder / "unknown")
    check("a key that the service does not know is a warning", result.returncode == 0 and "it answers 401: not now" in result.stderr and KEY not in result.text, result.text)
finish()

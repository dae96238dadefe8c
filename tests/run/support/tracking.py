"""A tracking server that is stricter than MLflow: fields and types that its API does not name are an answer 400, as are params that change."""
import base64
import http.server
import json
import re
import threading
import time
import urllib.parse

NAME = re.compile(r"^[/\w.\- :]{1,250}$")
NUMBER = (int, float)


def need(holds, why):
    if not holds:
        raise Refused(400, "INVALID_PARAMETER_VALUE", why)


class Refused(Exception):
    def __init__(self, status, code, why):
        self.status, self.body = status, {"error_code": code, "message": why}


def fields(body, **types):
    """`body` has these fields, of these types, and no other; a name with `_` behind it may be absent."""
    need(isinstance(body, dict), "no object")
    known = {name.rstrip("_"): kind for name, kind in types.items()}
    for name, value in body.items():
        need(name in known, f"unknown field {name}")
        need(isinstance(value, known[name]) and not isinstance(value, bool), f"{name} = {value!r}")
    for name in types:
        need(name.endswith("_") or name in body, f"{name} is missing")


def pairs(listed, most):
    need(len(listed) <= most, f"{len(listed)} entries")
    for one in listed:
        fields(one, key=str, value=str)
        need(NAME.match(one["key"]) and len(one["value"]) <= 6000, one)


class Tracking(http.server.ThreadingHTTPServer):
    """`faults` are answered first, one each: a status, or seconds to wait. `password` is asked for, if it is given."""

    def __init__(self, faults=(), password=None, artifacts="mlflow-artifacts:/{}/{}/artifacts", port=0):
        self.experiments, self.runs, self.files, self.calls, self.wrong = {}, {}, {}, [], []
        self.faults, self.password, self.artifacts = list(faults), password, artifacts
        self.lock = threading.Lock()
        super().__init__(("127.0.0.1", port), Handler)
        self.uri = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def die(self):
        self.shutdown()
        self.server_close()

    def handle_error(self, *_):
        """A client that is gone is none."""

    def run(self):
        """The one run."""
        assert len(self.runs) == 1, self.runs
        return next(iter(self.runs.values()))

    # What the API has, each as `METHOD_path`.

    def get_experiments_get_by_name(self, body):
        fields(body, experiment_name=str)
        if body["experiment_name"] not in self.experiments:
            raise Refused(404, "RESOURCE_DOES_NOT_EXIST", "no such experiment")
        return {"experiment": {"experiment_id": self.experiments[body["experiment_name"]], "name": body["experiment_name"]}}

    def post_experiments_create(self, body):
        fields(body, name=str)
        if body["name"] in self.experiments:
            raise Refused(400, "RESOURCE_ALREADY_EXISTS", "there is one")
        self.experiments[body["name"]] = str(len(self.experiments) + 1)
        return {"experiment_id": self.experiments[body["name"]]}

    def post_runs_create(self, body):
        fields(body, experiment_id=str, run_name_=str, start_time_=int, tags_=list)
        need(body["experiment_id"] in self.experiments.values(), "no such experiment")
        pairs(body.get("tags", []), 100)
        run_id = f"{len(self.runs):032x}"
        info = {"run_id": run_id, "experiment_id": body["experiment_id"], "run_name": body["run_name"], "status": "RUNNING", "end_time": None,
                "artifact_uri": self.artifacts.format(body["experiment_id"], run_id), "start_time": body["start_time"]}
        self.runs[run_id] = {"info": info, "tags": {one["key"]: one["value"] for one in body.get("tags", [])}, "params": {}, "metrics": {}, "states": []}
        return {"run": {"info": info, "data": {}}}

    def post_runs_search(self, body):
        fields(body, experiment_ids=list, filter=str, max_results=int)
        key, value = re.fullmatch(r"tags\.`([^`]+)` = '([^']+)'", body["filter"]).groups()
        found = [{"info": run["info"]} for run in self.runs.values()
                 if run["info"]["experiment_id"] in body["experiment_ids"] and run["tags"].get(key) == value]
        return {"runs": found[:body["max_results"]]} if found else {}

    def post_runs_log_batch(self, body):
        fields(body, run_id=str, metrics_=list, params_=list)
        run, metrics, params = self.runs[body["run_id"]], body.get("metrics", []), body.get("params", [])
        need(0 < len(metrics) + len(params) <= 1000, "too many, or none")
        pairs(params, 100)
        for one in params:
            need(run["params"].setdefault(one["key"], one["value"]) == one["value"], f"{one['key']} has another value")
        for one in metrics:
            fields(one, key=str, value=(int, float, str), timestamp=int, step=int)
            need(NAME.match(one["key"]) and one["timestamp"] > 1_600_000_000_000, one)
            need(not isinstance(one["value"], str) or one["value"] in ("NaN", "Infinity", "-Infinity"), one)
            point = (one["step"], one["timestamp"], float(one["value"].replace("Infinity", "inf") if isinstance(one["value"], str) else one["value"]))
            history = run["metrics"].setdefault(one["key"], [])
            if repr(point) not in map(repr, history):  # equal points are one
                history.append(point)
        return {}

    def post_runs_update(self, body):
        fields(body, run_id=str, status=str, end_time_=int)
        need(body["status"] in ("RUNNING", "FINISHED", "FAILED", "KILLED"), body["status"])
        run = self.runs[body["run_id"]]
        run["states"].append(body["status"])
        run["info"].update(status=body["status"], end_time=body.get("end_time"))
        return {"run_info": run["info"]}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        server = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with server.lock:
            fault = server.faults.pop(0) if server.faults else None
        if isinstance(fault, float):
            time.sleep(fault)
        elif fault is not None:
            return self.tell(fault, {"error_code": "TEMPORARILY_UNAVAILABLE", "message": "not now"})
        if server.password is not None:
            wanted = "Basic " + base64.b64encode(server.password.encode()).decode() if ":" in server.password else "Bearer " + server.password
            if self.headers.get("Authorization") != wanted:
                return self.tell(401, {"message": "who are you?"})
        path = urllib.parse.urlsplit(self.path)
        try:
            with server.lock:
                server.calls.append(path.path)
                told = self.do(server, path, body)
            self.tell(200, told)
        except ConnectionError:
            pass  # nobody waits for it any more
        except Refused as error:
            if error.body["error_code"].startswith("INVALID"):
                server.wrong.append((self.path, error.body["message"]))
            self.tell(error.status, error.body)
        except Exception as error:
            server.wrong.append((self.path, repr(error)))
            self.tell(500, {"error_code": "INTERNAL_ERROR", "message": repr(error)})
        return None

    def do(self, server, path, body):
        files = "/api/2.0/mlflow-artifacts/artifacts/"
        if self.command == "PUT" and path.path.startswith(files):
            need(self.headers.get("Content-Type") == "application/octet-stream", self.headers)
            server.files[urllib.parse.unquote(path.path.removeprefix(files))] = body
            return {}
        need(path.path.startswith("/api/2.0/mlflow/"), path.path)
        given = dict(urllib.parse.parse_qsl(path.query)) if self.command == "GET" else json.loads(body)
        name = path.path.removeprefix("/api/2.0/mlflow/").replace("/", "_").replace("-", "_")
        return getattr(server, f"{self.command.lower()}_{name}")(given)

    def tell(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = answer

    def log_message(self, *_):
        pass

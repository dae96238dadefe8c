"""A client of `ltrc lsp` with Python's standard library alone."""
import json
import pathlib
import queue
import subprocess
import threading
import time


class Failed(Exception):
    """What the server answered in place of a result."""

    def __init__(self, error):
        super().__init__(f"{error['code']}: {error['message']}")
        self.code = error["code"]


class Client:
    def __init__(self, ltrc, folder, timeout_s=60):
        self.timeout_s = timeout_s
        self.process = subprocess.Popen([ltrc, "lsp"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.incoming = queue.Queue()
        self.answers, self.notes, self.last_id = {}, [], 0
        self.texts, self.versions = {}, {}
        threading.Thread(target=self._read, daemon=True).start()

    # ---- the wire

    def _read(self):
        while True:
            length = None
            while True:
                line = self.process.stdout.readline()
                if not line:
                    return self.incoming.put(None)
                if line == b"\r\n":
                    break
                name, value = line.decode().split(":")
                if name == "Content-Length":
                    length = int(value)
            self.incoming.put(json.loads(self.process.stdout.read(length)))

    def send_bytes(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        body = json.dumps(message).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def receive(self):
        """The next message, sorted away."""
        message = self.incoming.get(timeout=self.timeout_s)
        assert message is not None, "the server ended"
        if "method" in message:
            self.notes.append(message)
        else:
            self.answers[message["id"]] = message
        return message

    def ask(self, method, params):
        """Sends a request; `wait` gives its answer."""
        self.last_id += 1
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        return self.last_id

    def wait(self, number):
        while number not in self.answers:
            self.receive()
        answer = self.answers.pop(number)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer["result"]

    def request(self, method, **params):
        return self.wait(self.ask(method, params))

    def notify(self, method, **params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    # ---- documents

    def start(self, folder):
        result = self.request("initialize", processId=None, rootUri=pathlib.Path(folder).resolve().as_uri(),
                              capabilities={})
        self.notify("initialized")
        return result

    def open(self, path, text=None):
        path = pathlib.Path(path).resolve()
        uri = path.as_uri()
        self.texts[uri] = path.read_text() if text is None else text
        self.versions[uri] = 1
        self.notify("textDocument/didOpen", textDocument={"uri": uri, "languageId": "ltr", "version": 1,
                                                          "text": self.texts[uri]})
        return uri

    def change(self, uri, old, new, nth=0):
        """Replaces the `nth` place of `old` by an incremental edit; gives the position behind `new`."""
        text, at = self.texts[uri], -1
        for _ in range(nth + 1):
            at = text.index(old, at + 1)
        span = {"start": position(text, at), "end": position(text, at + len(old))}
        self.texts[uri] = text[:at] + new + text[at + len(old):]
        self.versions[uri] += 1
        self.notify("textDocument/didChange", textDocument={"uri": uri, "version": self.versions[uri]},
                    contentChanges=[{"range": span, "text": new}])
        return position(self.texts[uri], at + len(new))

    def at(self, uri, what, nth=0, shift=0):
        """Parameters of a request about the `nth` place of `what`."""
        text, at = self.texts[uri], -1
        for _ in range(nth + 1):
            at = text.index(what, at + 1)
        return {"textDocument": {"uri": uri}, "position": position(text, at + shift)}

    def diagnostics(self, uri):
        """Those of the newest version of a document."""
        while True:
            for note in self.notes:
                params = note.get("params", {})
                if (note["method"] == "textDocument/publishDiagnostics" and params["uri"] == uri
                        and params.get("version") == self.versions[uri]):
                    return params["diagnostics"]
            self.receive()

    def stop(self):
        self.request("shutdown")
        self.notify("exit")
        return self.process.wait(self.timeout_s)


def units(text):
    return len(text.encode("utf-16-le")) // 2


def position(text, offset):
    line = text.count("\n", 0, offset)
    return {"line": line, "character": units(text[text.rfind("\n", 0, offset) + 1:offset])}


def offset(text, place):
    lines = text.split("\n")
    at = sum(len(line) + 1 for line in lines[:place["line"]])
    line = lines[place["line"]].encode("utf-16-le")
    return at + len(line[:2 * place["character"]].decode("utf-16-le"))


def apply_edits(text, edits):
    for edit in sorted(edits, key=lambda one: offset(text, one["range"]["start"]), reverse=True):
        begin, end = (offset(text, edit["range"][side]) for side in ("start", "end"))
        text = text[:begin] + edit["newText"] + text[end:]
    return text


def covered(text, span):
    return text[offset(text, span["start"]):offset(text, span["end"])]


def seconds(action):
    begin = time.monotonic()
    result = action()
    return result, time.monotonic() - begin

"""A browser to look at pages with: Chromium, spoken to over a pipe. Python's standard library alone."""
import contextlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import time

PROGRAM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)


class Browser:
    """One page of a headless browser: `with Browser(folder) as page`, whose profile is below `folder`."""

    def __init__(self, folder):
        read, self._to = os.pipe()
        self._from, write = os.pipe()
        # The browser reads from file 3 and writes to file 4.
        self._process = subprocess.Popen(
            ["sh", "-c", f'exec "$0" "$@" 3<&{read} 4>&{write}', PROGRAM, "--headless", "--no-sandbox", "--disable-gpu",
             "--remote-debugging-pipe", f"--user-data-dir={folder}/browser", "about:blank"],
            pass_fds=(read, write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(read)
        os.close(write)
        self._numbers, self._kept = itertools.count(1), b""
        self.errors = []
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = None
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for part in ("Runtime", "Page", "Log"):
            self._ask(part + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # Its helpers write into the profile for as long as they live.
        end = time.monotonic() + 20
        with contextlib.suppress(ProcessLookupError):
            while time.monotonic() < end:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.poll()
                time.sleep(0.05)
        os.close(self._to)
        os.close(self._from)

    def open(self, url):
        self._ask("Page.navigate", url=url)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def ask(self, expression):
        """What JavaScript `expression` is in the page."""
        answer = self._ask("Runtime.evaluate", expression=expression, returnByValue=True)
        return answer["result"].get("value")

    def wait(self, expression, seconds=60):
        """Until it is true; false if that takes too long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.ask(expression):
                return True
            time.sleep(0.2)
        return False

    def _ask(self, method, **params):
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if getattr(self, "_session", None):
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("method") == "Runtime.exceptionThrown":
                self.errors.append(answer["params"]["exceptionDetails"])
            if answer.get("method") == "Log.entryAdded" and answer["params"]["entry"]["level"] == "error":
                self.errors.append(answer["params"]["entry"])
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _read(self):
        while b"\0" not in self._kept:
            more = os.read(self._from, 1 << 16)
            if not more:
                raise RuntimeError("the browser is gone")
            self._kept += more
        line, self._kept = self._kept.split(b"\0", 1)
        return json.loads(line)

"""What `ltrc lsp` does with messages that no client should send, with cancellation, and with its own end.

    robustness.py SOURCE_DIR LTRC
"""
import os
import pathlib
import random
import signal
import sys
import tempfile
import time

from client import Client, Failed

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, NOT_READY, CANCELLED = (
    -32700, -32600, -32601, -32602, -32002, -32800)


def expect(condition, *shown):
    if not condition:
        raise AssertionError(*shown)


def code_of(client, number):
    try:
        return f"a result: {client.wait(number)}"
    except Failed as failed:
        return failed.code


def malformed(make, program):
    client = make(start=False)
    expect(code_of(client, client.ask("textDocument/hover", {})) == NOT_READY)
    client.start(program.parent)
    for body, code in ((b"{ this is no JSON", PARSE_ERROR), (b"\xff\xfe\x00", PARSE_ERROR), (b"", PARSE_ERROR),
                       (b"42", INVALID_REQUEST), (b'{"jsonrpc": "2.0"}', INVALID_REQUEST),
                       (b'{"jsonrpc": "2.0", "id": 1, "method": 7}', INVALID_REQUEST)):
        client.answers.clear()
        client.send_bytes(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        while not client.answers:
            client.receive()
        [answer] = client.answers.values()
        expect(answer["error"]["code"] == code, body, answer)
    client.answers.clear()
    client.send_bytes(b"Content-Type: nothing\r\n\r\n")
    client.receive()
    expect(client.answers[None]["error"]["code"] == PARSE_ERROR)
    expect(code_of(client, client.ask("textDocument/unheardOf", {})) == NO_METHOD)
    uri = client.open(program)
    place = {"textDocument": {"uri": uri}}
    for method, params in (("hover", {}), ("hover", place), ("hover", {"textDocument": 3}), ("rename", place),
                           ("hover", {"textDocument": {"uri": "file:///not/open.ltr"}, "position": {}}),
                           ("inlayHint", place), ("completion", {**place, "position": {"line": "x"}, "textDocument": []})):
        expect(code_of(client, client.ask("textDocument/" + method, params)) == INVALID_PARAMS, method, params)
    for line, character in ((0, 99999), (99999, 0), (2**31 - 1, 2**31 - 1)):
        client.request("textDocument/hover", **place, position={"line": line, "character": character})
        client.request("textDocument/completion", **place, position={"line": line, "character": character})
    # Notifications that make no sense change nothing.
    for params in ({}, {"textDocument": {"uri": uri}}, {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{}]}):
        client.notify("textDocument/didChange", **params)
    client.notify("no/such/notification", x=1)
    expect(client.diagnostics(uri) == [])
    expect(client.stop() == 0)


def cancelled(make, program):
    client = make()
    uri = client.open(program)
    client.diagnostics(uri)
    client.change(uri, "ltr 1", "ltr 1 # x")
    # The first makes the server analyse the text; the others wait behind it and are given up.
    params = {"textDocument": {"uri": uri}}
    numbers = [client.ask("textDocument/semanticTokens/full", params) for _ in range(20)]
    for number in numbers[1:]:
        client.notify("$/cancelRequest", id=number)
    codes = [code_of(client, number) for number in numbers]
    expect(sum(code == CANCELLED for code in codes) >= 10, codes)
    client.notify("$/cancelRequest", id="not there")
    expect(client.request("textDocument/documentSymbol", textDocument={"uri": uri}))
    expect(client.stop() == 0)


def garbage(make, program):
    """Every prefix of a program, and programs with pieces taken out, are some text to look at."""
    client = make()
    uri = client.open(program)
    text, dice = program.read_text(), random.Random(1)
    for _ in range(40):
        begin = dice.randrange(len(text))
        end = min(len(text), begin + dice.randrange(1, 120))
        broken = text[:begin] + dice.choice(["", "{", "(", '"', "}", ".", "\x00", "é𝛼", "if ", "x.", "= ="]) + text[end:]
        client.versions[uri] += 1
        client.notify("textDocument/didChange", textDocument={"uri": uri, "version": client.versions[uri]},
                      contentChanges=[{"text": broken}])
        where = {"textDocument": {"uri": uri},
                 "position": {"line": broken.count("\n", 0, begin), "character": dice.randrange(30)}}
        for method in ("hover", "completion", "signatureHelp", "definition"):
            client.request("textDocument/" + method, **where)
        for method in ("semanticTokens/full", "documentSymbol", "foldingRange", "codeLens", "documentLink", "formatting"):
            client.request("textDocument/" + method, textDocument={"uri": uri})
    for text in ("", "\n", "ltr 2\n", "ltr", "\ufeffltr 1\r\nhparam a: int = 1\r\n", "{" * 300, "ltr 1\nfn f() = " + "(" * 400):
        client.versions[uri] += 1
        client.notify("textDocument/didChange", textDocument={"uri": uri, "version": client.versions[uri]},
                      contentChanges=[{"text": text}])
        client.diagnostics(uri)
        client.request("textDocument/documentSymbol", textDocument={"uri": uri})
    expect(client.stop() == 0)


def ends(make, program):
    # Without `shutdown` the exit status says so.
    client = make()
    client.notify("exit")
    expect(client.process.wait(20) == 1)
    # An editor that is gone closes stdin, even in the middle of a message.
    for tail in (b"", b"Content-Length: 500\r\n\r\n{\"jsonrpc\"", b"Content-Le"):
        client = make()
        client.open(program)
        client.send_bytes(tail)
        client.process.stdin.close()
        expect(client.process.wait(20) == 0, tail)
    # Killed while it works on a request it leaves nothing behind: it has no children, and waits for none.
    client = make()
    uri = client.open(program)
    for _ in range(50):
        client.change(uri, "ltr 1", "ltr 1 # x")
        client.change(uri, "ltr 1 # x", "ltr 1")
        client.ask("textDocument/semanticTokens/full", {"textDocument": {"uri": uri}})
    time.sleep(0.05)
    children = pathlib.Path(f"/proc/{client.process.pid}/task/{client.process.pid}/children")
    expect(not children.exists() or children.read_text().strip() == "")
    client.process.send_signal(signal.SIGKILL)
    client.process.wait(20)
    try:
        os.kill(client.process.pid, 0)
        raise AssertionError("it is still there")
    except ProcessLookupError:
        pass


def main(source, ltrc):
    program = pathlib.Path(source).resolve() / "examples/mnist.ltr"
    ltrc = pathlib.Path(ltrc).resolve()
    with tempfile.TemporaryDirectory() as folder:
        clients = []

        def make(start=True):
            clients.append(Client(ltrc, folder))
            if start:
                clients[-1].start(folder)
            return clients[-1]

        try:
            for test in (malformed, cancelled, garbage, ends):
                test(make, program)
                print(f"{test.__name__}: as it should be")
        finally:
            for client in clients:
                client.process.kill()
                client.process.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

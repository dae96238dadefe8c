#!/usr/bin/env python3
"""How long `ltrc lsp` takes to answer on a program of 1,000 lines, each time right after an edit, so that the answer
includes an analysis. Prints a table; 50 ms are promised. Python's standard library alone.

    bench/lsp.py [LTRC]
"""
import pathlib
import re
import statistics
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "tests/lsp"))
from client import Client, seconds  # noqa: E402

ROUNDS = 9


def program_of(lines):
    """The example again and again, its declarations under new names."""
    text = (SOURCE / "examples/mnist.ltr").read_text()
    names = "|".join(re.findall(r"^(?:data|block|model) (\w+)", text, re.M))
    body = re.sub(r"^(?:ltr|hparam|##) .*\n", "", text, flags=re.M)
    parts, number = [text], 0
    while sum(part.count("\n") for part in parts) < lines:
        number += 1
        again = re.sub(rf"\b({names})\b", rf"\g<1>{number}", body)
        again = re.sub(r"\b(topology(?: +=)?|experiment|amends) +(\w+)", rf"\1 \g<2>{number}", again)
        parts.append(re.sub(r'^test "', f'test "{number} ', again, flags=re.M))
    return "".join(parts)


def main(ltrc=SOURCE / "build/release/bin/ltrc"):
    with tempfile.TemporaryDirectory() as folder:
        client = Client(pathlib.Path(ltrc).resolve(), folder)
        client.start(folder)
        path = pathlib.Path(folder).resolve() / "long.ltr"
        uri = client.open(path, program_of(1000))
        faults = [one for one in client.diagnostics(uri) if one["severity"] == 1]
        print(f"{client.texts[uri].count(chr(10))} lines, {len(faults)} errors")
        place = client.at(uri, "logits = net", nth=3)
        whole = {"textDocument": {"uri": uri}}
        hparam = client.at(uri, "hparam width", shift=7)
        asks = {"hover": place, "definition": place, "signatureHelp": client.at(uri, "padding = 1", nth=4),
                "completion": place, "references": {**place, "context": {}}, "rename": {**place, "newName": "scores"},
                "rename (hparam)": {**hparam, "newName": "breadth"},
                "documentSymbol": whole, "semanticTokens/full": whole, "foldingRange": whole, "formatting": whole,
                "inlayHint": {**whole, "range": {"start": {"line": 0, "character": 0},
                                                 "end": {"line": 9999, "character": 0}}}}
        for method, params in asks.items():
            fresh, again = [], []
            for _ in range(ROUNDS):
                client.change(uri, "ltr 1", "ltr 1 # x")
                client.change(uri, "ltr 1 # x", "ltr 1")
                fresh.append(seconds(lambda: client.request("textDocument/" + method.split()[0], **params))[1])
                again.append(seconds(lambda: client.request("textDocument/" + method.split()[0], **params))[1])
            first, second = statistics.median(fresh), statistics.median(again)
            print(f"{method:22} after an edit {first * 1000:7.1f} ms   again {second * 1000:7.1f} ms")
        client.notes.clear()
        client.change(uri, "ltr 1", "ltr 1 # y")
        print(f"{'diagnostics':22} after an edit {seconds(lambda: client.diagnostics(uri))[1] * 1000:7.1f} ms, "
              "150 of them wanted")
        client.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])

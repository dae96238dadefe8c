"""Every feature of `ltrc lsp` on the examples, with edits.

    features.py SOURCE_DIR LTRC
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import traceback

from client import Client, Failed, apply_edits, covered, position

WHOLE = {"start": {"line": 0, "character": 0}, "end": {"line": 100000, "character": 0}}


def labels(client, uri, place):
    return [item["label"] for item in client.request("textDocument/completion", textDocument={"uri": uri},
                                                     position=place)["items"]]


def hover(client, *where, **more):
    found = client.request("textDocument/hover", **client.at(*where, **more))
    return found["contents"]["value"] if found else ""


def expect(condition, *shown):
    if not condition:
        raise AssertionError(*shown)


def refused(code, action):
    try:
        action()
    except Failed as failed:
        expect(failed.code == code, failed)
        return str(failed)
    raise AssertionError(f"not refused with {code}")


def test_diagnostics(client, mnist, **_):
    expect(client.diagnostics(mnist) == [], client.diagnostics(mnist))
    client.change(mnist, "fc2   = Linear(128, classes)", "fc2   = Linear(127, classes)")
    [found] = client.diagnostics(mnist)
    expect(found["code"] == "E0303" and found["severity"] == 1 and found["source"] == "ltrc", found)
    expect("128" in found["message"], found)
    expect(all(one["location"]["uri"].startswith("file://") for one in found.get("relatedInformation", [])), found)
    client.change(mnist, "Linear(127, classes)", "Linear(128, classes)")
    expect(client.diagnostics(mnist) == [])


def test_positions_are_utf16(client, mnist, **_):
    """A character beyond the basic plane is two units; edits behind it must land."""
    client.change(mnist, "## Peak learning rate.", "## Peak 𝛼 learning ä rate.")
    place = client.change(mnist, "𝛼 learning ä", "𝛼𝛽 learning")
    expect(place["character"] == len("## Peak ") + 4 + len(" learning"), place)
    expect("𝛼𝛽 learning rate" in hover(client, mnist, "hparam lr", shift=7))
    client.change(mnist, "𝛼𝛽 learning", "learning")
    line = client.texts[mnist].index("hparam lr")
    client.change(mnist, "hparam lr", "hparam lrr")
    found = client.diagnostics(mnist)
    expect(any(one["code"] == "E0301" for one in found), found)
    client.change(mnist, "hparam lrr", "hparam lr")
    expect(client.diagnostics(mnist) == [], line)


def test_labels_and_fixes(client, mnist, **_):
    client.change(mnist, "minimize loss", "minimize los")
    [found] = [one for one in client.diagnostics(mnist) if one["code"] == "E0301"]
    expect("did you mean `loss`" in found["message"], found)
    [action] = client.request("textDocument/codeAction", textDocument={"uri": mnist}, range=found["range"],
                              context={"diagnostics": [found]})
    expect(action["kind"] == "quickfix" and action["title"] == "write `loss`", action)
    text = apply_edits(client.texts[mnist], action["edit"]["changes"][mnist])
    expect("minimize loss\n" in text and "los\n" not in text)
    expect(client.request("textDocument/codeAction", textDocument={"uri": mnist},
                          range={"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}},
                          context={"diagnostics": []}) == [])
    client.change(mnist, "minimize los", "minimize loss")


def test_hover(client, mnist, gpt, **_):
    expect("logits: float[B, classes]" in hover(client, mnist, "logits = net"))
    expect("Peak learning rate." in hover(client, mnist, "hparam lr", shift=7))
    text = hover(client, mnist, "cross_entropy")
    expect("fn cross_entropy[N, C]" in text and "gives `float[]`" in text and "label_smoothing" in text, text)
    expect("kernel: (int, int)" in hover(client, mnist, "kernel = 3"), hover(client, mnist, "kernel = 3"))
    expect("model Classifier(width: int" in hover(client, mnist, "Classifier(width, lr)"))
    expect(hover(client, mnist, "# float[B, width", shift=3) == "")
    expect("Zeroes gradients" in hover(client, mnist, "minimize loss", shift=2), hover(client, mnist, "minimize loss", shift=2))
    expect("training ends after so many epochs" in hover(client, mnist, "epochs =", shift=2))
    expect("## `topology`" in hover(client, mnist, "topology laptop", shift=2))
    text = hover(client, gpt, "D / heads", shift=2)
    expect("`D % heads == 0`: proven, " in text, text)
    text = hover(client, gpt, "out as i64", shift=4)
    expect("checked on the first batch" in text, text)


def test_completion_of_members(client, mnist, **_):
    place = client.change(mnist, "loss = cross_entropy(net(image), label)", "loss = net.")
    expect(["conv1", "conv2", "drop", "fc1", "fc2", "forward", "weights"] == labels(client, mnist, place),
           labels(client, mnist, place))
    place = client.change(mnist, "loss = net.", "loss = net.conv1.wei")
    expect({"weight", "bias"} <= set(labels(client, mnist, place)), labels(client, mnist, place))
    place = client.change(mnist, "net.conv1.wei", "image.")
    found = labels(client, mnist, place)
    expect(found[0] == "shape" and {"flatten", "sum", "to", "relu"} <= set(found), found)
    expect("Checkpoint" not in found and "GradNorm" not in found)
    client.change(mnist, "loss = image.", "loss = cross_entropy(net(image), label)")
    place = client.change(mnist, "s.image.to(float)", "s.")
    expect(labels(client, mnist, place) == ["image", "label"], labels(client, mnist, place))
    client.change(mnist, "x = s. ", "x = s.image.to(float) ")
    expect(client.diagnostics(mnist) == [], client.diagnostics(mnist))


def test_completion_of_settings(client, mnist, **_):
    place = client.change(mnist, "epochs = 5, ", "epochs = 5, na")
    expect("nan" in labels(client, mnist, place) and "max_time" in labels(client, mnist, place))
    place = client.change(mnist, "epochs = 5, na", "epochs = 5, nan = ")
    expect(labels(client, mnist, place)[:3] == ["stop", "skip", "raise"], labels(client, mnist, place)[:5])
    client.change(mnist, "epochs = 5, nan = ", "epochs = 5, ")
    place = client.change(mnist, "topology laptop { ", "topology laptop { strategy = ")
    expect("fsdp" in labels(client, mnist, place))
    client.change(mnist, "topology laptop { strategy = ", "topology laptop { ")
    place = client.change(mnist, "    schedule =", "    \n    schedule =")
    place = position(client.texts[mnist], client.texts[mnist].index("    \n    schedule") + 4)
    expect(labels(client, mnist, place)[:3] == ["schedule", "clip_norm", "clip_value"], labels(client, mnist, place))
    client.change(mnist, "    \n    schedule", "    schedule")
    place = client.change(mnist, "schedule = cosine(warmup = 20 steps)", "schedule = ")
    expect({"cosine", "linear"} <= set(labels(client, mnist, place)))
    client.change(mnist, "schedule = \n", "schedule = cosine(warmup = 20 steps)\n")
    place = client.change(mnist, "  trainer {", "  sweep {  }\n  trainer {")
    place = position(client.texts[mnist], client.texts[mnist].index("sweep {  }") + 8)
    expect({"trials", "method", "minimize", "maximize", "prune"} <= set(labels(client, mnist, place)), labels(client, mnist, place))
    client.change(mnist, "  sweep {  }\n", "")


def test_completion_of_arguments(client, mnist, **_):
    place = client.change(mnist, "EarlyStop(", "EarlyStop(mo")
    found = labels(client, mnist, place)
    expect("mode =" in found and "threshold =" in found, found)
    client.change(mnist, "EarlyStop(mo", "EarlyStop(")
    place = client.change(mnist, "monitor = val.loss", "monitor = ")
    expect({"val.loss", "val.acc", "train.loss"} <= set(labels(client, mnist, place)))
    place = client.change(mnist, "monitor = ,", "monitor = val.,")
    place["character"] -= 1
    expect(labels(client, mnist, place)[:2] == ["loss", "acc"], labels(client, mnist, place))
    client.change(mnist, "monitor = val.,", "monitor = val.loss,")
    place = client.change(mnist, "mode = max", "mode = ")
    expect(labels(client, mnist, place)[:3] == ["auto", "min", "max"], labels(client, mnist, place)[:4])
    client.change(mnist, "mode = ,", "mode = max,")
    place = client.change(mnist, "    LrMonitor()\n", "    LrMonitor()\n    \n")
    place = position(client.texts[mnist], client.texts[mnist].index("    \n  }") + 4)
    found = labels(client, mnist, place)
    expect({"Checkpoint", "EarlyStop", "Ema"} <= set(found) and "TensorBoard" not in found, found)
    client.change(mnist, "    \n  }", "  }")
    expect(client.diagnostics(mnist) == [], client.diagnostics(mnist))


def test_completion_of_names(client, mnist, **_):
    place = client.change(mnist, "log loss bar", "log loss bar\n    ")
    found = labels(client, mnist, place)
    expect({"loss", "image", "label", "net", "accuracy", "relu", "cross_entropy", "epoch", "minimize"} <= set(found))
    expect(found.index("loss") < found.index("relu"), "what is near comes first")
    expect("logits" not in found and "conv1" not in found, "names of other declarations")
    client.change(mnist, "log loss bar\n    ", "log loss bar")
    place = client.change(mnist, "ltr 1\n", "ltr 1\nimport std.vision.{}\n")
    found = labels(client, mnist, position(client.texts[mnist], client.texts[mnist].index("{}") + 1))
    expect("random_crop" in found, found)
    client.change(mnist, "import std.vision.{}", "import std.")
    found = labels(client, mnist, position(client.texts[mnist], client.texts[mnist].index("std.") + 4))
    expect({"models", "vision", "tasks"} <= set(found), found)
    client.change(mnist, "import std.\n", "")
    place = client.change(mnist, "fails E0303", "fails ")
    expect("E0304" in labels(client, mnist, place))
    client.change(mnist, "refused\" fails ", "refused\" fails E0303")
    expect(labels(client, mnist, position(client.texts[mnist], client.texts[mnist].index("Peak") + 2)) == [],
           "nothing in a comment")


def test_signature_help(client, mnist, **_):
    found = client.request("textDocument/signatureHelp", **client.at(mnist, "padding = 1", shift=4))
    [signature] = found["signatures"]
    begin, end = signature["parameters"][found["activeParameter"]]["label"]
    expect(signature["label"][begin:end] == "padding: padding[kernel, stride, dilation] = 0", signature)
    found = client.request("textDocument/signatureHelp", **client.at(mnist, "cross_entropy(net(image), label", shift=27))
    expect(found["activeParameter"] == 1 and found["signatures"][0]["label"].startswith("cross_entropy("), found)
    found = client.request("textDocument/signatureHelp", **client.at(mnist, "max_pool2d(2)", shift=11))
    [signature] = found["signatures"]
    begin, end = signature["parameters"][found["activeParameter"]]["label"]
    expect(signature["label"][begin:end] == "kernel: (int, int)", "a pipe gives the first argument")
    found = client.request("textDocument/signatureHelp", **client.at(mnist, "net(image)", shift=4))
    expect("float[B, 1, 28, 28]" in found["signatures"][0]["label"], found)
    expect(client.request("textDocument/signatureHelp", **client.at(mnist, "hparam lr")) is None)


def test_definition(client, mnist, **_):
    def target(*where, **more):
        found = client.request("textDocument/definition", **client.at(*where, **more))
        path = pathlib.Path(found["uri"].removeprefix("file://"))
        return path, covered(path.read_text() if path.exists() else "", found["range"]), found["range"]

    path, name, _ = target(mnist, "Conv2d(1")
    expect(path.parts[-3:] == ("stdlib", "layers", "convolution.ltr") and name == "Conv2d", path, name)
    expect(path.stat().st_mode & 0o222 == 0, "a library file is read-only")
    expect(target(mnist, "relu |> drop")[1] == "relu")
    expect(target(mnist, "net(image)")[2]["start"]["line"] == client.at(mnist, "net = ConvNet")["position"]["line"])
    expect(target(mnist, "val.loss", shift=5)[1] == "loss")
    expect(target(mnist, "topology = laptop", shift=12)[1] == "laptop")
    expect(target(mnist, "set width", shift=4)[1] == "width")
    expect(target(mnist, "kernel = 3")[0].name == "convolution.ltr")
    found = client.request("textDocument/typeDefinition", **client.at(mnist, "net(image)"))
    expect(covered(client.texts[mnist], found["range"]) == "ConvNet", found)


def test_references_and_rename(client, mnist, **_):
    def lines(**context):
        found = client.request("textDocument/references", **client.at(mnist, "net = ConvNet"), context=context)
        expect(all(covered(client.texts[mnist], one["range"]) == "net" for one in found))
        return [one["range"]["start"]["line"] for one in found]

    expect(len(lines(includeDeclaration=True)) == 5 and len(lines(includeDeclaration=False)) == 4)
    found = client.request("textDocument/documentHighlight", **client.at(mnist, "logits = net"))
    expect([one["kind"] for one in found] == [3, 2, 2, 2], found)
    before = client.request("textDocument/prepareRename", **client.at(mnist, "logits = net"))
    expect(before["placeholder"] == "logits", before)
    edit = client.request("textDocument/rename", **client.at(mnist, "logits = net"), newName="scores")
    text = apply_edits(client.texts[mnist], edit["changes"][mnist])
    expect(text.count("scores") == 4 and "scores = net(image)" in text, text)
    # `log loss` goes on with the name of the series.
    edit = client.request("textDocument/rename", **client.at(mnist, "loss = cross"), newName="cost")
    text = apply_edits(client.texts[mnist], edit["changes"][mnist])
    expect("log loss = cost bar" in text and "minimize cost" in text, text)
    edit = client.request("textDocument/rename", **client.at(mnist, "hparam width", shift=7), newName="channels")
    text = apply_edits(client.texts[mnist], edit["changes"][mnist])
    expect("set channels = 64" in text and "Classifier(channels, lr)" in text and "Conv2d(1, width" in text, text)


def test_rename_of_members(client, mnist, **_):
    def rename(what, name):
        edit = client.request("textDocument/rename", **client.at(mnist, what), newName=name)
        return apply_edits(client.texts[mnist], edit["changes"][mnist])

    expect("  first = Conv2d(1" in rename("conv1 = Conv2d", "first") and "|> first |> relu" in rename("conv1 = Conv2d", "first"))
    text = rename("ConvNet(width: int", "Network")
    expect("block Network(" in text and "net = Network(width, classes)" in text and "ConvNet" not in text, text)
    # A pattern knows it now, and another one may: that of all layers does not mind.
    client.change(mnist, "    clip_norm = 1.0", '    clip_norm = 1.0\n    group "net.conv1.*" { lr = 1e-4 }')
    expect("would be wrong" in refused(-32803, lambda: rename("conv1 = Conv2d", "first")))
    client.change(mnist, 'group "net.conv1.*"', 'group "net.*"')
    expect("  first = Conv2d(1" in rename("conv1 = Conv2d", "first"))
    client.change(mnist, '\n    group "net.*" { lr = 1e-4 }', "")
    expect(client.diagnostics(mnist) == [], client.diagnostics(mnist))


def test_rename_of_what_merges(client, folder, **_):
    state = "state n: f64 = 0 reduce merge pool"
    metric = f"""ltr 1

metric Count() {{
  {state}
  fn update[B](x: float[B]) {{ n += B }}
  fn pool(a: {{n: f64}}, b: {{n: f64}}) -> {{n: f64}} = (n = a.n + b.n)
  fn compute() -> f64 = n
}}
"""
    (folder / "count.ltr").write_text(metric)
    uri = client.open(folder / "count.ltr")
    edit = client.request("textDocument/rename", **client.at(uri, "fn pool", shift=3), newName="joined")
    text = apply_edits(client.texts[uri], edit["changes"][uri])
    expect("reduce merge joined" in text and "fn joined(" in text and "pool" not in text, text)
    found = client.request("textDocument/definition", **client.at(uri, "merge pool", shift=6))
    expect(covered(metric, found["range"]) == "pool", found)


def test_rename_refuses(client, mnist, **_):
    def rename(what, name, **more):
        return lambda: client.request("textDocument/rename", **client.at(mnist, what, **more), newName=name)

    expect("library" in refused(-32803, rename("Conv2d", "Konv")))
    expect("library" in refused(-32803, rename("relu", "rectify")))
    expect("not a name" in refused(-32803, rename("logits = net", "two words")))
    expect("not a name" in refused(-32803, rename("logits = net", "if")))
    expect("would be wrong" in refused(-32803, rename("logits = net", "net")))
    refused(-32803, rename("step train", "fit", shift=5))
    refused(-32803, rename("fn forward", "apply", shift=3))
    refused(-32803, lambda: client.request("textDocument/prepareRename", **client.at(mnist, "ltr 1", shift=4)))


def test_other_files(client, folder, **_):
    """References and rename over files that import each other, open or not."""
    (folder / "parts.ltr").write_text("ltr 1\n\n## Twice.\nfn double[B](x: float[B]) -> float[B] = x * 2\n")
    user = 'ltr 1\n\nimport "parts.ltr" as parts\n\nfn four[B](x: float[B]) -> float[B] = parts.double(parts.double(x))\n'
    (folder / "user.ltr").write_text(user)
    parts = client.open(folder / "parts.ltr")
    uri = (folder / "user.ltr").resolve().as_uri()
    found = client.request("textDocument/references", **client.at(parts, "double"),
                           context={"includeDeclaration": True})
    expect(sorted(one["uri"] for one in found) == sorted([parts, uri, uri]), found)
    edit = client.request("textDocument/rename", **client.at(parts, "double"), newName="twice")
    expect(apply_edits(user, edit["changes"][uri]).count("parts.twice(") == 2, edit)
    opened = client.open(folder / "user.ltr")
    expect(client.diagnostics(opened) == [], client.diagnostics(opened))
    place = client.change(opened, "parts.double(parts.double(x))", "parts.")
    expect(labels(client, opened, place) == ["double"], labels(client, opened, place))
    client.change(opened, "parts.\n", "parts.double(parts.double(x))\n")
    expect("Twice." in hover(client, opened, "double"))
    # A fault in an imported file that is not open is shown there.
    client.notify("textDocument/didClose", textDocument={"uri": parts})
    (folder / "parts.ltr").write_text("ltr 1\n\nfn double[B](x: float[B]) -> float[B] = y * 2\n")
    client.notes.clear()
    client.notify("textDocument/didSave", textDocument={"uri": opened})
    client.diagnostics(opened)
    while not any(note["params"].get("uri") == parts and note["params"]["diagnostics"] for note in client.notes):
        client.receive()


def test_symbols(client, mnist, **_):
    found = client.request("textDocument/documentSymbol", textDocument={"uri": mnist})
    names = {one["name"]: [child["name"] for child in one.get("children", [])] for one in found}
    expect(names["Classifier"] == ["net", "accuracy", "confusion", "opt", "train", "val", "test", "predict"], names)
    expect("three channels are refused" in names and "mnist_wide" in names and "lr" in names)
    found = client.request("workspace/symbol", query="clsfr")
    expect("Classifier" in [one["name"] for one in found], found)
    found = client.request("workspace/symbol", query="MultiheadAttention")
    expect(any("stdlib/layers/attention.ltr" in one["location"]["uri"] for one in found), found)


def test_formatting(client, mnist, **_):
    expect(client.request("textDocument/formatting", textDocument={"uri": mnist}, options={}) == [])
    tidy = client.texts[mnist]
    client.change(mnist, "    minimize loss", "       minimize   loss")
    client.change(mnist, "  drop  = Dropout(0.25)", "  drop  = Dropout( 0.25 )")
    edits = client.request("textDocument/formatting", textDocument={"uri": mnist}, options={})
    expect(apply_edits(client.texts[mnist], edits) == tidy and len(edits) == 2, edits)
    line = client.at(mnist, "minimize   loss")["position"]["line"]
    edits = client.request("textDocument/rangeFormatting", textDocument={"uri": mnist}, options={},
                           range={"start": {"line": line, "character": 0}, "end": {"line": line, "character": 9}})
    expect(len(edits) == 1 and edits[0]["newText"] == "    minimize loss\n", edits)
    client.change(mnist, "model Classifier(", "model Classifier((")
    expect(client.request("textDocument/formatting", textDocument={"uri": mnist}, options={}) is None)
    client.change(mnist, "model Classifier((", "model Classifier(")
    client.change(mnist, "       minimize   loss", "    minimize loss")
    client.change(mnist, "Dropout( 0.25 )", "Dropout(0.25)")
    expect(client.texts[mnist] == tidy)


def test_inlay_hints(client, mnist, **_):
    found = client.request("textDocument/inlayHint", textDocument={"uri": mnist}, range=WHOLE)
    hints = {client.texts[mnist].split("\n")[one["position"]["line"]][:one["position"]["character"]].strip():
             one["label"] for one in found}
    expect(hints["logits"] == ": float[B, classes]" and hints["loss"] == ": float[]" and
           hints["x"] == ": float[28, 28]", hints)
    line = {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}
    expect(client.request("textDocument/inlayHint", textDocument={"uri": mnist}, range=line) == [])


def test_semantic_tokens(client, legend, mnist, **_):
    data = client.request("textDocument/semanticTokens/full", textDocument={"uri": mnist})["data"]
    expect(len(data) % 5 == 0 and len(data) > 500)
    lines, found, line, column = client.texts[mnist].split("\n"), {}, 0, 0
    for i in range(0, len(data), 5):
        line, column = line + data[i], data[i + 1] + (0 if data[i] else column)
        word = lines[line][column:column + data[i + 2]]
        found.setdefault((line, word), legend["tokenTypes"][data[i + 3]])
    def kind(what, word):
        return found.get((client.at(mnist, what)["position"]["line"], word))
    expect(kind("minimize loss", "minimize") == "keyword" and kind("minimize loss", "loss") == "variable")
    expect(kind("step train", "train") == "method" and kind("step train", "image") == "parameter")
    expect(kind("conv1 |> relu", "relu") == "function" and kind("conv1 |> relu", "conv1") == "property")
    expect(kind("epochs = 5", "epochs") == "property" and kind("epochs = 5", "5") == "number")
    expect(kind("hparam lr", "float") == "type" and kind("## Peak", "## Peak learning rate.") == "comment")
    expect(kind("net = ConvNet", "ConvNet") == "class")


def test_colour_of_a_lost_series(client, mnist, legend, **_):
    """A step that cannot be read may log what is watched: the series has no place, and is none of the library."""
    client.change(mnist, "block ConvNet(", "import std.block ConvNet(")
    data = client.request("textDocument/semanticTokens/full", textDocument={"uri": mnist})["data"]
    wanted = client.at(mnist, "monitor = val.loss")["position"]["line"]
    line = 0
    for i in range(0, len(data), 5):
        line += data[i]
        expect(line != wanted or legend["tokenTypes"][data[i + 3]] != "property" or data[i + 4] & 4 == 0, data[i:i + 5])
    client.change(mnist, "import std.block ConvNet(", "block ConvNet(")


def test_folding_links_lenses(client, mnist, gpt, **_):
    folds = client.request("textDocument/foldingRange", textDocument={"uri": mnist})
    first = client.at(mnist, "model Classifier")["position"]["line"]
    expect(any(one["startLine"] == first and one["endLine"] > first + 20 for one in folds), folds)
    links = client.request("textDocument/documentLink", textDocument={"uri": gpt})
    targets = [pathlib.Path(one["target"].removeprefix("file://")) for one in links]
    expect(targets and all(path.exists() for path in targets), links)
    lenses = client.request("textDocument/codeLens", textDocument={"uri": mnist})
    commands = [(one["command"]["title"], one["command"]["arguments"][1:]) for one in lenses]
    expect(("run test", ["one batch can be overfitted"]) in commands and ("fit", ["fit", "mnist"]) in commands and
           ("predict", ["predict", "mnist_wide"]) in commands, commands)


def test_while_typing(client, mnist, **_):
    """Half of a declaration is missing: the others go on."""
    whole = client.texts[mnist]
    client.change(mnist, "    minimize loss\n    log loss bar\n  }\n", "    minimize (\n")
    expect(client.diagnostics(mnist))
    expect("fn max_pool2d" in hover(client, mnist, "max_pool2d"))
    client.request("textDocument/semanticTokens/full", textDocument={"uri": mnist})
    client.request("textDocument/documentSymbol", textDocument={"uri": mnist})
    client.change(mnist, "    minimize (\n", "    minimize loss\n    log loss bar\n  }\n")
    expect(client.texts[mnist] == whole and client.diagnostics(mnist) == [])


def codes_of_check(client, text, folder):
    """Code and line of what `ltrc check` says of `text`."""
    path = folder / "checked.ltr"
    path.write_text(text)
    done = subprocess.run([client.process.args[0], "check", "--message-format=short", path], capture_output=True, text=True)
    path.unlink()
    return sorted(re.findall(r"checked\.ltr:(\d+):\d+: \w+\[?:? ?([EW]\d{4})", done.stderr))


def codes_of_server(client, uri):
    return sorted((str(one["range"]["start"]["line"] + 1), one["code"]) for one in client.diagnostics(uri))


def test_right_after_an_edit(client, folder, mnist, **_):
    """Whatever is asked first after an edit is told of the text as it is, and changes nothing of what is told later."""
    (folder / "half.ltr").write_text("ltr 1\n\nfn half[B](x: float[B]) -> float[B] {\n  y = x / 2\n  return y\n}\n")
    uri = client.open(folder / "half.ltr")

    def rename(what, name):
        edit = client.request("textDocument/rename", **client.at(uri, what), newName=name)
        return apply_edits(client.texts[uri], edit["changes"][uri])

    client.change(uri, "  y = x / 2", "  # Of all.\n  y = x / 2")
    expect("  result = x / 2\n  return result\n" in rename("y = x", "result"), rename("y = x", "result"))
    expect("fn halved[B]" in rename("half[B]", "halved"))
    # The same name is taken now, and was free before; a part of another word is no name.
    client.change(uri, "  return y", "  result = 1\n  resulting = result + 1\n  return y")
    expect("would be wrong" in refused(-32803, lambda: rename("y = x", "result")))
    expect("would be wrong" in refused(-32803, lambda: rename("result = 1", "y")))
    expect("  total = 1\n  resulting = total + 1\n" in rename("result = 1", "total"))
    expect("  sult = 1\n  resulting = sult + 1\n" in rename("result = 1", "sult"))
    client.change(uri, "  result = 1\n  resulting = result + 1\n", "")
    for old, new in (("return y", "return yy"), ("return yy", "return y"), ("y = x / 2", "y = x / 2; z = x")):
        client.change(uri, old, new)
        expect("fn half" in hover(client, uri, "half"))
        expect(codes_of_server(client, uri) == codes_of_check(client, client.texts[uri], folder), client.texts[uri])
    expect(codes_of_server(client, uri) == [("5", "W0302")], codes_of_server(client, uri))
    # What only the whole code tells comes as well.
    client.change(mnist, "    minimize loss\n", "")
    hover(client, mnist, "log loss bar", shift=4)
    expect(codes_of_server(client, mnist) == codes_of_check(client, client.texts[mnist], folder) != [])
    client.change(mnist, "    log loss bar", "    minimize loss\n    log loss bar")
    expect(client.diagnostics(mnist) == [])


def test_completion_in_a_broken_text(client, folder, **_):
    """The library is shown as a whole, whatever of it the program mentions, and whatever is wrong with it."""
    (folder / "broken.ltr").write_text("ltr 1\n\nfn half[B](x: float[B]) -> float[B] {\n  y = x / 2\n  return y\n}\n")
    uri = client.open(folder / "broken.ltr")
    found = labels(client, uri, client.change(uri, "  return y", "  y = (x * 2\n  return x.s"))
    expect(found[0] == "shape" and {"sum", "softmax", "relu"} <= set(found) and "Checkpoint" not in found, found)
    place = client.change(uri, "return x.s", "return x.\n  ")
    found = labels(client, uri, place)
    expect({"x", "y", "half", "relu", "cross_entropy", "Linear", "Accuracy", "shuffle"} <= set(found), found)
    expect(len(found) == len(set(found)) and not [name for name in found if name.startswith("_")], found)
    place = client.change(uri, "return x.\n  ", "return y\n}\n\nexperiment e {\n  callbacks { E")
    expect({"Ema", "EarlyStop", "Checkpoint"} <= set(labels(client, uri, place)), labels(client, uri, place))
    client.notify("textDocument/didClose", textDocument={"uri": uri})


def main(source, ltrc):
    source = pathlib.Path(source).resolve()
    faults = []
    tests = {name: test for name, test in globals().items() if name.startswith("test_")}
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary).resolve()
        client = Client(pathlib.Path(ltrc).resolve(), folder)
        capabilities = client.start(folder)["capabilities"]
        programs = {"mnist": source / "examples/mnist.ltr", "gpt": source / "examples/char_gpt.ltr"}
        uris = {name: client.open(path) for name, path in programs.items()}
        for name, test in tests.items():
            try:
                test(client=client, folder=folder, legend=capabilities["semanticTokensProvider"]["legend"], **uris)
            except Exception:
                faults.append(f"{name}\n{traceback.format_exc()}")
                if client.process.poll() is not None:
                    break
                for uri in uris.values():  # The next test begins with the text as it was.
                    client.notify("textDocument/didClose", textDocument={"uri": uri})
                uris = {one: client.open(path) for one, path in programs.items()}
        if client.process.poll() is None and client.stop() != 0:
            faults.append("the server ended with a fault")
    print("\n".join(faults) + f"\n{len(tests)} tests, {len(faults)} failed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

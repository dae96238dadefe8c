"""The grammar of VS Code and the syntax file of vim colour the same words alike: both against one table.

    colours.py SOURCE_DIR vscode|vim

Exits with 77 where textmate-grammar-python, or vim, is not installed.
"""
import json
import logging
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# A line, and what is expected of its words: the beginning of the scope, and the group in vim.
TABLE = [
    ("ltr 1", {"ltr": ("keyword.control", "ltrKeyword"), "1": ("constant.numeric", "ltrNumber")}),
    ("hparam lr: float = 1e-3", {"hparam": ("storage.type", "ltrKeyword"), "lr": ("entity.name", "ltrDeclared"),
                                 "float": ("support.type", "ltrType"), "1e-3": ("constant.numeric", "ltrNumber")}),
    ("# a model", {"model": ("comment.line.number-sign", "ltrComment")}),
    ("## a model", {"model": ("comment.line.documentation", "ltrDoc")}),
    ("model Net(width: int) {", {"model": ("storage.type", "ltrKeyword"), "Net": ("entity.name.type", "ltrDeclared"),
                                 "int": ("support.type", "ltrType")}),
    ("  fc = Linear(8, 4)", {"Linear": ("support.class", "ltrBlock"), "8": ("constant.numeric", "ltrNumber")}),
    ("  fn forward(x: f32[4]) -> f32[4] = relu(x)", {"fn": ("storage.type", "ltrKeyword"),
                                                    "forward": ("entity.name.function", "ltrDeclared"),
                                                    "relu": ("support.function", "ltrFunction"),
                                                    "f32": ("support.type", "ltrType")}),
    ("    minimize loss", {"minimize": ("keyword.control", "ltrKeyword"), "loss": (None, None)}),
    ("    m = mean(x)", {"mean": ("support.function", "ltrFunction"), "m": (None, None)}),
    ("    return x |> relu", {"return": ("keyword.control", "ltrKeyword"), "relu": ("support.function", "ltrFunction")}),
    ("    if a and b { y = none }", {"if": ("keyword.operator.word", "ltrOperatorWord"),
                                     "and": ("keyword.operator.word", "ltrOperatorWord"),
                                     "none": ("constant.language", "ltrConstant")}),
    ("    z = s.image", {"image": (None, "ltrField")}),
    ("  on train_epoch_end {", {"on": ("keyword.control", "ltrKeyword"),
                                "train_epoch_end": ("entity.name.function", "ltrHook")}),
    ("    every 5 epochs {", {"every": ("keyword.control", "ltrKeyword"), "epochs": ("keyword.other.unit", "ltrUnit")}),
    ('    print "the {loss} of a model"', {"print": ("keyword.control", "ltrKeyword"),
                                           "model": ("string.quoted.double", "ltrString")}),
    ("  trainer { epochs = 5 }", {"trainer": ("keyword.control", "ltrKeyword"),
                                  "epochs": ("variable.other.property", "ltrSetting")}),
]
TEXT = "\n".join(line for line, _ in TABLE) + "\n"


def by_grammar(source):
    """(line, column) to the innermost scope, by a real tokenizer."""
    try:
        from textmate_grammar.parsers.base import LanguageParser
    except ImportError:
        return None
    logging.disable(logging.WARNING)  # It tells of every character that has no colour.
    grammar = json.loads((source / "editors/vscode/syntaxes/ltr.tmLanguage.json").read_text())
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "table.ltr"
        path.write_text(TEXT)
        found = {}
        for (line, column), text, scopes in LanguageParser(grammar).parse_file(path).flatten():
            for shift in range(len(text)):
                found[line, column + shift] = scopes[-1]
    return lambda line, column: found.get((line, column), "")


def by_vim(source):
    vim = shutil.which("nvim") or shutil.which("vim")
    if vim is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "table.ltr").write_text(TEXT)
        script = folder / "dump.vim"
        script.write_text(f"""
set nocompatible
set runtimepath^={source}/editors/vim
syntax on
filetype plugin indent on
edit {folder}/table.ltr
let rows = [&filetype]
for line in range(1, line('$'))
  call add(rows, join(map(range(1, len(getline(line))), 'synIDattr(synID(line, v:val, 1), "name")'), ','))
endfor
call writefile(rows, '{folder}/groups')
qall!
""")
        words = ["--headless", "-n", "-i", "NONE", "-u", str(script)]
        if not vim.endswith("nvim"):
            words = ["-e", "-s", "-N", "-n", "-i", "NONE", "-u", str(script)]
        subprocess.run([vim, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        if not (folder / "groups").exists():
            return None  # A vim that was built without syntax.
        kind, *rows = (folder / "groups").read_text().split("\n")
        assert kind == "ltr", f"the file type is {kind}"
        groups = [row.split(",") for row in rows]
    return lambda line, column: groups[line][column]


def main(source, which):
    source = pathlib.Path(source).resolve()
    look_up = by_grammar(source) if which == "vscode" else by_vim(source)
    if look_up is None:
        print("skipped: " + ("textmate-grammar-python is not installed (pip install textmate-grammar-python)"
                             if which == "vscode" else "there is no vim with syntax"))
        return 77
    faults, checked = [], 0
    for line, (text, words) in enumerate(TABLE):
        for word, wanted in words.items():
            wanted = wanted[0 if which == "vscode" else 1]
            found = look_up(line, [at.start() for at in re.finditer(rf"\b{word}\b", text)][-1])
            checked += 1
            is_right = found.startswith(wanted) if wanted else found in ("", "source.ltr")
            if not is_right:
                faults.append(f"{text.strip()!r}: `{word}` is {found or 'plain'}, not {wanted or 'plain'}")
    print("\n".join(faults + [f"{checked} words, {len(faults)} of another colour"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

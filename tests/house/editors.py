"""The words in the editor files are those of the tables, the JSON files are well-formed and name files that exist.

    editors.py SOURCE_DIR LTRC
"""
import json
import pathlib
import re
import subprocess
import sys


def main(source, _ltrc=None):
    source = pathlib.Path(source)
    generated = subprocess.run([sys.executable, source / "editors/generate.py", source, "--check"],
                               capture_output=True, text=True)
    faults = [] if generated.returncode == 0 else [generated.stdout + generated.stderr]
    folder = source / "editors/vscode"
    for path in sorted(folder.rglob("*.json")):
        if "node_modules" not in path.parts:
            json.loads(path.read_text())
    extension = json.loads((folder / "package.json").read_text())
    for name in ("name", "version", "publisher", "engines", "main", "contributes"):
        if name not in extension:
            faults.append(f"package.json has no {name}")
    contributed = extension["contributes"]
    named = [extension["main"], *(one["configuration"] for one in contributed["languages"]),
             *(one["path"] for kind in ("grammars", "snippets") for one in contributed[kind])]
    faults += [f"package.json names {name}, which is not there" for name in named if not (folder / name).is_file()]
    code = (folder / "extension.js").read_text()
    faults += [f"{one['command']} is declared and not registered" for one in contributed["commands"]
               if f'"{one["command"]}"' not in code]
    # The matcher reads what `--message-format=short` writes.
    [matcher] = contributed["problemMatchers"]
    line = re.match(matcher["pattern"]["regexp"], "a b/x.ltr:31:24: error[E0304]: cannot add float[B, 1] and float[B]")
    wanted = ("a b/x.ltr", "31", "24", "error", "E0304", "cannot add float[B, 1] and float[B]")
    if line is None or line.groups() != wanted:
        faults.append(f"the problem matcher reads {line and line.groups()}")
    for name, snippet in json.loads((folder / "snippets/ltr.json").read_text()).items():
        if not snippet.get("prefix") or not snippet.get("body"):
            faults.append(f"the snippet {name} has no prefix or body")
    grammar = json.loads((folder / "syntaxes/ltr.tmLanguage.json").read_text())
    used = set(re.findall(r'"include": "#(\w+)"', json.dumps(grammar)))
    faults += [f"the grammar includes {name}, which is not there" for name in used - set(grammar["repository"])]
    faults += [f"the grammar never uses {name}" for name in set(grammar["repository"]) - used]
    print("\n".join(faults + [f"{len(named)} files, {len(faults)} faults"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""The table of library functions, dsl/library/*.def, against stdlib/: a row for each function of an `extern "runtime"` block
in the room of its folder, and no others; arguments that a row names or counts are there. Words of the language itself
(language.def) are functions of the runtime, or known to the compiler by their id.

    library.py SOURCE_DIR LTRC
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "runtime/api"))
from make_ops import closing, split  # noqa: E402

ROW = re.compile(r"^LTR_(?:FUNCTION|STREAM|TEXT|SETTING|WORD|ROW)\((\w+), *(\w+)((?:[^()]|\([^()]*\))*)\)", re.MULTILINE)
WRITTEN = re.compile(r"^LTR_WRITTEN\(\w+, *(\w+)", re.MULTILINE)
LANGUAGE = "language"


def externs(path):
    """Functions of the runtime that a file declares, with the names of their params."""
    text = path.read_text().partition("\n# ---- tests\n")[0]
    for block in re.finditer(r'^extern "runtime" \{', text, re.MULTILINE):
        body = text[block.end() - 1:closing(text, block.end() - 1)]
        body = re.sub(r"##[^\n]*", "", body)
        for fn in re.finditer(r"\bfn (\w+)", body):
            at = fn.end()
            if body[at] == "[":
                at = closing(body, at) + 1
            yield fn[1], [param.split(":")[0] for param in split(body[at + 1:closing(body, at)])]


def written_faults(room, stdlib):
    """Rows of functions that the library writes in Ltr."""
    text = "".join(path.read_text() for path in (stdlib / room.stem).glob("*.ltr"))
    for name in WRITTEN.findall(room.read_text()):
        if not re.search(rf"^fn {name}\b", text, re.MULTILINE):
            yield f"dsl/library/{room.name}: stdlib/{room.stem}/ writes no function `{name}`"


def room_faults(room, declared):
    rows = {name: facts for _, name, facts in ROW.findall(room.read_text())}
    place = f"dsl/library/{room.name}"
    for name in sorted(rows.keys() - declared.keys()):
        yield f"{place}: stdlib/{room.stem}/ declares no function `{name}`"
    for name in sorted(declared.keys() - rows.keys()):
        yield f"{place}: there is no row for `{name}` of stdlib/{room.stem}/"
    for name in sorted(rows.keys() & declared.keys()):
        warmup = re.search(r'\.warmup = "(\w+)"', rows[name])
        if warmup and warmup[1] not in declared[name]:
            yield f"{place}: `{name}` has no param `{warmup[1]}`"
        rate = re.search(r"\.rate_at = (\d+)", rows[name])
        if rate and declared[name][int(rate[1]):][:1] != ["dropout"]:
            yield f"{place}: argument {rate[1]} of `{name}` is not `dropout`"


def language_faults(source, room):
    headers = "".join(path.read_text() for path in (source / "runtime/api/ltr").glob("*.h"))
    code = "".join(path.read_text() for folder in ("dsl", "codegen") for path in (source / folder).rglob("*.cpp"))
    for number, name, _ in ROW.findall(room.read_text()):
        if not re.search(rf"\b{name}\b", headers) and f"Id::{number}" not in code:
            yield f"dsl/library/{room.name}: nothing is called `{name}`"


def main(source, _ltrc=None):
    source = pathlib.Path(source)
    declared = {}
    for path in sorted((source / "stdlib").rglob("*.ltr")):
        declared.setdefault(path.parent.name, {}).update(externs(path))
    rooms = {path.stem: path for path in sorted((source / "dsl/library").glob("*.def")) if path.stem != "functions"}
    faults = [f"dsl/library: there is no room {folder}.def" for folder in declared if declared[folder] and folder not in rooms]
    for stem, room in rooms.items():
        if f'"dsl/library/{room.name}"' not in (source / "dsl/library/functions.def").read_text():
            faults.append(f"dsl/library/functions.def: {room.name} is not included")
        faults += language_faults(source, room) if stem == LANGUAGE else room_faults(room, declared.get(stem, {}))
        faults += written_faults(room, source / "stdlib")
    count = sum(len(ROW.findall(room.read_text())) for room in rooms.values())
    print("\n".join(faults + [f"{count} functions in {len(rooms)} rooms, {len(faults)} faults"]))
    return 1 if faults or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

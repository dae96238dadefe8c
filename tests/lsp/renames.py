"""What names mean to the server is what they mean to `ltrc check`: in right programs every name gets another one, through the
server, and `ltrc dump typed` prints the same but for that; and the uses of one local are uses of one name.

    renames.py SOURCE_DIR LTRC [--all | PROGRAM…]
"""
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from client import Client, Failed, apply_edits, offset, position

# Why a name may stay.
RIGHT = ("there is no name here", "is a name of the library", "is a role", "is asked for by the language", "is a field; records",
         "is the field of a batch", "say whether", "which is no state", "is asked where", "no weight of", "defines no function")
# As many as take 20 s; `--all` are the examples, the accepted programs of the corpus and more random ones.
SHORT = ("forecast", "recommender", "val_streams", "forms", "v9")
SEEDS = range(3, 63, 3)


def dump(ltrc, path):
    """What `ltrc dump typed` prints, and the errors that it finds."""
    done = subprocess.run([ltrc, "dump", "typed", "--message-format=short", path.name], cwd=path.parent, capture_output=True, text=True)
    return done.stdout, [line for line in done.stderr.split("\n") if "error" in line]


def told(typed):
    """The lines without places, terms of sizes in whatever order: they stand in that of their names."""
    return [sorted(re.findall(r"\w+|\W", re.sub(r"  \d+:\d+-\d+:\d+$", "", line))) for line in typed.split("\n")]


def locals_of(text, typed):
    """By the offset of each use of a local: which ones it is. The code of a lambda is read at each application, so that may be
    several; and what changes a part of a local, or a lambda that keeps it, makes another one of the same name of it."""
    begins = [0]
    for line in text.split("\n"):
        begins.append(begins[-1] + len(line) + 1)
    found, function, same, made = collections.defaultdict(set), "", {}, []

    def first(local):
        while local in same:
            local = same[local]
        return local

    for line in typed.split("\n"):
        if re.match(r" {0,2}(?!binder |where )[a-z]", line):
            function = line
        depth = len(line) - len(line.lstrip())
        made = [one for one in made if one[0] < depth]
        made += [(depth, *new) for new in re.findall(r"^ +(?:Let|LetIn) (\w+)\$(\d+)", line)]
        for name, local in re.findall(r" Local (\w+)\$(\d+)", line):
            for _, new_name, new in made:
                old, new = first((function, local)), first((function, new))
                if new_name == name and old != new:
                    same[new] = old
        for name, local, row, begin, end in re.findall(r" Local (\w+)\$(\d+): .*  (\d+):(\d+)-\3:(\d+)$", line):
            at = begins[int(row) - 1] + int(begin) - 1
            if text[at:at + int(end) - int(begin)] == name:
                found[at].add((function, local))
    return {at: {first(local) for local in locals_here} for at, locals_here in found.items()}


class Renaming:
    """All names of the files in one folder, each changed by itself."""

    def __init__(self, ltrc, main):
        self.ltrc, self.main, self.faults = ltrc, main, []
        self.old_names, self.entity_at, self.edits = {}, {}, {}
        self.client = Client(ltrc, main.parent)
        self.client.start(main.parent)
        self.texts = {}
        for file in sorted(main.parent.glob("*.ltr")):
            self.texts[self.client.open(file)] = file.read_text()

    def fault(self, uri, at, what):
        self.faults.append(f"{pathlib.Path(uri).name}:{position(self.texts[uri], at)['line'] + 1}: {what}")

    def rename(self, uri, at, name):
        fresh = f"{name}_r{len(self.old_names)}"
        try:
            found = self.client.request("textDocument/rename", textDocument={"uri": uri}, newName=fresh,
                                        position=position(self.texts[uri], at))
        except Failed as failed:
            if not any(reason in str(failed) for reason in RIGHT):
                self.fault(uri, at, failed)
            return
        self.old_names[fresh] = name
        for other, changes in found["changes"].items():
            for change in changes:
                self.edit(other, change, fresh)
        if (uri, at) not in self.entity_at:
            self.fault(uri, at, f"`{name}` itself stays")

    def edit(self, uri, change, fresh):
        place = uri, offset(self.texts[uri], change["range"]["start"])
        before = self.edits.get(place)
        if before and " = " in before["newText"] and " = " in change["newText"]:
            # `log loss` is two names: that of the series, and of its value.
            series, value = before["newText"].split(" = ")
            other_series, other_value = change["newText"].split(" = ")
            merged = f"{other_series if series == other_value else series} = {other_value if series != other_value else value}"
            change = {**change, "newText": merged}
        elif before:
            self.fault(*place, f"it is `{self.entity_at[place]}` and `{fresh}`")
        self.edits[place], self.entity_at[place] = change, fresh

    def run(self):
        before, errors = dump(self.ltrc, self.main)
        if errors:
            return errors
        for uri, text in self.texts.items():
            for word in re.finditer(r"[A-Za-z_]\w*", text):
                if (uri, word.start()) not in self.entity_at:
                    self.rename(uri, word.start(), word[0])
        self.compare_locals(before)
        for uri in self.texts:
            edits = [edit for (file, _), edit in self.edits.items() if file == uri]
            pathlib.Path(uri.removeprefix("file://")).write_text(apply_edits(self.texts[uri], edits))
        self.compare_typed(before)
        self.client.stop()
        return self.faults

    def compare_locals(self, typed):
        main = self.main.as_uri()
        meant = collections.defaultdict(list)
        for at, those in locals_of(self.texts[main], typed).items():
            if (main, at) in self.entity_at:
                meant[self.entity_at[main, at]].append((at, those))
        for entity, uses in meant.items():
            first, those = uses[0]
            for at, others in uses[1:]:
                if not those & others:
                    line = position(self.texts[main], first)["line"] + 1
                    self.fault(main, at, f"`{self.old_names[entity]}` is another one than in line {line}")
                    break

    def compare_typed(self, before):
        after, errors = dump(self.ltrc, self.main)
        for line in errors[:3]:
            self.faults.append(f"renamed: {line}")
        after = re.sub(r"\w+_r\d+", lambda word: self.old_names.get(word[0], word[0]), after)
        pairs = list(zip(told(before), told(after), before.split("\n"), after.split("\n")))
        wrong = [f"`{old.strip()}` became `{new.strip()}`" for a, b, old, new in pairs if a != b]
        if not errors and (wrong or before.count("\n") != after.count("\n")):
            self.faults += wrong[:3] or ["another program"]


def programs_in(source, folder):
    """Each in a folder of its own, with what it imports."""
    sys.path[:0] = [str(source / "tests/fuzz/programs"), str(source / "tests/run/support")]
    from variety import Variety
    paths = [*source.glob("examples/*.ltr"), *source.glob("tests/run/*.ltr"), *source.glob("tests/corpus/accepted/*.ltr")]
    for path in sorted(paths):
        if "\nextern " in path.read_text():
            continue  # The C++ file has the names, too.
        place = folder / path.parent.name / path.stem
        place.mkdir(parents=True)
        yield pathlib.Path(shutil.copy(path, place))
    for seed in SEEDS:
        files = Variety(seed, seed // 3).files()
        (folder / f"random{seed}").mkdir()
        for name, text in files.items():
            (folder / f"random{seed}" / name).write_text(text)
        yield folder / f"random{seed}" / next(iter(files))


def main(source, ltrc, *only):
    ltrc, failed, programs, names = pathlib.Path(ltrc).resolve(), 0, 0, 0
    only = () if only == ("--all",) else only or SHORT
    with tempfile.TemporaryDirectory() as temporary:
        for path in programs_in(pathlib.Path(source).resolve(), pathlib.Path(temporary).resolve()):
            if only and path.stem not in only:
                continue
            renaming = Renaming(ltrc, path)
            faults = renaming.run()
            programs, names, failed = programs + 1, names + len(renaming.old_names), failed + bool(faults)
            for fault in faults:
                print(f"{path.stem}: {fault}")
    print(f"{programs} programs, {names} names, {failed} failed")
    return 1 if failed or programs < len(only) or not names else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

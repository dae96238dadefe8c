"""Who includes whom: every include of a source goes where cmake/layers.txt allows it, no line allows what nobody needs, and
no layer reaches itself over others.

    layers.py SOURCE_DIR LTRC
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
TOPS = ("dsl", "codegen", "ltrc", "runtime", "doors")


def read(path):
    """Layer -> layers that it may include, and folder -> layer. A layer of several folders has the first one's name."""
    layers, folders = {}, {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            names, _, allowed = line.partition(":")
            layers[names.split()[0]] = allowed.split()
            folders.update((folder, names.split()[0]) for folder in names.split())
    return layers, folders


def cycle(layers):
    """Layers that reach each other, or nothing."""
    done = set()

    def visit(name, path):
        if name in path:
            return path[path.index(name):] + [name]
        if name in done:
            return None
        found = next(filter(None, (visit(next_one, path + [name]) for next_one in layers[name])), None)
        done.add(name)
        return found

    return next(filter(None, (visit(name, []) for name in layers)), None)


def unnamed_rooms(source):
    """Folders with sources that docs/architecture.md does not name in the row of the folder that they lie in."""
    rows = dict(re.findall(r"^\| `(\w+)/` \| (.*) \|$", (source / "docs/architecture.md").read_text(), re.MULTILINE))
    return [f"docs/architecture.md: the row of `{top}/` does not name `{room.name}`"
            for top in TOPS for room in sorted((source / top).iterdir())
            if room.is_dir() and (any(room.glob("*.cpp")) or any(room.glob("*.h")) or any(room.glob("*.def")))
            and not re.search(rf"\b{room.name}\b", rows.get(top, ""))]


def main(source, _):
    source = pathlib.Path(source)
    layers, folders = read(source / "cmake/layers.txt")
    faults = [f"layers.txt: {name} may include {other}, which has no line"
              for name, allowed in layers.items() for other in allowed if other not in layers]
    if not faults and (circle := cycle(layers)):
        faults.append(f"layers.txt goes round: {' -> '.join(circle)}")

    faults += unnamed_rooms(source)

    def layer_of(path):
        folder = max((name for name in folders if f"{path}/".startswith(f"{name}/")), key=len, default=None)
        return folders.get(folder)

    used, count = set(), 0
    for path in sorted(path for top in TOPS for path in (source / top).rglob("*") if path.suffix in (".cpp", ".h", ".cu", ".cc", ".def")):
        # Tests stand beside the code, and may reach for what makes their world.
        if path.stem.endswith("_test") or path.stem.startswith("fake_"):
            continue
        own_folder = path.parent.relative_to(source).as_posix()
        own = layer_of(own_folder)
        if own is None:
            faults.append(f"{own_folder} is in no layer of cmake/layers.txt")
            continue
        for target in INCLUDE.findall(path.read_text()):
            target = "runtime/api/" + target if target.startswith("ltr/") else target
            other = layer_of(pathlib.PurePosixPath(target).parent.as_posix())
            count += 1
            if other is None or other == own:
                continue
            used.add((own, other))
            if other not in layers[own]:
                faults.append(f"{path.relative_to(source)} includes {target}: {own} may not include {other}")
    faults += [f"layers.txt: nothing in {name} includes {other}" for name, allowed in layers.items()
               for other in allowed if (name, other) not in used]
    print("\n".join(sorted(set(faults)) + [f"{count} includes, {len(layers)} layers, {len(faults)} faults"]))
    return 1 if faults or count < 1000 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))

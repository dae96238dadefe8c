"""No two types of one program have one name in one namespace: the linker keeps one of their destructors for both.

    type_names.py SOURCE_DIR LTRC
"""
import collections
import pathlib
import re
import subprocess
import sys

FOLDERS = ("dsl", "codegen", "ltrc", "runtime", "doors")
OPENS = re.compile(r"^(?:inline )?namespace(?: ([\w:]+))? \{")
CLOSES = re.compile(r"^\}  // namespace")
DEFINES = re.compile(r"^(?:template <.*> )?(?:class|struct)(?: [A-Z_]+)? (\w+)(?: final)?(?: : [^;]*)? \{")


def types_of(text):
    """Names with their namespaces, of types that other files can see or clash with."""
    spaces = []
    for line in text.split("\n"):
        if opened := OPENS.match(line):
            spaces.append(opened[1])
        elif CLOSES.match(line):
            spaces.pop()
        elif (defined := DEFINES.match(line)) and None not in spaces:
            yield "::".join(spaces + [defined[1]])


def main(source, ltrc):
    source = pathlib.Path(source).resolve()
    listed = subprocess.run(["git", "-C", source, "ls-files", "--", *FOLDERS], capture_output=True, text=True)
    if listed.returncode != 0:
        print("not a checkout")
        return 77
    places = collections.defaultdict(list)
    for name in listed.stdout.split("\n"):
        if name.endswith((".h", ".cpp")) and (source / name).is_file():
            for type_name in types_of((source / name).read_text()):
                places[type_name].append(name)
    doubled = [f"{name}: {', '.join(files)}" for name, files in sorted(places.items()) if len(files) > 1]
    print("\n".join(doubled + [f"{len(places)} types, {len(doubled)} with a name that another has"]))
    return 1 if doubled or len(places) < 500 else 0


sys.exit(main(*sys.argv[1:]))

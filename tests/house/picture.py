"""docs/terminal.svg is what docs/picture.py draws: the mistake as `ltrc check` says it, and behind it a run that trains."""
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

source, ltrc = pathlib.Path(sys.argv[1]), sys.argv[2]


def lines_of(svg):
    return ["".join(line.itertext()) for line in xml.etree.ElementTree.parse(svg).iter("{http://www.w3.org/2000/svg}text")]


with tempfile.TemporaryDirectory() as folder:
    drawn = pathlib.Path(folder) / "terminal.svg"
    subprocess.run([sys.executable, source / "docs/picture.py", ltrc, drawn], check=True)
    now, kept = lines_of(drawn), lines_of(source / "docs/terminal.svg")
run = next(number for number, line in enumerate(now) if line.startswith("$ ltrc run"))
faults = [f"{one!r} now, {other!r} in docs/terminal.svg" for one, other in zip(now[:run + 1], kept[:run + 1]) if one != other]
# Times differ from machine to machine; what is said does not.
words = [[re.sub(r"[\d.,:]+", "", line).split()[:3] for line in lines[run:]] for lines in (now, kept)]
if len(now) != len(kept):
    faults.append(f"{len(now)} lines now, {len(kept)} in docs/terminal.svg")
if not any("error[" in line for line in now[:run]) or words[0][1:3] != words[1][1:3]:
    faults.append("\n".join(now))
print("\n".join(faults) or "docs/terminal.svg is as it was drawn")
sys.exit(1 if faults else 0)

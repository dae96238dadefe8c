"""Every ```ltr block in README.md and docs/ checks; one marked `fails E0304` gives exactly that code."""
import pathlib
import re
import subprocess
import sys
import tempfile

source, ltrc = pathlib.Path(sys.argv[1]), sys.argv[2]
pages = [source / "README.md", *sorted((source / "docs").rglob("*.md"))]
checked, faults = 0, []
with tempfile.TemporaryDirectory() as folder:
    for page in pages:
        # C++ files that programs of the page name: ```cpp kernels/rope.cpp
        for name, text in re.findall(r"^```cpp (\S+)\n(.*?)^```", page.read_text(), re.M | re.S):
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for number, (mark, text) in enumerate(re.findall(r"^```ltr([^\n]*)\n(.*?)^```", page.read_text(), re.M | re.S)):
            program = pathlib.Path(folder) / f"{page.stem}_{number}.ltr".replace("-", "_")
            program.write_text(text)
            done = subprocess.run([ltrc, "check", "--message-format=short", program], capture_output=True, text=True)
            codes = re.findall(r"error\[(\w+)\]", done.stderr)
            wanted = mark.split()[1:]
            checked += 1
            if codes != wanted or (not wanted and done.returncode != 0):
                faults.append(f"{page.relative_to(source)}, program {number + 1}: wanted {wanted or 'no error'}\n{done.stderr}")
print(f"{checked} programs in {len(pages)} pages, {len(faults)} wrong")
print("\n".join(faults))
sys.exit(1 if faults or checked == 0 else 0)

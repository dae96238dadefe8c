"""Every ```ltr block in README.md and docs/ checks; one marked `fails E0304` gives exactly that code."""
import pathlib
import re
import subprocess
import sys
import tempfile

from support.pages import programs_of, write_files_of

source, ltrc = pathlib.Path(sys.argv[1]), sys.argv[2]
pages = [source / "README.md", *sorted((source / "docs").rglob("*.md"))]
checked, faults = 0, []
with tempfile.TemporaryDirectory() as folder:
    for page in pages:
        write_files_of(page, pathlib.Path(folder))
        for number, (mark, text) in enumerate(programs_of(page)):
            program = pathlib.Path(folder) / f"{page.stem}_{number}.ltr".replace("-", "_")
            program.write_text(text)
            done = subprocess.run([ltrc, "check", "--message-format=short", program], capture_output=True, text=True)
            codes = re.findall(r"error\[(\w+)\]", done.stderr)
            wanted = mark[1:] if mark[:1] == ["fails"] else []
            checked += 1
            if codes != wanted or (not wanted and done.returncode != 0):
                faults.append(f"{page.relative_to(source)}, program {number + 1}: wanted {wanted or 'no error'}\n{done.stderr}")
print(f"{checked} programs in {len(pages)} pages, {len(faults)} wrong")
print("\n".join(faults))
sys.exit(1 if faults or checked == 0 else 0)

#!/usr/bin/env python3
"""The command that E0806 and E0808 show makes a file that is read: it is run as it stands. Needs torch."""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "run/support"))
from harness import LTRC, check, finish, run, scratch  # noqa: E402

try:
    import torch
except ImportError:
    print("torch is not installed")
    sys.exit(77)

PROGRAM = """ltr 1
block Part() { l = Linear(3, 2) from "FILE" }
test "built" { assert Part().l.weight.shape == [2, 3] }
"""


def diagnostic(folder, name):
    source = folder / "part.ltr"
    source.write_text(PROGRAM.replace("FILE", name))
    result = run(LTRC, "check", "--message-format=json", source, cwd=folder)
    return json.loads(result.stdout.splitlines()[0]) if result.returncode else None


with scratch() as place:
    folder = pathlib.Path(place)
    state = torch.nn.Linear(3, 2).state_dict()
    torch.save(state, folder / "it's old.pt", _use_new_zipfile_serialization=False)
    torch.save({**state, "weight": torch.quantize_per_tensor(state["weight"], 0.1, 0, torch.qint8)}, folder / "quantized.pt")
    torch.save({**state, "weight": state["weight"].to(torch.float8_e4m3fn)}, folder / "narrow.pt")
    torch.save({**state, "weight": state["weight"].to_sparse()}, folder / "sparse.pt")
    torch.save(torch.nn.Linear(3, 2), folder / "module.pt")
    torch.save({**state, "weight": state["weight"].to(torch.complex64)}, folder / "complex.pt")
    torch.save(list(state.values()), folder / "list.pt")
    for name, code in (("it's old", "E0806"), ("quantized", "E0806"), ("narrow", "E0806"), ("sparse", "E0808"), ("module", "E0808")):
        found = diagnostic(folder, f"{name}.pt")
        check(f"{name} is refused", found and found["code"] == code, found)
        line = found["help"][found["help"].index("python3"):].replace("python3", sys.executable, 1)
        result = subprocess.run(line, shell=True, cwd=folder, capture_output=True, text=True)
        check(f"{name}: its line runs", result.returncode == 0, line + result.stderr)
        check(f"{name}: what it wrote is read", diagnostic(folder, "converted.pt") is None)
        (folder / "converted.pt").unlink(missing_ok=True)
    for name in ("complex", "list"):
        found = diagnostic(folder, f"{name}.pt")
        check(f"{name}: no line that would not help", found["code"] == "E0806" and "python3" not in found["help"], found)
finish()

#!/usr/bin/env python3
"""`ltrc plan` for the machine of Inputs/plan_measured.json, against the steps that were measured on it: no time is measured here.
`python bench/plan.py --record` writes that file anew.

    python tests/tools/plan_measured.py ltrc
"""
import json
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
RECORD = SOURCE / "tests/tools/Inputs/plan_measured.json"
NEAR = 0.25


def predicted_s(ltrc, step):
    said = subprocess.run([ltrc, "plan", SOURCE / step["source"], step["experiment"], "--devices", f"cpu[{step['ranks']}]",
                           "--backend", step["backend"], "--machine", RECORD, "--json"], capture_output=True, text=True, check=True, timeout=60).stdout
    wanted = "single" if step["ranks"] == 1 else "ddp"
    return next(row["update_s"] for row in json.loads(said)["strategies"] if row["strategy"] == wanted)


def main():
    record = json.loads(RECORD.read_text())
    far = 0
    for step in record["steps"]:
        part = predicted_s(sys.argv[1], step) / step["seconds"]
        is_near = abs(part - 1) <= NEAR
        far += not is_near
        print(f"{step['experiment']} on {step['ranks']}, {step['backend']}: {part:.0%} of what was measured{'' if is_near else ', TOO FAR'}")
    if not record["steps"]:
        sys.exit(f"{RECORD} has no steps")
    sys.exit(1 if far else 0)


if __name__ == "__main__":
    main()

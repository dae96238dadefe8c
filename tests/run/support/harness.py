"""What the tests of whole runs share: building programs, starting them, saying what was checked."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("LTR_SOURCE", pathlib.Path(__file__).resolve().parents[3]))
LTRC = pathlib.Path(os.environ.get("LTRC", SOURCE / "build/release/bin/ltrc"))
EXAMPLES = SOURCE / "examples"
os.environ.setdefault("LTR_CACHE_DIR", str(SOURCE / "build/release/cache"))
# How much slower than others this build may be.
PATIENCE = int(os.environ.get("LTR_PATIENCE", "1"))
for name in ("LTR_ARGS", "LTR_OUT", "LTR_DATA_DIR"):
    os.environ.pop(name, None)
# Where and how every program of a test computes that is told nothing else.
DEVICES, BACKEND = os.environ.get("LTR_TEST_DEVICES", ""), os.environ.get("LTR_TEST_BACKEND", "")
if DEVICES or BACKEND:
    os.environ["LTR_ARGS"] = " ".join(([f"--devices {DEVICES}"] if DEVICES else []) + ([f"--backend {BACKEND}"] if BACKEND else []))

failures = []


def need_gpu():
    """Ends the test as skipped where nothing can be computed on a GPU."""
    if not pathlib.Path("/dev/nvidiactl").exists() or not (LTRC.parent.parent / "lib/ltr/libltr_runtime_cuda.so").exists():
        print("skip: there is no GPU, or the runtime was built without CUDA")
        sys.exit(77)


if DEVICES.startswith("cuda"):
    need_gpu()


def check(title, holds, detail=""):
    """Prints one line; a check that does not hold makes the test fail at its end."""
    print(f"{'ok   ' if holds else 'FAIL '} {title}", flush=True)
    if not holds:
        failures.append(title)
        if detail:
            print("      " + str(detail).strip()[-3000:].replace("\n", "\n      "), flush=True)
    return holds


def run(*command, cwd=None, timeout=240, stdin=""):
    """Runs to the end, `timeout` seconds at most in a build that is not sanitized; the result has `returncode`, `stdout`, `stderr` and `text`, both of them."""
    result = subprocess.run([str(word) for word in command], cwd=cwd, timeout=timeout * PATIENCE, input=stdin,
                            capture_output=True, text=True)
    result.text = result.stdout + result.stderr
    return result


def build(source, folder, name=None):
    """Builds `source` into `folder`; returns the program."""
    program = pathlib.Path(folder) / (name or pathlib.Path(source).stem)
    result = run(LTRC, "build", source, "-o", program)
    if result.returncode != 0:
        sys.exit(f"cannot build {source}:\n{result.text}")
    return program


def fit(program, folder, *options):
    """One fit on one thread with its run folders in `folder`."""
    return run(program, "fit", "--no-bar", "--threads", 1, "--out", folder, *options)


def newest(folder):
    """The run folder made last below `folder`."""
    return max(pathlib.Path(folder).glob("*/[0-9]*"), key=lambda path: (path.parent.stat().st_mtime, path.name))


def result_of(run_folder):
    """The bytes that a promise of equality is about: metrics and last weights."""
    return ((run_folder / "metrics.csv").read_bytes(),
            (run_folder / "checkpoints/last/weights.safetensors").read_bytes())


def interrupt(program, folder, at_step, number, *options):
    """Starts a fit, sends signal `number` once step `at_step` is reported; returns (exit code, its text)."""
    process = subprocess.Popen(
        [str(word) for word in (program, "fit", "--json", "--threads", 1, "--out", folder,
                                "--set", "trainer.log_every=1", *options)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1)
    lines = []
    sent = False
    for line in process.stdout:
        lines.append(line)
        if not sent and '"event":"step"' in line.replace(" ", "") and step_of(line) >= at_step:
            process.send_signal(number)
            sent = True
    return process.wait(), "".join(lines)


def step_of(line):
    return json.loads(line).get("step", -1)


def scratch():
    """A temporary folder, removed at the end."""
    return tempfile.TemporaryDirectory(prefix="ltr-")


def finish():
    """The exit of a test."""
    print(f"{len(failures)} failed" if failures else "all checks hold")
    sys.exit(1 if failures else 0)

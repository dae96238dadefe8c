"""What `bootstrap` is told is understood or refused, before it does anything.

    bootstrap.py SOURCE_DIR LTRC
"""
import os
import pathlib
import subprocess
import sys
import tempfile


def main(source, _ltrc=None):
    script = pathlib.Path(source) / "bootstrap"
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        build = pathlib.Path(folder) / "build"
        for cuda, words in (("maybe", ()), ("ON ", ("demo",)), ("", ("nonsense",)), ("", ("build", "demo"))):
            variables = {**os.environ, "LTR_CUDA": cuda, "LTR_BUILD_DIR": str(build)}
            result = subprocess.run([script, *words], env=variables, capture_output=True, text=True, timeout=60)
            wanted = f'LTR_CUDA is "{cuda}", but one of these is wanted: ON, ' if cuda else "usage: ./bootstrap"
            if result.returncode != 2 or wanted not in result.stderr or build.exists():
                faults.append(f"LTR_CUDA={cuda!r} {' '.join(words)}: {result.returncode} {result.stderr}")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""All C++ and CUDA sources are as clang-format 19 lays them out.

    clang_format.py SOURCE_DIR LTRC
"""
import pathlib
import shutil
import subprocess
import sys

KINDS = ("*.cpp", "*.h", "*.cu", "*.cc", "*.inc")


def main(source, ltrc):
    tool = shutil.which("clang-format-19")
    if tool is None:
        print("clang-format-19 is missing: ./bootstrap installs it")
        return 1
    listed = subprocess.run(["git", "-C", source, "ls-files", "--", *KINDS], capture_output=True, text=True)
    if listed.returncode != 0:
        print("not a checkout")
        return 77
    names = [name for name in listed.stdout.split("\n") if name and pathlib.Path(source, name).is_file()]
    said = subprocess.run([tool, "--dry-run", "--Werror", "--ferror-limit=1", *names], cwd=source, capture_output=True, text=True)
    print(said.stderr + f"{len(names)} files")
    return 0 if said.returncode == 0 and len(names) > 500 else 1


sys.exit(main(*sys.argv[1:]))

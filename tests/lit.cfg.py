# Golden tests: a program, how it is run, and what must come of it. See tests/update.py for writing the expectations.
#
#   # RUN: %fails %s           must be refused with exactly the diagnostics of its CHECK lines
#   # RUN: %cures %s           as %fails, with the help of each
#   # RUN: %check %s           must be accepted, with exactly the warnings of its CHECK lines
#   # RUN: %dump ast %s        the text of a phase, line by line
#   # RUN: %lower %s           the functions of the program as they are lowered, line by line
#   # RUN: %fmt %s             formats to the text in Expected/
#
# Paths come from `-D ltrc=…`, `-D filecheck=…`, or the variables LTRC and FILECHECK.
import os
import shutil

import lit.formats

config.name = "ltr"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".ltr", ".ir", ".test"]
config.excludes = ["CMakeLists.txt", "corpus", "Inputs", "Expected"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = lit_config.params.get("out", os.path.join(os.getcwd(), "golden"))


def find(name, *programs):
    given = lit_config.params.get(name.lower()) or os.environ.get(name)
    found = given or next((p for p in map(shutil.which, programs) if p), None)
    if not found:
        lit_config.fatal(f"{programs[0]} was not found; set {name}")
    return found


ltrc = find("LTRC", "ltrc")
filecheck = find("FILECHECK", "FileCheck-19", "FileCheck", "/usr/lib/llvm-19/bin/FileCheck")
# What compares C++ files with their declarations is built only where Clang's libraries are.
if os.path.exists(os.path.join(os.path.dirname(ltrc), "ltr_extern_check")):
    config.available_features.add("extern-check")
config.environment["PATH"] = "/usr/lib/llvm-19/bin" + os.pathsep + config.environment["PATH"]

# Any diagnostic that no CHECK line expects fails the test.
config.filecheck = f"{filecheck} --match-full-lines --allow-empty"
config.strict = "'--implicit-check-not={{.*(error|warning)\\[[A-Z][0-9]+\\].*}}'"


# A program runs in its own folder, so that messages name it without a path.
config.program_test = f"cd %S && COMMAND %basename_t 2>&1 | {config.filecheck} {config.strict} %s"
short = "--message-format=short"
config.substitutions += [
    (r"%fails %s", config.program_test.replace("COMMAND", f"not %ltrc check {short}")),
    (r"%cures %s", config.program_test.replace("COMMAND", "not %ltrc check")),
    (r"%check %s", config.program_test.replace("COMMAND", f"%ltrc check {short}")),
    (r"%dump (\w+) %s", f"cd %S && %ltrc dump \\1 %basename_t | {config.filecheck} --strict-whitespace %s"),
    (r"%lower %s", f"cd %S && %ltrc dump ir --dump-after=lower %basename_t | {config.filecheck} --strict-whitespace %s"),
    (r"%fmt %s", "cd %S && %ltrc fmt --stdout %basename_t | diff %S/Expected/%basename_t -"),
    (r"%filecheck", f"{config.filecheck} {config.strict}"),
    (r"%ltrc", ltrc),
]

#!/usr/bin/env python3
"""Writes runtime/api/ltr/ops.h from the `extern "runtime"` declarations of the standard library.

    make_ops.py            writes the header
    make_ops.py --check    exits 1 if it is not what the library says

The mapping is positional and all arguments are always passed; see stdlib/README.md.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = ROOT / "runtime/api/ltr/ops.h"
FOLDERS = ["tensor", "losses", "init", "vision", "str"]
HOST = {"int": "int64_t", "float": "double", "bool": "bool", "str": "const Str&", "path": "const Str&",
        "number": "Scalar", "weights": "const Weights&", "list[int]": "const Ints&", "list[float]": "const Floats&",
        "list[str]": "const std::vector<Str>&", "(float, float)": "const std::tuple<double, double>&",
        "option[str]": "const Option<Str>&", "option[int]": "Option<int64_t>", "option[float]": "Option<double>"}
RESULT = {"int": "int64_t", "float": "double", "bool": "bool", "str": "Str", "list[str]": "std::vector<Str>"}
# Names that mean something else to C++; `Context::facade_name` of the emitter changes them alike.
RESERVED = {"std", "isnan"}
TENSOR = re.compile(r"(any|float|bool|[fiu]\d+|bf16)\[")


def split(text, separator=","):
    """The parts of `text` at separators outside of brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += c in "([{"
        depth -= c in ")]}"
        if c == separator and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [p.strip() for p in parts + [text[start:]] if p.strip()]


def param_type(kind):
    if kind in HOST:
        return HOST[kind]
    if kind.startswith("one_of["):
        return "const Str&"
    if kind.startswith("list[") and TENSOR.match(kind[5:]):
        return "const Tensors&"
    if TENSOR.match(kind) or (kind.startswith("option[") and TENSOR.match(kind[7:])):
        return "const Tensor&"
    raise SystemExit(f"no C++ type for a parameter {kind}")


def result_type(kind):
    if not kind:
        return "void"
    if kind in RESULT:
        return RESULT[kind]
    if kind.startswith("("):
        return "std::tuple<" + ", ".join(result_type(k) for k in split(kind[1:-1])) + ">"
    return "Tensors" if kind.startswith("list[") else "Tensor"


def closing(text, at):
    depth = 0
    for i in range(at, len(text)):
        depth += text[i] in "([{"
        depth -= text[i] in ")]}"
        if depth == 0:
            return i
    raise SystemExit("unclosed bracket")


def declarations(text):
    """(doc, name, parameters, result) of every extern fn."""
    body = text[text.index('extern "runtime" {'):]
    for match in re.finditer(r"((?:[ ]*##[^\n]*\n)*)[ ]*fn (\w+)", body):
        at = match.end()
        if body[at] == "[":
            at = closing(body, at) + 1
        end = closing(body, at)
        params = [p.split(" = ")[0].split(":", 1) for p in split(" ".join(body[at + 1:end].split()))]
        rest = body[end + 1:]
        result = " ".join(rest[:re.search(r"\n\n|\n}", rest).start()].split())
        result = result.removeprefix("-> ").split(" where ")[0] if result.startswith("->") else ""
        doc = [line.strip()[2:].rstrip() for line in match.group(1).splitlines()]
        yield doc, match.group(2), [(n.strip(), k.strip()) for n, k in params], result


def header():
    out = ["#pragma once", "",
           "// Written by runtime/api/make_ops.py from stdlib/*/*.ltr: the tensor functions that generated code calls.",
           "// Every argument is always passed, in order; an undefined tensor is `none`.", "",
           '#include "ltr/api.h"', '#include "ltr/operators.h"', "", "namespace ltr {"]
    for folder in FOLDERS:
        for path in sorted((ROOT / "stdlib" / folder).glob("*.ltr")):
            text = path.read_text()
            if 'extern "runtime" {' not in text:
                continue
            out += ["", f"// ---- {path.relative_to(ROOT)}", ""]
            for doc, name, params, result in declarations(text):
                out += [f"///{line}" for line in doc]
                args = ", ".join(f"{param_type(k)} {n}" for n, k in params)
                out += [f"LTR_EXPORT {result_type(result)} {name}{'_' if name in RESERVED else ''}({args});"]
    return "\n".join(out + ["", "}  // namespace ltr", ""])


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        if HEADER.read_text() != header():
            sys.exit("ops.h is older than the standard library: run runtime/api/make_ops.py")
    else:
        HEADER.write_text(header())

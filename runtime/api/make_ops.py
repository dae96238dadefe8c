#!/usr/bin/env python3
"""Writes what C++ must know of the `extern "runtime"` declarations of the standard library:

    runtime/api/ltr/ops.h            what generated code calls of tensors and host values
    runtime/tensor/facade.def        those of it that compute tensors of tensors, as one list
    runtime/api/ltr/sources.h        the sources of data
    runtime/data/sources/records.h   what those deliver whose declaration says it

    make_ops.py            writes them
    make_ops.py --check    exits 1 if they are not what the library says

The mapping is positional and all arguments are always passed; see stdlib/README.md.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = ROOT / "runtime/api/ltr/ops.h"
FACADE = ROOT / "runtime/tensor/facade.def"
SOURCES = ROOT / "runtime/api/ltr/sources.h"
RECORDS = ROOT / "runtime/data/sources/records.h"
# Whose functions are ops of a step. Those of the others make weights, images or texts.
STEP_FOLDERS = ["tensor", "losses"]
FOLDERS = ["tensor", "losses", "init", "vision", "str"]
HOST = {"int": "int64_t", "float": "double", "bool": "bool", "str": "const Str&", "path": "const Str&",
        "number": "Scalar", "weights": "const Weights&", "list[int]": "const Ints&", "list[float]": "const Floats&",
        "list[str]": "const std::vector<Str>&", "(float, float)": "const std::tuple<double, double>&",
        "option[str]": "const Option<Str>&", "option[int]": "Option<int64_t>", "option[float]": "Option<double>"}
RESULT = {"int": "int64_t", "float": "double", "bool": "bool", "str": "Str", "list[str]": "std::vector<Str>"}
# Names that mean something else to C++; `Context::facade_name` of the emitter changes them alike, and takes the `_` off what
# the library keeps to itself.
RESERVED = {"std", "isnan"}
TENSOR = re.compile(r"(any|float|bool|[fiu]\d+|bf16)\[")


def split(text, separator=","):
    """The parts of `text` at separators outside of brackets and of quotes."""
    parts, depth, start, is_quoted = [], 0, 0, False
    for i, c in enumerate(text):
        is_quoted ^= c == '"'
        depth += c in "([{" and not is_quoted
        depth -= c in ")]}" and not is_quoted
        if c == separator and depth == 0 and not is_quoted:
            parts.append(text[start:i])
            start = i + 1
    return [p.strip() for p in parts + [text[start:]] if p.strip()]


def param_type(kind):
    if kind in HOST:
        return HOST[kind]
    if kind.startswith("one_of["):
        return "const Str&"
    if re.fullmatch(r"\([(), int]+\)", kind):  # of several axes, in a row
        return "const Ints&"
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
    begin = text.index('extern "runtime" {')
    body = text[begin:closing(text, text.index("{", begin)) + 1]
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


def functions(folders):
    """(source, [(doc, C++ name, [(C++ type, name)], C++ result)]) of every file."""
    for folder in folders:
        for path in sorted((ROOT / "stdlib" / folder).glob("*.ltr")):
            text = path.read_text()
            if 'extern "runtime" {' not in text:
                continue
            yield path.relative_to(ROOT), [
                (doc, name.removeprefix("_") + "_" * (name in RESERVED), [(param_type(k), n) for n, k in params], result_type(result))
                for doc, name, params, result in declarations(text)]


def sources():
    """(doc, name, [(C++ type, name)], record) of every source that takes plain values; the record is unset where the program says it."""
    for doc, name, params, result in declarations((ROOT / "stdlib/data/sources.ltr").read_text().partition("\n# ---- tests\n")[0]):
        is_plain = all(kind in HOST or kind.startswith("one_of[") for _, kind in params)
        if not is_plain or not result.startswith("stream"):
            continue
        record = split(result[len("stream[{"):-len("}]")]) if result != "stream" else None
        yield doc, name, [(param_type(kind), n) for n, kind in params], record


def field_info(field):
    """`image: u8[3, ?, ?]` as a row of a schema."""
    name, kind = (part.strip() for part in field.split(":", 1))
    if "[" not in kind and kind in ("int", "float", "bool", "str", "path"):
        element, dims, host = {"int": "I64", "bool": "Bool", "float": "Float"}.get(kind, "U8"), [], kind
    else:
        element, _, dims = kind.partition("[")
        element, host = {"float": "Float", "bool": "Bool"}.get(element, element.upper()), ""
        dims = ["-1" if dim == "?" else dim for dim in split(dims.rstrip("]"))]
    return f'{{"{name}", DType::{element}, {{{", ".join(dims)}}}, "{host}"}}'


def sources_header():
    out = ["#pragma once", "",
           "// Written by runtime/api/make_ops.py from stdlib/data/sources.ltr: the sources that generated code calls. `schema` is what",
           "// the program wants of each record, where the source itself does not say it.", "",
           '#include "ltr/api.h"', "", "namespace ltr {", ""]
    for doc, name, params, record in sources():
        params = params + ([] if record else [("const Schema&", "schema")])
        out += [f"///{line}" for line in doc]
        out += [f"LTR_EXPORT Stream {name}({', '.join(f'{kind} {n}' for kind, n in params)});"]
    return "\n".join(out + ["", "}  // namespace ltr", ""])


def records_header():
    out = ["#pragma once", "",
           "// Written by runtime/api/make_ops.py from stdlib/data/sources.ltr: what the sources deliver.", "",
           '#include "ltr/api.h"', "", "namespace ltr {", ""]
    for _, name, params, record in sources():
        if record:
            sizes = ", ".join(f"{kind} {n}" for kind, n in params if any(re.search(rf"\b{n}\b", field.split(":", 1)[1]) for field in record))
            out += [f"inline Schema {name}_record({sizes}) {{", f"  return {{{', '.join(map(field_info, record))}}};", "}"]
    return "\n".join(out + ["", "}  // namespace ltr", ""])


def is_op(path, result):
    """Whether a step may be recorded with it."""
    return path.parts[1] in STEP_FOLDERS and "Tensor" in result


def declared(of_steps):
    """The declarations of those that are ops of steps, or of the others, file by file."""
    out = []
    for path, found in functions(FOLDERS):
        chosen = [one for one in found if is_op(path, one[3]) == of_steps]
        out += ["", f"// ---- {path}", ""] if chosen else []
        for doc, name, params, result in chosen:
            out += [f"///{line}" for line in doc]
            out += [f"LTR_EXPORT {result} {name}({', '.join(f'{kind} {n}' for kind, n in params)});"]
    return out


def header():
    return "\n".join(["#pragma once", "",
                      "// Written by runtime/api/make_ops.py from stdlib/*/*.ltr: the tensor functions that generated code calls.",
                      "// Every argument is always passed, in order; an undefined tensor is `none`.", "",
                      '#include "ltr/api.h"', '#include "ltr/operators.h"', "", "namespace ltr {",
                      "LTR_STEP_BEGIN", *declared(True), "LTR_STEP_END", *declared(False), "", "}  // namespace ltr", ""])


def facade():
    out = ["// Written by runtime/api/make_ops.py from stdlib/*/*.ltr: the functions of steps that give tensors; operators.def goes on",
           "// with those that no declaration names, and says what the columns are.", ""]
    for path, found in functions(STEP_FOLDERS):
        for _, name, params, result in found:
            if is_op(path, result):
                both = ", ".join(f"{kind} {n}" for kind, n in params)
                out += [f"LTR_FACADE({name}, {name}, ({', '.join(n for _, n in params)}), ({both}), {result})"]
    return "\n".join(out + [""])


if __name__ == "__main__":
    for path, text in ((HEADER, header()), (FACADE, facade()), (SOURCES, sources_header()), (RECORDS, records_header())):
        if path.exists() and path.read_text() == text:
            continue  # a file that is written again is compiled into again
        if sys.argv[1:] == ["--check"]:
            sys.exit(f"{path.name} is older than the standard library: run runtime/api/make_ops.py")
        path.write_text(text)

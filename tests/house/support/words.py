"""The words of the language, as the compiler's tables have them."""
import importlib.util
import re

# Types that only declarations of the library write.
LIBRARY_TYPES = {"optimizer", "stream", "schedule", "logger", "callback", "initializer", "trainer_value", "draw", "receiver", "int_or_all", "float_or_period",
                 "weight_path"}


def generator_of_editors(source):
    spec = importlib.util.spec_from_file_location("generate", source / "editors/generate.py")
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    return generate


def tables_of(source):
    """Words by kind: `units`, `hooks`, `settings`, `types`, `places` …"""
    generate = generator_of_editors(source)
    words = generate.words_of(source)
    tables = {name: set(words[name]) for name in ("keywords", "reserved", "constants", "units", "hooks", "settings")}
    tables["types"] = (set(words["types"]) | set(generate.APPLIED_TYPES)) - LIBRARY_TYPES
    tables["functions"] = generate.place_functions(source)
    places = (source / "dsl/check/scope/places.h").read_text()
    tables["places"] = set(re.findall(r'^    \{"(\w+)", "[^"]+", Reach::', places, re.M))
    members = (source / "dsl/check/scope/members.h").read_text()
    rows = re.findall(r"^inline constexpr (\w+) k\w+\[\] = \{\n(.*?)^\};", members, re.M | re.S)
    tables["members"] = {("run." if row == "RunField" else "") + name
                         for row, text in rows for name in re.findall(r'^    \{"(\w+)",', text, re.M)}
    assert all(tables.values()), "a table has another form now"
    return tables

#include "codegen/ir/text.h"

#include <doctest/doctest.h>

#include "codegen/ir/builder.h"

namespace ltr::ir {
namespace {

Module read_sound(const std::string& text) {
  ReadError error;
  std::optional<Module> module = read(text, error);
  REQUIRE_MESSAGE(module.has_value(), error.message);
  return *module;
}

std::string mistake_of(const std::string& body) {
  const Module module =
      read_sound("module \"m\"\nfn f(%0 : model M, %1 : float[B], %2 : bool) -> float[B] step of M {\n" + body + "}\n");
  const std::vector<std::string> mistakes = verify(module);
  return mistakes.empty() ? "" : mistakes.front();
}

}  // namespace

TEST_CASE("types read back from their text") {
  for (const char* text :
       {"int", "float[B, 10]", "float[]", "list[int]", "option[float[2 * D, floor((S - 1) / (2 * k))]]",
        "{image: u8[28, 28], label: u8[]}", "stream{x: float[4]}", "(float[], int)", "block Linear",
        "metric_value Accuracy", "list[(int, str)]", "{}", "()"}) {
    size_t position = 0;
    DimStore dims;
    const Type type = read_type(text, position, dims);
    CHECK(to_text(type, dims) == text);
    CHECK(position == std::string(text).size());
  }
  size_t position = 0;
  DimStore dims;
  CHECK(read_type("no such type", position, dims).is(TypeKind::Error));
  position = 0;
  CHECK(read_type("f17[2]", position, dims).is(TypeKind::Error));
}

TEST_CASE("a function built by hand prints and reads back") {
  Module module;
  module.name = "m";
  module.files = {"m.ltr"};
  Function function;
  function.name = "M.train";
  function.owner = "M";
  function.role = Role::Step;
  function.result = Type::of(TypeKind::Void);
  Builder b(function);
  b.loc = {0, 12, 8};
  const ValueId self = b.param(Type::object(TypeKind::Model, "M"), "self");
  const DimId batch = module.dims.name("B"), four = module.dims.number(4), ten = module.dims.number(10);
  const ValueId x = b.param(Type::tensor(Element::Float, {batch, four}), "x");
  const ValueId w = b.op(OpKind::ReadParam, Type::tensor(Element::Float, {ten, four}), {self}, "fc.weight");
  const ValueId y = b.call(library::Id::Linear, Type::tensor(Element::Float, {batch, ten}), {x, w, b.none()});
  b.effect(OpKind::LogValue, {y}, "y", {{"slot", int64_t(0)}, {"kind", std::string("scalar")}});
  b.effect(OpKind::Return, {});
  module.functions.push_back(function);
  CHECK(verify(module).empty());
  const std::string text = print(module);
  CHECK(text.find("  %3 : float[B, 10] = linear (%1, %2, none)  loc(12:8)\n") != std::string::npos);
  CHECK(print(read_sound(text)) == text);
}

TEST_CASE("a mistake in the text is named with its line") {
  ReadError error;
  CHECK_FALSE(read("module \"m\"\nfn f(%0 : int) -> int free {\n  %1 : int = hist (%0)\n}\n", error).has_value());
  CHECK(error.line == 3);
  CHECK(error.message == "unknown op `hist`");
  CHECK_FALSE(read("fn f(%0 : int) -> int free {\n  return (%7)\n}\n", error).has_value());
  CHECK(error.message == "%7 is not known here");
  CHECK_FALSE(read("fn f(%0 : int) -> int free {\n  %1 : int = host @cube (%0)\n}\n", error).has_value());
  CHECK(error.message == "there is no host op `cube`");
  CHECK_FALSE(read("fn f(%0 : int) -> int free {\n  trainer @relu ()\n}\n", error).has_value());
  CHECK(error.message == "`relu` asks nothing of the trainer");
  CHECK_FALSE(read("fn f(%0 : int", error).has_value());
  CHECK_FALSE(read("fn f(%0 : int, %0 : int) -> int free {\n  return (%0)\n}\n", error).has_value());
}

TEST_CASE("every prefix of a text is refused without a crash") {
  const std::string text =
      "module \"m\"\nfn f(%0 : {a: float[2 * B]}, %1 : int) -> int free {\n  %2 : int = for (0, 3, %1) <n = [\"a\"]> { "
      "|%3 : int, %4 : int|\n"
      "    yield (%4)\n  }  loc(1:2)\n  return (%2)\n}\n";
  read_sound(text);
  for (size_t length = 0; length < text.size(); ++length) {
    ReadError error;
    read(text.substr(0, length), error);
  }
}

TEST_CASE("a text that nests without end is refused") {
  std::string text = "fn f(%0 : bool) -> int free {\n";
  for (int i = 0; i < 100'000; ++i) text += "if (%0) {";
  ReadError error;
  CHECK_FALSE(read(text, error).has_value());
  CHECK(error.message == "regions nest deeper than in any program");
  std::string type = "fn f(%0 : ";
  for (int i = 0; i < 100'000; ++i) type += "list[";
  CHECK_FALSE(read(type, error).has_value());
  CHECK(error.message == "expected a type");
}

TEST_CASE("the verifier names what is wrong") {
  CHECK(mistake_of("  return (%1)\n") == "");
  CHECK(mistake_of("  %3 : scope = scope_of (%0)\n  %4 : scope = scope_of (%1)\n  return (%1)\n") == "");
  CHECK(mistake_of("  %3 : float[B] = exp (%1)\n") == "f:0: a region ends with yield or return, and only there");
  CHECK(mistake_of("  return (%1)\n  return (%1)\n") == "f:0: a region ends with yield or return, and only there");
  CHECK(mistake_of("  %3 : float[B] = exp (3)\n  return (%3)\n") == "f:0: operand 1 of exp is int");
  CHECK(mistake_of("  %3 : float[B] = exp ()\n  return (%3)\n") == "f:0: exp lacks an operand");
  CHECK(mistake_of("  %3 : float[B] = exp (%1, %1)\n  return (%3)\n") == "f:0: exp has too many operands");
  CHECK(mistake_of("  %3 : float[B] = call_fn @g (%1)\n  return (%3)\n") == "f:0: no function @g");
  CHECK(mistake_of("  minimize (%1, %0)\n  return (%1)\n") == "f:0: operand 2 of minimize is model M");
  CHECK(mistake_of("  %3 : float[B] = if (%2) {\n    yield (%1)\n  } {\n    yield ()\n  }\n  return (%3)\n") ==
        "f:0: yield gives another number of values");
  CHECK(mistake_of("  %3 : float[B] = if (%2) {\n    %4 : float[B] = exp (%1)\n    yield (%4)\n  } {\n    yield (%1)\n "
                   " }\n  return (%4)\n") == "f:0: return reads a value that is not defined before it");
}

TEST_CASE("library functions without operands are call.op") {
  CHECK(call_info(library::Id::Relu).name == "relu");
  CHECK(call_info(library::Id::Relu).effect == Effect::None);
  CHECK(call_info(library::Id::Rand).effect == Effect::Rng);
  CHECK(call_info(library::Id::Erf).name == "call.op");
  CHECK(call_info(library::Id::Erf).effect == Effect::Io);
}

TEST_CASE("a function is found by its name and by what it takes") {
  const auto function_of = [](const std::string& op) {
    ReadError error;
    const std::string head =
        "module \"m\"\nfn f(%0 : stream{x: int}, %1 : weights, %2 : float[B]) -> float[B] free {\n";
    const auto module = read(head + "  %3 : " + op + "\n  return (%2)\n}\n", error);
    if (!module) return library::Id::None;
    CHECK(print(*module).find(op) != std::string::npos);
    return module->functions[0].body.ops[0].function;
  };
  CHECK(function_of("float[] = select (%2, 0, 1)") == library::Id::Select);
  CHECK(function_of("stream{x: int} = call.op @select (%0)") == library::Id::SelectFields);
  CHECK(function_of("stream{i: int} = call.op @range (4)") == library::Id::Range);
  CHECK(function_of("weights = call.op @clone (%1)") == library::Id::CloneWeights);
  CHECK(function_of("float[B] = call.op @clone (%2)") == library::Id::Clone);
  CHECK(function_of("float[B] = call.op @no_such_function (%2)") == library::Id::None);
}

}  // namespace ltr::ir

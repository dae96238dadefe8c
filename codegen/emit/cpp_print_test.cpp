#include <doctest/doctest.h>

#include <limits>

#include "codegen/emit/context.h"
#include "codegen/emit/cpp_ast.h"

namespace ltr::emit::cpp {

TEST_CASE("parentheses stand where the precedence needs them, and only there") {
  const Expr a = name("a"), b = name("b"), c = name("c");
  CHECK(print(binary("*", binary("+", a, b), c)) == "(a + b) * c");
  CHECK(print(binary("+", binary("*", a, b), c)) == "a * b + c");
  CHECK(print(binary("-", a, binary("-", b, c))) == "a - (b - c)");
  CHECK(print(binary("-", binary("-", a, b), c)) == "a - b - c");
  CHECK(print(binary("=", a, binary("=", b, c))) == "a = b = c");
  CHECK(print(unary("!", binary("&&", a, b))) == "!(a && b)");
  CHECK(print(binary("&&", a, binary("||", b, c))) == "a && (b || c)");
  CHECK(print(ternary(ternary(a, b, c), b, ternary(a, b, c))) == "(a ? b : c) ? b : a ? b : c");
  CHECK(print(arrow(unary("&", a), "f")) == "(&a)->f");
  CHECK(print(dot(binary("+", a, b), "f")) == "(a + b).f");
  CHECK(print(call(ternary(a, b, c), {a})) == "(a ? b : c)(a)");
}

TEST_CASE("signs do not run together") {
  CHECK(print(unary("-", unary("-", name("a")))) == "-(-a)");
  CHECK(print(unary("-", integer(-3))) == "-(-3)");
  CHECK(print(binary("-", name("a"), integer(-3))) == "a - -3");
  CHECK(print(dot(integer(-3), "f")) == "(-3).f");
}

TEST_CASE("numbers keep their value") {
  CHECK(print(integer(std::numeric_limits<int64_t>::min())) == "(-9223372036854775807 - 1)");
  CHECK(print(real(1)) == "1.0");
  CHECK(print(real(1e-3)) == "0.001");
  CHECK(print(real(0.1)) == "0.1");
  CHECK(print(real(-0.0)) == "-0.0");
  CHECK(print(real(1e300)) == "1e+300");
  CHECK(print(real(-std::numeric_limits<double>::infinity())) == "-__builtin_inf()");
}

TEST_CASE("strings are quoted so that C++ reads the same bytes") {
  CHECK(quoted("a \"b\" \\ \n\t") == R"("a \"b\" \\ \n\t")");
  CHECK(quoted("what?"
               "?/") == "\"what?\\?/\"");
  CHECK(quoted(std::string("\0"
                           "1",
                           2)) == R"("\0001")");
  CHECK(quoted("\xc3\xa9") == R"("\303\251")");
}

TEST_CASE("types print with their qualifiers") {
  CHECK(print(const_reference(generic("std::vector", {plain("ltr::Tensor")}))) == "const std::vector<ltr::Tensor>&");
  CHECK(print(pointer(constant(plain("void")))) == "const void*");
}

TEST_CASE("lines lead to the source and back") {
  File file;
  file.name_space = "program";
  Function function;
  function.result = plain("int");
  function.name = "f";
  Stmt stmt = give_back(integer(1));
  stmt.origin = {"x.ltr", 7};
  function.body.push_back(stmt);
  file.functions.push_back(function);
  file.main.result = plain("int");
  file.main.name = "main";
  file.in_front_of_main = "FIRST";
  const std::string text = print(file, "x.cpp");
  CHECK(text.find("\nFIRST\nint main") != std::string::npos);
  const size_t to = text.find("#line 7 \"x.ltr\"\n  return 1;\n");
  REQUIRE(to != std::string::npos);
  // The line behind `#line N` is line N of the file itself.
  const size_t back = text.find("#line ", to + 1);
  const int wanted = std::stoi(text.substr(back + 6));
  int line = 1;
  for (size_t i = 0; i < text.find('\n', back) + 1; ++i) line += text[i] == '\n';
  CHECK(line == wanted);
}

TEST_CASE("names of the program become identifiers that meet nothing") {
  CHECK(Context::identifier("width") == "width");
  CHECK(Context::identifier("class") == "class_");
  CHECK(Context::identifier("class_") == "class__");
  CHECK(Context::identifier("assert") == "assert_");
  CHECK(Context::identifier("$new") == "ltr_new");
  CHECK(Context::identifier("ltr_new") == "ltr_new_");
  CHECK(Context::identifier("_private") == "u_private_");
  CHECK(Context::facade_name("where") == "ltr::where");
  CHECK(Context::facade_name("union") == "ltr::union_");
  CHECK(Context::facade_name("_poisson_nll") == "ltr::poisson_nll");
}

}  // namespace ltr::emit::cpp

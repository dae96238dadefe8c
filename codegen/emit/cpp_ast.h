#pragma once

// C++ as data: the part of the language that generated programs use. `cpp_print.cpp` turns it into text, with
// parentheses, quoting and `#line`; nothing else writes C++.

#include <cstdint>
#include <string>
#include <vector>

namespace ltr::emit::cpp {

/// `const std::vector<ltr::Tensor>&`.
struct Type {
  std::string name;
  std::vector<Type> args;
  bool is_const = false;
  char suffix = 0;  ///< '*' or '&'
};

inline Type plain(std::string name) { return {std::move(name), {}, false, 0}; }
inline Type generic(std::string name, std::vector<Type> args) { return {std::move(name), std::move(args), false, 0}; }
inline Type pointer(Type type) { return type.suffix = '*', type; }
inline Type reference(Type type) { return type.suffix = '&', type; }
inline Type const_reference(Type type) { return type.is_const = true, type.suffix = '&', type; }
inline Type constant(Type type) { return type.is_const = true, type; }

enum class ExprKind {
  Name,  ///< `text`
  Int,
  Real,
  Bool,
  Str,
  Call,        ///< args[0](args[1..])
  Dot,         ///< args[0].text
  Arrow,       ///< args[0]->text
  Unary,       ///< text args[0]
  Binary,      ///< args[0] text args[1]
  Ternary,     ///< args[0] ? args[1] : args[2]
  Index,       ///< args[0][args[1]]
  Braces,      ///< type{args…}; without a type {args…}
  Designated,  ///< {.name = arg, …}: names in `names`
  Construct,   ///< type(args…)
  Cast,        ///< static_cast<type>(args[0])
  New,         ///< new type(args…)
  Template,    ///< text<type>, to be called
  Lambda,      ///< [text](params) -> type { body }
};

struct Stmt;
struct Param {
  Type type;
  std::string name;
};

struct Expr {
  ExprKind kind = ExprKind::Name;
  std::string text;
  int64_t whole = 0;
  double real = 0;
  std::vector<Expr> args;
  std::vector<std::string> names;
  Type type;
  std::vector<Param> params;
  std::vector<Stmt> body;
};

enum class StmtKind {
  Expr,      ///< value;
  Variable,  ///< type name = value; without value: type name;
  Object,    ///< type name(args of value); a constructor call
  If,        ///< if (value) body else other
  For,       ///< for (int64_t name = value; name < limit; ++name) body
  Forever,   ///< for (;;) body
  Break,
  Return,  ///< return value; or return;
  Block,   ///< { body }
};

/// Where a statement comes from in the `.ltr` source; line 0: nowhere, -1: wherever the one before it does.
struct Origin {
  std::string file;
  int line = 0;
  bool operator==(const Origin&) const = default;
};

struct Stmt {
  StmtKind kind = StmtKind::Expr;
  Type type;
  std::string name;
  Expr value;
  bool has_value = true;
  Expr limit;
  std::vector<Stmt> body;
  std::vector<Stmt> other;
  Origin origin;
};
using Body = std::vector<Stmt>;

struct Function {
  Type result;
  std::string name;
  std::vector<Param> params;
  std::vector<std::pair<std::string, Expr>> initializers;  ///< of a constructor, whose result is unnamed
  Body body;
  bool is_static = false;
  bool is_override = false;
  bool is_explicit = false;
  bool is_weak = false;  ///< of a declaration: it may have no definition
  std::string owner;     ///< set: defined outside of this struct
};

struct Field {
  Type type;
  std::string name;
  bool is_initialized = false;  ///< `{}` behind it
};

struct Struct {
  std::string name;
  std::string base;
  std::vector<Field> fields;
  std::vector<Function> methods;  ///< declared inside; bodies follow as functions with an `owner`
};

struct Global {
  Type type;
  std::string name;
  Expr value;
  bool has_value = true;
  bool is_array = false;
  bool is_constexpr = false;
};

struct File {
  std::string comment;
  std::vector<std::string> includes;
  std::vector<Function> foreign;  ///< declared outside of the name space: they are defined elsewhere
  std::string name_space;
  std::vector<std::string> forward;  ///< structs
  std::vector<Global> constants;     ///< in front of the structs
  std::vector<Struct> structs;
  std::vector<Global> variables;    ///< behind the structs
  std::vector<Function> functions;  ///< declared first, then defined in order
  std::string in_front_of_main;     ///< a macro
  Function main;                    ///< outside of the name space
};

/// A header of prototypes.
struct Header {
  std::string comment;
  std::vector<std::string> includes;
  std::vector<std::pair<std::string, std::string>> cuda_names;  ///< a name, and what nvcc reads instead
  std::vector<std::pair<std::string, Function>> functions;      ///< a comment, "" for none, and a declaration
};

// ---- builders, named after what they make ---------------------------------------------------------------------
Expr name(std::string text);
Expr integer(int64_t value);
Expr real(double value);
Expr boolean(bool value);
Expr string(std::string text);
Expr call(Expr callee, std::vector<Expr> args);
inline Expr call(const std::string& callee, std::vector<Expr> args) { return call(name(callee), std::move(args)); }
Expr dot(Expr base, std::string field);
Expr arrow(Expr base, std::string field);
Expr unary(std::string op, Expr operand);
Expr binary(std::string op, Expr left, Expr right);
Expr ternary(Expr condition, Expr first, Expr second);
Expr index(Expr base, Expr at);
Expr braces(std::vector<Expr> args);
Expr braces(Type type, std::vector<Expr> args);
Expr construct(Type type, std::vector<Expr> args);
Expr cast(Type type, Expr value);
Expr make_new(Type type, std::vector<Expr> args);
Expr templated(std::string text, Type type);
Expr lambda(std::vector<Param> params, Type result, Body body, std::string captures = "");
inline Expr self(std::string field) { return arrow(name("this"), std::move(field)); }

Stmt expression(Expr value);
Stmt variable(Type type, std::string name, Expr value);
Stmt declaration(Type type, std::string name);
Stmt object(Type type, std::string name, std::vector<Expr> args);
Stmt assign(Expr target, Expr value);
Stmt give_back(Expr value);
Stmt give_back();
Stmt block(Body body);
Stmt branch(Expr condition, Body then_body, Body else_body = {});

/// Text of a file in `kParts` parts. `path` is its own, for the `#line` that leads back from `.ltr` lines.
std::string print(const File& file, const std::string& path);
std::string print(const Header& header);
std::string print(const Expr& expr);
std::string print(const Type& type);
/// A C++ string literal, non-ASCII and control characters escaped.
std::string quoted(const std::string& text);

}  // namespace ltr::emit::cpp

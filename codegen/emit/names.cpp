#include <algorithm>
#include <array>
#include <string_view>

#include "codegen/emit/context.h"

namespace ltr::emit {
namespace {

// Words of C++, macros of headers that programs include, and names that the generated file uses itself.
constexpr std::array kReserved = {
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
    // Macros.
    "assert",
    "errno",
    "EOF",
    "NULL",
    "NAN",
    "INFINITY",
    "stdin",
    "stdout",
    "stderr",
    "signbit",
    "isnan",
    "isinf",
    "unix",
    "linux",
    "I",
    "complex",
    // Ours.
    "ltr",
    "std",
    "program",
    "main",
    "hparams",
    "table",
    "int64_t",
    "size_t",
    // Members of the base classes.
    "metrics",
    "batch",
    "streams",
    "reset",
    "states",
    "compute",
    "merge",
    "run",
    "State",
    "RoleStream",
    "MetricMember",
};

bool is_reserved(std::string_view name) {
  return std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end();
}

}  // namespace

std::string Context::identifier(const std::string& name) {
  if (name.starts_with("$")) return "ltr_" + name.substr(1);
  std::string text = name;
  std::ranges::replace(text, '.', '_');  // `b.Say`, of a file beside others that have one
  // A name that looks like one that was changed is changed too, so that no two meet.
  if (text != name || is_reserved(text) || text.ends_with("_") || text.starts_with("ltr_") || text.starts_with("_"))
    text += "_";
  return text.starts_with("_") ? "u" + text : text;
}

std::string Context::facade_name(const std::string& op) {
  static constexpr std::array kBase = {"metrics", "batch", "streams", "reset",      "states",       "compute",
                                       "merge",   "run",   "State",   "RoleStream", "MetricMember", "program",
                                       "hparams", "table", "ltr",     "I"};
  // What the library keeps to itself, `_poisson_nll`, has a plain name in the runtime.
  const std::string name = op.starts_with('_') ? op.substr(1) : op;
  const bool is_word =
      is_reserved(name) && std::find(kBase.begin(), kBase.end(), std::string_view(name)) == kBase.end();
  return "ltr::" + name + (is_word ? "_" : "");
}

std::string Context::fn_name(const ir::Function& fn) const {
  if (fn.owner.empty()) return "program::" + identifier(fn.name);
  const std::string plain = identifier(fn.name.substr(fn.owner.size() + 1));
  return plain == identifier(fn.owner) ? plain + "_" : plain;
}

std::string Context::wrapper_name(const ir::ExperimentInfo& experiment, const ir::StepInfo& step) {
  std::string key = experiment.model + "/" + experiment.data + "/" + step.fn;
  for (const int field : step.fields) key += "," + std::to_string(field);
  const std::string name = "ltr_run_" + identifier(experiment.name) + "_" + identifier(step.name);
  return wrappers_.emplace(key, name).first->second;
}

const ir::ObjectInfo& Context::object(const std::string& name) const {
  const ir::ObjectInfo* found = tables.find_object(name);
  LTR_INVARIANT(found != nullptr, "no object " + name, ir::Loc{});
  return *found;
}

std::string Context::field_name(const ir::ObjectInfo& object, const std::string& segment) const {
  std::string plain = segment;
  if (segment.starts_with("$")) {
    plain = segment.substr(1);
    for (const ir::ObjectMember& member : object.members) {
      if (member.name == plain) return "ltr_" + plain;
    }
  }
  const std::string field = identifier(plain);
  return field == identifier(object.name) ? field + "_" : field;
}

cpp::Expr Context::path(cpp::Expr base, const ir::Type& type, const std::string& path) const {
  std::string object_name = type.name;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    const std::string segment = path.substr(begin, end - begin);
    const ir::ObjectInfo& info = object(object_name);
    base = cpp::arrow(std::move(base), field_name(info, segment));
    for (const ir::ObjectMember& member : info.members) {
      if (member.name == segment && member.type.is_object()) object_name = member.type.name;
    }
    for (const ir::ObjectParam& param : info.params) {
      if (param.field == segment && param.type.is_object()) object_name = param.type.name;
    }
    if (segment == "model" && info.kind == ir::TypeKind::Callback) object_name = info.model;
    begin = end + 1;
  }
  return base;
}

}  // namespace ltr::emit

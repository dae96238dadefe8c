#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "codegen/emit/cpp_ast.h"
#include "codegen/emit/emit.h"

namespace ltr::emit::cpp {
namespace {

struct Level {
  std::string_view op;
  int level;
};

constexpr int kPrimary = 100, kPostfix = 90, kUnary = 80, kTernary = 10, kAssign = 5;

// Binding strength of binary operators; all but assignment group to the left.
constexpr std::array kLevels = {
    Level{"*", 70},  Level{"/", 70},  Level{"%", 70},  Level{"+", 60},      Level{"-", 60},
    Level{"<", 50},  Level{"<=", 50}, Level{">", 50},  Level{">=", 50},     Level{"==", 45},
    Level{"!=", 45}, Level{"&&", 30}, Level{"||", 20}, Level{"=", kAssign},
};

int level_of(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::Int: return expr.whole < 0 ? kUnary : kPrimary;
    case ExprKind::Real: return std::signbit(expr.real) ? kUnary : kPrimary;
    case ExprKind::Call:
    case ExprKind::Dot:
    case ExprKind::Arrow:
    case ExprKind::Index: return kPostfix;
    case ExprKind::Unary:
    case ExprKind::New: return kUnary;
    case ExprKind::Ternary: return kTernary;
    case ExprKind::Binary:
      for (const Level& known : kLevels) {
        if (known.op == expr.text) return known.level;
      }
      return 0;
    default: return kPrimary;
  }
}

std::string real_text(double value) {
  if (std::isnan(value)) return "__builtin_nan(\"\")";
  if (std::isinf(value)) return value < 0 ? "-__builtin_inf()" : "__builtin_inf()";
  std::array<char, 40> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  std::string text(buffer.data(), end.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string int_text(int64_t value) {
  // The literal of the smallest integer is its positive part, which does not fit.
  if (value == INT64_MIN) return "(-9223372036854775807 - 1)";
  return std::to_string(value);
}

class Printer {
 public:
  explicit Printer(std::string path) : path_(std::move(path)) {}

  std::string file(const File& file) {
    if (!file.comment.empty()) line("// " + file.comment);
    for (const std::string& include : file.includes) line("#include \"" + include + "\"");
    line("");
    for (const Function& function : file.foreign)
      line((function.is_weak ? "[[gnu::weak]] " : "") + head(function, false) + ";");
    line("namespace " + file.name_space + " {");
    line("");
    for (const std::string& name : file.forward) line("struct " + name + ";");
    for (const Global& global : file.constants) this->global(global);
    for (const Struct& one : file.structs) structure(one);
    for (const Function& function : file.functions) {
      if (function.owner.empty()) line(head(function, false) + ";");
    }
    for (const Global& global : file.variables) this->global(global);
    line("");
    line("}  // namespace " + file.name_space);
    line("");
    line("#ifndef LTR_PARTS");
    line("#define LTR_PARTS " + std::to_string((1 << kParts) - 1));
    line("#endif");
    const size_t count = file.functions.size();
    for (size_t k = 0; k < kParts; ++k) {
      const size_t begin = count * k / kParts;
      const size_t end = count * (k + 1) / kParts;
      if (begin == end && k > 0) continue;
      line("");
      line("#if LTR_PARTS & " + std::to_string(1 << k));
      line("namespace " + file.name_space + " {");
      for (size_t i = begin; i < end; ++i) {
        line("");
        function(file.functions[i]);
      }
      line("");
      line("}  // namespace " + file.name_space);
      if (k == 0 && !file.in_front_of_main.empty()) line(file.in_front_of_main);
      if (k == 0) function(file.main);
      line("#endif");
    }
    return std::move(out_);
  }

  std::string header(const Header& header) {
    line("// " + header.comment);
    line("#pragma once");
    for (const std::string& include : header.includes) line("#include \"" + include + "\"");
    line("");
    if (!header.cuda_names.empty()) line("#ifdef __CUDACC__");
    for (const auto& [name, instead] : header.cuda_names) line("#define " + name + " " + instead);
    if (!header.cuda_names.empty()) line("#endif");
    line("#ifdef LTR_EXTERN_CHECK");
    line("namespace ltr_expected {");
    line("#endif");
    for (const auto& [comment, function] : header.functions) {
      for (size_t begin = 0; begin < comment.size();) {
        const size_t end = std::min(comment.find('\n', begin), comment.size());
        line("// " + comment.substr(begin, end - begin));
        begin = end + 1;
      }
      line(head(function, false) + ";");
    }
    line("#ifdef LTR_EXTERN_CHECK");
    line("}");
    line("#endif");
    return std::move(out_);
  }

  static std::string type_text(const Type& type) {
    std::string text = type.is_const ? "const " : "";
    text += type.name;
    if (!type.args.empty()) {
      text += "<";
      for (size_t i = 0; i < type.args.size(); ++i) text += (i == 0 ? "" : ", ") + type_text(type.args[i]);
      text += ">";
    }
    if (type.suffix != 0) text += type.suffix;
    return text;
  }

  // Nesting is that of the source, which the parser caps.
  std::string expr(const Expr& e) {
    switch (e.kind) {
      case ExprKind::Name: return e.text;
      case ExprKind::Int: return int_text(e.whole);
      case ExprKind::Real: return real_text(e.real);
      case ExprKind::Bool: return e.whole != 0 ? "true" : "false";
      case ExprKind::Str: return quoted(e.text);
      case ExprKind::Call: return at_least(e.args[0], kPostfix) + "(" + list(e.args, 1) + ")";
      case ExprKind::Dot: return at_least(e.args[0], kPostfix) + "." + e.text;
      case ExprKind::Arrow: return at_least(e.args[0], kPostfix) + "->" + e.text;
      case ExprKind::Index: return at_least(e.args[0], kPostfix) + "[" + expr(e.args[1]) + "]";
      // `- -x` and `& &x` would be other tokens without the parentheses.
      case ExprKind::Unary: return e.text + at_least(e.args[0], kUnary + 1);
      case ExprKind::Binary: {
        const int level = level_of(e);
        const bool to_right = level == kAssign;
        return at_least(e.args[0], to_right ? level + 1 : level) + " " + e.text + " " +
               at_least(e.args[1], to_right ? level : level + 1);
      }
      case ExprKind::Ternary:
        return at_least(e.args[0], kTernary + 1) + " ? " + at_least(e.args[1], kTernary + 1) + " : " +
               at_least(e.args[2], kTernary);
      case ExprKind::Braces: return type_text(e.type) + "{" + list(e.args, 0) + "}";
      case ExprKind::Designated: {
        std::string text = type_text(e.type) + "{";
        for (size_t i = 0; i < e.args.size(); ++i)
          text += (i == 0 ? "." : ", .") + e.names[i] + " = " + expr(e.args[i]);
        return text + "}";
      }
      case ExprKind::Construct: return type_text(e.type) + "(" + list(e.args, 0) + ")";
      case ExprKind::Cast: return "static_cast<" + type_text(e.type) + ">(" + expr(e.args[0]) + ")";
      case ExprKind::New: return "new " + type_text(e.type) + "(" + list(e.args, 0) + ")";
      case ExprKind::Template: return e.text + "<" + type_text(e.type) + ">";
      case ExprKind::Lambda: return lambda(e);
    }
    return "";
  }

 private:
  std::string at_least(const Expr& e, int level) { return level_of(e) >= level ? expr(e) : "(" + expr(e) + ")"; }

  std::string list(const std::vector<Expr>& args, size_t from) {
    std::string text;
    for (size_t i = from; i < args.size(); ++i) text += (i == from ? "" : ", ") + expr(args[i]);
    return text;
  }

  static std::string params(const std::vector<Param>& params) {
    std::string text;
    for (size_t i = 0; i < params.size(); ++i)
      text += (i == 0 ? "" : ", ") + type_text(params[i].type) + " " + params[i].name;
    return text;
  }

  std::string lambda(const Expr& e) {
    Printer inner(path_);
    inner.tracks_lines_ = false;
    inner.depth_ = depth_ + 1;
    inner.body(e.body);
    return "[" + e.text + "](" + params(e.params) + ") -> " + type_text(e.type) + " {\n" + inner.out_ +
           std::string(depth_ * 2, ' ') + "}";
  }

  void line(const std::string& text) {
    if (!text.empty()) out_.append(depth_ * 2, ' ');
    out_ += text;
    out_ += '\n';
    int written = 1;
    for (const char c : text) written += c == '\n';
    lines_ += written;
    source_line_ += written;
  }

  /// Makes the compiler and debugger name the `.ltr` line of what follows, or our own file again.
  void origin(const Origin& origin) {
    if (!tracks_lines_ || origin.line < 0) return;
    const bool is_own = origin.line == 0;
    const std::string& file = is_own ? path_ : origin.file;
    const int wanted = is_own ? lines_ + 2 : origin.line;
    if (file == source_file_ && (is_own || source_line_ == wanted)) return;
    out_ += "#line " + std::to_string(wanted) + " " + quoted(file) + "\n";
    lines_ += 1;
    source_file_ = file;
    source_line_ = wanted;
  }

  void body(const Body& statements) {
    for (const Stmt& one : statements) stmt(one);
  }

  void nested(const std::string& head, const Body& statements, const std::string& tail = "}") {
    line(head);
    ++depth_;
    body(statements);
    --depth_;
    if (!tail.empty()) line(tail);
  }

  void stmt(const Stmt& s) {
    origin(s.origin);
    switch (s.kind) {
      case StmtKind::Expr: return line(expr(s.value) + ";");
      case StmtKind::Variable:
        return line(type_text(s.type) + " " + s.name + (s.has_value ? " = " + expr(s.value) : "") + ";");
      case StmtKind::Object:
        return line(type_text(s.type) + " " + s.name + (s.value.args.empty() ? "" : "(" + list(s.value.args, 0) + ")") +
                    ";");
      case StmtKind::If:
        nested("if (" + expr(s.value) + ") {", s.body, s.other.empty() ? "}" : "");
        if (!s.other.empty()) nested("} else {", s.other);
        return;
      case StmtKind::For:
        return nested("for (int64_t " + s.name + " = " + expr(s.value) + "; " + s.name + " < " + expr(s.limit) +
                          "; ++" + s.name + ") {",
                      s.body);
      case StmtKind::Forever: return nested("for (;;) {", s.body);
      case StmtKind::Break: return line("break;");
      case StmtKind::Return: return line(s.has_value ? "return " + expr(s.value) + ";" : "return;");
      case StmtKind::Block: return nested("{", s.body);
    }
  }

  static std::string head(const Function& function, bool in_struct) {
    std::string text = in_struct && function.is_static     ? "static "
                       : in_struct && function.is_explicit ? "explicit "
                                                           : "";
    if (!function.result.name.empty()) text += type_text(function.result) + " ";
    if (!in_struct && !function.owner.empty()) text += function.owner + "::";
    text += function.name + "(" + params(function.params) + ")";
    if (in_struct && function.is_override) text += " override";
    return text;
  }

  void function(const Function& function) {
    origin({});
    std::string text = head(function, false);
    for (size_t i = 0; i < function.initializers.size(); ++i) {
      text +=
          (i == 0 ? " : " : ", ") + function.initializers[i].first + "(" + expr(function.initializers[i].second) + ")";
    }
    nested(text + " {", function.body, "");
    origin({});
    line("}");
  }

  void structure(const Struct& one) {
    line("");
    line("struct " + one.name + (one.base.empty() ? "" : " final : " + one.base) + " {");
    ++depth_;
    for (const Function& method : one.methods) line(head(method, true) + ";");
    for (const Field& field : one.fields)
      line(type_text(field.type) + " " + field.name + (field.is_initialized ? "{}" : "") + ";");
    --depth_;
    line("};");
  }

  void global(const Global& global) {
    const std::string lead = global.is_constexpr ? "constexpr " : "inline ";
    const std::string shown = lead + type_text(global.type) + " " + global.name + (global.is_array ? "[]" : "");
    if (!global.has_value) return line(shown + ";");
    if (!global.is_array) return line(shown + " = " + expr(global.value) + ";");
    line(shown + " = {");
    ++depth_;
    for (const Expr& one : global.value.args) line(expr(one) + ",");
    --depth_;
    line("};");
  }

  std::string path_;
  std::string out_;
  size_t depth_ = 0;
  bool tracks_lines_ = true;
  int lines_ = 0;  // Written so far.
  std::string source_file_ = path_;
  int source_line_ = 1;  // What the compiler believes the next line to be.
};

}  // namespace

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      // Two in a row could begin a trigraph.
      case '?': out += i > 0 && text[i - 1] == '?' ? "\\?" : "?"; break;
      default: {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7f) {
          out += c;
          break;
        }
        // Three octal digits end by themselves, whatever follows.
        out += '\\';
        out += char('0' + (byte >> 6U));
        out += char('0' + ((byte >> 3U) & 7U));
        out += char('0' + (byte & 7U));
      }
    }
  }
  return out + '"';
}

std::string print(const Expr& expr) { return Printer("").expr(expr); }
std::string print(const Type& type) { return Printer::type_text(type); }
std::string print(const Header& header) { return Printer("").header(header); }
std::string print(const File& file, const std::string& path) { return Printer(path).file(file); }

}  // namespace ltr::emit::cpp

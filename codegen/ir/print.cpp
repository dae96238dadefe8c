#include <charconv>
#include <cmath>
#include <unordered_map>

#include "codegen/ir/text.h"

namespace ltr::ir {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      default: out += c;
    }
  }
  return out + '"';
}

/// The shortest text that reads back as the same double, always with a point or exponent.
std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value);
  std::string text(buffer, end.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string constant_text(const Constant& constant) {
  struct Visitor {
    std::string operator()(NoneConstant) const { return "none"; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const { return real_text(value); }
    std::string operator()(const std::string& value) const { return quoted(value); }
  };
  return std::visit(Visitor{}, constant);
}

class Printer {
 public:
  Printer(const Function& function, const DimStore& dims) : function_(function), dims_(dims) {}

  std::string function_text() {
    out_ = "fn " + function_.name + "(";
    for (size_t i = 0; i < function_.body.params.size(); ++i) {
      out_ += (i == 0 ? "" : ", ") + declare(function_.body.params[i]);
    }
    out_ += ") -> " + to_text(function_.result, dims_) + " " + to_text(function_.role);
    if (!function_.owner.empty()) out_ += " of " + function_.owner;
    if (function_.is_library) out_ += " library";
    if (function_.draws_random) out_ += " random";
    if (function_.is_manual) out_ += " manual";
    if (function_.is_recomputed) out_ += " recomputed";
    out_ += " {\n";
    for (const Op& op : function_.body.ops) print_op(op, 1);
    return out_ + "}\n";
  }

 private:
  std::string use(ValueId id) {
    const Value& value = function_.values[id];
    if (value.constant) return constant_text(*value.constant);
    const auto known = numbers_.find(id);
    return known == numbers_.end() ? "%?" + std::to_string(id) : "%" + std::to_string(known->second);
  }

  std::string declare(ValueId id) {
    numbers_.emplace(id, numbers_.size());
    return use(id) + " : " + to_text(function_.values[id].type, dims_);
  }

  void print_attrs(const Op& op) {
    if (op.attrs.empty()) return;
    out_ += " <";
    for (size_t i = 0; i < op.attrs.size(); ++i) {
      out_ += (i == 0 ? "" : ", ") + op.attrs[i].key + " = ";
      const AttrValue& value = op.attrs[i].value;
      if (const auto* number = std::get_if<int64_t>(&value)) {
        out_ += std::to_string(*number);
      } else if (const auto* text = std::get_if<std::string>(&value)) {
        out_ += quoted(*text);
      } else if (const auto* texts = std::get_if<Texts>(&value)) {
        out_ += "[";
        for (size_t k = 0; k < texts->size(); ++k) out_ += (k == 0 ? "" : ", ") + quoted((*texts)[k]);
        out_ += "]";
      } else {
        out_ += "[";
        const NameRules& rules = std::get<NameRules>(value);
        for (size_t k = 0; k < rules.size(); ++k) {
          out_ += (k == 0 ? "" : ", ") + std::string(word_of(rules[k].kind)) + " " + quoted(rules[k].pattern);
          if (rules[k].kind == NameRule::Kind::Rename) out_ += " => " + quoted(rules[k].replacement);
        }
        out_ += "]";
      }
    }
    out_ += ">";
  }

  void print_region(const Region& region, int depth) {
    out_ += " {";
    if (!region.params.empty()) {
      out_ += " |";
      for (size_t i = 0; i < region.params.size(); ++i) out_ += (i == 0 ? "" : ", ") + declare(region.params[i]);
      out_ += "|";
    }
    out_ += "\n";
    for (const Op& op : region.ops) print_op(op, depth + 1);
    out_.append(size_t(depth) * 2, ' ');
    out_ += "}";
  }

  // Nesting is that of the source, which the parser caps.
  void print_op(const Op& op, int depth) {
    out_.append(size_t(depth) * 2, ' ');
    std::string head;
    // Results are numbered before the regions, as a reader meets them.
    for (size_t i = 0; i < op.results.size(); ++i) head += (i == 0 ? "" : ", ") + declare(op.results[i]);
    if (!head.empty()) out_ += head + " = ";
    out_ += op.info().name;
    const std::string target(op.target());
    if (!target.empty()) {
      const bool plain = target.find_first_not_of(
                             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$") == std::string::npos;
      out_ += " @" + (plain ? target : quoted(target));
    }
    out_ += " (";
    for (size_t i = 0; i < op.operands.size(); ++i) out_ += (i == 0 ? "" : ", ") + use(op.operands[i]);
    out_ += ")";
    print_attrs(op);
    for (const Region& region : op.regions) print_region(region, depth);
    if (op.loc.line != 0) {
      out_ += "  loc(";
      if (op.loc.file != 0) out_ += std::to_string(op.loc.file) + ":";
      out_ += std::to_string(op.loc.line) + ":" + std::to_string(op.loc.column) + ")";
    }
    out_ += "\n";
  }

  const Function& function_;
  const DimStore& dims_;
  std::unordered_map<ValueId, size_t> numbers_;
  std::string out_;
};

}  // namespace

std::string print(const Function& function, const DimStore& dims) { return Printer(function, dims).function_text(); }

std::string print(const Module& module) {
  std::string out = "module " + quoted(module.name) + "\n";
  for (size_t i = 0; i < module.files.size(); ++i) {
    out += "file " + std::to_string(i) + " " + quoted(module.files[i]) + "\n";
  }
  for (const Function& function : module.functions) out += "\n" + print(function, module.dims);
  return out;
}

}  // namespace ltr::ir

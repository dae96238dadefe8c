// The text form of graphs: what tests compare.

#include <charconv>
#include <map>

#include <nlohmann/json.hpp>

#include "runtime/api/error.h"
#include "runtime/plan/graph.h"
#include "runtime/tensor/dtype.h"

namespace ltr::plan {

namespace {

constexpr std::string_view kNames[] = {
#define LTR_FACADE(op, name, args, params, ...) #op,
#include "runtime/tensor/facade.def"
#include "runtime/tensor/operators.def"
#define LTR_PLAN_OP(op, name, args, params, ...) #op,
#include "runtime/plan/ops.def"
};

Str text_of(ValueRef value) { return value.id == kNone ? "undefined" : fmt::format("%{}", value.id); }

/// The shortest text that reads back, with a point: an int is none.
Str text_of_real(double number) {
  const Str text = fmt::format("{}", number);
  return text.find_first_of(".en") == Str::npos ? text + ".0" : text;
}

struct ArgumentText {
  Str operator()(ValueRef value) const { return text_of(value); }
  Str operator()(const std::vector<ValueRef>& values) const {
    Str text;
    for (const ValueRef value : values) text += (text.empty() ? "" : ", ") + text_of(value);
    return "{" + text + "}";
  }
  Str operator()(std::monostate) const { return "none"; }
  Str operator()(bool flag) const { return flag ? "true" : "false"; }
  Str operator()(int64_t number) const { return std::to_string(number); }
  Str operator()(double number) const { return text_of_real(number); }
  Str operator()(const Str& text) const { return nlohmann::json(text).dump(); }
  Str operator()(const Ints& list) const { return fmt::format("[{}]", fmt::join(list, ", ")); }
  Str operator()(const Floats& list) const {
    Str text;
    for (const double number : list) text += (text.empty() ? "" : ", ") + text_of_real(number);
    return "f[" + text + "]";
  }
};

Str type_text(const Value& value) {
  const Str element = to_text(value.dtype);
  return value.is_sized ? fmt::format("{}[{}]", element, fmt::join(value.sizes, ", ")) : element;
}

/// Reads one line, from left to right.
class Line {
 public:
  Line(std::string_view text, Graph& graph) : rest_(text), whole_(text), graph_(graph) {}

  void read() {
    if (take("return")) {
      while (!rest_.empty()) {
        graph_.outputs.push_back(value().id);
        if (!take(",")) break;
      }
      return end();
    }
    std::vector<ValueId> given;
    do {
      const ValueId id = value().id;
      need(take(":"));
      if (graph_.values.size() <= id) graph_.values.resize(id + 1);
      graph_.values[id] = type();
      given.push_back(id);
    } while (take(","));
    need(take("="));
    const std::string_view what = word();
    Value& first = graph_.values[given.front()];
    if (what == "input" || what == "weight" || what == "constant") {
      first.kind = what == "input"    ? Value::Kind::Input
                   : what == "weight" ? Value::Kind::Weight
                                      : Value::Kind::Constant;
      first.name = word();
      return end();
    }
    Node node;
    node.op = op_of(what);
    node.results = given;
    need(take("("));
    while (!take(")")) {
      node.arguments.push_back(argument());
      static_cast<void>(take(","));
    }
    if (take("site")) node.site = uint64_t(whole_number());
    node.is_training = !take("evaluating");
    if (take("again")) node.block = uint32_t(whole_number());
    graph_.nodes.push_back(std::move(node));
    end();
  }

 private:
  void need(bool holds) const {
    if (!holds) throw error_here(err::shape_check_failed, fmt::format("no line of a graph: {}", whole_));
  }
  void end() const { need(rest_.empty() || rest_.starts_with("#")); }
  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }
  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    skip_blanks();
    return true;
  }
  std::string_view word() {
    const std::string_view text = rest_.substr(0, rest_.find_first_of(" ,()[]{}:"));
    need(!text.empty());
    rest_.remove_prefix(text.size());
    skip_blanks();
    return text;
  }
  int64_t whole_number() {
    const std::string_view text = word();
    int64_t number = 0;
    need(std::from_chars(text.data(), text.data() + text.size(), number).ptr == text.data() + text.size());
    return number;
  }
  double real_number() {
    const std::string_view text = word();
    double number = 0;
    need(std::from_chars(text.data(), text.data() + text.size(), number).ptr == text.data() + text.size());
    return number;
  }
  ValueRef value() {
    if (take("undefined")) return {};
    need(rest_.starts_with("%"));
    rest_.remove_prefix(1);
    return {ValueId(whole_number())};
  }
  Value type() {
    Value value;
    const auto element = dtype_named(word());
    need(element.has_value());
    value.dtype = *element;
    value.is_sized = rest_.starts_with("[");
    if (value.is_sized) value.sizes = list<Ints>([this] { return whole_number(); });
    return value;
  }
  template <class List, class Read>
  List list(const Read& read) {
    List items;
    need(take("["));
    while (!take("]")) {
      items.push_back(read());
      static_cast<void>(take(","));
    }
    return items;
  }
  Argument argument() {
    if (rest_.starts_with("%") || rest_.starts_with("undefined")) return value();
    if (take("none")) return std::monostate();
    if (take("true")) return true;
    if (take("false")) return false;
    if (rest_.starts_with("[")) return list<Ints>([this] { return whole_number(); });
    if (rest_.starts_with("f[")) {
      rest_.remove_prefix(1);
      return list<Floats>([this] { return real_number(); });
    }
    if (take("{")) {
      std::vector<ValueRef> values;
      while (!take("}")) {
        values.push_back(value());
        static_cast<void>(take(","));
      }
      return values;
    }
    if (rest_.starts_with("\"")) return quoted();
    const std::string_view number = rest_.substr(0, rest_.find_first_of(" ,)"));
    if (number.find_first_of(".en") != std::string_view::npos) return real_number();
    return whole_number();
  }
  Str quoted() {
    size_t at = 1;
    while (at < rest_.size() && rest_[at] != '"') at += rest_[at] == '\\' ? 2 : 1;
    need(at < rest_.size());
    const nlohmann::json text = nlohmann::json::parse(rest_.substr(0, at + 1), nullptr, false);
    need(text.is_string());
    rest_.remove_prefix(at + 1);
    skip_blanks();
    return text.get<Str>();
  }

  std::string_view rest_;
  std::string_view whole_;
  Graph& graph_;
};

}  // namespace

std::string_view name_of(Op op) { return kNames[size_t(op)]; }

Op op_of(std::string_view name) {
  static const std::map<std::string_view, Op> kOps = [] {
    std::map<std::string_view, Op> ops;
    for (size_t i = 0; i < std::size(kNames); ++i) ops.emplace(kNames[i], Op(i));
    return ops;
  }();
  const auto found = kOps.find(name);
  if (found == kOps.end()) throw error_here(err::shape_check_failed, fmt::format("no op of a graph: {}", name));
  return found->second;
}

Str to_text(const Graph& graph) {
  Str text;
  constexpr const char* kKinds[] = {"", "input", "weight", "constant"};
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    const Value& value = graph.values[id];
    if (value.kind == Value::Kind::Result) continue;
    text += fmt::format("%{} : {} = {} {}\n", id, type_text(value), kKinds[size_t(value.kind)], value.name);
  }
  for (const Node& node : graph.nodes) {
    Str results, arguments;
    for (const ValueId id : node.results)
      results += fmt::format("{}%{} : {}", results.empty() ? "" : ", ", id, type_text(graph.values[id]));
    for (const Argument& argument : node.arguments)
      arguments += (arguments.empty() ? "" : ", ") + std::visit(ArgumentText{}, argument);
    text += fmt::format("{} = {}({})", results, name_of(node.op), arguments);
    if (node.site) text += fmt::format(" site {}", *node.site);
    if (!node.is_training) text += " evaluating";
    if (node.block != 0) text += fmt::format(" again {}", node.block);
    if (node.location.line > 0) text += fmt::format("  # {}:{}", node.location.file, node.location.line);
    text += "\n";
  }
  Str outputs;
  for (const ValueId id : graph.outputs) outputs += fmt::format("{}%{}", outputs.empty() ? "" : ", ", id);
  return text + "return " + outputs + "\n";
}

Graph graph_of(std::string_view text) {
  Graph graph;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) Line(text.substr(0, end), graph).read();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return graph;
}

}  // namespace ltr::plan

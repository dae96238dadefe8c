#include <cctype>
#include <charconv>
#include <limits>
#include <unordered_map>

#include "codegen/ir/text.h"

namespace ltr::ir {
namespace {

struct Mistake {
  std::string message;
};

/// Reads by descent over the characters; a mistake is thrown to `read`, which turns its place into a line.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Module module() {
    while (skip(), position_ < text_.size()) {
      const std::string head = word();
      if (head == "module") {
        module_.name = string();
      } else if (head == "file") {
        number();
        module_.files.push_back(string());
      } else if (head == "fn") {
        module_.functions.push_back(function());
      } else {
        fail("expected `module`, `file` or `fn`");
      }
    }
    return std::move(module_);
  }

  int line() const {
    int line = 1;
    for (size_t i = 0; i < position_ && i < text_.size(); ++i) line += text_[i] == '\n';
    return line;
  }

 private:
  [[noreturn]] static void fail(const std::string& message) { throw Mistake{message}; }

  // Comments are lines of tests: `// CHECK…` and the like.
  void skip() {
    while (position_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(text_[position_])) != 0) {
        ++position_;
      } else if (text_.substr(position_, 2) == "//") {
        while (position_ < text_.size() && text_[position_] != '\n') ++position_;
      } else {
        return;
      }
    }
  }

  bool take(char wanted) {
    skip();
    if (position_ >= text_.size() || text_[position_] != wanted) return false;
    ++position_;
    return true;
  }

  void expect(char wanted) {
    if (!take(wanted)) fail(std::string("expected `") + wanted + "`");
  }

  char peek() {
    skip();
    return position_ < text_.size() ? text_[position_] : '\0';
  }

  std::string word() {
    skip();
    const size_t begin = position_;
    while (position_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[position_])) != 0 || text_[position_] == '_' ||
            text_[position_] == '.' || text_[position_] == '$')) {
      ++position_;
    }
    return std::string(text_.substr(begin, position_ - begin));
  }

  int64_t number() {
    skip();
    int64_t value = 0;
    const auto end = std::from_chars(text_.data() + position_, text_.data() + text_.size(), value);
    if (end.ec != std::errc()) fail("expected a number");
    position_ = size_t(end.ptr - text_.data());
    return value;
  }

  std::string string() {
    expect('"');
    std::string out;
    while (position_ < text_.size() && text_[position_] != '"') {
      char c = text_[position_++];
      if (c == '\\' && position_ < text_.size()) {
        c = text_[position_++];
        if (c == 'n') c = '\n';
        if (c == 't') c = '\t';
      }
      out += c;
    }
    expect('"');
    return out;
  }

  Type type() {
    skip();
    Type type = read_type(text_, position_, module_.dims);
    if (type.is(TypeKind::Error)) fail("expected a type");
    return type;
  }

  Function function() {
    function_ = {};
    ids_.clear();
    function_.name = word();
    expect('(');
    if (!take(')')) {
      do function_.body.params.push_back(declaration());
      while (take(','));
      expect(')');
    }
    expect('-');
    expect('>');
    function_.result = type();
    const std::optional<Role> role = role_of(word());
    if (!role) fail("unknown role");
    function_.role = *role;
    while (peek() != '{') {
      const std::string trait = word();
      if (trait == "of") {
        function_.owner = word();
      } else if (trait == "library") {
        function_.is_library = true;
      } else if (trait == "random") {
        function_.draws_random = true;
      } else if (trait == "manual") {
        function_.is_manual = true;
      } else if (trait == "recomputed") {
        function_.is_recomputed = true;
      } else {
        fail("unknown trait of a function");
      }
    }
    expect('{');
    ops(function_.body);
    return std::move(function_);
  }

  ValueId declaration() {
    expect('%');
    const int64_t written = number();
    expect(':');
    const auto id = ValueId(function_.values.size());
    if (!ids_.emplace(written, id).second) fail("%" + std::to_string(written) + " is declared twice");
    function_.values.push_back({type(), std::nullopt, ""});
    return id;
  }

  ValueId constant(Type type, Constant value) {
    function_.values.push_back({std::move(type), std::move(value), ""});
    return ValueId(function_.values.size() - 1);
  }

  ValueId operand() {
    const char first = peek();
    if (first == '%') {
      ++position_;
      const int64_t written = number();
      const auto known = ids_.find(written);
      if (known == ids_.end()) fail("%" + std::to_string(written) + " is not known here");
      return known->second;
    }
    if (first == '"') return constant(Type::of(TypeKind::Str), string());
    if (first == '-' || std::isdigit(static_cast<unsigned char>(first)) != 0) return numeric();
    const std::string name = word();
    if (name == "true" || name == "false") return constant(Type::of(TypeKind::Bool), name == "true");
    if (name == "none") return constant(Type::of(TypeKind::None), NoneConstant{});
    if (name == "inf") return constant(Type::of(TypeKind::Float), std::numeric_limits<double>::infinity());
    if (name == "nan") return constant(Type::of(TypeKind::Float), std::numeric_limits<double>::quiet_NaN());
    fail("expected an operand");
  }

  ValueId numeric() {
    const size_t begin = position_;
    if (text_.substr(begin, 4) == "-inf") {
      position_ += 4;
      return constant(Type::of(TypeKind::Float), -std::numeric_limits<double>::infinity());
    }
    double real = 0;
    const auto end = std::from_chars(text_.data() + begin, text_.data() + text_.size(), real);
    if (end.ec != std::errc()) fail("expected a number");
    const std::string_view written = text_.substr(begin, size_t(end.ptr - text_.data()) - begin);
    if (written.find_first_of(".e") != std::string_view::npos) {
      position_ = begin + written.size();
      return constant(Type::of(TypeKind::Float), real);
    }
    return constant(Type::of(TypeKind::Int), number());
  }

  AttrValue attr_value() {
    if (peek() == '"') return string();
    if (!take('[')) return number();
    Texts texts;
    if (take(']')) return texts;
    if (peek() != '"') return name_rules();
    do texts.push_back(string());
    while (take(','));
    expect(']');
    return texts;
  }

  /// What stands behind the `[`, which is not empty.
  NameRules name_rules() {
    NameRules rules;
    do {
      const auto kind = name_rule_kind(word());
      if (!kind) fail("expected rename, skip or freeze");
      rules.push_back({*kind, string(), ""});
      if (*kind != NameRule::Kind::Rename) continue;
      expect('=');
      expect('>');
      rules.back().replacement = string();
    } while (take(','));
    expect(']');
    return rules;
  }

  void ops(Region& region) {
    if (++depth_ > kMaxDepth) fail("regions nest deeper than in any program");
    while (!take('}')) region.ops.push_back(op());
    --depth_;
  }

  Op op() {
    Op op;
    if (peek() == '%') {
      do op.results.push_back(declaration());
      while (take(','));
      expect('=');
    }
    const std::string name = word();
    const OpInfo* known = find_op(name);
    if (known != nullptr) {
      op.kind = known->kind;
    } else {
      op.function = library::find(library::Space::Values, name);
      if (library::info(op.function).operands.empty()) fail("unknown op `" + name + "`");
    }
    if (take('@')) op.name = peek() == '"' ? string() : word();
    expect('(');
    if (!take(')')) {
      do op.operands.push_back(operand());
      while (take(','));
      expect(')');
    }
    if (take('<')) {
      do {
        Attr attr;
        attr.key = word();
        expect('=');
        attr.value = attr_value();
        op.attrs.push_back(std::move(attr));
      } while (take(','));
      expect('>');
    }
    if (known != nullptr && op.kind == OpKind::CallOp) find_function(op);
    if (op.kind == OpKind::HostOp) find_host(op);
    if (op.kind == OpKind::Trainer) find_trainer(op);
    while (take('{')) {
      Region region;
      if (take('|')) {
        do region.params.push_back(declaration());
        while (take(','));
        expect('|');
      }
      ops(region);
      op.regions.push_back(std::move(region));
    }
    read_loc(op.loc);
    return op;
  }

  /// The function of a `call.op`: of its name, and of what it takes or gives.
  void find_function(Op& op) {
    using library::Space;
    const auto is = [&](const std::vector<ValueId>& values, TypeKind kind) {
      return !values.empty() && function_.values[values[0]].type.is(kind);
    };
    const bool is_stream = is(op.operands, TypeKind::Stream) || is(op.results, TypeKind::Stream);
    const bool is_weights = is(op.operands, TypeKind::Weights) || is(op.operands, TypeKind::Gradients);
    const Space space = is_stream ? Space::Streams : is_weights ? Space::Weights : Space::Values;
    if (is(op.operands, TypeKind::Str) || is(op.operands, TypeKind::List))
      op.function = library::find(Space::Texts, op.name);
    if (op.function == library::Id::None) op.function = library::find(space, op.name);
    // What the language makes of a stream or of weights is no function of them.
    if (op.function == library::Id::None) op.function = library::find(Space::Values, op.name);
    if (op.function == library::Id::None) fail("the library has no function `" + op.name + "`");
    op.name.clear();
  }

  static void find_trainer(Op& op) {
    op.function = library::find(library::Space::Values, op.name);
    if (!library::info(op.function).asks_trainer) fail("`" + op.name + "` asks nothing of the trainer");
    op.name.clear();
  }

  static void find_host(Op& op) {
    const std::optional<host::Op> known = host::find(op.name);
    if (!known) fail("there is no host op `" + op.name + "`");
    op.host = *known;
    op.name.clear();
  }

  void read_loc(Loc& loc) {
    skip();
    if (text_.substr(position_, 4) != "loc(") return;
    position_ += 4;
    const int64_t first = number();
    expect(':');
    const int64_t second = number();
    if (take(':')) {
      loc = {uint32_t(first), int32_t(second), int32_t(number())};
    } else {
      loc = {0, int32_t(first), int32_t(second)};
    }
    expect(')');
  }

  static constexpr int kMaxDepth = 256;  ///< that of a program, which the parser caps

  std::string_view text_;
  size_t position_ = 0;
  int depth_ = 0;
  Module module_;
  Function function_;
  std::unordered_map<int64_t, ValueId> ids_;
};

}  // namespace

std::optional<Module> read(std::string_view text, ReadError& error) {
  Reader reader(text);
  try {
    return reader.module();
  } catch (const Mistake& mistake) {
    error = {reader.line(), mistake.message};
    return std::nullopt;
  }
}

}  // namespace ltr::ir

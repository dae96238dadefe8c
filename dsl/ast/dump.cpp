#include "dsl/ast/dump.h"

#include <array>
#include <charconv>

#include "dsl/source/text.h"

namespace ltr::ast {

namespace {

using source::quote;

std::string number(double value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return {digits.data(), end};
}

class Dump {
 public:
  explicit Dump(const source::SourceManager* sources) : sources_(sources) {}

  std::string take() { return std::move(out_); }

  void module(const Module& module) {
    line("Module edition " + std::to_string(module.edition), module.edition_span);
    for (const Decl& decl : module.decls) under([&] { node(decl); });
  }

  void node(const Expr& expr) {
    span_ = expr.span;
    std::visit(*this, expr.node);
  }
  void node(const TypeExpr& type) {
    span_ = type.span;
    std::visit(*this, type.node);
  }
  void node(const Stmt& stmt) {
    span_ = stmt.span;
    std::visit(*this, stmt.node);
  }
  void node(const Item& item) {
    doc(item.doc);
    span_ = item.span;
    std::visit(*this, item.node);
  }
  void node(const Decl& decl) {
    doc(decl.doc);
    span_ = decl.span;
    std::visit(*this, decl.node);
  }

  // Expressions.
  void operator()(const ErrorExpr&) { line("ErrorExpr", span_); }
  void operator()(const IntLiteral& literal) { line("Int " + std::to_string(literal.value), span_); }
  void operator()(const FloatLiteral& literal) { line("Float " + number(literal.value), span_); }
  void operator()(const BoolLiteral& literal) { line(literal.value ? "Bool true" : "Bool false", span_); }
  void operator()(const NoneLiteral&) { line("None", span_); }
  void operator()(const StrLiteral& literal) {
    if (literal.parts.empty()) return line("Str \"\"", span_);
    if (literal.parts.size() == 1 && !literal.parts[0].value) return line("Str " + quote(literal.parts[0].text), span_);
    line("Str", span_);
    for (const StrPart& part : literal.parts) {
      under([&] {
        if (!part.value) return line("Text " + quote(part.text), part.span);
        line(part.format.empty() ? "Value" : "Value format " + quote(part.format), part.span);
        child("", part.value);
      });
    }
  }
  void operator()(const Quantity& quantity) { line("Quantity " + number(quantity.value) + " " + quantity.unit, span_); }
  void operator()(const NameRef& ref) { line("Name " + ref.name.text, span_); }
  void operator()(const Unary& unary) {
    line(unary.op == UnaryOp::Not ? "Unary not" : "Unary -", span_);
    child("", unary.operand);
  }
  void operator()(const Binary& binary) {
    line("Binary " + std::string(spelling(binary.op)), span_);
    child("", binary.left);
    child("", binary.right);
  }
  void operator()(const Pipe& pipe) {
    line("Pipe", span_);
    child("", pipe.value);
    child("", pipe.target);
  }
  void operator()(const Call& call) {
    line("Call", span_);
    child("", call.callee);
    for (const Argument& argument : call.arguments) {
      child(argument.name ? argument.name->text + " =" : "", argument.value);
    }
  }
  void operator()(const Index& index) {
    line("Index", span_);
    child("", index.base);
    for (const IndexItem& item : index.items) {
      under([&] {
        constexpr std::array<std::string_view, 5> kKinds = {"Error", "At", "Range", "Ellipsis", "New"};
        line(std::string(kKinds[static_cast<size_t>(item.kind)]), item.span);
        child(item.kind == IndexItem::Kind::Range ? "from" : "", item.first);
        child("to", item.second);
      });
    }
  }
  void operator()(const Field& field) {
    line("Field " + field.name.text, span_);
    child("", field.base);
  }
  void operator()(const List& list) {
    line("List", span_);
    children("", list.elements);
  }
  void operator()(const Comprehension& comprehension) {
    line("Comprehension " + comprehension.variable.text, span_);
    child("", comprehension.element);
    child("in", comprehension.range);
  }
  void operator()(const Tuple& tuple) {
    line("Tuple", span_);
    children("", tuple.elements);
  }
  void operator()(const Record& record) {
    line("Record", span_);
    for (const RecordField& field : record.fields) child(field.name.text + " =", field.value);
  }
  void operator()(const Paren& paren) {
    line("Paren", span_);
    child("", paren.inner);
  }
  void operator()(const IfExpr& expr) {
    line("IfExpr", span_);
    child("", expr.condition);
    child("then", expr.then_value);
    child("else", expr.else_value);
  }
  void operator()(const Lambda& lambda) {
    line("Lambda " + lambda.param.text, span_);
    child("", lambda.value);
  }
  void operator()(const Scan& scan) {
    line("Scan " + scan.element.text, span_);
    child("over", scan.sequence);
    child("dim", scan.dim);
    for (const ScanCarry& carry : scan.carried) child("with " + carry.name.text + " =", carry.initial);
    children("", *scan.body);
  }
  void operator()(const As& as) {
    line("As", span_);
    child("", as.value);
    child("", as.type);
  }

  // Types.
  void operator()(const ErrorType&) { line("ErrorType", span_); }
  void operator()(const NamedType& type) {
    line("Type " + type.name.text + (type.has_dims ? "[]" : ""), span_);
    for (const Dim& dim : type.dims) {
      if (dim.value) {
        child("", dim.value);
      } else {
        under([&] { line(dim.kind == Dim::Kind::Unknown ? "?" : "...", dim.span); });
      }
    }
  }
  void operator()(const AppliedType& type) {
    line("Type " + type.name.text + " of", span_);
    child("", type.argument);
  }
  void operator()(const RecordType& type) {
    line("RecordType", span_);
    fields(type.fields);
  }
  void operator()(const TupleType& type) {
    line("TupleType", span_);
    children("", type.elements);
  }
  void operator()(const BlockType& type) {
    line("BlockType" + names(type.binders), span_);
    children("param", type.params);
    child("->", type.result);
  }

  // Statements.
  void operator()(const ErrorStmt&) { line("ErrorStmt", span_); }
  void operator()(const Unpack& stmt) {
    line("Unpack" + names(stmt.names), span_);
    child("", stmt.value);
  }
  void operator()(const Assign& stmt) {
    constexpr std::array<std::string_view, 5> kOps = {"=", "+=", "-=", "*=", "/="};
    line("Assign " + std::string(kOps[static_cast<size_t>(stmt.op)]), span_);
    child("", stmt.target);
    child("", stmt.value);
  }
  void operator()(const Declare& stmt) { named("Declare", stmt); }
  void operator()(const Return& stmt) {
    line("Return", span_);
    child("", stmt.value);
  }
  void operator()(const Yield& stmt) {
    line("Yield", span_);
    child("", stmt.value);
  }
  void operator()(const Assert& stmt) {
    line("Assert", span_);
    child("", stmt.condition);
    child("message", stmt.message);
  }
  void operator()(const Print& stmt) {
    line("Print", span_);
    children("", stmt.values);
  }
  void operator()(const Minimize& stmt) {
    line("Minimize", span_);
    child("", stmt.loss);
    child("with", stmt.optimizer);
  }
  void operator()(const Backward& stmt) {
    line("Backward", span_);
    child("", stmt.loss);
  }
  void operator()(const Log& stmt) {
    constexpr std::array<std::string_view, 4> kKinds = {"", " image", " histogram", " text"};
    constexpr std::array<std::string_view, 4> kWhen = {"", " on step", " on epoch", " on both"};
    std::string text = "Log";
    text += kKinds[static_cast<size_t>(stmt.kind)];
    text += " " + stmt.name.text;
    text += kWhen[static_cast<size_t>(stmt.when)];
    if (stmt.bar) text += " bar";
    if (stmt.reduce) text += " reduce " + stmt.reduce->text;
    if (stmt.merge) text += " " + stmt.merge->text;
    line(text, span_);
    child("", stmt.value);
  }
  void operator()(const If& stmt) {
    line("If", span_);
    child("", stmt.condition);
    children("then", stmt.then_body);
    if (stmt.has_else) children("else", stmt.else_body);
  }
  void operator()(const For& stmt) {
    line("For " + stmt.variable.text, span_);
    child("in", stmt.range);
    children("", stmt.body);
  }
  void operator()(const While& stmt) {
    line("While", span_);
    child("", stmt.condition);
    children("", stmt.body);
  }
  void operator()(const Every& stmt) {
    line("Every", span_);
    child("", stmt.period);
    children("", stmt.body);
  }
  void operator()(const NoGrad& stmt) {
    line("NoGrad", span_);
    children("", stmt.body);
  }
  void operator()(const ExprStmt& stmt) {
    line("ExprStmt", span_);
    child("", stmt.value);
  }

  // Items.
  void operator()(const ErrorItem&) { line("ErrorItem", span_); }
  void operator()(const Let& let) { named("Let", let); }
  void operator()(const Fn& fn) { function("Fn", fn); }
  void operator()(const State& state) {
    named("State", state,
          (state.reduce ? " reduce " + state.reduce->text : "") + (state.merge ? " " + state.merge->text : ""));
  }
  void operator()(const Member& member) {
    line("Member " + member.name.text, span_);
    child("", member.value);
    child("from", member.source);
    for (const LoadRule& rule : member.rules) {
      under([&] {
        constexpr std::array<std::string_view, 4> kKinds = {"Error", "Rename", "Skip", "Freeze"};
        std::string text(kKinds[static_cast<size_t>(rule.kind)]);
        text += " " + quote(rule.pattern);
        if (rule.kind == LoadRule::Kind::Rename) text += " " + quote(rule.replacement);
        line(text, rule.span);
      });
    }
  }
  void operator()(const Parameter& parameter) { named(parameter.is_buffer ? "Buffer" : "Weight", parameter); }
  void operator()(const Optimizer& optimizer) {
    line("Optimizer " + optimizer.name.text, span_);
    child("", optimizer.value);
    settings(optimizer.settings);
    for (const Group& group : optimizer.groups) {
      under([&] {
        line("Group " + quote(group.pattern), group.pattern_span);
        settings(group.settings);
      });
    }
  }
  void operator()(const Init& init) {
    line("Init " + quote(init.pattern), span_);
    child("", init.value);
  }
  void operator()(const Step& step) {
    if (step.copy_of) return line("Step " + step.fn.name.text + " = " + step.copy_of->text, span_);
    function(step.is_manual ? "Step manual" : "Step", step.fn);
  }
  void operator()(const Stream& stream) {
    line("Stream " + stream.role.text + (stream.name ? "." + stream.name->text : ""), span_);
    child("", stream.value);
  }
  void operator()(const Hook& hook) {
    line("On " + hook.name.text, span_);
    children("", hook.body);
  }

  // Declarations.
  void operator()(const ErrorDecl&) { line("ErrorDecl", span_); }
  void operator()(const Import& import) {
    std::string text = "Import";
    if (import.file) text += " " + quote(*import.file);
    for (size_t i = 0; i < import.path.size(); ++i) text += (i == 0 ? " " : ".") + import.path[i].text;
    if (import.has_names) text += " names" + names(import.names);
    if (import.alias) text += " as " + import.alias->text;
    line(text, span_);
  }
  void operator()(const Hparam& hparam) {
    named("Hparam", hparam);
    child("where", hparam.where);
  }
  void operator()(const TypeName& type) { named("TypeName", type); }
  void operator()(const Const& constant) { named("Const", constant); }
  void operator()(const Extern& block) {
    line("Extern " + quote(block.file), span_);
    for (const ExternFn& fn : block.fns) {
      under([&] {
        doc(fn.doc);
        span_ = fn.span;
        function(fn.backward ? "Fn backward " + fn.backward->text : "Fn", fn.signature);
      });
    }
  }
  void operator()(const Metric& metric) { container("Metric", metric); }
  void operator()(const Data& data) {
    line("Data " + data.name.text, span_);
    params(data.params);
    under([&] {
      line("Batch" + names(data.batch_binders), data.batch_span);
      fields(data.batch_fields);
    });
    children("", data.items);
  }
  void operator()(const Block& block) { container("Block", block); }
  void operator()(const Model& model) { container("Model", model); }
  void operator()(const Callback& callback) {
    container("Callback", callback, callback.model ? " for " + callback.model->text : "");
  }
  void operator()(const Topology& topology) {
    line("Topology " + topology.name.text + (topology.amends ? " amends " + topology.amends->text : ""), span_);
    settings(topology.settings);
    for (const Shard& shard : topology.shards) {
      under([&] {
        line("Shard " + shard.what.text + " over" + names(shard.axes) + (shard.at ? " at " + shard.at->text : ""),
             shard.span);
      });
    }
    for (const Recompute& recompute : topology.recomputes) {
      under([&] { line("Recompute at " + recompute.at.text, recompute.span); });
    }
    for (const Section& section : topology.sections) under([&] { dump(section); });
  }
  void operator()(const Experiment& experiment) {
    line("Experiment " + experiment.name.text + (experiment.amends ? " amends " + experiment.amends->text : ""), span_);
    settings(experiment.settings);
    for (const Section& section : experiment.sections) under([&] { dump(section); });
    for (const Setting& one : experiment.sets) under([&] { setting(one, "Set"); });
  }
  void operator()(const Test& test) {
    line("Test " + quote(test.title) + (test.fails ? " fails " + test.fails->text : ""), span_);
    children("", test.body);
  }

 private:
  template <class Body>
  void under(const Body& body) {
    ++depth_;
    body();
    --depth_;
  }

  void line(const std::string& text, Span span) {
    out_.append(2 * depth_, ' ');
    if (!prefix_.empty()) out_ += prefix_ + " ";
    prefix_.clear();
    out_ += text;
    if (sources_ != nullptr) out_ += " " + source::to_text(sources_->position(span));
    out_ += '\n';
  }

  template <class T>
  void child(const std::string& prefix, const T& part) {
    under([&] {
      prefix_ = prefix;
      node(part);
    });
  }
  template <class T>
  void child(const std::string& prefix, const Box<T>& box) {
    child(prefix, *box);
  }
  template <class T>
  void child(const std::string& prefix, const std::optional<T>& part) {
    if (part) child(prefix, *part);
  }
  template <class T>
  void children(const std::string& prefix, const std::vector<T>& list) {
    for (const T& part : list) child(prefix, part);
  }

  void doc(const std::string& text) {
    if (text.empty()) return;
    out_.append(2 * depth_, ' ');
    out_ += "Doc " + quote(text) + "\n";
  }

  static std::string names(const std::vector<Name>& list) {
    std::string out;
    for (const Name& name : list) out += " " + name.text;
    return out;
  }

  /// `name: type = value`
  template <class T>
  void named(const std::string& kind, const T& part, const std::string& more = "") {
    line(kind + " " + part.name.text + more, span_);
    child(":", part.type);
    if constexpr (requires { part.value; }) child("=", part.value);
  }
  template <class T>
  void container(const std::string& kind, const T& decl, const std::string& more = "") {
    line(kind + " " + decl.name.text + more, span_);
    params(decl.params);
    children("", decl.items);
  }
  void params(const std::vector<Param>& list) {
    for (const Param& param : list) {
      under([&] {
        line("Param " + param.name.text, param.span);
        child("", param.type);
        child("=", param.initial);
      });
    }
  }
  void function(const std::string& kind, const Fn& fn) {
    line(kind + " " + fn.name.text + (fn.binders.empty() ? "" : " for" + names(fn.binders)), span_);
    params(fn.params);
    child("->", fn.result);
    child("where", fn.where);
    child("=", fn.value);
    children("", fn.body);
  }
  void fields(const std::vector<FieldType>& list) {
    for (const FieldType& field : list) child(field.name.text + ":", field.type);
  }
  void setting(const Setting& setting, const std::string& kind = "Setting") {
    line(kind + " " + setting.name.text + (setting.is_draw ? " in" : ""), setting.span);
    child("", setting.value);
  }
  void settings(const std::vector<Setting>& list) {
    for (const Setting& one : list) under([&] { setting(one); });
  }
  void dump(const Section& section) {
    line("Section " + section.name.text + (section.adds ? " +=" : ""), section.span);
    settings(section.settings);
    children("", section.values);
  }

  const source::SourceManager* sources_;  ///< null: places are left out
  std::string out_;
  std::string prefix_;
  size_t depth_ = 0;
  Span span_;
};

}  // namespace

std::string dump_ast(const Module& module, const source::SourceManager* sources) {
  Dump dump(sources);
  dump.module(module);
  return dump.take();
}

std::string dump_ast(const Expr& expr, const source::SourceManager& sources) {
  Dump dump(&sources);
  dump.node(expr);
  return dump.take();
}

}  // namespace ltr::ast

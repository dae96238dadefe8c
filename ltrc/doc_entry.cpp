#include "ltrc/doc_entry.h"

#include <fmt/core.h>

#include <algorithm>

namespace ltr::driver {

namespace {

using source::Span;

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

/// The text as it can stand on one line: where a line ended between two settings, a comma parts them.
std::string one_line(std::string_view text) {
  std::string out;
  std::string open;  // the brackets around
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!is_space(c)) {
      if (c == '(' || c == '[' || c == '{') open += c;
      if ((c == ')' || c == ']' || c == '}') && !open.empty()) open.pop_back();
      out += c;
      continue;
    }
    size_t end = i;
    while (end < text.size() && is_space(text[end])) ++end;
    const bool is_new_line = text.substr(i, end - i).find('\n') != std::string_view::npos;
    const bool parts = is_new_line && end < text.size() && text[end] != '}' && open.ends_with('{') &&
                       !out.ends_with('{') && !out.ends_with(',');
    if (parts) out += ',';
    if (!out.empty()) out += ' ';
    i = end - 1;
  }
  return out;
}

class Documenter {
 public:
  Documenter(const ast::Module& module, const source::SourceManager& sources) : module_(module), sources_(sources) {}

  std::vector<DocEntry> run() {
    for (const ast::Decl& decl : module_.decls) {
      decl_ = &decl;
      std::visit(*this, decl.node);
    }
    return std::move(entries_);
  }

  void operator()(const ast::ErrorDecl&) {}
  void operator()(const ast::Import&) {}
  void operator()(const ast::Test&) {}
  void operator()(const ast::Hparam& hparam) { add("hparam", hparam.name, end_of(*decl_)); }
  void operator()(const ast::TypeName& type) { add("type", type.name, end_of(*decl_)); }
  void operator()(const ast::Const& constant) { add("constant", constant.name, end_of(*decl_)); }
  void operator()(const ast::Fn& fn) { add("function", fn.name, end_of(fn)); }
  void operator()(const ast::Extern& block) {
    for (const ast::ExternFn& fn : block.fns) {
      DocEntry entry = make(kind_of(fn.signature), fn.signature.name, fn.span.begin, fn.span.end);
      entry.doc = fn.doc;
      put(std::move(entry));
    }
  }
  void operator()(const ast::Metric& metric) { add_object("metric", metric); }
  void operator()(const ast::Block& block) { add_object("block", block); }
  void operator()(const ast::Model& model) { add_object("model", model); }
  void operator()(const ast::Callback& callback) { add_object("callback", callback); }
  void operator()(const ast::Data& data) {
    DocEntry entry = make("data", data.name, decl_->span.begin, end_of(data.name, data.params));
    entry.parts.push_back("batch " + text(data.batch_span));
    parts(data.items, entry);
    put(std::move(entry));
  }
  void operator()(const ast::Topology& topology) { add("topology", topology.name, end_of(*decl_)); }
  void operator()(const ast::Experiment& experiment) { add("experiment", experiment.name, end_of(*decl_)); }

 private:
  std::string text(Span span) const { return one_line(sources_.text(span)); }
  uint32_t end_of(const ast::Decl& decl) const { return decl.span.end; }
  static uint32_t end_of(const ast::Fn& fn) {
    uint32_t end = fn.params_span.end;
    if (fn.result) end = std::max(end, fn.result->span.end);
    if (fn.where) end = std::max(end, fn.where->span.end);
    return end;
  }
  /// Behind the `)` of the parameters.
  uint32_t end_of(const ast::Name& name, const std::vector<ast::Param>& params) const {
    const uint32_t from = params.empty() ? name.span.end : params.back().span.end;
    const std::string_view rest = sources_.text(module_.source).substr(from);
    const size_t brace = rest.find('{'), close = rest.find(')');
    return close < brace ? from + uint32_t(close) + 1 : from;
  }

  /// What a function of the library is for is told by what it gives.
  static std::string kind_of(const ast::Fn& fn) {
    const auto named = [](const ast::TypeExpr& type) -> std::string {
      if (const auto* list = type.get<ast::AppliedType>()) {
        if (list->name.text == "stream") return "stream";
        const auto* inner = list->argument->get<ast::NamedType>();
        return inner != nullptr ? inner->name.text : "";
      }
      const auto* name = type.get<ast::NamedType>();
      return name != nullptr ? name->name.text : "";
    };
    const std::string result = fn.result ? named(*fn.result) : "";
    if (result == "stream") return !fn.params.empty() && named(fn.params[0].type) == "stream" ? "stage" : "source";
    for (const char* kind : {"optimizer", "schedule", "callback", "logger"}) {
      if (result == kind) return kind;
    }
    return "function";
  }

  DocEntry make(const std::string& kind, const ast::Name& name, uint32_t begin, uint32_t end) {
    const Span span{module_.source, begin, end};
    const source::Position at = sources_.position(span).begin;
    DocEntry entry;
    entry.name = name.text;
    entry.kind = kind;
    entry.doc = decl_->doc;
    entry.line = at.line;
    // The lines behind the first keep their place under it.
    bool at_begin = false;
    uint32_t skipped = 0;
    for (const char c : sources_.text(span)) {
      if (c == '\r') continue;
      if (at_begin && c == ' ' && skipped + 1 < at.column) {
        ++skipped;
        continue;
      }
      at_begin = c == '\n';
      if (at_begin) skipped = 0;
      entry.signature += c;
    }
    return entry;
  }
  void add(const std::string& kind, const ast::Name& name, uint32_t end) {
    put(make(kind, name, decl_->span.begin, end));
  }
  template <class T>
  void add_object(const std::string& kind, const T& object) {
    DocEntry entry = make(kind, object.name, decl_->span.begin, end_of(object.name, object.params));
    parts(object.items, entry);
    put(std::move(entry));
  }
  void put(DocEntry entry) {
    if (!entry.name.empty() && !entry.name.starts_with("_")) entries_.push_back(std::move(entry));
  }

  void parts(const std::vector<ast::Item>& items, DocEntry& entry) const {
    for (const ast::Item& item : items) {
      const auto line = [&](uint32_t end) { return text(Span{module_.source, item.span.begin, end}); };
      if (const auto* parameter = item.get<ast::Parameter>()) entry.parts.push_back(line(parameter->type.span.end));
      if (const auto* fn = item.get<ast::Fn>()) entry.parts.push_back(line(end_of(*fn)));
      if (const auto* state = item.get<ast::State>()) entry.parts.push_back(line(state->type.span.end));
      if (const auto* step = item.get<ast::Step>())
        entry.parts.push_back(step->copy_of ? text(item.span) : line(end_of(step->fn)));
      if (const auto* hook = item.get<ast::Hook>()) entry.parts.push_back("on " + hook->name.text);
      if (item.get<ast::Optimizer>() || item.get<ast::Stream>() || item.get<ast::Member>())
        entry.parts.push_back(text(item.span));
    }
  }

  const ast::Module& module_;
  const source::SourceManager& sources_;
  const ast::Decl* decl_ = nullptr;
  std::vector<DocEntry> entries_;
};

}  // namespace

DocModule document(const ast::Module& module, const source::SourceManager& sources) {
  DocModule result;
  result.path = std::string(sources.path(module.source));
  result.title = result.path;
  if (result.title.starts_with("std/")) result.title.erase(0, 4);
  if (result.title.ends_with(".ltr")) result.title.resize(result.title.size() - 4);
  result.entries = Documenter(module, sources).run();
  return result;
}

std::string text_page(const DocModule& module, const DocEntry& entry, bool color) {
  const auto bold = [&](const std::string& text) { return color ? fmt::format("\x1b[1m{}\x1b[0m", text) : text; };
  const auto indented = [](const std::string& text) {
    std::string out = "  ";
    for (const char c : text) out += c == '\n' ? std::string("\n  ") : std::string(1, c);
    return out + "\n";
  };
  const std::string place = entry.line == 0 ? module.path : fmt::format("{}:{}", module.path, entry.line);
  std::string out = fmt::format("{}  {}, {}\n\n{}", bold(entry.name), entry.kind, place, indented(entry.signature));
  if (!entry.doc.empty()) out += "\n" + indented(entry.doc);
  if (!entry.parts.empty()) out += "\n";
  for (const std::string& part : entry.parts) out += fmt::format("  {}\n", part);
  return out;
}

}  // namespace ltr::driver

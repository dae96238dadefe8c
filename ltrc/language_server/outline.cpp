#include <filesystem>
#include <set>

#include "dsl/lex/lex.h"
#include "ltrc/language_server/declaring_words.h"
#include "ltrc/language_server/features.h"
#include "ltrc/language_server/name_walk.h"
#include "runtime/tables/roles.h"

namespace ltr::language_server {

namespace {

/// SymbolKind of the protocol.
enum class OutlineKind {
  Module = 2,
  Class = 5,
  Method = 6,
  Property = 7,
  Field = 8,
  Constructor = 9,
  Interface = 11,
  Function = 12,
  Variable = 13,
  Constant = 14,
  Object = 19,
  Event = 24,
};

OutlineKind kind_of(const ast::Decl& decl) {
  if (decl.get<ast::Fn>() != nullptr || decl.get<ast::Test>() != nullptr) return OutlineKind::Function;
  if (decl.get<ast::Hparam>() != nullptr || decl.get<ast::Const>() != nullptr) return OutlineKind::Constant;
  if (decl.get<ast::Topology>() != nullptr || decl.get<ast::Experiment>() != nullptr) return OutlineKind::Object;
  if (decl.get<ast::Data>() != nullptr) return OutlineKind::Interface;
  if (decl.get<ast::Callback>() != nullptr) return OutlineKind::Event;
  return OutlineKind::Class;
}

const char* word_of(const ast::Decl& decl) {
  static_assert(std::variant_size_v<decltype(decl.node)> == std::size(kDeclaringWords) + 1);
  return decl.node.index() == 0 ? "" : kDeclaringWords[decl.node.index() - 1].word.data();
}

struct Line {
  ast::Name name;
  OutlineKind kind = OutlineKind::Field;
  const char* word = "";
};

Line line_of(const ast::Item& item) {
  if (const auto* node = item.get<ast::Let>()) return {node->name, OutlineKind::Constant, "let"};
  if (const auto* node = item.get<ast::Fn>()) return {node->name, OutlineKind::Method, "fn"};
  if (const auto* node = item.get<ast::State>()) return {node->name, OutlineKind::Variable, "state"};
  if (const auto* node = item.get<ast::Member>()) return {node->name, OutlineKind::Field, ""};
  if (const auto* node = item.get<ast::Parameter>())
    return {node->name, OutlineKind::Field, node->is_buffer ? "buffer" : "weight"};
  if (const auto* node = item.get<ast::Optimizer>()) return {node->name, OutlineKind::Property, "optimizer"};
  if (const auto* node = item.get<ast::Step>()) return {node->fn.name, OutlineKind::Method, "step"};
  if (const auto* node = item.get<ast::Stream>())
    return {node->name ? *node->name : node->role, OutlineKind::Property, "stream"};
  if (const auto* node = item.get<ast::Hook>()) return {node->name, OutlineKind::Event, "on"};
  return {};
}

/// A range must hold the name; that of half-written text may not.
Json symbol(const Snapshot& snapshot, const std::string& name, OutlineKind kind, const char* word, Span whole,
            Span selection) {
  if (selection.is_empty() || selection.begin < whole.begin || selection.end > whole.end)
    selection = {kMain, whole.begin, whole.begin};
  return {{"name", name},
          {"kind", int(kind)},
          {"detail", word},
          {"range", snapshot.range(whole)},
          {"selectionRange", snapshot.range(selection)}};
}

Span name_span(const ast::Decl& decl) {
  return std::visit(
      [](const auto& node) -> Span {
        if constexpr (requires { node.name.span; }) return node.name.span;
        return {};
      },
      decl.node);
}

bool matches(const std::string& name, const std::string& query) {
  size_t at = 0;
  for (const char c : name) {
    if (at < query.size() &&
        std::tolower(static_cast<unsigned char>(c)) == std::tolower(static_cast<unsigned char>(query[at]))) {
      ++at;
    }
  }
  return at == query.size();
}

const std::vector<ast::Decl>& decls_of(const Snapshot& snapshot) {
  static const std::vector<ast::Decl> none;
  return snapshot.module() != nullptr ? snapshot.module()->decls : none;
}

}  // namespace

Json document_symbols(const Snapshot& snapshot) {
  Json result = Json::array();
  for (const ast::Decl& decl : decls_of(snapshot)) {
    if (const auto* block = decl.get<ast::Extern>()) {
      for (const ast::ExternFn& fn : block->fns) {
        if (!fn.signature.name.text.empty())
          result.push_back(symbol(snapshot, fn.signature.name.text, OutlineKind::Function, "extern fn", fn.span,
                                  fn.signature.name.span));
      }
      continue;
    }
    const auto* test = decl.get<ast::Test>();
    const std::string name = test != nullptr ? test->title : name_of(decl);
    if (name.empty()) continue;
    Json entry = symbol(snapshot, name, kind_of(decl), word_of(decl), decl.span,
                        test != nullptr ? test->title_span : name_span(decl));
    Json children = Json::array();
    if (const auto* items = items_of(decl)) {
      for (const ast::Item& item : *items) {
        const Line line = line_of(item);
        if (!line.name.text.empty())
          children.push_back(symbol(snapshot, line.name.text, line.kind, line.word, item.span, line.name.span));
      }
    }
    if (!children.empty()) entry["children"] = std::move(children);
    result.push_back(std::move(entry));
  }
  return result;
}

void add_workspace_symbols(const ast::Module& module, const source::SourceManager& sources, const std::string& path,
                           const std::string& query, Json& symbols) {
  const auto add = [&](const ast::Name& name, OutlineKind kind, const std::string& container) {
    if (name.text.empty() || !matches(name.text, query)) return;
    Json one = {{"name", name.text},
                {"kind", int(kind)},
                {"location", {{"uri", uri_of(path)}, {"range", range_of(sources, name.span)}}}};
    if (!container.empty()) one["containerName"] = container;
    symbols.push_back(std::move(one));
  };
  for (const ast::Decl& decl : module.decls) {
    if (const auto* block = decl.get<ast::Extern>()) {
      for (const ast::ExternFn& fn : block->fns) add(fn.signature.name, OutlineKind::Function, "");
      continue;
    }
    add({name_of(decl), name_span(decl)}, kind_of(decl), "");
    if (const auto* items = items_of(decl)) {
      for (const ast::Item& item : *items) {
        const Line line = line_of(item);
        const bool is_code = line.kind == OutlineKind::Method;
        if (is_code) add(line.name, line.kind, name_of(decl));
      }
    }
  }
}

Json folding_ranges(const Snapshot& snapshot) {
  diagnostics::Sink sink;
  const lex::TokenBuffer buffer = lex::lex(kMain, snapshot.text(), sink);
  const source::LineIndex& lines = snapshot.lines();
  Json result = Json::array();
  const auto add = [&](uint32_t first, uint32_t last, const char* kind) {
    if (last <= first) return;
    Json fold = {{"startLine", first - 1}, {"endLine", last - 1}};
    if (kind != nullptr) fold["kind"] = kind;
    result.push_back(std::move(fold));
  };
  for (const lex::BracketPair& pair : buffer.brackets) {
    // The line of the closing bracket stays in sight.
    const uint32_t first = lines.line_of(buffer.tokens[pair.opener].span.begin);
    const uint32_t last = lines.line_of(buffer.tokens[pair.closer].span.begin);
    if (pair.is_closed && last > first) add(first, last - 1, nullptr);
  }
  uint32_t first = 0, last = 0;
  for (const lex::Comment& comment : buffer.comments) {
    if (!comment.owns_line) continue;
    const uint32_t line = lines.line_of(comment.span.begin);
    if (line != last + 1) {
      add(first, last, "comment");
      first = line;
    }
    last = line;
  }
  add(first, last, "comment");
  first = last = 0;
  for (const ast::Decl& decl : decls_of(snapshot)) {
    if (decl.get<ast::Import>() == nullptr) continue;
    if (first == 0) first = lines.line_of(decl.span.begin);
    last = lines.line_of(decl.span.end);
  }
  add(first, last, "imports");
  return result;
}

Json document_links(const Snapshot& snapshot, const std::vector<std::string>& folders) {
  namespace fs = std::filesystem;
  diagnostics::Sink sink;
  const lex::TokenBuffer buffer = lex::lex(kMain, snapshot.text(), sink);
  Json result = Json::array();
  const auto add = [&](Span span, const std::string& target) {
    result.push_back({{"range", snapshot.range(span)}, {"target", uri_of(target)}});
  };
  for (const lex::Token& token : buffer.tokens) {
    if (token.kind != lex::TokenKind::Str) continue;
    const std::string& text = buffer.strings[token.value];
    if (text.empty() || text.find('\n') != std::string::npos || text.size() > 1024) continue;
    std::vector<fs::path> places = {fs::path(snapshot.path).parent_path()};
    for (const std::string& folder : folders) places.emplace_back(folder);
    for (const fs::path& place : places) {
      std::error_code failed;
      const fs::path target = (place / text).lexically_normal();
      if (!fs::exists(target, failed)) continue;
      add({kMain, token.span.begin + 1, token.span.end - 1}, target.string());
      break;
    }
  }
  for (const ast::Decl& decl : decls_of(snapshot)) {
    const auto* import = decl.get<ast::Import>();
    if (import == nullptr || import->path.size() < 2 || import->path[0].text != "std") continue;
    std::string folder = "std";
    for (size_t i = 1; i < import->path.size(); ++i) folder += "/" + import->path[i].text;
    const Span span = join(import->path.front().span, import->path.back().span);
    for (const resolve::Module& module : snapshot.compilation.graph->modules) {
      const bool is_it = module.path == folder + ".ltr" || module.path.starts_with(folder + "/");
      if (!is_it) continue;
      add(span, openable(module.path));
      break;
    }
  }
  return result;
}

Json code_lenses(const Snapshot& snapshot) {
  Json result = Json::array();
  const auto add = [&](Span span, const std::string& title, const char* command, Json arguments) {
    result.push_back({{"range", snapshot.range(span)},
                      {"command", {{"title", title}, {"command", command}, {"arguments", std::move(arguments)}}}});
  };
  for (const ast::Decl& decl : decls_of(snapshot)) {
    if (const auto* test = decl.get<ast::Test>())
      add(test->title_span, "run test", "ltr.test", {snapshot.path, test->title});
    const auto* experiment = decl.get<ast::Experiment>();
    if (experiment == nullptr || experiment->name.text.empty()) continue;
    add(experiment->name.span, "fit", "ltr.run", {snapshot.path, "fit", experiment->name.text});
    if (!snapshot.compilation.program) continue;
    for (const check::Experiment& typed : snapshot.compilation.program->experiments) {
      if (typed.name != experiment->name.text) continue;
      for (const check::StepBinding& step : typed.steps) {
        if (step.role == kPredictRole)
          add(experiment->name.span, "predict", "ltr.run", {snapshot.path, "predict", typed.name});
      }
    }
  }
  return result;
}

}  // namespace ltr::language_server

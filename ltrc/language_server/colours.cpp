#include <algorithm>
#include <set>
#include <stdexcept>
#include <unordered_map>

#include "dsl/format/format.h"
#include "dsl/lex/lex.h"
#include "dsl/parse/parse.h"
#include "ltrc/language_server/features.h"

namespace ltr::language_server {

namespace {

/// In the order of the legend.
enum class Colour : uint32_t {
  Keyword,
  Function,
  Method,
  Class,
  Parameter,
  Variable,
  Property,
  Number,
  String,
  Comment,
  EnumMember,
  Namespace,
  Type,
  Event,
  Operator,
};
constexpr const char* kColours[] = {"keyword",    "function",  "method", "class",  "parameter",
                                    "variable",   "property",  "number", "string", "comment",
                                    "enumMember", "namespace", "type",   "event",  "operator"};
constexpr const char* kModifiers[] = {"declaration", "readonly", "defaultLibrary", "documentation"};
constexpr uint32_t kDeclaration = 1, kReadonly = 2, kLibrary = 4, kDocumentation = 8;

struct Mark {
  Colour colour = Colour::Variable;
  uint32_t modifiers = 0;
};

Colour colour_of(EntityKind kind) {
  switch (kind) {
    case EntityKind::Module: return Colour::Namespace;
    case EntityKind::Function: return Colour::Function;
    case EntityKind::Method:
    case EntityKind::Step: return Colour::Method;
    case EntityKind::Type:
    case EntityKind::Metric:
    case EntityKind::Data:
    case EntityKind::Block:
    case EntityKind::Model:
    case EntityKind::Callback: return Colour::Class;
    case EntityKind::Param:
    case EntityKind::Binder: return Colour::Parameter;
    case EntityKind::Hparam:
    case EntityKind::Const:
    case EntityKind::Topology:
    case EntityKind::Experiment:
    case EntityKind::Local: return Colour::Variable;
    case EntityKind::Member:
    case EntityKind::State:
    case EntityKind::Stream:
    case EntityKind::Field:
    case EntityKind::Series: return Colour::Property;
  }
  return Colour::Variable;
}

Colour colour_of(PlainKind kind) {
  switch (kind) {
    case PlainKind::Setting:
    case PlainKind::Field: return Colour::Property;
    case PlainKind::Type: return Colour::Type;
    case PlainKind::Hook: return Colour::Event;
  }
  return Colour::Property;
}

using Marks = std::unordered_map<uint32_t, Mark>;

Marks marks_of(const Snapshot& snapshot) {
  Marks marks;
  for (const PlainName& name : snapshot.index->plain()) {
    if (name.span.source == kMain) marks[name.span.begin] = {colour_of(name.kind), 0};
  }
  for (const Use& use : snapshot.index->uses()) {
    if (use.span.source != kMain) continue;
    const Entity& entity = snapshot.index->entity(use.entity);
    Mark mark{colour_of(entity.kind), 0};
    if (use.is_definition) mark.modifiers |= kDeclaration;
    if (entity.kind == EntityKind::Const || entity.kind == EntityKind::Hparam) mark.modifiers |= kReadonly;
    if (snapshot.compilation.graph->modules[entity.module].is_library) mark.modifiers |= kLibrary;
    marks[use.span.begin] = mark;
  }
  return marks;
}

struct Token {
  Span span;
  Mark mark;
};

std::vector<Token> tokens_of(const Snapshot& snapshot) {
  using K = lex::TokenKind;
  diagnostics::Sink sink;
  const lex::TokenBuffer buffer = lex::lex(kMain, snapshot.text(), sink);
  const Marks marks = marks_of(snapshot);
  std::vector<Token> tokens;
  for (const lex::Token& token : buffer.tokens) {
    const auto mark = marks.find(token.span.begin);
    const bool is_named = mark != marks.end() && lex::is_name(token.kind);
    if (is_named) {
      tokens.push_back({token.span, mark->second});
    } else if (lex::is_keyword(token.kind) || lex::is_reserved(token.kind)) {
      tokens.push_back({token.span, {Colour::Keyword}});
    } else if (token.kind == K::Int || token.kind == K::Float || token.kind == K::Unit) {
      tokens.push_back({token.span, {Colour::Number}});
    } else if (token.kind == K::Str || token.kind == K::StrBegin || token.kind == K::StrText ||
               token.kind == K::StrEnd || token.kind == K::InterpFormat) {
      tokens.push_back({token.span, {Colour::String}});
    }
  }
  for (const lex::Comment& comment : buffer.comments)
    tokens.push_back({comment.span, {Colour::Comment, comment.is_doc ? kDocumentation : 0}});
  std::sort(tokens.begin(), tokens.end(), [](const Token& left, const Token& right) { return left.span < right.span; });
  return tokens;
}

}  // namespace

Json semantic_legend() { return {{"tokenTypes", kColours}, {"tokenModifiers", kModifiers}}; }

Json semantic_tokens(const Snapshot& snapshot) {
  Json data = Json::array();
  const std::string_view text = snapshot.text();
  const source::LineIndex& lines = snapshot.lines();
  uint32_t last_line = 0, last_column = 0;
  for (const Token& token : tokens_of(snapshot)) {
    // A token of several lines (a `"""` string) is told line by line.
    for (uint32_t begin = token.span.begin; begin < token.span.end;) {
      const uint32_t line_end = uint32_t(std::min<size_t>(text.find('\n', begin), token.span.end));
      const std::string_view piece = text.substr(begin, line_end - begin);
      const uint32_t row = lines.line_of(begin), line = row - 1;
      const uint32_t column = utf16_length(text.substr(lines.begin_of(row), begin - lines.begin_of(row)));
      if (!piece.empty()) {
        const uint32_t shift = line == last_line ? column - last_column : column;
        for (const uint32_t number :
             {line - last_line, shift, utf16_length(piece), uint32_t(token.mark.colour), token.mark.modifiers}) {
          data.push_back(number);
        }
        last_line = line;
        last_column = column;
      }
      begin = line_end + 1;
    }
  }
  return {{"data", std::move(data)}};
}

Json inlay_hints(const Snapshot& snapshot, const Json& range) {
  Json result = Json::array();
  if (!snapshot.compilation.program) return result;
  const uint32_t begin = snapshot.offset(range.at("start")), end = snapshot.offset(range.at("end"));
  std::set<Span> seen;
  for (const Inferred& inferred : snapshot.index->inferred()) {
    const Span span = inferred.name;
    if (span.source != kMain || span.end < begin || span.begin > end || !seen.insert(span).second) continue;
    const std::string text = check::to_text(*inferred.type, snapshot.compilation.program->atoms);
    if (text.size() > 60) continue;
    result.push_back({{"position", position_of(snapshot.text(), snapshot.lines(), span.end)},
                      {"label", ": " + text},
                      {"kind", 1},
                      {"paddingLeft", false}});
  }
  return result;
}

Json formatting(const Snapshot& snapshot, const Json* range) {
  source::SourceManager sources;
  diagnostics::Sink sink;
  const source::SourceId id = sources.add(snapshot.path, std::string(snapshot.text()));
  const ast::Module before = parse::parse(id, sources, sink);
  if (sink.has_errors()) return nullptr;
  const std::string text = format::format(before, sources.text(id));
  const source::SourceId copy = sources.add(snapshot.path, text);
  const ast::Module after = parse::parse(copy, sources, sink);
  if (sink.has_errors() || !format::is_same_tree(before, after))
    throw std::runtime_error("formatting would change what the program means; please report this file");
  const uint32_t first = range != nullptr ? snapshot.offset(range->at("start")) : 0;
  const uint32_t last = range != nullptr ? snapshot.offset(range->at("end")) : UINT32_MAX;
  Json edits = Json::array();
  for (const TextEdit& edit : line_edits(kMain, snapshot.text(), text)) {
    if (edit.span.end < first || edit.span.begin > last) continue;
    edits.push_back({{"range", snapshot.range(edit.span)}, {"newText", edit.text}});
  }
  return edits;
}

}  // namespace ltr::language_server

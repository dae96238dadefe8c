#include <fmt/core.h>

#include "dsl/check/experiment/settings.h"
#include "ltrc/doc_entry.h"
#include "ltrc/language_pages.h"
#include "ltrc/language_server/cursor.h"
#include "ltrc/language_server/features.h"

namespace ltr::language_server {

namespace {

const char* word_of(EntityKind kind) {
  switch (kind) {
    case EntityKind::Module: return "module";
    case EntityKind::Hparam: return "hparam";
    case EntityKind::Type: return "type";
    case EntityKind::Const: return "const";
    case EntityKind::Function: return "function";
    case EntityKind::Metric: return "metric";
    case EntityKind::Data: return "data";
    case EntityKind::Block: return "block";
    case EntityKind::Model: return "model";
    case EntityKind::Callback: return "callback";
    case EntityKind::Topology: return "topology";
    case EntityKind::Experiment: return "experiment";
    case EntityKind::Param: return "parameter";
    case EntityKind::Binder: return "dim";
    case EntityKind::Local: return "local";
    case EntityKind::Member: return "member";
    case EntityKind::Method: return "method";
    case EntityKind::Step: return "step";
    case EntityKind::State: return "state";
    case EntityKind::Stream: return "stream";
    case EntityKind::Field: return "field";
    case EntityKind::Series: return "series";
  }
  return "name";
}

const char* text_of(check::Fate fate) {
  switch (fate) {
    case check::Fate::Proven: return "proven";
    case check::Fate::AtStart: return "checked at start";
    case check::Fate::FirstBatch: return "checked on the first batch";
  }
  return "";
}

/// The first line of what declares it, and the lines that its parentheses go on to.
std::string head_of(std::string_view text) {
  int depth = 0;
  std::string head;
  for (const char c : text) {
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (depth <= 0 && (c == '\n' || c == '{')) break;
    head += c;
  }
  while (!head.empty() && (head.back() == ' ' || head.back() == '\r')) head.pop_back();
  return head;
}

void add_obligations(const Snapshot& snapshot, uint32_t offset, std::string& text) {
  const auto add = [&](const std::vector<check::Obligation>& list) {
    for (const check::Obligation& obligation : list) {
      if (obligation.span.source != kMain || offset < obligation.span.begin || offset > obligation.span.end) {
        continue;
      }
      std::string line = fmt::format("\n\n`{}`: {}", obligation.text, text_of(obligation.fate));
      if (!obligation.why.empty()) line += ", " + obligation.why;
      // One place may be used at several sizes.
      if (text.find(line) == std::string::npos) text += line;
    }
  };
  if (!snapshot.compilation.program) return;
  add(snapshot.compilation.program->obligations);
  for (const check::Experiment& experiment : snapshot.compilation.program->experiments) add(experiment.obligations);
}

/// The part of a text that is one word, with `offset` in it or at its end.
Span word_at(std::string_view text, uint32_t offset) {
  const auto is_letter = [&](uint32_t at) {
    return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
  };
  Span word{kMain, offset, offset};
  while (word.begin > 0 && is_letter(word.begin - 1)) --word.begin;
  while (is_letter(word.end)) ++word.end;
  return word;
}

std::string entry_text(const std::vector<driver::DocModule>& pages, const std::string& page, const std::string& name) {
  for (const driver::DocModule& module : pages) {
    for (const driver::DocEntry& entry : module.entries) {
      if (module.name() == page && entry.name == name)
        return "```ltr\n" + entry.signature + "\n```\n" + entry.kind + "\n\n" + entry.doc;
    }
  }
  return "";
}

/// What the language's reference says of a hook, a setting or a word of the language where it stands.
std::string reference_of(std::string_view text, Span span) {
  const Cursor cursor = cursor_at(text, span.end);
  const std::string word(text.substr(span.begin, span.end - span.begin));
  if (cursor.in_text || word.empty()) return "";
  const std::string brace = cursor.braces.empty() ? "" : cursor.braces.back();
  if (brace == "callback" && cursor.before == lex::TokenKind::On)
    return entry_text(driver::places_pages(), "hooks", word);
  if (!check::settings_of(brace).empty() && cursor.starts_entry) {
    std::string setting = entry_text(driver::settings_pages(), brace, word);
    if (!setting.empty()) return setting;
  }
  std::string result;
  if (lex::find_word(word) == lex::TokenKind::Name) return result;
  for (const driver::LanguageSection* section : driver::find_sections(word))
    result += (result.empty() ? "" : "\n\n") + section->text;
  return result;
}

std::string type_text(const check::Type& type, const Snapshot& snapshot) {
  return check::to_text(type, snapshot.compilation.program->atoms);
}

}  // namespace

std::string signature_of(const Entity& entity, const Snapshot& snapshot) {
  const source::SourceManager& sources = snapshot.sources();
  switch (entity.kind) {
    case EntityKind::Hparam:
    case EntityKind::Type:
    case EntityKind::Const:
    case EntityKind::Function:
    case EntityKind::Metric:
    case EntityKind::Data:
    case EntityKind::Block:
    case EntityKind::Model:
    case EntityKind::Callback:
    case EntityKind::Topology:
    case EntityKind::Experiment: {
      const resolve::Module& module = snapshot.compilation.graph->modules[entity.module];
      for (driver::DocEntry& entry : driver::document(module.ast, sources).entries) {
        const bool is_it = entry.name == entity.name && entry.line == sources.position(entity.whole).begin.line;
        if (is_it) return std::move(entry.signature);
      }
      return head_of(sources.text(entity.whole));
    }
    case EntityKind::Member:
    case EntityKind::Method:
    case EntityKind::Step:
    case EntityKind::State:
    case EntityKind::Stream:
    case EntityKind::Param:
    case EntityKind::Field: return head_of(sources.text(entity.whole));
    case EntityKind::Module:
    case EntityKind::Binder:
    case EntityKind::Local: return entity.name;
    case EntityKind::Series: return entity.container + "." + entity.name;
  }
  return entity.name;
}

Json hover(const Snapshot& snapshot, uint32_t offset) {
  const Index& index = *snapshot.index;
  const Use* use = index.use_at(kMain, offset);
  const TypedPlace* typed = use != nullptr ? index.typed(use->span) : index.typed_at(kMain, offset);
  if (use == nullptr && cursor_at(snapshot.text(), offset + 1).in_comment) return nullptr;
  std::string text;
  Span span = typed != nullptr ? typed->span : Span{};
  if (use != nullptr) {
    const Entity& entity = index.entity(use->entity);
    span = use->span;
    std::string signature = signature_of(entity, snapshot);
    const check::Type* type = typed != nullptr ? typed->type : nullptr;
    for (const Inferred& inferred : index.inferred()) {
      // At another use the newest version before it is what is read; the typed place knows that.
      if (inferred.name == use->span) type = &inferred.type[0];
    }
    const bool is_plain = entity.kind == EntityKind::Local || entity.kind == EntityKind::Binder;
    if (type != nullptr && is_plain) signature += ": " + type_text(*type, snapshot);
    text = "```ltr\n" + signature + "\n```\n" + word_of(entity.kind);
    const bool is_inside = !entity.container.empty() && entity.kind != EntityKind::Series;
    if (is_inside) text += " of `" + entity.container + "`";
    const std::string_view path = snapshot.sources().path(entity.span.source);
    if (path.starts_with("std/")) text += fmt::format(", {}", path);
    const bool is_called = type != nullptr && type->kind == check::Kind::Function;
    if (type != nullptr && !is_plain && !is_called) text += "\n\nhere: `" + type_text(*type, snapshot) + "`";
    // What is called has no type of its own; the smallest expression around it is the call.
    const TypedPlace* call = typed == nullptr ? index.typed_at(kMain, offset) : nullptr;
    if (call != nullptr && entity.params != nullptr) text += "\n\ngives `" + type_text(*call->type, snapshot) + "`";
    if (!entity.doc.empty()) text += "\n\n" + entity.doc;
  } else if (typed != nullptr) {
    text = "```ltr\n" + type_text(*typed->type, snapshot) + "\n```";
  }
  if (use == nullptr) {
    const Span word = word_at(snapshot.text(), offset);
    if (const std::string reference = reference_of(snapshot.text(), word); !reference.empty()) {
      text = reference;
      span = word;
    }
  }
  add_obligations(snapshot, offset, text);
  if (text.empty()) return nullptr;
  Json result = {{"contents", {{"kind", "markdown"}, {"value", text}}}};
  if (!span.is_empty()) result["range"] = snapshot.range(span);
  return result;
}

}  // namespace ltr::language_server

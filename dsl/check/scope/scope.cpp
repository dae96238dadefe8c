#include "dsl/check/scope/scope.h"

#include "runtime/tables/roles.h"

namespace ltr::check {

std::string Context::source_text(Span span) const { return std::string(sources.text(span)); }

Span Context::line_of(Span place) const {
  const source::LineIndex& lines = sources.lines(place.source);
  const uint32_t begin = lines.begin_of(lines.line_of(place.begin));
  return {place.source, begin, begin};
}

bool Context::is_size_new(Span use, const std::string& size) {
  const std::pair here(line_of(use), size);
  return is_trying ? !told.sizes.contains(here) : told.sizes.insert(here).second;
}

Scope Scope::in_file_of(Span span) const {
  Scope other = *this;
  other.module = cx.graph.module_of(span.source);
  return other;
}

LocalId Scope::declare(const std::string& name, Type type) {
  locals.push_back({name, std::move(type)});
  const LocalId id = LocalId(locals.size() - 1);
  frames.back()[name] = id;
  return id;
}

LocalId Scope::hidden_local(Type type) {
  locals.push_back({"", std::move(type)});
  return LocalId(locals.size() - 1);
}

std::optional<LocalId> Scope::find_local(const std::string& name) const {
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    if (const auto found = frame->find(name); found != frame->end()) return found->second;
  }
  return std::nullopt;
}

std::vector<std::string> Scope::near_names() const {
  std::vector<std::string> names;
  for (const auto& frame : frames) {
    for (const auto& [name, id] : frame) names.push_back(name);
  }
  for (const auto& [name, atom] : dim_names) names.push_back(name);
  if (owner != nullptr) {
    for (const ParamInfo& param : owner->params) names.push_back(param.name);
    for (const auto& [name, member] : owner->members) names.push_back(name);
    for (const auto& [name, fn] : owner->fns) {
      // The trainer calls these.
      const bool is_called = fn->role == FnRole::Hook || (fn->role == FnRole::Step && is_role(name));
      if (!is_called) names.push_back(name);
    }
  }
  for (std::string& name : brought_names()) names.push_back(std::move(name));
  return names;
}

std::vector<std::string> Scope::names() const {
  std::vector<std::string> names = near_names();
  for (const std::string& name : cx.graph.visible(module)) names.push_back(name);
  return names;
}

}  // namespace ltr::check

#pragma once

#include <string_view>
#include <unordered_map>

#include "dsl/check/scope/context.h"

// Names that stand twice in one list.
namespace ltr::check {

inline const ast::Name& name_in(const ast::Name& name) { return name; }
template <class Named>
const ast::Name& name_in(const Named& one) {
  return one.name;
}

/// Calls `report(one, first)` for each element of `list` that has the name of one before it.
template <class List, class Report>
void for_each_twice(const List& list, Report report) {
  std::unordered_map<std::string_view, decltype(&*list.begin())> first_of;
  for (const auto& one : list) {
    const auto [first, is_first] = first_of.try_emplace(name_in(one).text, &one);
    if (!is_first) report(one, *first->second);
  }
}

/// E0310 of `name`, which was declared at `first` already.
inline void report_second(Context& cx, const ast::Name& name, Span first) {
  cx.report(diag::duplicate_name(name.span, name.text).label(first, "first here"));
}

/// E0310 in a list of what declares names: parameters, sizes, fields.
template <class List>
void check_names(Context& cx, const List& list) {
  for_each_twice(list,
                 [&](const auto& one, const auto& first) { report_second(cx, name_in(one), name_in(first).span); });
}

}  // namespace ltr::check

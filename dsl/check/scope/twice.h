#pragma once

#include <algorithm>

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
  for (auto one = list.begin(); one != list.end(); ++one) {
    const auto first =
        std::find_if(list.begin(), one, [&](const auto& other) { return name_in(other).text == name_in(*one).text; });
    if (first != one) report(*one, *first);
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

#include <algorithm>
#include <cctype>
#include <utility>

#include "dsl/check/expressions/call.h"
#include "dsl/check/scope/aside.h"

namespace ltr::check {

namespace {

bool is_about(const diagnostics::Diagnostic& found, const Given& given) { return found.span == given.span; }

/// Whether what is said of an argument may come from its place: its type is another.
bool may_be_order(const diagnostics::Diagnostic& found) {
  return found.code == diagnostics::Code::E0306 || found.code == diagnostics::Code::E0307 ||
         found.code == diagnostics::Code::E0309;
}

/// Reads the call with two arguments in each other's place, and leaves no trace of it. Whether they fit so.
bool fits_swapped(const CallSite& site, size_t first, size_t second, const ReadArguments& read) {
  Context& cx = site.scope.cx;
  std::vector<Requirement>* requirements = site.scope.requirements;
  const size_t required = requirements != nullptr ? requirements->size() : 0;
  const size_t obliged = cx.program.obligations.size();
  diagnostics::Sink unheard;
  CallSite other = site;
  std::swap(other.given[first], other.given[second]);
  cx.is_trying = true;
  bool fits = false;
  {
    const Aside aside(cx, unheard);
    fits = read(other) && !unheard.has_errors();
  }
  cx.is_trying = false;
  if (requirements != nullptr) requirements->erase(requirements->begin() + long(required), requirements->end());
  cx.program.obligations.erase(cx.program.obligations.begin() + long(obliged), cx.program.obligations.end());
  return fits;
}

/// The two arguments that are in each other's place, if that is all that is wrong.
std::optional<std::pair<size_t, size_t>> find_swapped(const CallSite& site, const diagnostics::Sink& found,
                                                      const ReadArguments& read) {
  constexpr size_t kMost = 4;
  std::vector<size_t> written;
  bool is_blamed = false;
  for (size_t i = 0; i < site.given.size() && i < kMost; ++i) {
    const Given& given = site.given[i];
    if (given.name || given.value == nullptr) continue;
    written.push_back(i);
    for (const diagnostics::Diagnostic& one : found.reported())
      is_blamed = is_blamed || (may_be_order(one) && is_about(one, given));
  }
  if (!is_blamed) return std::nullopt;
  for (size_t a = 0; a < written.size(); ++a) {
    for (size_t b = a + 1; b < written.size(); ++b) {
      if (fits_swapped(site, written[a], written[b], read)) return std::pair(written[a], written[b]);
    }
  }
  return std::nullopt;
}

/// `Linear` of `linear` in a member, or as an element of a chain that is applied.
std::optional<std::string> layer_of(const CallSite& site) {
  if (site.scope.place != Place::Member && site.scope.cx.closures.open.empty()) return std::nullopt;
  std::string layer;
  for (size_t i = 0; i < site.name.size(); ++i) {
    const bool begins_word = i == 0 || site.name[i - 1] == '_';
    if (site.name[i] != '_') layer += begins_word ? char(std::toupper(site.name[i])) : site.name[i];
  }
  const std::vector<std::string>& known = site.scope.cx.graph.visible(site.scope.module);
  const bool is_other = layer != site.name && std::find(known.begin(), known.end(), layer) != known.end();
  return is_other ? std::optional(layer) : std::nullopt;
}

}  // namespace

bool read_or_blame_order(CallSite& site, const std::vector<ParamInfo>& params, const Type& result,
                         const ReadArguments& read) {
  Context& cx = site.scope.cx;
  diagnostics::Sink found;
  bool fits = false;
  {
    const Aside aside(cx, found);
    fits = read(site);
  }
  if (found.reported().empty()) return fits;
  if (const auto layer = fits || !result.is_tensor() ? std::nullopt : layer_of(site)) {
    cx.report(diag::wrong_argument(site.name_span, "`" + site.name + "` computes, and here a layer is built")
                  .help("did you mean `{}`?", *layer)
                  .fix(site.name_span, *layer));
    return false;
  }
  const auto swapped = fits || cx.is_trying ? std::nullopt : find_swapped(site, found, read);
  bool is_told = false, is_shifted = false;
  for (diagnostics::Diagnostic one : found.reported()) {
    // One too many in front moves those behind it into places that are not theirs.
    const bool is_of_place =
        !fits && one.code == diagnostics::Code::E0309 && std::ranges::any_of(site.given, [&](const Given& given) {
          return !given.name && given.value != nullptr && is_about(one, given);
        });
    if (is_of_place && std::exchange(is_shifted, true)) continue;
    const bool is_of_these =
        swapped && (is_about(one, site.given[swapped->first]) || is_about(one, site.given[swapped->second]));
    if (is_of_these && is_told) continue;
    if (is_of_these) {
      const Given &first = site.given[swapped->first], &second = site.given[swapped->second];
      const std::string left = cx.source_text(first.span), right = cx.source_text(second.span);
      one.helps.clear();
      one.fixes.clear();
      one.help("`{}` and `{}` are swapped: `{}, {}`", params[swapped->first].name, params[swapped->second].name, right,
               left);
      one.fix(first.span, right).fix(second.span, left);
      is_told = true;
    }
    cx.report(std::move(one));
  }
  return fits;
}

}  // namespace ltr::check

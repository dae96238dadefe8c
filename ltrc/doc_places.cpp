#include <fmt/core.h>

#include "dsl/check/declarations/hook.h"
#include "dsl/check/scope/places.h"
#include "ltrc/doc_entry.h"

namespace ltr::driver {

namespace {

/// Where a name is known.
std::string reach_of(const check::PlaceName& name) {
  switch (name.reach) {
    case check::Reach::Steps: return "in steps and hooks";
    case check::Reach::Settings: return "in steps and hooks, members, optimizers and experiments";
    case check::Reach::SomeHooks: break;
  }
  std::string hooks;
  for (const check::Hook& hook : check::hooks()) {
    if (hook.brings(name.name)) hooks += (hooks.empty() ? "" : ", ") + std::string(hook.name);
  }
  return "in " + hooks;
}

DocModule hooks_page() {
  DocModule page;
  page.path = "callback { … }";
  page.title = "places/hooks";
  for (const check::Hook& hook : check::hooks()) {
    DocEntry entry;
    entry.name = hook.name;
    entry.kind = "hook";
    entry.signature = fmt::format("on {} {{ … }}", hook.name);
    entry.doc = hook.doc;
    for (const check::PlaceName& name : check::kPlaceNames) {
      if (hook.brings(name.name)) entry.parts.push_back(fmt::format("{}: {}", name.name, name.type));
    }
    page.entries.push_back(std::move(entry));
  }
  return page;
}

DocModule names_page() {
  DocModule page;
  page.path = "step, callback { … }";
  page.title = "places/names";
  for (const check::PlaceName& name : check::kPlaceNames) {
    DocEntry entry;
    entry.name = name.name;
    entry.kind = "name of a place";
    entry.signature = fmt::format("{}: {}", name.name, name.type);
    entry.doc = name.doc;
    entry.parts.push_back(reach_of(name));
    page.entries.push_back(std::move(entry));
  }
  return page;
}

}  // namespace

std::vector<DocModule> places_pages() { return {hooks_page(), names_page()}; }

}  // namespace ltr::driver

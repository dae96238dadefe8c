#include <fmt/core.h>

#include "dsl/check/declarations/hook.h"
#include "dsl/check/scope/members.h"
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

DocModule members_page(const char* title, const char* path) {
  DocModule page;
  page.path = path;
  page.title = std::string("members/") + title;
  return page;
}

/// What stands behind a dot: `form` is how it is written.
void add_member(DocModule& page, const char* kind, std::string name, std::string_view form, std::string_view doc) {
  DocEntry entry;
  entry.name = std::move(name);
  entry.kind = kind;
  entry.signature = form;
  entry.doc = doc;
  page.entries.push_back(std::move(entry));
}

DocModule optimizer_page() {
  DocModule page = members_page("optimizer", "step, callback { … }");
  for (const check::OptimizerMethod& one : check::kOptimizerMethods) {
    add_member(page, "method of an optimizer", std::string(one.name), one.form, one.doc);
    page.entries.back().parts = {"in manual steps"};
  }
  for (const check::OptimizerField& one : check::kOptimizerFields)
    add_member(page, "field of an optimizer", std::string(one.name), one.form, one.doc);
  return page;
}

DocModule facts_page() {
  DocModule page = members_page("facts", "data { … }");
  for (const check::FactField& one : check::kFactFields)
    add_member(page, "fact of a field", std::string(one.name), one.form, one.doc);
  return page;
}

DocModule vocabulary_page() {
  DocModule page = members_page("vocabulary", "data { … }");
  for (const check::VocabularyMethod& one : check::kVocabularyMethods) {
    const std::string forms = fmt::format("{}\n{}", one.of_words.text, one.of_tokens.text);
    add_member(page, "method of a vocabulary", std::string(one.name), forms, one.doc);
  }
  const std::string size(check::kVocabularySize);
  add_member(page, "field of a vocabulary", size, "words." + size + ": int", check::kVocabularySizeDoc);
  return page;
}

DocModule run_page() {
  DocModule page = members_page("run", "callback, experiment { … }");
  for (const check::RunField& one : check::kRunFields)
    add_member(page, "field of the run", "run." + std::string(one.name), one.form, one.doc);
  return page;
}

}  // namespace

std::vector<DocModule> places_pages() {
  return {hooks_page(), names_page(), optimizer_page(), facts_page(), vocabulary_page(), run_page()};
}

}  // namespace ltr::driver

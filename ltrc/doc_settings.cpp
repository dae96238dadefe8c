#include "dsl/check/settings.h"
#include "ltrc/doc_entry.h"

namespace ltr::driver {

namespace {

struct Setting {
  const char* path;
  const char* initial;
  const char* doc;
};

/// What every run has, as the runtime resolves it: a table of text, the one place of defaults and meanings.
constexpr Setting kSettings[] = {
#define LTR_SETTING(path, type, initial, doc) {path, initial, doc},
#include "runtime/cli/settings.def"
#undef LTR_SETTING
};

}  // namespace

std::vector<DocModule> settings_pages() {
  const std::pair<const char*, const std::vector<check::SettingInfo>&> sections[] = {
      {"trainer", check::trainer_settings()}, {"topology", check::topology_settings()}};
  std::vector<DocModule> pages;
  for (const auto& [section, infos] : sections) {
    DocModule page;
    page.path = std::string(section) + " { … }";
    page.title = "settings/" + std::string(section);
    for (const check::SettingInfo& info : infos) {
      for (const Setting& setting : kSettings) {
        if (setting.path != std::string(section) + "." + info.name) continue;
        DocEntry entry;
        entry.name = info.name;
        entry.kind = "setting";
        entry.signature = std::string(info.name) + ": " + info.type + " = " + setting.initial;
        entry.doc = setting.doc;
        page.entries.push_back(std::move(entry));
      }
    }
    pages.push_back(std::move(page));
  }
  return pages;
}

}  // namespace ltr::driver

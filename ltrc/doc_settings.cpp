#include "dsl/check/experiment/settings.h"
#include "ltrc/doc_entry.h"
#include "runtime/tables/precisions.h"
#include "runtime/tables/schedulers.h"
#include "runtime/tables/strategies.h"

namespace ltr::driver {

namespace {

struct Setting {
  std::string path;
  std::string type;
  const char* initial;
  const char* doc;
};

/// What every run has, as the runtime resolves it: a table of text, the one place of defaults and meanings.
const Setting kSettings[] = {
#define LTR_SETTING(path, type, initial, range, doc) {path, type, initial, doc},
#include "runtime/tables/settings.def"
};

/// The type as `.ltr` writes it; of what has a form of its own there (`mesh = (…)`, `shard …`), that of its part.
std::string type_of(const std::string& name, const std::string& type, const std::vector<check::SettingInfo>& infos) {
  for (const check::SettingInfo& info : infos) {
    if (info.name == name) return std::string(info.type);
  }
  const std::string option = "option[";
  return type.starts_with(option) ? type.substr(option.size(), type.size() - option.size() - 1) : type;
}

/// Each scheduler with what it may be told, as its call is written.
DocModule schedulers_page() {
  DocModule page;
  page.path = "topology { scheduler = … }";
  page.title = "settings/scheduler";
  for (const std::string& name : check::choices_of(LTR_SCHEDULER_TYPE)) {
    DocEntry entry;
    entry.name = name;
    entry.kind = "scheduler";
    entry.signature = name + "(\n";
    for (const check::SchedulerField& field : check::scheduler_fields(name)) {
      const std::string type = field.setting.type == "text" ? "any" : std::string(field.setting.type);
      entry.signature += std::string("  ") + field.setting.name + ": " + type + "  # " + field.doc + "\n";
    }
    entry.signature += ")";
    entry.doc = "What starts the run, and what it is told of the job; none of it must be said.";
    page.entries.push_back(std::move(entry));
  }
  return page;
}

}  // namespace

std::vector<DocModule> settings_pages() {
  std::vector<DocModule> pages;
  // The table has all of a section one behind the other.
  for (const Setting& setting : kSettings) {
    const size_t point = setting.path.find('.');
    const std::string section = setting.path.substr(0, point), title = "settings/" + section;
    const auto& infos = check::settings_of(section);
    if (infos.empty()) continue;
    if (pages.empty() || pages.back().title != title) pages.push_back({.path = section + " { … }", .title = title});
    DocEntry& entry = pages.back().entries.emplace_back();
    entry.name = setting.path.substr(point + 1);
    entry.kind = "setting";
    entry.signature = entry.name + ": " + type_of(entry.name, setting.type, infos) + " = " + setting.initial;
    entry.doc = setting.doc;
  }
  pages.push_back(schedulers_page());
  return pages;
}

}  // namespace ltr::driver

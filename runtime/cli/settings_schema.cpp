#include "runtime/cli/settings_schema.h"

#include <cmath>
#include <set>

#include <nlohmann/json.hpp>

#include "doors/json.h"
#include "runtime/settings/value_text.h"
#include "runtime/tables/ranges.h"

namespace ltr::cli {

namespace {

// A schema is read by people, too: in the order in which settings are shown.
using Json = nlohmann::ordered_json;

struct SchemaRow {
  const char* path;
  Range range;
  const char* doc;
};
const SchemaRow kSchemaRows[] = {
#define LTR_SETTING(path, type, initial, range, doc) {path, range, doc},
#include "runtime/tables/settings.def"
};

/// The inside of `list[T]`, if `type` begins so.
Option<Str> inside(const Str& type, const Str& begin) {
  if (!type.starts_with(begin + "[") || !type.ends_with("]")) return {};
  return type.substr(begin.size() + 1, type.size() - begin.size() - 2);
}

/// What a value of `type` is in JSON. What has a form of its own in `.ltr`, such as `10 min`, is a text as it is written there.
Json of_type(const Str& type) {
  if (type == "int") return {{"type", "integer"}};
  if (type == "float") return {{"type", "number"}};
  if (type == "bool") return {{"type", "boolean"}};
  if (type == "str" || type == "path") return {{"type", "string"}};
  if (const Option<Str> inner = inside(type, "option")) return {{"anyOf", {of_type(*inner), {{"type", "null"}}}}};
  if (const Option<Str> inner = inside(type, "list")) return {{"type", "array"}, {"items", of_type(*inner)}};
  if (const Option<Str> words = inside(type, "one_of")) {
    Json list = Json::array();
    for (size_t at = 0; at < words->size();) {
      const size_t end = std::min(words->find(',', at), words->size());
      list.push_back(words->substr(at, end - at));
      at = words->find_first_not_of(" ", end + 1) == Str::npos ? words->size() : words->find_first_not_of(" ", end + 1);
    }
    return {{"enum", list}};
  }
  return {{"type", {"string", "number"}}, {"$comment", type.empty() ? "as in a program" : type + ", as in a program"}};
}

void add_range(Json& schema, const Range& range) {
  // Of an option what its value is.
  Json& own = schema.contains("anyOf") ? schema["anyOf"][0] : schema;
  const auto type = own.find("type");
  if (type == own.end() || (*type != "integer" && *type != "number")) return;
  if (std::isfinite(range.low)) own[range.is_low_open ? "exclusiveMinimum" : "minimum"] = range.low;
  if (std::isfinite(range.high)) own[range.is_high_open ? "exclusiveMaximum" : "maximum"] = range.high;
}

/// The object that holds the property `path`, whose name there `name` becomes: `steps` of `trainer.steps`. What stands behind a setting
/// keeps its dot, `precision.reduce`: a file says both side by side.
Json& owner_of(Json& schema, const Str& path, const std::set<Str>& settings, Str& name) {
  Json* owner = &schema;
  size_t begin = 0;
  for (size_t dot = path.find('.'); dot != Str::npos && !settings.contains(path.substr(0, dot));
       dot = path.find('.', begin)) {
    Json& inner = (*owner)["properties"][path.substr(begin, dot - begin)];
    if (inner.is_null()) inner = {{"type", "object"}, {"additionalProperties", false}};
    owner = &inner;
    begin = dot + 1;
  }
  name = path.substr(begin);
  return *owner;
}

}  // namespace

Str settings_schema(const RunSettings& settings, const Str& experiment) {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", "settings of " + experiment},
                 {"type", "object"},
                 {"additionalProperties", false}};
  std::set<Str> paths;
  for (const Resolved& setting : settings.resolved()) paths.insert(setting.path);
  for (const Resolved& setting : settings.resolved()) {
    const bool is_of_call = setting.path.starts_with("callbacks.") || setting.path.starts_with("loggers.");
    if (setting.type == "fixed" || is_of_call) continue;
    Json own = of_type(setting.type);
    const Str documented = [&]() -> Str {
      for (const SchemaRow& row : kSchemaRows) {
        if (setting.path == row.path) {
          add_range(own, row.range);
          return row.doc;
        }
      }
      for (const HparamInfo& info : settings.hparams()) {
        if (setting.path != info.name) continue;
        const Str rule = info.where[0] == '\0' ? "" : Str("where ") + info.where;
        return info.doc[0] == '\0' ? rule : rule.empty() ? Str(info.doc) : Str(info.doc) + "; " + rule;
      }
      return "";
    }();
    if (!documented.empty()) own["description"] = documented;
    own["default"] = Json(doors::try_json(to_json(setting.value)));
    Str name;
    owner_of(schema, setting.path, paths, name)["properties"][name] = std::move(own);
  }
  // Callbacks and loggers may be `off`, and have numbers where several have one name.
  for (const char* section : {"callbacks", "loggers"}) {
    if (!schema["properties"].contains(section)) schema["properties"][section] = {{"type", "object"}};
  }
  return schema.dump(2) + "\n";
}

}  // namespace ltr::cli

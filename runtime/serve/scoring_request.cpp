#include "runtime/serve/scoring_request.h"

#include <algorithm>
#include <sstream>

#include "doors/file.h"
#include "doors/json.h"
#include "runtime/api/error.h"
#include "runtime/data/json_cells.h"

namespace ltr::serve {

namespace {

using Json = nlohmann::json;

constexpr const char* kForms[] = {"instances", "inputs", "dataframe_records", "dataframe_split"};

[[noreturn]] void refuse(Str message) { throw Refusal{400, std::move(message)}; }

const Json::array_t& list_of(const Json& json, const char* what) {
  if (!json.is_array()) refuse(fmt::format("{} is {}, but a list is wanted", what, shown(json)));
  return json.get_ref<const Json::array_t&>();
}

/// The first field that takes `value`, which stands for a whole row.
const FieldInfo& field_of(const Json& value, const Schema& schema) {
  Str fault;
  for (const FieldInfo& field : schema) {
    try {
      static_cast<void>(cell_of(value, field));
      return field;
    } catch (const Misfit& misfit) {
      if (fault.empty()) fault = misfit.text;
    }
  }
  refuse(fmt::format("row 1: {}", fault));
}

/// Rows that are objects, or values of one field.
std::vector<Json> rows_of_list(const Json::array_t& list, const Schema& schema) {
  if (list.empty() || list[0].is_object()) return list;
  const Str name = field_of(list[0], schema).name;
  std::vector<Json> rows;
  for (const Json& value : list) rows.push_back(value.is_object() ? value : Json{{name, value}});
  return rows;
}

/// `{"x": [1, 2], "y": [3, 4]}`
std::vector<Json> rows_of_columns(const Json& columns) {
  std::vector<Json> rows;
  for (const auto& [name, column] : columns.items()) {
    const Json::array_t& values = list_of(column, fmt::format("inputs.{}", name).c_str());
    if (rows.empty()) rows.resize(values.size(), Json::object());
    if (values.size() != rows.size())
      refuse(fmt::format("inputs.{} has {} values, the fields before it {}", name, values.size(), rows.size()));
    for (size_t i = 0; i < values.size(); ++i) rows[i][name] = values[i];
  }
  return rows;
}

/// `{"columns": ["x", "y"], "data": [[1, 3], [2, 4]]}`, as pandas writes it with orient="split".
std::vector<Json> rows_of_frame(const Json& frame) {
  if (!frame.is_object() || !frame.contains("columns") || !frame.contains("data"))
    refuse("dataframe_split takes an object with columns and data");
  const Json::array_t& columns = list_of(frame["columns"], "dataframe_split.columns");
  for (const Json& column : columns) {
    if (!column.is_string())
      refuse(fmt::format("dataframe_split.columns holds {}, but names are wanted", shown(column)));
  }
  std::vector<Json> rows;
  for (const Json& values : list_of(frame["data"], "dataframe_split.data")) {
    if (!values.is_array() || values.size() != columns.size())
      refuse(fmt::format("row {}: it is no list of {} values", rows.size() + 1, columns.size()));
    Json row = Json::object();
    for (size_t i = 0; i < columns.size(); ++i) row[columns[i].get<Str>()] = values[i];
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<Json> rows_of_body(const Json& body, const Schema& schema) {
  if (body.is_array()) return rows_of_list(body.get_ref<const Json::array_t&>(), schema);
  const Str names = fmt::format("{}", fmt::join(kForms, ", "));
  if (!body.is_object())
    refuse(fmt::format("the body is {}, but an object with one of {} is wanted", shown(body), names));
  const char* form = nullptr;
  for (const auto& [name, value] : body.items()) {
    const auto known = std::find(std::begin(kForms), std::end(kForms), name);
    if (known != std::end(kForms)) {
      if (form != nullptr) refuse(fmt::format("both {} and {} are given", form, name));
      form = *known;
    } else if (name == "params" && (value.is_null() || value.empty())) {
      continue;  // MLflow's client always sends them.
    } else if (name == "params") {
      refuse("params: those of step predict are flags of this server");
    } else {
      refuse(fmt::format("{} is none of {}", name, names));
    }
  }
  if (form == nullptr) refuse(fmt::format("one of {} is wanted", names));
  const Json& value = body[form];
  if (Str(form) == "dataframe_split") return rows_of_frame(value);
  if (Str(form) == "inputs" && value.is_object()) return rows_of_columns(value);
  return rows_of_list(list_of(value, form), schema);
}

}  // namespace

ReadRows read_scoring_request(const doors::HttpRequest& request, const Schema& schema, bool refuses_names) {
  at({});  // Requests stand in no line of the program.
  const RowRules rules{.refuses_names = refuses_names, .refuses_rows = true};
  try {
    if (request.type == "application/json") {
      const std::vector<Json> rows = rows_of_body(doors::parse_json(request.body, "the body"), schema);
      if (rows.empty()) refuse("the body has no rows");
      return rows_of_json(rows, "row", schema, rules);
    }
    if (request.type == "text/csv") return rows_of_csv(request.body, "body", schema, rules);
    if (request.type == "application/jsonlines" || request.type == "application/x-ndjson") {
      std::istringstream lines(request.body);
      return rows_of_lines(lines, "body", schema, rules);
    }
  } catch (const Error& error) {
    refuse(error.help.empty() ? error.message : error.message + "; " + error.help);
  } catch (const doors::FormatError& error) {
    refuse(error.what());
  }
  throw Refusal{415, fmt::format("the body is {}; application/json, text/csv or application/jsonlines is taken",
                                 request.type.empty() ? "of no type" : request.type)};
}

}  // namespace ltr::serve

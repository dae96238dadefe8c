// Facts of the fields of a stream.

#include "ltr/facts.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/api/error.h"
#include "runtime/data/known.h"
#include "runtime/data/rows.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

constexpr int64_t kMockCount = 64;

/// JSON has no nan.
nlohmann::json number(double value) { return std::isnan(value) ? nlohmann::json() : nlohmann::json(value); }
double number(const nlohmann::json& json) { return json.is_null() ? NAN : json.get<double>(); }

/// The values of one field.
class Column {
 public:
  explicit Column(CellKind kind) : kind_(kind) {}

  void add(const FieldInfo& field, const Cell& cell) {
    if (field.form == FieldForm::Option && cell.is_missing) return void(++missing_);
    if (kind_ == CellKind::Text) return void(++texts_[cell.text]);
    const bool is_tensor = field.host[0] == '\0';
    if (kind_ != CellKind::Real) {
      const int64_t whole = is_tensor ? aten(cell.tensor).to(at::kLong).item<int64_t>() : cell.whole;
      ++wholes_[whole];
      return;
    }
    const double real = is_tensor ? aten(cell.tensor).to(at::kDouble).item<double>() : cell.real;
    if (std::isnan(real))
      ++missing_;
    else
      reals_.push_back(real);
  }

  nlohmann::json to_json() {
    nlohmann::json json = {{"missing", missing_}};
    if (kind_ == CellKind::Text) {
      int64_t count = 0;
      for (const auto& [text, times] : texts_) {
        json["classes"].push_back(text);
        json["counts"].push_back(times);
        count += times;
      }
      json["count"] = count;
      return json;
    }
    for (const auto& [whole, times] : wholes_) {
      json["classes"].push_back(whole);
      json["counts"].push_back(times);
      reals_.insert(reals_.end(), size_t(times), double(whole));
    }
    json["count"] = int64_t(reals_.size());
    add_numbers(json);
    return json;
  }

 private:
  void add_numbers(nlohmann::json& json) {
    std::sort(reals_.begin(), reals_.end());
    const size_t n = reals_.size();
    long double sum = 0;
    for (const double value : reals_) sum += value;
    const long double mean = n > 0 ? sum / n : NAN;
    long double squares = 0;
    for (const double value : reals_) squares += (value - mean) * (value - mean);
    json["mean"] = number(double(mean));
    json["std"] = number(n > 1 ? std::sqrt(double(squares / (n - 1))) : NAN);
    json["min"] = number(n > 0 ? reals_.front() : NAN);
    json["max"] = number(n > 0 ? reals_.back() : NAN);
    json["median"] = number(n > 0 ? (reals_[(n - 1) / 2] + reals_[n / 2]) / 2 : NAN);
  }

  CellKind kind_;
  int64_t missing_ = 0;
  std::vector<double> reals_;
  std::map<int64_t, int64_t> wholes_;
  std::map<Str, int64_t> texts_;
};

/// 64 values, as `--mock-data` has 64 characters.
nlohmann::json made_up(CellKind kind) {
  nlohmann::json json = {{"missing", 0}, {"count", kMockCount}};
  const int64_t classes = kind == CellKind::Bool ? 2 : kMockCount;
  for (int64_t i = 0; kind != CellKind::Real && i < classes; ++i) {
    json["classes"].push_back(kind == CellKind::Text ? nlohmann::json(fmt::format("class {:02}", i))
                                                     : nlohmann::json(i));
    json["counts"].push_back(kMockCount / classes);
  }
  if (kind != CellKind::Text) json.update({{"mean", 0}, {"std", 1}, {"min", -1}, {"max", 1}, {"median", 0}});
  return json;
}

}  // namespace

class FieldFacts {
 public:
  FieldFacts(const Facts& of, Str name) : of_(&of), name_(std::move(name)) {}
  /// What is known, once it is.
  const FieldFacts& known() const;
  /// The same where it is `what` of `wanted` values at least: R3003 if there are fewer, as no number stands for that.
  const FieldFacts& known(const char* what, int64_t wanted = 1) const;

  int64_t missing = 0;
  int64_t count = 0;
  double mean = NAN, std = NAN, min = NAN, max = NAN, median = NAN;
  std::vector<Str> texts;
  Ints wholes;
  Ints counts;

 private:
  const Facts* of_;
  Str name_;
};

class Facts : public Known {
 public:
  Facts(Str name, const Stream& stream, const std::vector<Str>& fields, const Location& location)
      : Known(std::move(name), stream, location) {
    const Schema& schema = stream.state()->schema();
    for (const Str& field : fields) {
      const auto found =
          std::find_if(schema.begin(), schema.end(), [&](const FieldInfo& one) { return field == one.name; });
      if (found == schema.end()) throw error_here(err::schema_differs, "facts", "there is no field " + field);
      columns_.push_back(size_t(found - schema.begin()));
      fields_.emplace(field, FieldFacts(*this, field));
    }
  }

  const FieldFacts& field(const Str& name) const { return fields_.at(name); }

 protected:
  nlohmann::json compute() const override {
    const StreamState& state = *stream().state();
    if (!is_mock_data() && state.size() == 0)
      throw error_at(location(), err::stream_too_short, fmt::format("{} is of a stream without records", name()));
    std::vector<Column> columns;
    for (const size_t at : columns_) columns.emplace_back(cell_kind(state.schema()[at]));
    Record record;
    for (int64_t i = 0; !is_mock_data() && i < state.size(); ++i) {
      if (!state.read({.index = i, .ordered = true}, record)) continue;
      for (size_t k = 0; k < columns.size(); ++k) columns[k].add(state.schema()[columns_[k]], record[columns_[k]]);
    }
    nlohmann::json json = nlohmann::json::object();
    for (size_t k = 0; k < columns.size(); ++k) {
      const FieldInfo& field = state.schema()[columns_[k]];
      json[field.name] = is_mock_data() ? made_up(cell_kind(field)) : columns[k].to_json();
    }
    return json;
  }

  void take(const nlohmann::json& json) const override {
    std::map<Str, FieldFacts> fields;
    for (const auto& [name, old] : fields_) {
      const nlohmann::json& from = json.at(name);
      FieldFacts facts(*this, name);
      facts.missing = from.at("missing");
      facts.count = from.at("count");
      if (from.contains("mean")) {
        facts.mean = number(from.at("mean"));
        facts.std = number(from.at("std"));
        facts.min = number(from.at("min"));
        facts.max = number(from.at("max"));
        facts.median = number(from.at("median"));
      }
      for (const nlohmann::json& one : from.value("classes", nlohmann::json::array())) {
        if (one.is_string())
          facts.texts.push_back(one);
        else
          facts.wholes.push_back(one);
      }
      for (const nlohmann::json& one : from.value("counts", nlohmann::json::array())) facts.counts.push_back(one);
      fields.emplace(name, std::move(facts));
    }
    // What stands in the map stays where it is: the program holds pointers to it.
    for (auto& [name, facts] : fields_) facts = std::move(fields.at(name));
  }

  Str key() const override {
    Str text;
    for (const auto& [name, facts] : fields_) text += name + ",";
    return text;
  }

 private:
  std::vector<size_t> columns_;
  mutable std::map<Str, FieldFacts> fields_;
};

const FieldFacts& FieldFacts::known() const {
  of_->need();
  return *this;
}

const FieldFacts& FieldFacts::known(const char* what, int64_t wanted) const {
  const FieldFacts& facts = known();
  if (facts.count < wanted) {
    throw error_at(of_->location(), err::bad_record, fmt::format("{}.{}.{}", of_->name(), name_, what),
                   fmt::format("{} record has a value of the field {}", facts.count == 0 ? "no" : "one", name_));
  }
  return facts;
}

const Facts* facts(Data& data, const Stream& stream, const Str& name, const std::vector<Str>& fields) {
  auto* made = new Facts(name, stream, fields, current_location());
  data.known.push_back(made);
  return made;
}

const FieldFacts* field_facts(const Facts* facts, const Str& field) { return &facts->field(field); }

double fact_mean(const FieldFacts* field) { return field->known("mean").mean; }
double fact_std(const FieldFacts* field) { return field->known("std", 2).std; }
double fact_min(const FieldFacts* field) { return field->known("min").min; }
double fact_max(const FieldFacts* field) { return field->known("max").max; }
double fact_median(const FieldFacts* field) { return field->known("median").median; }
int64_t fact_missing(const FieldFacts* field) { return field->known().missing; }
int64_t fact_count(const FieldFacts* field) { return field->known().count; }
int64_t fact_unique(const FieldFacts* field) { return int64_t(field->known().counts.size()); }
const std::vector<Str>& fact_texts(const FieldFacts* field) { return field->known().texts; }
const Ints& fact_ints(const FieldFacts* field) { return field->known().wholes; }
const Ints& fact_counts(const FieldFacts* field) { return field->known().counts; }

std::vector<bool> fact_bools(const FieldFacts* field) {
  const Ints& wholes = field->known().wholes;
  return {wholes.begin(), wholes.end()};
}

Floats fact_class_weights(const FieldFacts* field) {
  const FieldFacts& known = field->known();
  Floats weights;
  for (const int64_t count : known.counts)
    weights.push_back(double(known.count) / (double(known.counts.size()) * double(count)));
  return weights;
}

}  // namespace ltr

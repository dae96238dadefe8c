#include "runtime/settings/trainer_settings.h"

#include "runtime/settings/value_text.h"

namespace ltr {

namespace {

// How each type of field is read from the value that a run resolved.

void read(const Value& value, int64_t& field) {
  // `log_every = 10 steps` says the unit.
  field = value.is_none() ? -1 : value.kind == Value::Kind::Steps ? int64_t(value.real) : value.as_int();
}

void read(const Value& value, double& field) { field = value.is_none() ? -1 : value.real; }

void read(const Value& value, bool& field) { field = value.as_bool(); }

void read(const Value& value, Str& field) { field = value.kind == Value::Kind::Bool ? show(value) : value.text; }

void read(const Value& value, Limit& field) {
  if (value.kind == Value::Kind::Int) field.batches = value.whole;
  if (value.kind == Value::Kind::Call && !value.items.empty()) field.fraction = value.items[0].value.as_float();
}

void read(const Value& value, Value& field) { field = value; }

}  // namespace

TrainerSettings::TrainerSettings() {
  Str unused;
#define LTR_TRAINER(name, Field, type, written, initial, range, doc) read(*parse_value(initial, type, unused), name);
#include "runtime/tables/settings.def"
}

TrainerSettings::TrainerSettings(const std::function<Value(const char* path)>& value) {
#define LTR_TRAINER(name, Field, type, written, initial, range, doc) read(value("trainer." #name), name);
#include "runtime/tables/settings.def"
}

}  // namespace ltr

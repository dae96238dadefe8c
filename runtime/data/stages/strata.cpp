#include "runtime/data/stages/strata.h"

#include <algorithm>
#include <numeric>

#include "runtime/api/error.h"
#include "runtime/data/rows.h"
#include "runtime/tensor/handle.h"

namespace ltr {

size_t field_at(const Stream& stream, const Str& by, const char* stage) {
  const Schema& schema = stream.state()->schema();
  const auto field = std::find_if(schema.begin(), schema.end(), [&](const FieldInfo& info) { return by == info.name; });
  if (field == schema.end()) throw error_here(err::schema_differs, stage, "there is no field " + by);
  return size_t(field - schema.begin());
}

std::map<Str, std::vector<int64_t>> strata(const Stream& stream, const Str& by, const char* stage) {
  const StreamState& state = *stream.state();
  const size_t column = field_at(stream, by, stage);
  const FieldInfo* const field = &state.schema()[column];
  std::map<Str, std::vector<int64_t>> out;
  if (is_mock_data()) {
    out[""].resize(size_t(state.size()));
    std::iota(out[""].begin(), out[""].end(), int64_t(0));
    return out;
  }
  Record record;
  for (int64_t i = 0; i < state.size(); ++i) {
    const Early found = read_early(state, i, record);
    if (found == Early::LeftOut) continue;
    if (found == Early::Bad) {
      out[""].push_back(i);
      continue;
    }
    const Cell& cell = record[column];
    Str value = cell.text;
    if (field->form == FieldForm::Option && cell.is_missing) {
      out[""].push_back(i);
      continue;
    }
    if (field->host[0] == 'i' || field->host[0] == 'b') value = std::to_string(cell.whole);
    if (field->host[0] == 'f') value = text_of(cell.real);
    if (field->host[0] == '\0') value = std::to_string(aten(cell.tensor).item().toLong());
    out[value].push_back(i);
  }
  return out;
}

}  // namespace ltr

// `tokenize`: the text of a record as ids.

#include <algorithm>

#include "ltr/streams.h"
#include "runtime/api/error.h"
#include "runtime/data/stream.h"

namespace ltr {

namespace {

class Tokenize : public Stage {
 public:
  Tokenize(const Stream& inner, const Vocabulary* tok, Schema fields, size_t column)
      : Stage(std::move(fields), inner), tok_(tok), column_(column) {}

  Stream rebuilt(const Stream& source) const override {
    return Stream(new Tokenize(inner().rebuilt(source), tok_, schema_, column_));
  }

  bool read(const ReadAt& at, Record& out) const override {
    if (!inner().read(at, out)) return false;
    Cell ids;
    try {
      ids.tensor = encode_text(tok_, out[column_].text);
    } catch (const Error& error) {
      throw Error(error.code, fmt::format("{}: {}", name_of(at), error.message), location());
    }
    out[column_] = std::move(ids);
    return true;
  }

 private:
  const Vocabulary* tok_;
  size_t column_;
};

}  // namespace

Stream tokenize(const Stream& stream, const Vocabulary* tok, const Str& of) {
  Schema fields = stream.state()->schema();
  const auto text =
      std::find_if(fields.begin(), fields.end(), [&](const FieldInfo& field) { return of == field.name; });
  if (text == fields.end()) throw error_here(err::schema_differs, "tokenize", fmt::format("there is no field {}", of));
  *text = {"ids", DType::I64, {-1}, ""};
  const auto column = size_t(text - fields.begin());
  return Stream(new Tokenize(stream, tok, std::move(fields), column));
}

}  // namespace ltr

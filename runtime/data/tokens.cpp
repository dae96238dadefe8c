// `tokenizer`: parts of words as a file says.

#include <stdexcept>

#include "doors/file.h"
#include "doors/tokenizer/tokenizer.h"
#include "ltr/operators.h"
#include "runtime/api/error.h"
#include "runtime/data/paths.h"
#include "runtime/data/sources/source.h"
#include "runtime/data/vocabulary.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

constexpr int64_t kMockTokens = 64;

class Tokens : public Vocabulary {
 public:
  /// Of the file `path`, which a checkpoint may stand for.
  Tokens(Str name, Str path, const Location& location)
      : Vocabulary(std::move(name), Stream(), location), path_(std::move(path)) {}

  const char* unit() const override { return "token"; }
  int64_t size() const override { return is_mock_data() ? kMockTokens : tokenizer().size(); }

  int64_t id(const Str& token) const override {
    return is_mock_data() ? mock_id(token) : tokenizer().id(token).value_or(-1);
  }

  Ints encode(const Str& text) const {
    if (is_mock_data()) {
      Ints ids;
      for (const char c : text) ids.push_back(static_cast<unsigned char>(c) % kMockTokens);
      return ids;
    }
    try {
      return tokenizer().encode(text);
    } catch (const std::invalid_argument& error) {
      throw error_here(err::value_out_of_range, fmt::format("{}: {}", path_, error.what()));
    } catch (const std::runtime_error& error) {
      throw error_here(err::bad_record, fmt::format("{}: {}", path_, error.what()));
    }
  }

  Str text_of(const Ints& ids, const Str&) const override {
    if (is_mock_data()) return fmt::format("{} tokens", ids.size());
    try {
      return tokenizer().decode(ids);
    } catch (const std::out_of_range&) {
      for (const int64_t id : ids) {
        if (id < 0 || id >= size())
          throw error_here(err::value_out_of_range,
                           fmt::format("{} has no token {}: its ids are 0 to {}", name(), id, size() - 1));
      }
      throw error_here(err::value_out_of_range, fmt::format("{} has numbers without a token", name()));
    }
  }

 protected:
  nlohmann::json compute() const override {
    return reading(path_, [&] { return doors::read_file(path_); });
  }

  void take(const nlohmann::json& json) const override {
    const Str text = json;
    reading(path_, [&] { tokenizer_ = std::make_unique<const doors::Tokenizer>(text, path_); });
  }

  Str key() const override { return ""; }

 private:
  static int64_t mock_id(const Str& token) { return int64_t(std::hash<Str>()(token) % size_t(kMockTokens)); }

  const doors::Tokenizer& tokenizer() const {
    need();
    return *tokenizer_;
  }

  Str path_;
  mutable std::unique_ptr<const doors::Tokenizer> tokenizer_;
};

}  // namespace

const Vocabulary* tokenizer(Data& data, const Str& file, const Str& name) {
  Str path = file;
  if (!is_mock_data() && !is_known(name)) {
    path = find_path(file);
    note_opened(path);
  }
  auto* made = new Tokens(name, std::move(path), current_location());
  data.known.push_back(made);
  made->need();  // A file that is none is told of here.
  return made;
}

Tensor encode_text(const Vocabulary* tokens, const Str& text) {
  return tensor_of(static_cast<const Tokens*>(tokens)->encode(text), DType::I64);
}

}  // namespace ltr

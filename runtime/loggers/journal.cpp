// The journal `log.jsonl` (doors.md 0.3): everything that happened, for other tools to follow.

#include <fmt/format.h>

#include "doors/number.h"
#include "runtime/loggers/make.h"
#include "runtime/loggers/waiting.h"

namespace ltr::loggers {

namespace {

class Journal : public Logger {
 public:
  explicit Journal(Str path) : file_(std::move(path)) {}

  const char* name() const override { return "journal"; }

  void scalars(int64_t step, int64_t epoch, double time, const NamedValues& values) override {
    write("{\"kind\":\"metrics\",\"step\":" + std::to_string(step) + ",\"epoch\":" + std::to_string(epoch) +
              ",\"time\":" + seconds(time) + ",\"values\":" + object(values) + "}\n",
          true);
  }

  void system(int64_t step, double time, const NamedValues& values) override {
    write("{\"kind\":\"system\",\"step\":" + std::to_string(step) + ",\"time\":" + seconds(time) +
              ",\"values\":" + object(values) + "}\n",
          true);
  }

  void event(int64_t step, double time, const Str& name, const Str& json) override {
    write("{\"kind\":\"event\",\"event\":" + doors::json_string(name) + ",\"step\":" + std::to_string(step) +
              ",\"time\":" + seconds(time) + (json.empty() ? "" : "," + json) + "}\n",
          false);
  }

  void matrix(int64_t step, double time, const Str& tag, const std::vector<std::vector<double>>& rows) override {
    Str out;
    for (const std::vector<double>& row : rows) {
      Str cells;
      for (const double value : row) cells += (cells.empty() ? "" : ",") + doors::json_number(value);
      out += fmt::format("{}[{}]", out.empty() ? "" : ",", cells);
    }
    write("{\"kind\":\"matrix\",\"step\":" + std::to_string(step) + ",\"time\":" + seconds(time) +
              ",\"name\":" + doors::json_string(tag) + ",\"rows\":[" + out + "]}\n",
          true);
  }

  void flush() override { file_.flush(); }
  void close() override { file_.flush(); }
  bool is_waiting() const override { return file_.is_waiting(); }
  int64_t dropped() const override { return file_.dropped(); }

  void text(int64_t step, double time, const Str& tag, const Str& text) override {
    write("{\"kind\":\"text\",\"step\":" + std::to_string(step) + ",\"time\":" + seconds(time) +
              ",\"name\":" + doors::json_string(tag) + ",\"text\":" + doors::json_string(text) + "}\n",
          true);
  }

 private:
  /// Milliseconds suffice, and keep lines short.
  static Str seconds(double time) { return doors::shortest(double(int64_t(time * 1000 + 0.5)) / 1000); }

  static Str object(const NamedValues& values) {
    Str out = "{";
    for (const auto& [name, value] : values) {
      if (out.size() > 1) out += ',';
      out += doors::json_string(name) + ":" + doors::json_number(value);
    }
    return out + "}";
  }

  void write(Str line, bool may_drop) { file_.append(std::move(line), may_drop); }

  WaitingFile file_;
};

}  // namespace

std::unique_ptr<Logger> make_journal(const Str& path) { return std::make_unique<Journal>(path); }

}  // namespace ltr::loggers

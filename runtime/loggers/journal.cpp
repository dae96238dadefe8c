// The journal `log.jsonl` (doors.md 0.3): everything that happened, for other tools to follow.

#include <fcntl.h>
#include <unistd.h>
#include <cerrno>
#include <system_error>

#include "doors/number.h"
#include "runtime/loggers/make.h"

namespace ltr::loggers {

namespace {

class Journal : public Logger {
 public:
  explicit Journal(Str path) : path_(std::move(path)) {}
  ~Journal() override {
    if (file_ >= 0) ::close(file_);
  }

  const char* name() const override { return "journal"; }

  void scalars(int64_t step, int64_t epoch, double time, const NamedValues& values) override {
    write("{\"kind\":\"metrics\",\"step\":" + std::to_string(step) + ",\"epoch\":" + std::to_string(epoch) +
          ",\"time\":" + seconds(time) + ",\"values\":" + object(values) + "}\n");
  }

  void system(int64_t step, double time, const NamedValues& values) override {
    write("{\"kind\":\"system\",\"step\":" + std::to_string(step) + ",\"time\":" + seconds(time) +
          ",\"values\":" + object(values) + "}\n");
  }

  void event(int64_t step, double time, const Str& name, const Str& json) override {
    write("{\"kind\":\"event\",\"event\":" + doors::json_string(name) + ",\"step\":" + std::to_string(step) +
          ",\"time\":" + seconds(time) + (json.empty() ? "" : "," + json) + "}\n");
  }

  void text(int64_t step, double time, const Str& tag, const Str& text) override {
    write("{\"kind\":\"text\",\"step\":" + std::to_string(step) + ",\"time\":" + seconds(time) +
          ",\"name\":" + doors::json_string(tag) + ",\"text\":" + doors::json_string(text) + "}\n");
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

  void write(const Str& line) {
    if (file_ < 0) file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file_ < 0) throw std::system_error(errno, std::generic_category(), path_);
    ssize_t count = 0;
    do {
      count = ::write(file_, line.data(), line.size());
    } while (count < 0 && errno == EINTR);
    if (count != ssize_t(line.size())) {
      throw std::system_error(count < 0 ? errno : ENOSPC, std::generic_category(), path_);
    }
  }

  Str path_;
  int file_ = -1;
};

}  // namespace

std::unique_ptr<Logger> make_journal(const Str& path) {
  return std::make_unique<Journal>(path);
}

}  // namespace ltr::loggers

// `Wandb()`: the offline folder of a run, written from its journal by the logging thread. What a full disk does not take comes from the
// journal later.

#include <fmt/format.h>

#include <chrono>
#include <system_error>

#include "doors/wandb_file.h"
#include "runtime/api/error.h"
#include "runtime/loggers/make.h"
#include "runtime/loggers/waiting.h"

namespace ltr::loggers {

namespace {

constexpr std::chrono::seconds kPauseOfWandb{2};  // between looks into the journal

class WandbLogger : public Logger {
 public:
  WandbLogger(Str run_dir, doors::WandbSettings settings) : folder_(std::move(run_dir), std::move(settings)) {}

  const char* name() const override { return "Wandb"; }
  void scalars(int64_t, int64_t, double, const NamedValues&) override { write_soon(); }
  void system(int64_t, double, const NamedValues&) override { write_soon(); }
  void event(int64_t, double, const Str&, const Str&) override { write(); }
  void flush() override { write(); }
  void close() override { write(); }
  bool is_waiting() const override { return is_waiting_; }

 private:
  void write_soon() {
    if (std::chrono::steady_clock::now() - written_ >= kPauseOfWandb) write();
  }

  void write() {
    written_ = std::chrono::steady_clock::now();
    try {
      folder_.write_all();
      is_waiting_ = false;
    } catch (const std::system_error& error) {
      is_waiting_ = true;
      throw Waiting(error.code(), folder_.path());
    }
  }

  doors::WandbFolder folder_;
  std::chrono::steady_clock::time_point written_ = std::chrono::steady_clock::now();
  bool is_waiting_ = false;
};

}  // namespace

std::unique_ptr<Logger> make_wandb(const Value& call, const LoggerSetup& setup) {
  const auto text = [&](const char* name, const Str& initial) {
    const Value* value = call.find(name);
    return value == nullptr || value->is_none() ? initial : value->as_str();
  };
  doors::WandbSettings settings{
      .project = text("project", setup.experiment), .entity = text("entity", ""), .dir = text("dir", "")};
  if (const auto wrong = doors::WandbFolder::wrong_project(settings.project)) {
    throw error_at(call.location, err::settings_contradict, fmt::format("Wandb: the name of a project {}", *wrong));
  }
  return std::make_unique<WandbLogger>(setup.run_dir, std::move(settings));
}

}  // namespace ltr::loggers

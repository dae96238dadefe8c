// `TensorBoard()`: an event file in the run folder. A resumed run opens a new one. A record that a full disk does not take
// is lost; the next one goes into the same file.

#include <unistd.h>
#include <chrono>
#include <optional>

#include "runtime/loggers/make.h"

namespace ltr::loggers {

namespace {

class TensorBoard : public Logger {
 public:
  TensorBoard(Str folder, int64_t first_step, std::map<Str, doors::HparamValue> hparams)
      : folder_(std::move(folder)), first_step_(first_step), hparams_(std::move(hparams)) {}

  const char* name() const override { return "TensorBoard"; }
  bool takes_images() const override { return true; }

  void scalars(int64_t step, int64_t, double time, const NamedValues& values) override {
    write(step, time, [&](doors::EventFile& file) {
      for (const auto& [name, value] : values) file.scalar(step, time, name, value);
    });
  }
  void system(int64_t step, double time, const NamedValues& values) override { scalars(step, 0, time, values); }
  void image(int64_t step, double time, const Str& tag, const doors::Image& image) override {
    write(step, time, [&](doors::EventFile& file) { file.image(step, time, tag, image); });
  }
  void histogram(int64_t step, double time, const Str& tag, const doors::Histogram& histogram) override {
    write(step, time, [&](doors::EventFile& file) { file.histogram(step, time, tag, histogram); });
  }
  void text(int64_t step, double time, const Str& tag, const Str& text) override {
    write(step, time, [&](doors::EventFile& file) { file.text(step, time, tag, text); });
  }

  void event(int64_t step, double time, const Str& name, const Str&) override {
    if (name == "start" || name == "resume") {
      write(step, time, [](doors::EventFile&) {});
    }
    if (name == "finish" || name == "fail") {
      const auto status = name == "finish" ? doors::SessionStatus::Success : doors::SessionStatus::Failure;
      if (hparams_.empty()) return;
      write(step, time, [&](doors::EventFile& file) { file.hparams_end(time, status); });
    }
  }

 private:
  template <class Body>
  void write(int64_t step, double time, Body&& body) {
    if (!file_.has_value()) open(first_step_ >= 0 ? first_step_ : step, time);
    body(*file_);
  }

  void open(int64_t step, double time) {
    char host[256] = "localhost";
    ::gethostname(host, sizeof host - 1);
    file_.emplace(folder_ + "/" + doors::event_file_name(time, host, ::getpid(), 0), step, time);
    if (!hparams_.empty()) file_->hparams_start(time, hparams_);
  }

  Str folder_;
  int64_t first_step_;
  std::map<Str, doors::HparamValue> hparams_;
  std::optional<doors::EventFile> file_;
};

}  // namespace

std::unique_ptr<Logger> make_tensorboard(const Str& folder, int64_t resume_step,
                                         std::map<Str, doors::HparamValue> hparams) {
  return std::make_unique<TensorBoard>(folder, resume_step >= 0 ? resume_step + 1 : 0, std::move(hparams));
}

}  // namespace ltr::loggers

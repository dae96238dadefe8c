// `TensorBoard()`: an event file in the run folder. A resumed run opens a new one. A record that a full disk does not take
// is lost; the next one goes into the same file.
//
// A resumed run gives the row of the checkpoint's step once more. Readers would show it twice, and what makes them drop the
// older one would take images of that step along; so only what they do not have yet is written.

#include <unistd.h>
#include <chrono>
#include <exception>
#include <optional>
#include <set>

#include "runtime/loggers/make.h"

namespace ltr::loggers {

namespace {

class TensorBoard : public Logger {
 public:
  TensorBoard(Str folder, int64_t resume_step, std::map<Str, doors::HparamValue> hparams)
      : folder_(std::move(folder)), resume_step_(resume_step), hparams_(std::move(hparams)) {}

  const char* name() const override { return "TensorBoard"; }
  bool takes_images() const override { return true; }

  void scalars(int64_t step, int64_t, double time, const NamedValues& values) override {
    write(time, [&](doors::EventFile& file) {
      for (const auto& [name, value] : values) {
        if (step != resume_step_ || !known_.contains(name)) file.scalar(step, time, name, value);
      }
    });
  }
  void system(int64_t step, double time, const NamedValues& values) override { scalars(step, 0, time, values); }
  void image(int64_t step, double time, const Str& tag, const doors::Image& image) override {
    write(time, [&](doors::EventFile& file) { file.image(step, time, tag, image); });
  }
  void histogram(int64_t step, double time, const Str& tag, const doors::Histogram& histogram) override {
    write(time, [&](doors::EventFile& file) { file.histogram(step, time, tag, histogram); });
  }
  void text(int64_t step, double time, const Str& tag, const Str& text) override {
    write(time, [&](doors::EventFile& file) { file.text(step, time, tag, text); });
  }

  void event(int64_t, double time, const Str& name, const Str&) override {
    if (name == "start" || name == "resume") {
      write(time, [](doors::EventFile&) {});
    }
    if (name == "finish" || name == "fail") {
      const auto status = name == "finish" ? doors::SessionStatus::Success : doors::SessionStatus::Failure;
      if (hparams_.empty()) return;
      write(time, [&](doors::EventFile& file) { file.hparams_end(time, status); });
    }
  }

 private:
  template <class Body>
  void write(double time, Body&& body) {
    if (!file_.has_value()) open(time);
    body(*file_);
  }

  void open(double time) {
    if (resume_step_ >= 0) known_ = known_tags();
    char host[256] = "localhost";
    ::gethostname(host, sizeof host - 1);
    file_.emplace(folder_ + "/" + doors::event_file_name(time, host, ::getpid(), 0), resume_step_ + 1, time);
    if (!hparams_.empty()) file_->hparams_start(time, hparams_);
  }

  /// Of the row that stands there already.
  std::set<Str> known_tags() const {
    try {
      return doors::scalar_tags(doors::event_files(folder_), resume_step_);
    } catch (const std::exception&) {
      return {};  // A damaged file is no reason to write less.
    }
  }

  Str folder_;
  int64_t resume_step_;  ///< -1: of a new run
  std::set<Str> known_;
  std::map<Str, doors::HparamValue> hparams_;
  std::optional<doors::EventFile> file_;
};

}  // namespace

std::unique_ptr<Logger> make_tensorboard(const Str& folder, int64_t resume_step,
                                         std::map<Str, doors::HparamValue> hparams) {
  return std::make_unique<TensorBoard>(folder, resume_step, std::move(hparams));
}

}  // namespace ltr::loggers

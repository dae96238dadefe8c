// The faces of Progress: a bar with its own thread, plain lines, JSON events, what is said alone, silence.

#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "doors/number.h"
#include "runtime/cli/terminal.h"
#include "runtime/train/feed.h"

namespace ltr::cli {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Without what rounds measured: an epoch that had none of its own would show those of an earlier one.
std::vector<std::pair<Str, double>> without_rounds(Scalars values) {
  std::vector<std::pair<Str, double>> rest;
  for (const auto& one : values) {
    const Str role = one.first.substr(0, one.first.find('/'));
    if (role != role_name(Role::Val) && role != role_name(Role::Test)) rest.push_back(one);
  }
  return rest;
}

/// What all of them do alike: `print` to stdout, warnings and notices to stderr. `style = none` shows no more.
class Common : public Unheard {
 public:
  explicit Common(const Terminal& terminal) : terminal_(terminal) {}
  void print(const Str& text) override { out(text + "\n"); }
  void notice(const Str& text) override {
    if (terminal_.has_notices) say("note: " + text);
  }
  void warning(const Str& text) override {
    note_warning(text);
    if (terminal_.has_warnings) say("warning: " + text);
  }

 protected:
  virtual void say(const Str& line) { print_err(line + "\n"); }
  /// To stdout. A run does not end because nobody reads on; that is said once.
  void out(const Str& text) {
    if (terminal_.is_output_taken) return print_err(text);
    print_out(text);
    if (output_fault().empty() || is_told_.exchange(true)) return;
    print_err(fmt::format("warning: standard output takes nothing any more ({}); the run goes on without it\n",
                          output_fault()));
  }
  const Terminal terminal_;

 private:
  std::atomic<bool> is_told_ = false;
};

class Quiet : public Common {
 public:
  using Common::Common;
  void notice(const Str&) override {}
  void warning(const Str& text) override { note_warning(text); }
};

/// One line per round and per 10 % of an epoch, at least 10 s apart, without control characters.
class Lines : public Common {
 public:
  using Common::Common;
  void begin(const char*, int64_t epochs, int64_t) override {
    epochs_ = epochs;
    last_ = Clock::now();
  }
  void epoch(int64_t epoch, int64_t batches) override {
    epoch_ = epoch;
    batches_ = batches;
    tenth_ = 0;
    had_round_ = false;
  }
  void batch(int64_t batch, int64_t samples, int64_t step) override {
    samples_ += samples;
    if (batches_ <= 0) return;
    const int64_t tenth = batch * 10 / batches_;
    if (tenth == tenth_) return;
    tenth_ = tenth;
    constexpr double kApart = 10;
    const double seconds = seconds_since(last_);
    if (seconds < kApart || tenth >= 10) return;
    print_err(fmt::format("epoch {}  {}/{} batches  step {}  {} samples/s\n", epoch_text(), batch, batches_, step,
                          with_commas(int64_t(double(samples_) / seconds))));
    last_ = Clock::now();
    samples_ = 0;
  }
  void round_end(Role role, int64_t, int64_t step, Scalars values) override {
    had_round_ = true;
    if (role == Role::Val) print_err(fmt::format("epoch {}  step {}{}\n", epoch_text(), step, scalars_text(values)));
  }
  bool wants_values() override {
    if (seconds_since(last_values_) < 1) return false;
    last_values_ = Clock::now();
    return true;
  }
  void bar(Scalars values) override { newest_.assign(values.begin(), values.end()); }
  void epoch_end(int64_t, int64_t step, Scalars values) override {
    if (had_round_ && values.empty()) return;
    // An epoch that logged nothing of its own shows what its steps said last.
    const auto last = without_rounds(newest_);
    const Scalars shown = values.empty() ? Scalars(last) : values;
    print_err(fmt::format("epoch {}  step {}{}\n", epoch_text(), step, scalars_text(shown)));
  }

 private:
  Str epoch_text() const {
    return epochs_ > 0 ? fmt::format("{}/{}", epoch_ + 1, epochs_) : std::to_string(epoch_ + 1);
  }
  std::vector<std::pair<Str, double>> newest_;
  Clock::time_point last_values_{};
  int64_t epochs_ = -1;
  int64_t epoch_ = 0;
  int64_t batches_ = -1;
  int64_t tenth_ = 0;
  int64_t samples_ = 0;
  bool had_round_ = false;
  Clock::time_point last_ = Clock::now();
};

/// `--json`: one object per event on stdout.
class JsonEvents : public Common {
 public:
  using Common::Common;
  void epoch(int64_t epoch, int64_t) override { epoch_ = epoch; }
  bool wants_values() override { return true; }
  void batch(int64_t, int64_t, int64_t step) override { step_ = step; }
  void bar(Scalars values) override { event("step", object(values)); }
  void round_end(Role role, int64_t, int64_t step, Scalars values) override {
    step_ = step;
    event("round", fmt::format("\"role\":\"{}\",{}", role_name(role), object(values)));
  }
  void epoch_end(int64_t, int64_t step, Scalars values) override {
    step_ = step;
    event("round", "\"role\":\"train\"," + object(values));
  }
  void checkpoint(const Str& path) override { event("checkpoint", "\"path\":" + doors::json_string(path)); }
  void search(const char* finder, int64_t done, int64_t all, Scalars values) override {
    event("search", fmt::format("\"finder\":{},\"done\":{},\"all\":{},{}", doors::json_string(finder), done, all,
                                object(values)));
  }
  void print(const Str& text) override { event("print", "\"text\":" + doors::json_string(text)); }
  void notice(const Str& text) override { event("note", "\"text\":" + doors::json_string(text)); }
  void warning(const Str& text) override {
    note_warning(text);
    event("warning", "\"text\":" + doors::json_string(text));
  }

 private:
  static Str object(Scalars values) {
    Str out = "\"values\":{";
    for (const auto& [name, value] : values) {
      if (out.back() != '{') out += ',';
      out += doors::json_string(name) + ":" + doors::json_number(value);
    }
    return out + "}";
  }
  void event(const char* name, const Str& members) {
    const double time = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    out(fmt::format("{{\"event\":\"{}\",\"time\":{:.3f},\"step\":{},\"epoch\":{},{}}}\n", name, time, step_, epoch_,
                    members));
  }
  int64_t epoch_ = 0;
  int64_t step_ = 0;
};

/// `epoch 3/5 ━━━━━━━━╸    41/56  73%  1,812 samples/s  0:08 left  mem 0.4 GiB  data 2%  train/loss 0.0412`
/// The trainer only stores numbers; a thread of its own draws, `bar_rate` times a second.
class Bar : public Common {
 public:
  explicit Bar(const Terminal& terminal) : Common(terminal), thread_([this] { run(); }) {}
  ~Bar() override { stop(); }

  void begin(const char* verb, int64_t epochs, int64_t steps) override {
    const std::lock_guard lock(mutex_);
    verb_ = verb;
    epochs_ = epochs;
    steps_ = steps;
    is_running_ = true;
  }
  void epoch(int64_t epoch, int64_t batches) override {
    const std::lock_guard lock(mutex_);
    epoch_ = epoch;
    batches_ = batches;
    batch_ = 0;
    round_.clear();
  }
  void batch(int64_t batch, int64_t samples, int64_t step) override {
    batch_.store(batch, std::memory_order_relaxed);
    step_.store(step, std::memory_order_relaxed);
    samples_.fetch_add(samples, std::memory_order_relaxed);
  }
  void waited(double data_s) override { waited_s_.store(data_s, std::memory_order_relaxed); }
  bool wants_values() override { return wants_values_.exchange(false, std::memory_order_relaxed); }
  void bar(Scalars values) override {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, value] : values) put(name, value);
  }
  void round_begin(Role role, int64_t batches) override {
    const std::lock_guard lock(mutex_);
    round_ = role_name(role);
    round_batches_ = batches;
    round_batch_ = 0;
  }
  void round_batch(int64_t batch, int64_t samples) override {
    round_batch_.store(batch, std::memory_order_relaxed);
    if (verb_ != "fit") samples_.fetch_add(samples, std::memory_order_relaxed);
  }
  void round_end(Role role, int64_t, int64_t step, Scalars values) override {
    Str line;
    {
      const std::lock_guard lock(mutex_);
      round_.clear();
      for (const auto& [name, value] : values) put(name, value);
      if (role == Role::Val && verb_ == "fit")
        line = fmt::format("epoch {}  step {}{}", epoch_text(), step, scalars_text(values));
      had_round_ = true;
    }
    if (!line.empty()) above(line);
  }
  void search(const char* finder, int64_t done, int64_t all, Scalars values) override {
    const std::lock_guard lock(mutex_);
    is_running_ = true;
    round_ = finder;
    round_batches_ = all;
    round_batch_ = done;
    values_.assign(values.begin(), values.end());
  }
  void epoch_end(int64_t, int64_t step, Scalars values) override {
    Str line;
    {
      const std::lock_guard lock(mutex_);
      const auto last = without_rounds(values_);
      const Scalars shown = values.empty() ? Scalars(last) : values;
      if (!had_round_ || !values.empty())
        line = fmt::format("epoch {}  step {}{}", epoch_text(), step, scalars_text(shown));
      had_round_ = false;
    }
    if (!line.empty()) above(line);
  }
  void print(const Str& text) override {
    const std::lock_guard lock(draw_mutex_);
    clear();
    out(text + "\n");
  }
  void end() override { stop(); }

 protected:
  void say(const Str& line) override { above(line); }

 private:
  void put(const Str& name, double value) {
    const auto found = std::find_if(values_.begin(), values_.end(), [&](const auto& one) { return one.first == name; });
    if (found == values_.end())
      values_.emplace_back(name, value);
    else
      found->second = value;
  }
  Str epoch_text() const {
    return epochs_ > 0 ? fmt::format("{}/{}", epoch_ + 1, epochs_) : std::to_string(epoch_ + 1);
  }
  void above(const Str& line) {
    const std::lock_guard lock(draw_mutex_);
    clear();
    print_err(line + "\n");
  }
  /// Needs `draw_mutex_`.
  void clear() {
    if (is_drawn_) print_err("\r\x1b[K");
    is_drawn_ = false;
  }

  void run() {
    std::unique_lock lock(mutex_);
    while (!is_stopping_) {
      changed_.wait_for(lock, std::chrono::duration<double>(1.0 / double(terminal_.bar_rate)));
      if (is_stopping_ || !is_running_) continue;
      wants_values_.store(true, std::memory_order_relaxed);
      const Str line = text();
      lock.unlock();
      {
        const std::lock_guard drawing(draw_mutex_);
        print_err("\r" + line + "\x1b[K");
        is_drawn_ = true;
      }
      lock.lock();
    }
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    const std::lock_guard lock(draw_mutex_);
    clear();
  }

  /// Needs `mutex_`.
  Str text() {
    constexpr double kWindow = 10;
    const auto now = Clock::now();
    const int64_t step = step_.load(std::memory_order_relaxed);
    history_.push_back(
        {now, samples_.load(std::memory_order_relaxed), step, waited_s_.load(std::memory_order_relaxed)});
    while (history_.size() > 2 && std::chrono::duration<double>(now - history_.front().time).count() > kWindow)
      history_.pop_front();
    const Sample& old = history_.front();
    const double seconds = std::chrono::duration<double>(now - old.time).count();
    const double rate = seconds > 0 ? double(history_.back().samples - old.samples) / seconds : 0;
    const double step_rate = seconds > 0 ? double(step - old.step) / seconds : 0;

    const bool is_round = !round_.empty();
    const int64_t done =
        is_round ? round_batch_.load(std::memory_order_relaxed) : batch_.load(std::memory_order_relaxed);
    const int64_t all = is_round ? round_batches_ : batches_;
    Str values;
    for (const auto& [name, value] : values_) values += fmt::format("  {} {}", name, short_number(value));
    Str speed = rate > 0 ? fmt::format("  {} samples/s", with_commas(int64_t(rate))) : "";
    Str left =
        steps_ > 0 && step_rate > 0 ? fmt::format("  {} left", clock_text(double(steps_ - step) / step_rate)) : "";
    Str memory = fmt::format("  mem {}", bytes_text(held_bytes()));
    // Rounds are not what waits for the train stream.
    const double waited = seconds > 0 ? std::min((history_.back().waited_s - old.waited_s) / seconds, 1.0) : 0;
    Str data = verb_ == "fit" && !is_round ? fmt::format("  data {}%", std::lround(100 * waited)) : "";
    Str cells = all > 0 ? cells_text(done, all) : "";
    const auto line = [&] {
      const Str what = is_round ? round_ : "epoch " + epoch_text();
      return what + cells +
             (all > 0 ? fmt::format(" {}/{}  {}%", done, all, done * 100 / all) : fmt::format("  {} batches", done)) +
             speed + left + memory + data + values;
    };
    // In a narrow window what matters least goes first: the values are what people look for.
    for (Str* part : {&memory, &data, &speed, &cells, &left}) {
      if (columns_of(line()) < window_width()) break;
      part->clear();
    }
    return cut(line());
  }

  Str cells_text(int64_t done, int64_t all) const {
    constexpr int64_t kCells = 16;
    const int64_t halves = std::min(done, all) * kCells * 2 / all;
    Str cells;
    for (int64_t i = 0; i < halves / 2; ++i) cells += "━";
    if (halves % 2 == 1) cells += "╸";
    const Str blanks(size_t(kCells - halves / 2 - halves % 2), ' ');
    return terminal_.has_color ? fmt::format(" \x1b[32m{}\x1b[0m{}", cells, blanks)
                               : fmt::format(" {}{}", cells, blanks);
  }

  /// Escapes take no room; every other code point is one column.
  static size_t columns_of(const Str& text) {
    size_t columns = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\x1b')
        i = text.find('m', i);
      else if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80)
        ++columns;
    }
    return columns;
  }

  /// To the window's width.
  static Str cut(const Str& text) {
    const size_t width = window_width();
    Str out;
    size_t columns = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\x1b') {
        const size_t end = text.find('m', i);
        out += text.substr(i, end - i + 1);
        i = end;
        continue;
      }
      const bool is_first = (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
      if (is_first && columns + 1 >= width) break;
      if (is_first) ++columns;
      out += text[i];
    }
    return out;
  }

  struct Sample {
    Clock::time_point time;
    int64_t samples;
    int64_t step;
    double waited_s;
  };

  std::mutex mutex_;
  std::mutex draw_mutex_;
  std::condition_variable changed_;
  bool is_running_ = false;
  bool is_stopping_ = false;
  bool is_drawn_ = false;
  bool had_round_ = false;
  Str verb_;
  Str round_;
  int64_t epochs_ = -1;
  int64_t steps_ = -1;
  int64_t epoch_ = 0;
  int64_t batches_ = -1;
  int64_t round_batches_ = -1;
  std::atomic<int64_t> batch_{0};
  std::atomic<int64_t> step_{0};
  std::atomic<int64_t> samples_{0};
  std::atomic<double> waited_s_{0};
  std::atomic<int64_t> round_batch_{0};
  std::atomic<bool> wants_values_{false};
  std::vector<std::pair<Str, double>> values_;
  std::deque<Sample> history_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Progress> make_progress(const Terminal& terminal) {
  if (terminal.is_json) return std::make_unique<JsonEvents>(terminal);
  if (terminal.is_quiet) return std::make_unique<Quiet>(terminal);
  switch (terminal.style) {
    case BarStyle::None: return std::make_unique<Common>(terminal);
    case BarStyle::Bar: return std::make_unique<Bar>(terminal);
    case BarStyle::Lines: return std::make_unique<Lines>(terminal);
    case BarStyle::Auto: break;
  }
  if (terminal.has_bar) return std::make_unique<Bar>(terminal);
  return std::make_unique<Lines>(terminal);
}

}  // namespace ltr::cli

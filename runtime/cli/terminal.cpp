#include "runtime/cli/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <system_error>

#include <fmt/format.h>

#include "doors/file.h"
#include "doors/memory.h"
#include "doors/number.h"
#include "runtime/api/error.h"
#include "runtime/tensor/device.h"
#include "runtime/train/series_name.h"

namespace ltr::cli {

namespace {

std::mutex warning_mutex;
std::vector<std::pair<Str, int64_t>> warnings;
std::mutex copy_mutex;
std::atomic<int> copy{-1};
std::atomic<int> output_error{0};
std::atomic<bool> is_output_muted{false};

}  // namespace

Terminal make_terminal(bool quiet, bool json, bool no_bar, const Str& color) {
  Terminal terminal;
  terminal.is_quiet = quiet;
  terminal.is_json = json;
  const bool is_terminal = ::isatty(STDERR_FILENO) == 1;
  const char* kind = std::getenv("TERM");
  const bool is_dumb = kind == nullptr || Str(kind) == "dumb";
  terminal.has_bar = is_terminal && !is_dumb && !no_bar && !quiet && !json;
  const char* no_color = std::getenv("NO_COLOR");
  const bool is_plain = (no_color != nullptr && no_color[0] != '\0') || !is_terminal || is_dumb;
  terminal.has_color = color == "always" || (color != "never" && !is_plain);
  return terminal;
}

size_t window_width() {
  winsize size{};
  for (const int file : {STDERR_FILENO, STDOUT_FILENO}) {
    if (::ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  }
  return 80;
}

void mute_output(bool is_muted) { is_output_muted = is_muted; }

void print_out(const Str& text) {
  if (!is_output_muted && output_error == 0) output_error = doors::write_all(STDOUT_FILENO, text);
  print_copy(text);
}

Str output_fault() { return output_error == 0 ? "" : std::generic_category().message(output_error); }

bool is_output_closed() { return output_error == EPIPE; }

void check_output() {
  if (output_error != 0 && !is_output_closed())
    throw error_at({}, err::cannot_write, "standard output", output_fault());
}

void print_err(const Str& text) {
  // Nobody is left to be told that this fails.
  if (!is_output_muted) doors::write_all(STDERR_FILENO, text);
  print_copy(text);
}

void copy_output_to(const Str& path) {
  const std::lock_guard lock(copy_mutex);
  const int before =
      copy.exchange(path.empty() ? -1 : ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (before >= 0) ::close(before);
}

void print_copy(const Str& text) {
  const std::lock_guard lock(copy_mutex);
  if (copy >= 0 && !text.starts_with("\r")) doors::write_all(copy, text);
}

int copy_file() { return copy; }

Str json_event(const char* name, const Str& members) {
  const double time = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  return fmt::format("{{\"event\":\"{}\",\"time\":{:.3f},{}}}\n", name, time, members);
}

std::vector<std::pair<Str, int64_t>> warnings_so_far() {
  const std::lock_guard lock(warning_mutex);
  return warnings;
}

void note_warning(const Str& text) {
  const std::lock_guard lock(warning_mutex);
  for (auto& [known, count] : warnings) {
    if (known == text) {
      ++count;
      return;
    }
  }
  warnings.emplace_back(text, 1);
}

Str with_commas(int64_t value) {
  Str digits = std::to_string(value);
  for (int64_t i = int64_t(digits.size()) - 3; i > (value < 0 ? 1 : 0); i -= 3) digits.insert(size_t(i), ",");
  return digits;
}

Str plural(int64_t count, const Str& one) {
  const Str many = one + (one == "batch" || one == "class" ? "es" : "s");
  return fmt::format("{} {}", with_commas(count), count == 1 ? one : many);
}

Str short_number(double value) {
  if (!std::isfinite(value)) return doors::shortest(value);
  if (value == std::floor(value) && std::abs(value) < 1e6) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

Str scalars_text(Scalars values) {
  constexpr int64_t kMostShown = 10, kSingle = -1;
  // Those of one metric are neighbours in what a round gives, and sorted as texts where they are a report's: 0, 1, 10, 2.
  std::vector<std::pair<Str, std::map<int64_t, double>>> lists;
  for (const auto& [name, value] : values) {
    const std::optional<int64_t> place = class_number(name);
    const Str base = place ? name.substr(0, name.rfind('/')) : name;
    if (!place || lists.empty() || lists.back().first != base) lists.push_back({base, {}});
    lists.back().second[place.value_or(kSingle)] = value;
  }
  Str out;
  for (const auto& [name, numbers] : lists) {
    if (const auto single = numbers.find(kSingle); single != numbers.end()) {
      out += fmt::format("  {} {}", name, short_number(single->second));
      continue;
    }
    const int64_t count = numbers.rbegin()->first + 1;
    Str list;
    for (int64_t i = 0; i < std::min(count, kMostShown); ++i) {
      const auto number = numbers.find(i);
      list += (list.empty() ? "" : " ") + short_number(number != numbers.end() ? number->second : std::nan(""));
    }
    out += fmt::format("  {} [{}{}]", name, list, count > kMostShown ? " …" : "");
  }
  return out;
}

Str clock_text(double seconds) {
  const auto whole = int64_t(std::max(seconds, 0.0) + 0.5);
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

Str seconds_text(double seconds) {
  if (seconds >= 3600) return clock_text(seconds) + " h";
  if (seconds >= 100) return fmt::format("{:.0f} s", seconds);
  return seconds >= 1 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.2f} s", seconds);
}

double held_bytes() {
  return accelerator() != nullptr ? double(compute_device_tensor_bytes()) : double(doors::resident_memory());
}

double most_held_bytes() {
  return accelerator() != nullptr ? double(compute_device_memory().peak) : double(doors::peak_memory());
}

Str bytes_text(double bytes) {
  if (bytes >= 1073741824.0) return fmt::format("{:.1f} GiB", bytes / 1073741824.0);
  if (bytes >= 1048576.0) return fmt::format("{:.1f} MiB", bytes / 1048576.0);
  if (bytes >= 1024.0) return fmt::format("{:.1f} KiB", bytes / 1024.0);
  return fmt::format("{:.0f} B", bytes);
}

}  // namespace ltr::cli

#include "runtime/cli/batch_trial.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "doors/file.h"
#include "doors/json.h"
#include "doors/memory.h"
#include "runtime/cli/last_words.h"
#include "runtime/cli/report.h"
#include "runtime/distributed/meeting_point.h"
#include "runtime/distributed/rank_process.h"
#include "runtime/distributed/supervisor.h"
#include "runtime/tensor/handle.h"
#include "runtime/train/rehearsal.h"
#include "runtime/train/signals.h"

namespace ltr::cli {

namespace {

constexpr const char* kTrialVariable = "LTR_TRIAL";  // the open file that takes what came of it

/// A pipe from a trial.
struct TrialPipe {
  TrialPipe() {
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw error_at({}, err::cannot_write, "a pipe", std::generic_category().message(errno));
  }
  ~TrialPipe() {
    close_input();
    ::close(ends[0]);
  }
  TrialPipe(const TrialPipe&) = delete;
  TrialPipe& operator=(const TrialPipe&) = delete;
  void close_input() {
    if (ends[1] >= 0) ::close(ends[1]);
    ends[1] = -1;
  }
  int ends[2];
};

/// What the trial of this rank says until it ends; a signal to this process ends it.
nlohmann::json said_by(pid_t trial, TrialPipe& pipe) {
  constexpr int kLookEvery_ms = 100;
  Str text;
  char buffer[4096];
  while (SignalWatch::received() == 0) {
    pollfd from{pipe.ends[0], POLLIN, 0};
    if (::poll(&from, 1, kLookEvery_ms) <= 0) continue;
    const ssize_t count = ::read(pipe.ends[0], buffer, sizeof(buffer));
    if (count <= 0) break;
    text.append(buffer, size_t(count));
  }
  const int signal = SignalWatch::received();
  if (signal != 0) ::kill(trial, SIGKILL);
  int status = 0;
  while (::waitpid(trial, &status, 0) < 0 && errno == EINTR) {
  }
  if (signal != 0) return {{"signal", signal}};
  if (WIFSIGNALED(status)) return {{"killed", WTERMSIG(status)}};
  const nlohmann::json said = doors::try_json(text);
  if (said.is_object()) return said;
  return {{"crashed", WEXITSTATUS(status)}};  // without a word
}

/// Starts the trial of this rank, and waits for it.
nlohmann::json try_here(const Start& start, const GivenOption& size) {
  distributed::Place place = start.place;
  place.port = 0;
  Option<distributed::MeetingPoint> meeting;
  if (start.ranks.is_first()) meeting.emplace(place);
  place.port = std::stoi(start.ranks.of_first(std::to_string(place.port)));
  TrialPipe pipe;
  distributed::RankStart trial{.command = start.command,
                               .place = place,
                               .variables = {{kTrialVariable, std::to_string(pipe.ends[1])}},
                               .file = pipe.ends[1]};
  trial.command.push_back(size.shown);
  trial.command.push_back(size.value);
  const pid_t process = distributed::start_rank(trial);
  pipe.close_input();
  nlohmann::json said = said_by(process, pipe);
  // Those that wait for it learn of its end here; one that spoke has told them itself.
  if (said.contains("killed") || said.contains("crashed"))
    distributed::tell_failure(distributed::as_guest(place, 0), 1);
  // The meeting point outlives all trials.
  start.ranks.of_first("");
  return said;
}

Error error_of(const nlohmann::json& said, const Program& program) {
  Location location;
  for (const SourceFile& source : program.sources) {
    if (said.value("file", "") == source.path) location.file = source.path;
  }
  if (said.value("file", "") == location.file) {
    location.line = said.value("line", 0);
    location.column = said.value("column", 0);
  }
  return Error(said.at("code").get<Str>(), said.at("message").get<Str>(), location, said.value("help", ""));
}

/// Of what one rank's trial said.
TrialResult::End end_of(const nlohmann::json& said) {
  using End = TrialResult::End;
  if (said.contains("signal")) return End::Stopped;
  // The kernel ends with SIGKILL who has more than there is.
  if (said.contains("killed")) return said.at("killed") == SIGKILL ? End::NoMemory : End::Crashed;
  if (said.contains("crashed")) return End::Crashed;
  if (!said.contains("code")) return End::Fits;
  return said.at("code") == err::out_of_memory.code ? End::NoMemory : End::Failed;
}

/// The trials of all ranks are one: what ended it first on any is what came of it, and one that only lost another says least.
TrialResult joined(const std::vector<Str>& texts, const Program& program) {
  using End = TrialResult::End;
  TrialResult result;
  bool has_cause = false;
  for (const Str& text : texts) {
    const nlohmann::json said = nlohmann::json::parse(text);
    const End end = end_of(said);
    result.bytes = std::max(result.bytes, said.value("bytes", 0.0));
    result.window_s = std::max(result.window_s, said.value("window_s", 0.0));
    if (end == End::Stopped) {
      result.end = end;
      result.signal = said.at("signal");
      return result;
    }
    const bool is_cause = end != End::Fits && said.value("code", "") != err::rank_lost.code;
    if (end == End::Fits || has_cause || (!is_cause && result.end != End::Fits)) continue;
    has_cause = is_cause;
    result.end = end;
    if (end == End::Failed) result.error = error_of(said, program);
  }
  return result;
}

nlohmann::json as_json(const Error& error) {
  return {{"code", error.code},          {"message", error.message},        {"file", error.location.file},
          {"line", error.location.line}, {"column", error.location.column}, {"help", error.help}};
}

/// What a fit holds beside its windows: the copy that a checkpoint is written from, stacks and heaps of the threads that write
/// it and the logs.
int64_t held_beside(const Start& start) {
  constexpr int64_t kThreads = int64_t(32) << 20;
  const Division::Held held = held_of(*start.root);
  return int64_t(held.weights + held.states) + kThreads;
}

nlohmann::json windows_of(Start& start) {
  start.resolve();
  // All trials of this machine begin at once, and share what is free.
  if (start.device.accelerator == nullptr) doors::limit_memory(doors::free_memory() / start.place.local_size);
  start.set_up_device();
  start.build();
  Unheard nobody;
  const RunRequest request = start.request(nobody);
  doors::lower_memory_limit(held_beside(start));
  Rehearsal rehearsal(request);
  double window_s = 0;
  for (int i = 0; i < kTrialWindows; i++) {
    rehearsal.fill();
    const Times::Clock::time_point begin = Times::Clock::now();
    rehearsal.run_window();
    if (Accelerator* device = accelerator()) device->mark()->wait();
    window_s = seconds_since(begin);
    // When the next batch is made while this one is used hangs on who is faster, and so does what lies between them.
    if (i == 0) doors::lower_memory_limit(rehearsal.batch_bytes());
  }
  const int64_t bytes = accelerator() != nullptr ? compute_device_memory().peak : doors::peak_memory();
  start.ranks.of_first("");  // it fits where it fits all
  return {{"bytes", bytes}, {"window_s", window_s}};
}

}  // namespace

TrialResult try_batch(const Start& start, const GivenOption& size) {
  return joined(start.ranks.texts(try_here(start, size).dump()), start.program);
}

bool is_trial() { return std::getenv(kTrialVariable) != nullptr; }

int run_trial(Start& start) {
  crash_silently();  // libraries that get no memory may crash, and that is an answer
  nlohmann::json said;
  try {
    guarded([&] { said = windows_of(start); });
  } catch (const Faults& faults) {
    said = as_json(faults.list.front());
  } catch (const Error& error) {
    said = as_json(error);
    start.ranks.failing(error);
  } catch (const std::exception& error) {
    said = as_json(error_at({}, err::crashed, error.what()));
  }
  const int file = std::atoi(std::getenv(kTrialVariable));
  return doors::write_all(file, said.dump()) == 0 ? 0 : 1;
}

}  // namespace ltr::cli

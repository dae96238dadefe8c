// Runs a fuzzer: seeds as they are and damaged ones in turns, until the time is over. Of a folder with programs
// only these are seeds.
//   NAME_fuzzer [--seconds N] [--seed N] FILE|FOLDER…
// The same seed makes the same inputs. An input that crashes, or takes more than 5 s of the processor, is left in `crash-NAME`.
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.h"

namespace {

constexpr time_t kMaxSeconds = 5;
std::string current;
std::string crash_path;

void keep_input(int signal) {
  std::FILE* file = std::fopen(crash_path.c_str(), "wb");
  if (file != nullptr) {
    std::fwrite(current.data(), 1, current.size(), file);
    std::fclose(file);
  }
  const char* why = signal == SIGPROF ? "took too long" : "crashed";
  std::fprintf(stderr, "an input %s: %s\n", why, crash_path.c_str());
  _exit(1);
}

/// Of the processor, not of the clock: other programs may have the machine.
void set_alarm(time_t seconds) {
  const itimerval timer{{}, {seconds, 0}};
  setitimer(ITIMER_PROF, &timer, nullptr);
}

void run(std::string input) {
  current = std::move(input);
  set_alarm(kMaxSeconds);
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(current.data()), current.size());
  set_alarm(0);
}

/// One to four damages: bytes changed, removed, repeated, moved, or taken from another seed.
std::string damage(const std::vector<std::string>& seeds, std::mt19937_64& random) {
  const auto pick = [&](size_t limit) { return limit == 0 ? 0 : size_t(random() % limit); };
  std::string text = seeds[pick(seeds.size())];
  for (size_t round = 1 + pick(4); round > 0; --round) {
    const size_t at = pick(text.size() + 1);
    const size_t length = std::min(text.size() - at, 1 + pick(24));
    const std::string piece = text.substr(at, length);
    switch (pick(6)) {
      case 0:
        if (at < text.size()) text[at] = char(random());
        break;
      case 1: text.erase(at, length); break;
      case 2: text.insert(at, piece); break;
      case 3: text.insert(pick(text.size() + 1), piece); break;
      case 4: {
        const std::string& other = seeds[pick(seeds.size())];
        text.insert(at, other.substr(pick(other.size() + 1), 1 + pick(60)));
        break;
      }
      default: {
        static const char* const kWords[] = {"(",  ")",    "[",   "]",     "{",   "}",    "\"",           "#",    ",",
                                             "=",  "=>",   "|>",  "..",    "...", "?",    "if",           "scan", ":",
                                             "\n", "\r\n", "-> ", "1e999", "0x",  "\xff", "9999999999999"};
        text.insert(at, kWords[pick(std::size(kWords))]);
      }
    }
  }
  return text;
}

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int fuzz(int argc, char** argv) {
  double seconds = 5;
  uint64_t seed = 1;
  std::vector<std::filesystem::path> paths;
  for (int i = 1; i < argc; ++i) {
    const bool has_value = i + 1 < argc;
    if (std::strcmp(argv[i], "--seconds") == 0 && has_value) {
      seconds = std::atof(argv[++i]);
    } else if (std::strcmp(argv[i], "--seed") == 0 && has_value) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (std::filesystem::is_directory(argv[i])) {
      std::vector<std::filesystem::path> files;
      for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
        if (entry.is_regular_file()) files.push_back(entry.path());
      }
      // Data that lies beside programs is no program.
      const auto is_program = [](const std::filesystem::path& path) { return path.extension() == ".ltr"; };
      const bool has_programs = std::any_of(files.begin(), files.end(), is_program);
      std::copy_if(files.begin(), files.end(), std::back_inserter(paths),
                   [&](const std::filesystem::path& path) { return !has_programs || is_program(path); });
    } else {
      paths.emplace_back(argv[i]);
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> seeds;
  for (const auto& path : paths) seeds.push_back(read(path));
  if (seeds.empty()) seeds.emplace_back("ltr 1\n");
  crash_path = "crash-" + std::filesystem::path(argv[0]).filename().string();
  for (const int signal : {SIGPROF, SIGABRT, SIGSEGV, SIGFPE, SIGBUS}) ::signal(signal, keep_input);

  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const auto spent = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  size_t runs = 0;
  std::mt19937_64 random(seed);
  // In turns, so that a short time has damaged ones, too; where seeds are many, not always the same ones.
  std::vector<size_t> order(seeds.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::shuffle(order.begin(), order.end(), random);
  for (const size_t at : order) {
    if (spent() > seconds && runs > 0) break;
    run(seeds[at]);
    run(damage(seeds, random));
    runs += 2;
  }
  for (; spent() < seconds; ++runs) run(damage(seeds, random));
  std::printf("%zu inputs of %zu seeds in %.0f s\n", runs, seeds.size(), spent());
  return 0;
}

}  // namespace

/// The compiler on a deep stack, as in `ltrc`, whose frames are far smaller; what reads files on that of any thread.
int main(int argc, char** argv) {
  constexpr size_t kStack = size_t(LTR_STACK_MB) << 20U;
  struct Job {
    int argc;
    char** argv;
    int code;
  } job{argc, argv, 1};
  const auto start = [](void* given) -> void* {
    auto* of = static_cast<Job*>(given);
    of->code = fuzz(of->argc, of->argv);
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_t thread = 0;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  if (pthread_create(&thread, &attributes, start, &job) != 0) return 1;
  pthread_join(thread, nullptr);
  return job.code;
}

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include <ATen/Parallel.h>
#include <nlohmann/json.hpp>

#include "ltr/ops.h"
#include "ltr/streams.h"
#include "runtime/cli/cores.h"
#include "runtime/cli/options.h"
#include "runtime/cli/rank_plan.h"
#include "runtime/cli/run_folder.h"
#include "runtime/cli/verbs.h"
#include "runtime/tensor/handle.h"
#include "runtime/train/fake_ranks.h"

namespace ltr::cli {

namespace {

namespace fs = std::filesystem;

/// One weight that is drawn to the mean of the data.
class Point : public Model {
 public:
  explicit Point(Scope scope) {
    scope.seed("w");
    w = scope.weight("w", uniform({1}, -1, 1), {});
    opt = scope.optimizer("opt", Value::call("Adam", {{"lr", 1e-2, "float", {}}}), scope.weights(), {}, {}, {});
  }
  Tensor w;
  Optimizer* opt;
};

Tensor distance(const Point& self, const Batch& batch) { return sub(to(batch.fields[0], DType::Float), self.w); }

void point_step(Model& model, Context& cx, const Batch& batch, const std::vector<Value>&) {
  Point& self = static_cast<Point&>(model);
  const Tensor away = distance(self, batch);
  const Tensor loss = mean(mul(away, away), {}, false);
  cx.minimize(loss, *self.opt, true, {});
  cx.log(0, loss);
}

void val_point_step(Model& model, Context& cx, const Batch& batch, const std::vector<Value>&) {
  cx.log(1, mean(distance(static_cast<Point&>(model), batch), {}, false));
}

void predict_point_step(Model& model, Context& cx, const Batch& batch, const std::vector<Value>&) {
  cx.output({{"away", distance(static_cast<Point&>(model), batch)}, {"i", batch.fields[0]}});
}

/// 64 numbers to train on, 3 to validate on in one batch; 19 and 6 predicted in 5 and 2 batches.
Data* make_numbers(Settings&) {
  auto* data = new Data();
  data->batch = {{"i", DType::I64, {-1}, ""}};
  data->streams.push_back({Role::Train, "", collate(range(64), 8, false), {}});
  data->streams.push_back({Role::Val, "", collate(range(3), 4, false), {}});
  data->streams.push_back({Role::Predict, "a", collate(range(19), 4, false), {}});
  data->streams.push_back({Role::Predict, "b", collate(range(6), 4, false), {}});
  return data;
}

Program point_program() {
  Program program{"point", 1, "hash", "test", {}, {}, {}, {}, {}, {}, {}};
  program.logs = {{"loss", Role::Train, LogKind::Scalar, LogWhen::Both, Reduce::Mean, true, {}},
                  {"away", Role::Val, LogKind::Scalar, LogWhen::Epoch, Reduce::Mean, false, {}}};
  ExperimentInfo experiment{};
  experiment.name = "point";
  experiment.data = "Numbers";
  experiment.model = "Point";
  experiment.topology = "";
  experiment.resolve = [](Settings& settings) {
    settings.hparam({"seed", "int", "", "", {}}, 3, nullptr);
    settings.get("trainer.epochs", "int", 2, {});
  };
  experiment.make_data = make_numbers;
  experiment.make_model = [](Settings&, Data&, Scope root) -> Model* { return Scope::make<Point>(root, "Point"); };
  experiment.list_callbacks = [](Settings& settings) {
    settings.call("implied", Value::call("Checkpoint", {}));
    settings.call("loggers", Value::call("Csv", {}));
  };
  experiment.steps = {{"train", Role::Train, point_step, {0}, {}, {0}, true, true, false, {}},
                      {"val", Role::Val, val_point_step, {0}, {}, {1}, false, false, false, {}},
                      {"predict", Role::Predict, predict_point_step, {0}, {}, {}, false, false, false, {}}};
  program.experiments.push_back(std::move(experiment));
  return program;
}

int run_line(const std::vector<Str>& arguments, const Ranks& ranks) {
  const Program program = point_program();
  std::vector<Error> faults;
  CommandLine line = parse_command_line(arguments, "", {"seed"}, faults);
  REQUIRE(faults.empty());
  Terminal terminal;
  terminal.is_quiet = true;
  Start start(program, std::move(line), terminal, ranks);
  start.command = arguments;
  return find_verb(start.line.verb)->run(start);
}

/// The files below `folder`, and what is in them.
std::map<Str, Str> tree(const fs::path& folder) {
  std::map<Str, Str> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    Str name = fs::relative(entry.path(), folder).string();
    name = name.substr(0, name.find(".tfevents"));
    std::ifstream file(entry.path(), std::ios::binary);
    files[name] = Str(std::istreambuf_iterator<char>(file), {});
  }
  return files;
}

std::vector<Str> names(const std::map<Str, Str>& files) {
  std::vector<Str> all;
  for (const auto& [name, text] : files) all.push_back(name);
  return all;
}

/// What stdout gets meanwhile.
Str printed(const std::function<void()>& body) {
  FILE* file = std::tmpfile();
  const int before = ::dup(STDOUT_FILENO);
  ::dup2(::fileno(file), STDOUT_FILENO);
  body();
  ::dup2(before, STDOUT_FILENO);
  ::close(before);
  Str text(size_t(::lseek(::fileno(file), 0, SEEK_END)), ' ');
  CHECK(::pread(::fileno(file), text.data(), text.size(), 0) == ssize_t(text.size()));
  std::fclose(file);
  return text;
}

struct Folder {
  Folder() { fs::create_directories(path); }
  ~Folder() {
    mute_output(false);
    fs::remove_all(path);
  }
  const fs::path path = fs::temp_directory_path() / fmt::format("ltr-cli-ranks-{}", getpid());
};

/// An environment variable as long as it lives.
struct Variable {
  Variable(const char* name, const char* value) : name(name) {
    if (const char* there = std::getenv(name)) before = there;
    ::setenv(name, value, 1);
  }
  ~Variable() { before ? ::setenv(name, before->c_str(), 1) : ::unsetenv(name); }
  const char* name;
  Option<Str> before;
};

}  // namespace

// Two verbs in one process, which processes never have, write what is set once for each process.
#ifdef __SANITIZE_THREAD__
constexpr bool kSharesProcess = true;
#else
constexpr bool kSharesProcess = false;
#endif

TEST_CASE("two ranks leave one run folder, with the files of one, and go on from it" * doctest::skip(kSharesProcess)) {
  const Folder folder;
  const Str out = folder.path.string();
  CHECK(run_line({"fit", "--out", out + "/alone"}, one_rank()) == 0);
  fake::as_two(
      [&](const Ranks& ranks) { CHECK(run_line({"fit", "--out", out + "/pair", "--seed", "random"}, ranks) == 0); });
  const std::map<Str, Str> pair = tree(out + "/pair");
  CHECK(pair.contains("point/0001/metrics.csv"));
  const auto run = nlohmann::json::parse(pair.at("point/0001/run.json"));
  CHECK(run.at("world") == 2);
  CHECK(run.at("hosts").size() == 1);
  CHECK(run.at("topology").at("nodes") == 1);
  CHECK(run.at("status") == "finished");
  // 64 numbers are 8 batches: 4 for each of two.
  CHECK(pair.at("point/0001/DONE").starts_with("steps 8\n"));
  CHECK(tree(out + "/alone").at("point/0001/DONE").starts_with("steps 16\n"));
  const auto is_checkpoint = [](const Str& name) { return name.find("/checkpoints/") != Str::npos; };
  std::vector<Str> of_pair = names(pair), of_one = names(tree(out + "/alone"));
  std::erase_if(of_pair, is_checkpoint);
  std::erase_if(of_one, is_checkpoint);
  // What each says is kept, in a file of its own.
  std::erase_if(of_pair, [](const Str& name) { return name.ends_with("/log-1.txt"); });
  CHECK(of_pair == of_one);

  fake::as_two([&](const Ranks& ranks) {
    CHECK(run_line({"fit", "--out", out + "/pair", "--resume", "last", "--epochs", "3"}, ranks) == 0);
  });
  CHECK(tree(out + "/pair").at("point/0001/DONE").starts_with("steps 12\n"));
  CHECK_FALSE(fs::exists(out + "/pair/point/0002"));
}

TEST_CASE("a run record names each machine once") {
  CHECK(hosts_of({"n1", "n0", "n1", "n0"}) == std::vector<Str>{"n1", "n0"});
  RunRecord record;
  record.world = 4;
  record.hosts = {"n1", "n0"};
  const auto run = nlohmann::json::parse(run_record_text(record, point_program()));
  CHECK(run.at("hosts") == record.hosts);
  CHECK(run.at("topology").at("nodes") == 2);
}

TEST_CASE("two ranks evaluate and predict what one does, once and in order; the first prints" *
          doctest::skip(kSharesProcess)) {
  const Folder folder;
  const Str out = folder.path.string();
  const auto predict = [&](const Str& file, const Ranks& ranks) {
    CHECK(run_line({"predict", "--weights", "new", "--out", out, "--write", out + "/" + file}, ranks) == 0);
  };
  for (const Str ending : {".jsonl", ".csv"}) {
    predict("alone" + ending, one_rank());
    fake::as_two([&](const Ranks& ranks) { predict("pair" + ending, ranks); });
  }
  const std::map<Str, Str> files = tree(folder.path);
  CHECK(std::count(files.at("alone.jsonl").begin(), files.at("alone.jsonl").end(), '\n') == 25);
  CHECK(files.at("pair.jsonl") == files.at("alone.jsonl"));
  CHECK(files.at("pair.csv") == files.at("alone.csv"));

  // One batch of three numbers: the second rank has none.
  CHECK(run_line({"fit", "--out", out}, one_rank()) == 0);
  CHECK(run_line({"validate", "--out", out}, one_rank()) == 0);
  fake::as_two([&](const Ranks& ranks) { CHECK(run_line({"validate", "--out", out}, ranks) == 0); });
  const std::map<Str, Str> evals = tree(folder.path / "point/0001/eval");
  REQUIRE(names(evals) == std::vector<Str>{"validate-0001.json", "validate-0002.json"});
  const auto streams = [&](const char* name) { return nlohmann::json::parse(evals.at(name)).at("streams"); };
  CHECK(streams("validate-0001.json")[0].at("samples") == 3);
  CHECK(streams("validate-0002.json") == streams("validate-0001.json"));

  fake::Meeting meeting(2);
  const fake::OneOfSome first(meeting, 0), second(meeting, 1);
  const Program program = point_program();
  CHECK(printed([&] {
          const Start start(program, {}, {}, second);
          print_out("dropped");
        }) == "");
  mute_output(false);
  CHECK(printed([&] {
          const Start start(program, {}, {}, first);
          print_out("kept");
        }) == "kept");
  // What a launcher's second process says of a program is what the first one says.
  mute_output(true);
  CHECK(printed([&] {
          const Start start(program, {}, {}, one_rank());
          print_out("dropped");
        }) == "");
}

TEST_CASE("ranks that a machine has no room for are refused before any is started") {
  distributed::Launch launch;
  launch.has_ranks = false;
  const auto refusal = [&](const Str& count) -> Str {
    std::vector<Error> faults;
    const CommandLine line = parse_command_line({"fit", "--nproc", count}, "", {"seed"}, faults);
    try {
      Terminal terminal;
      terminal.has_warnings = false;
      plan_ranks(point_program(), line, terminal, launch);
      return "";
    } catch (const Faults& found) {
      return found.list.at(0).code + " " + found.list.at(0).message;
    }
  };
  const Str text = refusal("1000000");
  CHECK(text.starts_with(fmt::format("R2008 1,000,000 ranks on this machine, which has {} core", own_cores())));
  CHECK(text.find(" of memory: it has room for ") != Str::npos);
  CHECK(refusal("9000000000000000000").starts_with("R2008 9,000,000,000,000,000,000 ranks on this machine"));
  CHECK(refusal(std::to_string(own_cores())).empty());
}

TEST_CASE("OMP_NUM_THREADS is of the threads that compute: ranks still share the cores") {
  const Variable threads("OMP_NUM_THREADS", "1");
  const int64_t ranks = own_cores() + 1;
  distributed::Launch launch;
  launch.place = {.launcher = "torchrun", .world = ranks, .local_size = ranks};
  const Program program = point_program();
  std::vector<Error> faults;
  const CommandLine line = parse_command_line({"fit"}, "", {"seed"}, faults);
  const RankPlan plan = plan_ranks(program, line, {}, launch);
  CHECK(plan.sharing == ranks);
  Start start(program, line, {});
  start.sharing = plan.sharing;
  start.resolve();
  CHECK(start.threads == at::get_num_threads());
  CHECK(start.workers == 1);
}

}  // namespace ltr::cli

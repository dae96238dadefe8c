// `__tests`: runs the program's `test` blocks for `ltrc test`.

#include "doors/number.h"
#include "runtime/cli/faults.h"
#include "runtime/cli/prepare.h"
#include "runtime/cli/verbs.h"
#include "runtime/data/paths.h"
#include "runtime/tensor/determinism.h"

namespace ltr::cli {

namespace {

/// Where tests compute: on the CPU, unless `--devices` says otherwise. As runs do that set nothing else.
c10::Device set_up_device(const CommandLine& line) {
  const Str text = line.get("devices", "cpu");
  const Option<Devices> devices = read_devices(text);
  if (!devices || devices->count > 1) {
    throw error_at({}, err::wrong_type, "--devices", '"' + text + '"', "auto, cpu or cuda: tests are one process");
  }
  const DeviceChoice choice =
      choose_device({.devices = *devices, .topology = "of a test", .typed_devices = "--devices " + text, .fitting = [] {
                       return std::vector<Str>();
                     }});
  if (choice.accelerator == nullptr) return c10::kCPU;
  use_accelerator(choice.accelerator, choice.index);
  set_determinism("true", nullptr);
  choice.accelerator->set_modes({});
  return compute_device();
}

}  // namespace

int run_tests(const Program& program, const CommandLine& line) {
  const DeviceScope there(set_up_device(line));
  set_program_folders(folders_of(program));
  const Str filter = line.get("filter");
  const bool is_json = line.has("json");
  int64_t passed = 0;
  int64_t failed = 0;
  for (const TestInfo& test : program.tests) {
    const Str title = test.title;
    if (title.find(filter) == Str::npos) continue;
    Str fault;
    try {
      run_test(program, test, [&](const Str& text) {
        if (!is_json) print_out("     " + text + "\n");
      });
    } catch (const Error& error) {
      fault = render(error, program);
    } catch (const std::exception& error) {
      fault = Str(error.what()) + "\n";
    }
    ++(fault.empty() ? passed : failed);
    if (is_json) {
      print_out(fmt::format("{{\"test\":{},\"passed\":{},\"error\":{}}}\n", doors::json_string(title), fault.empty(),
                            fault.empty() ? "null" : doors::json_string(fault)));
    } else {
      print_out(fmt::format("{} {}\n{}", fault.empty() ? "PASS" : "FAIL", title, fault));
    }
  }
  if (is_json)
    print_out(fmt::format("{{\"passed\":{},\"failed\":{}}}\n", passed, failed));
  else
    print_out(fmt::format("{} passed, {} failed\n", passed, failed));
  return failed == 0 ? 0 : 1;
}

}  // namespace ltr::cli

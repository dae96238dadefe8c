// `ltrc ui`: the runs below a folder, for a browser, live while they train.

#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "doors/runs/site.h"
#include "ltrc/commands.h"
#include "ltrc/exit_code.h"

namespace ltr::driver {

namespace fs = std::filesystem;

int run_ui(const UiOptions& options) {
  std::error_code failed;
  const fs::path folder = fs::canonical(options.folder, failed);
  if (failed || !fs::is_directory(folder, failed)) {
    fmt::print(stderr,
               "error: there is no folder {}\n  = help: `./x fit` makes `runs` where it is started; ltrc ui FOLDER\n",
               options.folder);
    return kUsage;
  }
  std::unique_ptr<doors::HttpServer> server;
  try {
    server = std::make_unique<doors::HttpServer>(options.host, uint16_t(options.port));
  } catch (const std::system_error& error) {
    fmt::print(stderr, "error: cannot listen on {} port {}: {}\n", options.host, options.port, error.code().message());
    fmt::print(stderr, "  = help: {}\n",
               error.code() == std::errc::address_in_use
                   ? "another process does; --port 0 takes a free port"
                   : "--host takes an address of this machine, --port a free port");
    return kErrors;
  }
  doors::Site site(folder);
  if (site.count() == 0) fmt::print(stderr, "note: there is no run below {} yet\n", folder.string());
  if (!server->is_local()) fmt::print(stderr, "warning: whoever reaches {} can read these runs\n", server->url());
  fmt::print("{}\n", server->url());
  std::fflush(stdout);
  server->serve([&](const doors::HttpRequest& request) { return site.answer(request); });
  return kInterrupted;
}

}  // namespace ltr::driver

// `Comet()`: its service is told of the run as it goes on.

#include <cstdlib>
#include <limits>

#include "doors/comet.h"
#include "runtime/api/error.h"
#include "runtime/loggers/follower.h"
#include "runtime/loggers/make.h"
#include "runtime/tables/tracking_address.h"

namespace ltr::loggers {

std::unique_ptr<Logger> make_comet(const Value& call, const LoggerSetup& setup) {
  const auto text = [&](const char* name, const char* variable, const Str& initial) {
    const Value* value = call.find(name);
    if (value != nullptr && !value->is_none()) return value->as_str();
    const char* set = variable == nullptr ? nullptr : std::getenv(variable);
    return set != nullptr && *set != '\0' ? Str(set) : initial;
  };
  const doors::CometSettings settings{.url = doors::CometUpload::service(),
                                      .workspace = text("workspace", "COMET_WORKSPACE", ""),
                                      .project = text("project", "COMET_PROJECT_NAME", setup.experiment),
                                      .name = text("name", nullptr, "")};
  const char* key = std::getenv("COMET_API_KEY");
  if (const auto wrong = doors::CometUpload::wrong_key(key == nullptr ? "" : key)) {
    throw with_help(error_at(call.location, err::settings_contradict,
                             fmt::format("Comet: COMET_API_KEY of the environment {}", *wrong)),
                    "set it, or run with --set loggers.Comet=off");
  }
  if (settings.workspace.empty()) {
    throw with_help(error_at(call.location, err::settings_contradict,
                             "Comet: neither `workspace` nor COMET_WORKSPACE says whose experiments these are"),
                    "Comet(workspace = \"my-team\")");
  }
  if (wrong_tracking_address(settings.url)) {
    throw error_at(call.location, err::settings_contradict,
                   "Comet: COMET_URL_OVERRIDE is http:// or https:// and a host, without password, `?` and `#`");
  }
  constexpr int64_t kNeverSoon = std::numeric_limits<int64_t>::max();  // it takes few values a second
  return std::make_unique<Follower<doors::CometUpload>>("Comet", setup, settings.url, kNeverSoon, settings, Str(key));
}

}  // namespace ltr::loggers

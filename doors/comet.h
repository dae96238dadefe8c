#pragma once

// A run on its way to Comet, by its REST interface: follows the journal, and keeps in `RUN/sync/comet.json` how far that has got.
// The service takes one value a request, so the newest of each series is sent as the run goes on, and all of them as a file at its end.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace ltr::doors {

/// A request that was not answered, or not with what it asked for.
struct CometError : std::runtime_error {
  CometError(long answered, const std::string& what) : std::runtime_error(what), status(answered) {}
  long status;  ///< 0: there is no answer
  /// The service understood the request, and does not want it: no later one either.
  bool is_refusal() const { return status == 400 || status == 413 || status == 422; }
};

struct CometSettings {
  std::string url;  ///< of the service, without the path of its interface
  std::string workspace;
  std::string project;
  std::string name;  ///< "": `EXPERIMENT/RUN`
};

class CometUpload {
 public:
  /// Of the run in the folder `run`, which goes on as the same experiment if address, workspace and project are the same. `key` is a
  /// secret. A request takes `limit_s` at most, less once `is_called_off`.
  CometUpload(std::string run, CometSettings settings, std::string key, double limit_s,
              const std::atomic<bool>& is_called_off);
  /// How the upload of the run in the folder `run` was begun; nothing if none was.
  static std::optional<CometSettings> begun(const std::string& run);
  /// The service of COMET_URL_OVERRIDE, or Comet's own.
  static std::string service();
  /// What is wrong with a key, without the key; nothing if it is right.
  static std::optional<std::string> wrong_key(std::string_view key);

  /// Sends what the run is, and the newest of what its journal says by now. Throws CometError where that ends early, std::system_error
  /// or FormatError where a file of the run cannot be read or written.
  void send_all();
  /// What the service does not want, in words, since it was asked last; it is left out.
  std::vector<std::string> take_refusals() { return std::exchange(refusals_, {}); }
  /// Series whose newest value the service does not have yet, and the end of the run.
  int64_t waiting() const;
  /// Answers of any kind, so far. Other threads may ask.
  int64_t answers() const { return answers_; }

 private:
  /// What the journal says behind `offset_`.
  struct News {
    std::map<std::string, nlohmann::json> values;  ///< the newest line of each series: value, step, epoch, time
    nlohmann::json event;                          ///< the run ends with it; null if it goes on
    uint64_t end = 0;                              ///< behind its last line
  };
  void begin();
  /// What the service is to call it.
  std::string name() const;
  /// The key of the experiment, which is made if an earlier try did not do so.
  std::string experiment();
  /// The key of the one of that name; nothing if the project has none.
  std::optional<std::string> find_experiment(const std::string& name);
  void tell_origin();
  void tell_settings();
  void send_value(const std::string& name, const nlohmann::json& value);
  void send_end(const nlohmann::json& event);
  void send_file(const std::string& name, std::string_view bytes);
  void stay_alive();
  News read_news() const;
  /// Goes through the lines of the journal with values.
  void each_line(const std::function<void(const nlohmann::json& line)>& take) const;
  /// All values, a row for each step.
  std::string table() const;
  nlohmann::json post(const std::string& path, nlohmann::json body);
  std::string send(const char* method, const std::string& path, std::string_view body, const std::string& type);
  void other(const std::string& name, const std::string& value);
  void pause() const;
  void save() const;
  std::string journal() const { return run_ + "/log.jsonl"; }
  /// Does `send`; what the service does not want is noted.
  template <class Send>
  void unless_refused(const std::string& what, const Send& send);

  std::string run_;
  CometSettings settings_;
  std::string key_;
  double limit_s_;
  const std::atomic<bool>& is_called_off_;
  nlohmann::json remote_ = nlohmann::json::object();  ///< the key of the experiment, and what is there of it
  uint64_t offset_ = 0;                               ///< so far the service has the journal
  std::map<std::string, int64_t> steps_;  ///< the last of each series there: a resumed run takes steps again
  bool has_begun_ = false;
  bool may_be_there_ = false;  ///< the service was asked for the experiment, and may have made it
  std::chrono::steady_clock::time_point told_alive_;
  std::atomic<int64_t> answers_ = 0;
  std::vector<std::string> refusals_;
  std::set<std::string> refused_;  ///< what was said already
};

}  // namespace ltr::doors

#pragma once

// A run on its way to MLflow: follows its journal, and keeps in `RUN/sync/mlflow.json` how far that has got. What was not
// acknowledged is sent again, and nothing twice: an equal metric of an equal time is one, for MLflow.

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "doors/mlflow.h"

namespace ltr::doors {

struct MlflowSettings {
  std::string uri;
  std::string experiment;
  std::string run_name;            ///< "": `EXPERIMENT/RUN`
  std::string artifacts = "best";  ///< best last all none
  bool has_origin = true;          ///< settings as params; sources and git as tags
};

class MlflowUpload {
 public:
  /// Of the run in the folder `run`, which goes on where it was if that is on the same server and in the same experiment. A
  /// request takes `limit_s` at most, less once `is_called_off`.
  MlflowUpload(std::string run, MlflowSettings settings, double limit_s, const std::atomic<bool>& is_called_off);
  /// How the upload of the run in the folder `run` was begun; nothing if none was.
  static std::optional<MlflowSettings> begun(const std::string& run);

  /// Sends what the run is, and all that its journal says by now. Throws MlflowError where that ends early, std::system_error or
  /// FormatError where a file of the run cannot be read or written.
  void send_all();
  /// The run on the server alone.
  void begin();
  /// What the server does not want, in words, since it was asked last; it is left out.
  std::vector<std::string> take_refusals() { return std::exchange(refusals_, {}); }
  /// Values, and the end of the run, that the server does not have yet.
  int64_t waiting() const;
  int64_t answers() const { return server_.answers(); }

 private:
  /// Lines of the journal that are sent together.
  struct Part {
    std::vector<nlohmann::json> metrics;
    std::map<std::string, int64_t> steps;  ///< the last of each series
    nlohmann::json event;  ///< that changes the state of the run, behind the metrics; null if there is none
    uint64_t end = 0;      ///< behind its last line
  };
  /// From byte `from`, where a line begins, to `until` at most.
  Part read_part(uint64_t from, uint64_t until = std::numeric_limits<uint64_t>::max()) const;
  void add_values(Part& part, const nlohmann::json& line) const;
  void send_event(const nlohmann::json& event, bool is_last);
  void send_artifacts();
  void send_params();
  NamedTexts tags() const;
  void save() const;
  std::string journal() const { return run_ + "/log.jsonl"; }
  /// Does `send`; what the server does not want is noted.
  template <class Send>
  void unless_refused(const std::string& what, const Send& send);

  std::string run_;
  MlflowSettings settings_;
  Mlflow server_;
  nlohmann::json remote_;  ///< ids on the server, and whether params are there
  uint64_t offset_ = 0;    ///< so far the server has the journal
  /// The last step of each series that the server has: a resumed run takes steps again that are there already.
  std::map<std::string, int64_t> steps_;
  bool has_begun_ = false;
  bool may_be_there_ = false;  ///< the server was asked for the run, and may have made it
  std::vector<std::string> refusals_;
};

}  // namespace ltr::doors

#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "ltrc/language_server/connection.h"
#include "ltrc/language_server/features.h"

namespace ltr::language_server {

/// Answers one editor. It works on one message at a time; the newest analysis of a document is made
/// when something is asked of it, or `kQuiet` after its last change, whichever is first.
class Server {
 public:
  static constexpr std::chrono::milliseconds kQuiet{150};
  static constexpr std::chrono::milliseconds kIdle{20};  ///< nobody waits any more

  Server();
  /// Until `exit` or the end of stdin. Gives the exit status that the protocol asks for.
  int run();

 private:
  struct Document {
    std::string uri;
    std::string path;
    std::string text;
    Json version;
    std::unique_ptr<Snapshot> snapshot;  ///< of `text`, or nothing if that changed
    std::unique_ptr<Snapshot> parsed;    ///< of `text`, not analysed, or nothing
    std::optional<Clock::time_point> publish_at;
    std::set<std::string> others;  ///< files that its diagnostics were published in
  };
  using Handler = std::function<Json(const Json& params)>;

  void add_lifecycle();
  void add_synchronization();
  void add_features();
  /// A request about one place of one document.
  void add_at(const std::string& method, Json (*answer)(const Snapshot&, uint32_t));
  void add_whole(const std::string& method, Json (*answer)(const Snapshot&));
  /// A request about the text alone.
  void add_parsed(const std::string& method, Json (*answer)(const Snapshot&));

  void take(const Incoming& incoming);
  void take_request(const Json& id, const std::string& method, const Json& params);
  Json capabilities() const;

  Document& document(const Json& params);
  const Snapshot& parsed(Document& document);
  const Snapshot& snapshot(Document& document, Reach reach = Reach::Mentioned);
  const Snapshot& complete_snapshot(Document& document);
  void changed(Document& document);
  void changed_on_disk();
  void publish_due();
  void publish(Document& document);
  std::vector<const Snapshot*> others(const Document& document);
  std::vector<std::string> workspace_files(const std::string& near) const;

  Connection connection_;
  std::map<std::string, Handler> requests_;
  std::map<std::string, Handler> notifications_;
  std::map<std::string, Document> documents_;  ///< by URI
  std::vector<std::string> folders_;
  /// Of former states, and of files that are not open, for one request. They are freed when nobody waits, since that takes as
  /// long as many an answer.
  std::vector<std::unique_ptr<Snapshot>> past_;
  bool is_initialized_ = false;
  bool is_shut_down_ = false;
  bool has_exited_ = false;
};

}  // namespace ltr::language_server

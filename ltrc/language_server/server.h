#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "ltrc/language_server/connection.h"
#include "ltrc/language_server/features.h"

namespace ltr::language_server {

/// Answers one editor. It works on one message at a time; a document is analysed when something is asked of it, or in the first
/// pause after its last change, whichever is first. What its whole code tells is found `kQuiet` after that, and published.
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
    std::unique_ptr<Snapshot> blanked;   ///< of `text` without the name that is being written, or nothing
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

  static bool is_unread(const Document& document);
  bool has_to_do() const;
  /// Does a part of what can be done before anybody asks.
  void use_pause();
  void take(const Incoming& incoming);
  void take_request(const Json& id, const std::string& method, const Json& params);
  Json capabilities() const;

  Document& document(const Json& params);
  const Snapshot& parsed(Document& document);
  const Snapshot& snapshot(Document& document);
  const Snapshot& without_word(Document& document, uint32_t offset);
  const Snapshot& complete_snapshot(Document& document);
  /// Keeps it until nobody waits.
  void retire(std::unique_ptr<Snapshot>& snapshot);
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
  std::map<std::string, std::unique_ptr<Snapshot>> closed_;  ///< of files that are not open, by path
  /// Of former states. They are freed when nobody waits, since that takes as long as many an answer.
  std::vector<std::unique_ptr<Snapshot>> past_;
  bool has_library_ = false;  ///< it was read while nobody waited
  bool is_initialized_ = false;
  bool is_shut_down_ = false;
  bool has_exited_ = false;
};

}  // namespace ltr::language_server

#include "ltrc/language_server/server.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "dsl/parse/parse.h"
#include "dsl/resolve/kept_trees.h"
#include "ltrc/exit_code.h"
#include "ltrc/language_server/cursor.h"
#include "ltrc/source_files.h"

namespace ltr::language_server {

namespace {

/// Larger workspaces are not searched to the end.
constexpr size_t kMaxFiles = 300;
/// So many snapshots that nobody needs stay while one request follows the other, and so many of files that are not open.
constexpr size_t kMaxPast = 16;

std::optional<std::string> read_file(const std::string& path) {
  std::error_code failed;
  if (std::filesystem::file_size(path, failed) > source::kMaxSourceBytes || failed) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

/// Whether the files that it was made of are still the same. Of one with errors that is not known: what it lacks may be there now.
bool is_current(const Snapshot& snapshot) {
  if (!snapshot.compilation.graph || snapshot.compilation.has_errors()) return false;
  return std::ranges::all_of(snapshot.compilation.graph->modules, [&](const resolve::Module& module) {
    return module.is_library || read_file(module.path) == snapshot.sources().text(module.ast.source);
  });
}

}  // namespace

Server::Server() {
  add_lifecycle();
  add_synchronization();
  add_features();
}

int Server::run() {
  resolve::keep_library_trees();
  connection_.start();
  while (!has_exited_ && !connection_.has_ended()) {
    std::optional<Clock::time_point> deadline;
    for (const auto& [uri, document] : documents_) {
      if (document.publish_at && (!deadline || *document.publish_at < *deadline)) deadline = document.publish_at;
    }
    if (has_to_do() && (!deadline || *deadline > Clock::now() + kIdle)) deadline = Clock::now() + kIdle;
    const auto incoming = connection_.wait(deadline);
    if (incoming) take(*incoming);
    publish_due();
    if (!incoming) use_pause();
    if (past_.size() > kMaxPast) past_.clear();
    if (closed_.size() > kMaxPast) closed_.clear();
  }
  return is_shut_down_ || !has_exited_ ? driver::kOk : driver::kErrors;
}

bool Server::is_unread(const Document& document) { return document.publish_at && !document.snapshot; }

bool Server::has_to_do() const {
  const bool is_any_unread =
      std::ranges::any_of(documents_, [](const auto& document) { return is_unread(document.second); });
  return !past_.empty() || is_any_unread || (is_initialized_ && !has_library_);
}

void Server::use_pause() {
  past_.clear();
  if (is_initialized_ && !has_library_) {
    whole_library();
    has_library_ = true;
    return;
  }
  // One, and then what came in meanwhile.
  for (auto& [uri, document] : documents_) {
    if (!is_unread(document)) continue;
    snapshot(document);
    return;
  }
}

void Server::take(const Incoming& incoming) {
  const Json& message = incoming.message;
  if (!incoming.malformed.empty()) return connection_.fail(nullptr, ErrorCode::ParseError, incoming.malformed);
  if (!message.is_object()) return connection_.fail(nullptr, ErrorCode::InvalidRequest, "a message is an object");
  const bool is_answer = message.contains("result") || message.contains("error");
  const Json id = message.value("id", Json());
  const auto method = message.find("method");
  if (method == message.end() || !method->is_string()) {
    if (!is_answer) connection_.fail(id, ErrorCode::InvalidRequest, "a message has a method");
    return;
  }
  const Json params = message.value("params", Json::object());
  const std::string name = method->get<std::string>();
  if (message.contains("id")) return take_request(id, name, params);
  const auto handler = notifications_.find(name);
  if (handler == notifications_.end()) return;
  if (!is_initialized_ && name != "exit") return;
  try {
    handler->second(params);
  } catch (const std::exception& error) {
    // A notification has no answer; what was wrong with it is told all the same.
    connection_.notify("window/logMessage", {{"type", 1}, {"message", name + ": " + error.what()}});
  }
}

void Server::take_request(const Json& id, const std::string& method, const Json& params) {
  if (connection_.take_cancelled(id)) return connection_.fail(id, ErrorCode::RequestCancelled, "cancelled");
  const auto handler = requests_.find(method);
  if (handler == requests_.end())
    return connection_.fail(id, ErrorCode::MethodNotFound, "there is no request " + method);
  if (!is_initialized_ && method != "initialize")
    return connection_.fail(id, ErrorCode::ServerNotInitialized, "the first request is initialize");
  if (is_shut_down_) return connection_.fail(id, ErrorCode::InvalidRequest, "the server was shut down");
  try {
    Json result = handler->second(params);
    if (connection_.take_cancelled(id)) return connection_.fail(id, ErrorCode::RequestCancelled, "cancelled");
    connection_.answer(id, std::move(result));
  } catch (const Json::exception& error) {
    connection_.fail(id, ErrorCode::InvalidParams, error.what());
  } catch (const std::invalid_argument& error) {
    connection_.fail(id, ErrorCode::InvalidParams, error.what());
  } catch (const std::runtime_error& error) {
    connection_.fail(id, ErrorCode::RequestFailed, error.what());
  } catch (const std::exception& error) {
    connection_.fail(id, ErrorCode::InternalError, error.what());
  }
}

// ---- lifecycle

void Server::add_lifecycle() {
  requests_["initialize"] = [this](const Json& params) -> Json {
    if (is_initialized_) throw std::runtime_error("initialize comes once");
    is_initialized_ = true;
    const Json folders = params.value("workspaceFolders", Json());
    for (const Json& folder : folders.is_array() ? folders : Json::array())
      folders_.push_back(path_of(folder.at("uri").get<std::string>()));
    const Json root = params.value("rootUri", Json());
    if (folders_.empty() && root.is_string()) folders_.push_back(path_of(root.get<std::string>()));
    return {{"capabilities", capabilities()}, {"serverInfo", {{"name", "ltrc"}, {"version", LTR_VERSION}}}};
  };
  requests_["shutdown"] = [this](const Json&) -> Json {
    is_shut_down_ = true;
    return nullptr;
  };
  notifications_["initialized"] = [](const Json&) -> Json { return nullptr; };
  notifications_["exit"] = [this](const Json&) -> Json {
    has_exited_ = true;
    return nullptr;
  };
}

Json Server::capabilities() const {
  return {
      {"positionEncoding", "utf-16"},
      {"textDocumentSync", {{"openClose", true}, {"change", 2}, {"save", true}}},
      {"hoverProvider", true},
      {"completionProvider", {{"triggerCharacters", {".", "=", "("}}}},
      {"signatureHelpProvider", {{"triggerCharacters", {"(", ","}}}},
      {"definitionProvider", true},
      {"typeDefinitionProvider", true},
      {"referencesProvider", true},
      {"documentHighlightProvider", true},
      {"renameProvider", {{"prepareProvider", true}}},
      {"documentSymbolProvider", true},
      {"workspaceSymbolProvider", true},
      {"documentFormattingProvider", true},
      {"documentRangeFormattingProvider", true},
      {"inlayHintProvider", true},
      {"semanticTokensProvider", {{"legend", semantic_legend()}, {"full", true}}},
      {"foldingRangeProvider", true},
      {"documentLinkProvider", Json::object()},
      {"codeLensProvider", Json::object()},
      {"codeActionProvider", {{"codeActionKinds", {"quickfix"}}}},
  };
}

// ---- documents

Server::Document& Server::document(const Json& params) {
  const std::string uri = params.at("textDocument").at("uri").get<std::string>();
  const auto found = documents_.find(uri);
  if (found == documents_.end()) throw std::invalid_argument(uri + " is not open");
  return found->second;
}

const Snapshot& Server::snapshot(Document& document) {
  if (!document.snapshot) document.snapshot = take_snapshot(document.path, document.text);
  return *document.snapshot;
}

const Snapshot& Server::without_word(Document& document, uint32_t offset) {
  std::string whole = language_server::without_word(document.text, offset);
  if (whole == document.text) return snapshot(document);
  if (!document.blanked || document.blanked->text() != whole) {
    retire(document.blanked);
    document.blanked = take_snapshot(document.path, std::move(whole));
  }
  return *document.blanked;
}

const Snapshot& Server::parsed(Document& document) {
  if (document.snapshot) return *document.snapshot;
  if (!document.parsed) document.parsed = parse_snapshot(document.path, document.text);
  return *document.parsed;
}

const Snapshot& Server::complete_snapshot(Document& document) {
  snapshot(document);
  document.snapshot->complete();
  return *document.snapshot;
}

void Server::retire(std::unique_ptr<Snapshot>& snapshot) {
  if (snapshot) past_.push_back(std::move(snapshot));
}

void Server::changed(Document& document) {
  for (auto* snapshot : {&document.snapshot, &document.blanked, &document.parsed}) retire(*snapshot);
  document.publish_at = Clock::now() + kQuiet;
}

void Server::changed_on_disk() {
  for (auto& [path, snapshot] : closed_) retire(snapshot);
  closed_.clear();
  for (auto& [uri, document] : documents_) changed(document);
}

void Server::add_synchronization() {
  notifications_["textDocument/didOpen"] = [this](const Json& params) -> Json {
    const Json& item = params.at("textDocument");
    const std::string uri = item.at("uri").get<std::string>();
    Document& document = documents_[uri];
    document.uri = uri;
    document.path = path_of(uri);
    document.text = item.at("text").get<std::string>();
    document.version = item.value("version", Json());
    changed(document);
    return nullptr;
  };
  notifications_["textDocument/didChange"] = [this](const Json& params) -> Json {
    Document& changing = document(params);
    // All or nothing: half of the changes would be a text that nobody has.
    std::string text = changing.text;
    for (const Json& change : params.at("contentChanges")) apply_change(text, change);
    changing.text = std::move(text);
    changing.version = params.at("textDocument").value("version", Json());
    changed(changing);
    return nullptr;
  };
  notifications_["textDocument/didClose"] = [this](const Json& params) -> Json {
    Document& closing = document(params);
    std::set<std::string> uris = std::move(closing.others);
    uris.insert(closing.uri);
    documents_.erase(closing.uri);
    for (const std::string& uri : uris)
      connection_.notify("textDocument/publishDiagnostics", {{"uri", uri}, {"diagnostics", Json::array()}});
    return nullptr;
  };
  // Others may import what was saved.
  notifications_["textDocument/didSave"] = [this](const Json&) -> Json {
    changed_on_disk();
    return nullptr;
  };
  notifications_["workspace/didChangeWatchedFiles"] = notifications_["textDocument/didSave"];
  notifications_["workspace/didChangeWorkspaceFolders"] = [this](const Json& params) -> Json {
    for (const Json& folder : params.at("event").at("removed"))
      std::erase(folders_, path_of(folder.at("uri").get<std::string>()));
    for (const Json& folder : params.at("event").at("added"))
      folders_.push_back(path_of(folder.at("uri").get<std::string>()));
    return nullptr;
  };
}

void Server::publish_due() {
  const Clock::time_point now = Clock::now();
  for (auto& [uri, document] : documents_) {
    if (document.publish_at && *document.publish_at <= now) publish(document);
  }
}

void Server::publish(Document& document) {
  document.publish_at.reset();
  Diagnostics found = diagnostics_of(complete_snapshot(document));
  Json own = {{"uri", document.uri}, {"diagnostics", std::move(found.own)}};
  if (document.version.is_number_integer()) own["version"] = document.version;
  connection_.notify("textDocument/publishDiagnostics", std::move(own));
  std::set<std::string> others;
  for (auto& [uri, list] : found.others) {
    // An open file speaks for itself.
    if (documents_.contains(uri)) continue;
    connection_.notify("textDocument/publishDiagnostics", {{"uri", uri}, {"diagnostics", std::move(list)}});
    others.insert(uri);
  }
  for (const std::string& uri : document.others) {
    if (!others.contains(uri) && !documents_.contains(uri))
      connection_.notify("textDocument/publishDiagnostics", {{"uri", uri}, {"diagnostics", Json::array()}});
  }
  document.others = std::move(others);
}

// ---- the workspace

std::vector<std::string> Server::workspace_files(const std::string& near) const {
  std::vector<std::string> folders = folders_, files;
  if (folders.empty() && near.starts_with("/")) folders.push_back(std::filesystem::path(near).parent_path().string());
  for (const std::string& folder : folders) {
    std::error_code failed;
    if (!std::filesystem::is_directory(folder, failed)) continue;
    for (const std::string& file : driver::find_sources(folder)) {
      if (files.size() < kMaxFiles) files.push_back(std::filesystem::path(file).lexically_normal().string());
    }
  }
  return files;
}

std::vector<const Snapshot*> Server::others(const Document& document) {
  std::vector<const Snapshot*> all;
  std::set<std::string> seen = {document.path};
  for (auto& [uri, other] : documents_) {
    if (seen.insert(other.path).second) all.push_back(&snapshot(other));
  }
  for (const std::string& path : workspace_files(document.path)) {
    if (!seen.insert(path).second) continue;
    std::optional<std::string> text = read_file(path);
    // Only a file that imports files, or is imported here, can share a name with this one.
    bool is_near = text && text->find("import \"") != std::string::npos;
    for (const resolve::Module& module : document.snapshot->compilation.graph->modules)
      is_near = is_near || module.path == path;
    if (!text || !is_near) continue;
    std::unique_ptr<Snapshot>& known = closed_[path];
    if (!known || !is_current(*known)) {
      retire(known);
      known = take_snapshot(path, std::move(*text));
    }
    all.push_back(known.get());
  }
  return all;
}

// ---- features

void Server::add_at(const std::string& method, Json (*answer)(const Snapshot&, uint32_t)) {
  requests_[method] = [this, answer](const Json& params) -> Json {
    const Snapshot& now = snapshot(document(params));
    return answer(now, now.offset(params.at("position")));
  };
}

void Server::add_whole(const std::string& method, Json (*answer)(const Snapshot&)) {
  requests_[method] = [this, answer](const Json& params) -> Json { return answer(snapshot(document(params))); };
}

void Server::add_parsed(const std::string& method, Json (*answer)(const Snapshot&)) {
  requests_[method] = [this, answer](const Json& params) -> Json { return answer(parsed(document(params))); };
}

void Server::add_features() {
  add_at("textDocument/hover", hover);
  add_at("textDocument/signatureHelp", signature_help);
  add_at("textDocument/definition", definition);
  add_at("textDocument/typeDefinition", type_definition);
  add_at("textDocument/documentHighlight", highlights);
  add_at("textDocument/prepareRename", prepare_rename);
  add_parsed("textDocument/documentSymbol", document_symbols);
  add_parsed("textDocument/foldingRange", folding_ranges);
  add_whole("textDocument/codeLens", code_lenses);
  add_whole("textDocument/semanticTokens/full", semantic_tokens);
  requests_["textDocument/completion"] = [this](const Json& params) -> Json {
    Document& asked = document(params);
    const source::LineIndex lines(asked.text);
    const uint32_t offset = offset_of(asked.text, lines, params.at("position"));
    return completion(without_word(asked, offset), asked.text, offset);
  };
  requests_["textDocument/references"] = [this](const Json& params) -> Json {
    Document& asked = document(params);
    const Snapshot& now = snapshot(asked);
    const Json context = params.value("context", Json::object());
    return references(now, now.offset(params.at("position")), context.value("includeDeclaration", true),
                      [&] { return others(asked); });
  };
  requests_["textDocument/rename"] = [this](const Json& params) -> Json {
    Document& asked = document(params);
    const Snapshot& now = snapshot(asked);
    const uint32_t offset = now.offset(params.at("position"));
    // What strings say of weights is found out last.
    if (is_named_in_strings(now, offset)) complete_snapshot(asked);
    return rename(now, offset, params.at("newName").get<std::string>(), [&] { return others(asked); });
  };
  requests_["textDocument/formatting"] = [this](const Json& params) -> Json {
    return formatting(parsed(document(params)), nullptr);
  };
  requests_["textDocument/rangeFormatting"] = [this](const Json& params) -> Json {
    return formatting(parsed(document(params)), &params.at("range"));
  };
  requests_["textDocument/inlayHint"] = [this](const Json& params) -> Json {
    return inlay_hints(snapshot(document(params)), params.at("range"));
  };
  requests_["textDocument/codeAction"] = [this](const Json& params) -> Json {
    Document& asked = document(params);
    return code_actions(complete_snapshot(asked), asked.uri, params.at("range"));
  };
  requests_["textDocument/documentLink"] = [this](const Json& params) -> Json {
    return document_links(snapshot(document(params)), folders_);
  };
  requests_["workspace/symbol"] = [this](const Json& params) -> Json {
    const std::string query = params.at("query").get<std::string>();
    Json symbols = Json::array();
    std::set<std::string> seen;
    const auto add = [&](const std::string& path, std::string text, const std::string& place) {
      source::SourceManager sources;
      diagnostics::Sink sink;
      const source::SourceId id = sources.add(path, std::move(text));
      add_workspace_symbols(parse::parse(id, sources, sink), sources, place, query, symbols);
    };
    for (const auto& [uri, document] : documents_) {
      if (seen.insert(document.path).second) add(document.path, document.text, document.path);
    }
    for (const std::string& path : workspace_files("")) {
      if (!seen.insert(path).second) continue;
      if (std::optional<std::string> text = read_file(path)) add(path, std::move(*text), path);
    }
    if (query.empty()) return symbols;
    for (const source::EmbeddedFile& file : resolve::library_texts) {
      const std::string path = "std/" + std::string(file.name);
      add(path, std::string(file.text), openable(path));
    }
    return symbols;
  };
}

}  // namespace ltr::language_server

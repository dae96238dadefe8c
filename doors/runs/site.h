#pragma once

#include "doors/http_server.h"
#include "doors/runs/run_list.h"

namespace ltr::doors {

/// The pages of the runs below a folder, as a server gives them. What a request names is looked up among the runs that were
/// found there; no path is made of it.
///
///     /                        the list
///     /runs/ID                 a run
///     /compare?run=ID&run=ID   several
///     /list?version=N          the list's lines, if it is another by now
///     /news/ID?from=BYTE&status=S   what is new of a run
class Site {
 public:
  explicit Site(std::filesystem::path folder) : list_(std::move(folder)) {}

  HttpResponse answer(const HttpRequest& request);
  /// How many runs there are now.
  size_t count();

 private:
  HttpResponse run(const std::string& id) const;
  HttpResponse comparison(const HttpRequest& request) const;
  HttpResponse list_news(const HttpRequest& request) const;
  HttpResponse news(const std::string& id, const HttpRequest& request) const;

  RunList list_;
};

}  // namespace ltr::doors

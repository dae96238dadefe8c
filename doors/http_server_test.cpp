#include "doors/http_server.h"

#include <doctest/doctest.h>

namespace ltr::doors {

TEST_CASE("a target is decoded once, and what is none is refused") {
  HttpRequest request;
  REQUIRE(parse_target("/runs/a%2Fb%20c?run=x+y&run=%C3%A4&empty&=v", request));
  CHECK(request.path == "/runs/a/b c");
  CHECK(request.find("run") == "x y");
  REQUIRE(request.query.size() == 4);
  CHECK(request.query[1].second == "ä");
  CHECK(request.query[2].first == "empty");
  CHECK(request.find("none").empty());
  for (const char* wrong : {"", "runs", "http://x/", "*", "/%", "/%2", "/%zz", "/%00", "/%0d%0a", "/?a=%7f"}) {
    HttpRequest into;
    CHECK_MESSAGE(!parse_target(wrong, into), wrong);
  }
  HttpRequest twice;
  REQUIRE(parse_target("/%252e", twice));
  CHECK(twice.path == "/%2e");
}

TEST_CASE("a path comes back from its address") {
  const std::string path = "/runs/a b?c#d%2F\"<ä>/0001";
  HttpRequest request;
  REQUIRE(parse_target(escape_path(path), request));
  CHECK(request.path == path);
  CHECK(request.query.empty());
}

}  // namespace ltr::doors

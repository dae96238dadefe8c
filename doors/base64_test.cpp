#include "doors/base64.h"

#include <doctest/doctest.h>

namespace ltr::doors {

TEST_CASE("base64 as RFC 4648 has it, and nothing else") {
  for (const auto& [text, bytes] :
       {std::pair("", ""), {"Zg==", "f"}, {"Zm8=", "fo"}, {"Zm9v", "foo"}, {"Zm9vYg==", "foob"}}) {
    const auto got = decode_base64(text);
    REQUIRE(got);
    CHECK(*got == bytes);
  }
  for (const char* wrong : {"Z", "Zg", "Zg=", "Zg=\n", "=Zg=", "Z===", "Zm9v\n", " Zm9", "Zm9-", "Zm=v"})
    CHECK_MESSAGE(!decode_base64(wrong), wrong);
}

}  // namespace ltr::doors

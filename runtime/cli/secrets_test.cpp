#include "runtime/cli/secrets.h"

#include <cstdlib>

#include <doctest/doctest.h>

using ltr::Str;
using ltr::cli::redacted;

TEST_CASE("a diff without secrets stays as it is") {
  const Str diff =
      "diff --git a/x.ltr b/x.ltr\n--- a/x.ltr\n+++ b/x.ltr\n@@ -1 +1 @@\n-hparam lr: float = 0.1\n+token = "
      "tokenizer(text)\n";
  CHECK(redacted(diff) == diff);
  CHECK(redacted("") == "");
}

TEST_CASE("secrets never stay in a diff") {
  ::setenv("LTR_TEST_API_TOKEN", "swordfish-swordfish", 1);
  const Str secrets[] = {"+key = AKIAIOSFODNN7EXAMPLE",
                         "+https://me:hunter22@host/x",
                         "+  token: \"abcdefgh\"",
                         "+PASSWORD=a1b2c3d4e5f6g7h8",
                         "+uses swordfish-swordfish here",
                         "+hooks.slack.com/services/T000/B000/XXXX",
                         "+ghp_0123456789abcdefABCDEF0123456789abcd"};
  const Str parts[] = {
      "AKIAIOSFODNN7EXAMPLE", "hunter22", "abcdefgh", "a1b2c3d4e5f6g7h8", "swordfish", "T000/B000", "ghp_0123"};
  for (size_t i = 0; i < std::size(secrets); ++i) {
    const Str out = redacted("diff --git a/x b/x\n" + secrets[i] + "\n");
    CHECK_MESSAGE(out.find(parts[i]) == Str::npos, out);
    CHECK(out.find("# 1 lines") == 0);
  }
  ::unsetenv("LTR_TEST_API_TOKEN");
}

TEST_CASE("private keys and files of secrets are left out") {
  const Str out = redacted(
      "diff --git a/.env b/.env\n+A=b\ndiff --git a/x b/x\n+-----BEGIN RSA PRIVATE KEY-----\n+MIIB\n+-----END RSA "
      "PRIVATE "
      "KEY-----\n+after\n");
  CHECK(out.find("A=b") == Str::npos);
  CHECK(out.find("MIIB") == Str::npos);
  CHECK(out.find("+after") != Str::npos);
  CHECK(out.find("# left out: .env") == 0);
}

// What `on_bad = skip` leaves out is counted once, limited, told once, and kept over a resume.
#include <doctest/doctest.h>

#include "runtime/api/error.h"
#include "runtime/train/left_out_records.h"

namespace ltr {

namespace {

LeftOut bad_row(int64_t line, int64_t most = 2, int64_t stage = 0) {
  return {stage, most, {"a.ltr", 3, 1}, fmt::format("a.csv:{}", line), "is bad"};
}

}  // namespace

TEST_CASE("a bad record counts once, and beyond the limit of its stage is R3004") {
  LeftOutRecords records;
  CHECK(records.take({bad_row(7), bad_row(9)}).size() == 2);
  CHECK(records.take({bad_row(7)}).empty());
  // Another stage leaves it out, too: it is one record, and counts against the limits of both.
  CHECK(records.take({bad_row(7, 2, 1)}).empty());
  CHECK(records.unshared().size() == 3);
  CHECK(records.all().size() == 2);
  CHECK(records.news() == "2 bad records left out, the first is a.csv:7: is bad");
  CHECK(records.news().empty());
  try {
    records.take({bad_row(11)});
    FAIL("a third one is one too many");
  } catch (const Error& error) {
    CHECK(error.code == "R3004");
    CHECK(error.help == "the last one is a.csv:11: is bad");
  }
}

TEST_CASE("what was left out is known over a resume, its limit with it") {
  LeftOutRecords before;
  before.take({bad_row(7)});
  before.news();
  before.take({bad_row(9)});
  CheckpointData data;
  SaveArchive saved(data);
  before.visit(saved);

  LeftOutRecords after;
  LoadArchive archive(data);
  after.visit(archive);
  CHECK(after.count() == 2);
  CHECK(after.news() == "1 bad record left out, it is a.csv:9: is bad");
  CHECK(after.take({bad_row(7), bad_row(9)}).empty());
  CHECK_THROWS_AS(after.take({bad_row(8)}), Error);
}

}  // namespace ltr

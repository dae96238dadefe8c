// Records on the disk: stored by one store, found by another; files that are damaged, abandoned or of other records.

#include <doctest/doctest.h>

#include <ATen/ATen.h>

#include <cmath>
#include <filesystem>
#include <thread>

#include "doors/crc.h"
#include "doors/file.h"
#include "doors/scratch.h"
#include "runtime/data/cell_bytes.h"
#include "runtime/data/record_store.h"
#include "runtime/data/trouble.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

constexpr int64_t kRoom = int64_t(1) << 30;

Str record(int64_t number) { return Str(size_t(number) * 37 % 5000, char('a' + number % 26)); }

/// How many of `count` records are found, each as it was stored.
int64_t found_in(RecordStore& store, int64_t count) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; ++i) {
    Str bytes;
    if (!store.find(i, bytes)) continue;
    CHECK(bytes == record(i));
    ++found;
  }
  return found;
}

struct StoreFolder : testing::ScratchFolder {
  StoreFolder() { take_troubles(); }
  std::unique_ptr<RecordStore> open(int64_t wanted = 1000, int64_t limit = kRoom, char key = 'a') const {
    return std::make_unique<RecordStore>(path, Str(64, key), "the test", wanted, limit);
  }
  std::vector<std::filesystem::path> files(const char* kind) const {
    std::vector<std::filesystem::path> out;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.path().extension() == kind) out.push_back(entry.path());
    }
    return out;
  }
};

}  // namespace

TEST_CASE("what a store is given is found by it, by others while it lives once the file is whole, and later") {
  const StoreFolder folder;
  auto store = folder.open(20);
  auto other = folder.open(20);
  for (int64_t i = 0; i < 10; ++i) store->store(i, record(i));
  CHECK(found_in(*store, 20) == 10);
  CHECK(found_in(*other, 20) == 0);
  CHECK(folder.files(".part").size() == 1);
  for (int64_t i = 10; i < 20; ++i) store->store(i, record(i));
  CHECK(found_in(*other, 20) == 20);
  CHECK(folder.files(".part").empty());
  store.reset();
  other.reset();
  CHECK(found_in(*folder.open(), 20) == 20);
  CHECK(take_troubles().empty());
}

TEST_CASE("threads store and find at once") {
  const StoreFolder folder;
  auto store = folder.open(300);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&store, t] {
      for (int64_t i = 0; i < 300; ++i) {
        const int64_t number = (i * 7 + t * 50) % 300;
        Str bytes;
        if (!store->find(number, bytes)) store->store(number, record(number));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(found_in(*store, 300) == 300);
  CHECK(folder.files(".records").size() == 1);
}

TEST_CASE("a damaged file is removed and said once, whatever is damaged") {
  const StoreFolder folder;
  auto store = folder.open();
  for (int64_t i = 0; i < 40; ++i) store->store(i, record(i));
  store.reset();
  const std::filesystem::path path = folder.files(".records").at(0);
  const Str whole = doors::read_plain_file(path.string(), 1 << 20);
  for (size_t at = 0; at < whole.size(); at += at < 72 || at + 60 > whole.size() ? 1 : 977) {
    Str bytes = whole;
    bytes[at] = char(bytes[at] ^ 0x10);
    doors::write_file_atomically(path.string(), bytes);
    auto damaged = folder.open();
    CHECK(found_in(*damaged, 40) < 40);
    CHECK(folder.files(".records").empty());
    CHECK(take_troubles().size() == 1);
    // What it held is stored anew.
    for (int64_t i = 0; i < 40; ++i) damaged->store(i, record(i));
    CHECK(found_in(*damaged, 40) == 40);
    damaged.reset();
    for (const auto& file : folder.files(".records")) std::filesystem::remove(file);
  }
  for (const size_t left : {size_t(0), size_t(1), size_t(80), whole.size() / 2, whole.size() - 1}) {
    doors::write_file_atomically(path.string(), whole.substr(0, left));
    CHECK(found_in(*folder.open(), 40) == 0);
    CHECK(take_troubles().size() == 1);
  }
  doors::write_file_atomically(path.string(), whole);
  CHECK(found_in(*folder.open(1000, kRoom, 'b'), 40) == 0);
  CHECK(take_troubles().size() == 1);
}

TEST_CASE("what a writer has abandoned goes, what one is writing stays") {
  const StoreFolder folder;
  folder.write("0123.part", "half of it");
  auto store = folder.open();
  CHECK(folder.files(".part").empty());
  store->store(1, record(1));
  const auto other = folder.open();
  CHECK(folder.files(".part").size() == 1);
  CHECK(take_troubles().empty());
}

TEST_CASE("a store takes what its limit has room for, and says so once") {
  const StoreFolder folder;
  auto store = folder.open(100, 10000);
  for (int64_t i = 1; i < 100; ++i) store->store(i, record(i));
  const int64_t kept = found_in(*store, 100);
  CHECK(kept > 3);
  CHECK(kept < 99);
  CHECK(take_troubles().size() == 1);
  store.reset();
  CHECK(found_in(*folder.open(100, 10000), 100) == kept);
}

TEST_CASE("a folder that cannot be made is a trouble and no store") {
  const testing::ScratchFile file("", "in the way");
  take_troubles();
  RecordStore store(std::filesystem::path(file.path) / "below", Str(64, 'a'), "the test", 10, kRoom);
  store.store(1, "x");
  Str bytes;
  CHECK_FALSE(store.find(1, bytes));
  CHECK(take_troubles().size() == 1);
}

TEST_CASE("records become bytes and back, bit for bit") {
  Record in(7);
  in[0].tensor = give(at::tensor({1.5, -0.0, double(NAN)}, at::kFloat));
  in[1].tensor = give(at::ones({0, 3}, at::kByte));
  in[2].whole = INT64_MIN;
  in[3].real = -0.0;
  in[4].text = Str("a\0b", 3);
  in[5].is_missing = true;
  in[6].tensor = give(at::arange(6, at::kLong).reshape({2, 3}).t());
  Str bytes;
  append_record(in, bytes);
  Record out;
  CHECK(parse_record(bytes, 7, out));
  CHECK(std::signbit(out[3].real));
  CHECK(out[2].whole == INT64_MIN);
  CHECK(out[4].text == in[4].text);
  CHECK(out[5].is_missing);
  CHECK(aten(out[1].tensor).sizes() == at::IntArrayRef({0, 3}));
  CHECK(aten(out[6].tensor).equal(aten(in[6].tensor)));
  Str again;
  append_record(out, again);
  CHECK(again == bytes);
  CHECK_FALSE(parse_record(bytes, 6, out));
  for (size_t left = 0; left < bytes.size(); ++left) CHECK_FALSE(parse_record(bytes.substr(0, left), 7, out));
}

TEST_CASE("CRC-32C of the reference, of every length and place") {
  CHECK(doors::crc32c("123456789", 9) == 0xE3069283u);
  const Str zeros(32, '\0');
  CHECK(doors::crc32c(zeros.data(), zeros.size()) == 0x8A9136AAu);
}

}  // namespace ltr

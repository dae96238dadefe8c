// Bad records, names of records, and the facts of files that a resume compares.

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include <doctest/doctest.h>

#include "doors/file.h"
#include "doors/image_file.h"
#include "doors/scratch.h"
#include "ltr/streams.h"
#include "runtime/api/error.h"
#include "runtime/data/expected.h"
#include "runtime/data/loader.h"
#include "runtime/data/paths.h"
#include "runtime/data/stream.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

using testing::error_of, testing::kData;

namespace fs = std::filesystem;

const Schema kRow = {{"n", DType::I64, {}, "int"}};

void same(const Data&, const Record& in, Record& out) { out[0].whole = in[0].whole; }

/// {image, label} -> {size: int}
void measure(const Data&, const Record& in, Record& out) { out[0].whole = aten(in[0].tensor).numel(); }

std::vector<int64_t> whole_numbers(const Stream& stream) {
  std::vector<int64_t> out;
  Record record;
  for (int64_t i = 0; i < stream.state()->size(); ++i) {
    if (stream.state()->read({0, i}, record)) out.push_back(record[0].whole);
  }
  return out;
}

data::LoaderOptions options(int workers) {
  data::LoaderOptions out;
  out.batch = {{"n", DType::I64, {-1}, ""}};
  out.workers = workers;
  out.name = "train";
  return out;
}

/// What `on_bad = skip` left out since it was asked last.
std::vector<Str> told() {
  std::vector<Str> out;
  for (const LeftOut& one : take_left_out()) out.push_back(one.place + " | " + one.reason);
  return out;
}

const Str kPhoto = LTR_SOURCE_DIR "/tests/doors/Inputs/photo.jpg";

}  // namespace

TEST_CASE("a bad cell of a CSV stops the start with file and line, unless such records are left out") {
  const testing::ScratchFolder folder;
  const Str path = folder.write("x.csv", "n\n1\nx\n3\n\n,\n5\n");
  const Stream rows = csv(path, ",", {}, kRow);
  const Error error = error_of([&] { data::Loader(collate(rows, 2, false), options(0)); });
  CHECK(error.code == "R3003");
  CHECK(error.message == path + ":3: the field n is \"x\", but int is wanted");
  CHECK(error.help.find("on_bad = skip") != Str::npos);

  take_left_out();
  const Stream skipping = map(rows, &kData, {same, kRow, false, "same", {}}, 2);
  data::Loader loader(collate(skipping, 10, false), options(0));
  CHECK(whole_numbers(skipping) == std::vector<int64_t>{1, 3, 5});
  CHECK(error_of([&] { map(rows, &kData, {same, kRow, false, "same", {}}, -1); }).code == "R2004");
  CHECK(told() == std::vector<Str>{path + ":3 | the field n is \"x\", but int is wanted",
                                   path + ":6 | 2 fields, but the header has 1"});
}

TEST_CASE("filter and split by a field leave a bad record to who reads it") {
  const testing::ScratchFolder folder;
  const Str path = folder.write("x.csv", "n\n1\nx\n3\n");
  const FilterInfo odd{[](const Data&, const Record& in) { return in[0].whole % 2 == 1; }, "odd", {}};
  const Stream filtered = filter(csv(path, ",", {}, kRow), &kData, odd);
  CHECK(filtered.state()->size() == 3);
  CHECK(error_of([&] { filtered.state()->check(); }).code == "R3003");
  CHECK(split(csv(path, ",", {}, kRow), Floats{1.0}, std::nullopt, Str("n"))[0].state()->size() == 3);
}

TEST_CASE("an image that cannot be decoded is R3003 with its file, or left out by on_bad = skip") {
  const testing::ScratchFolder folder;
  const Str whole = doors::read_file(kPhoto);
  folder.write("cat/a.jpg", whole);
  const Str cut = folder.write("cat/b.jpg", whole.substr(0, 700));
  folder.write("dog/c.jpg", whole);
  const Schema out = {{"n", DType::I64, {}, "int"}};
  const Stream images = image_folder(folder.path, 3);
  const Error error = error_of([&] { whole_numbers(map(images, &kData, {measure, out, false, "measure", {}})); });
  CHECK(error.code == "R3003");
  CHECK(error.message.find(cut) != Str::npos);

  take_left_out();
  const Stream skipping = map(images, &kData, {measure, out, false, "measure", {}}, 1);
  CHECK(whole_numbers(skipping).size() == 2);
  const std::vector<Str> left_out = told();
  REQUIRE(left_out.size() == 1);
  CHECK(left_out[0].starts_with(cut + " | "));
}

TEST_CASE("an image folder passes over nothing in silence") {
  const testing::ScratchFolder folder;
  const Str whole = doors::read_file(kPhoto);
  folder.write("cat/a.jpg", whole);
  folder.write(".git/config", "");
  folder.write("cat/.DS_Store", "");
  CHECK(image_folder(folder.path, 3).state()->size() == 1);
  const Str other = folder.write("cat/b.webp", "RIFF");
  CHECK(error_of([&] { image_folder(folder.path, 3); }).message.starts_with(other));
  fs::remove(other);
  fs::create_directories(folder.path + "/dog");
  CHECK(error_of([&] { image_folder(folder.path, 3); }).message ==
        folder.path + "/dog: the folder of a class, without an image");
  folder.write("dog/deeper/c.jpg", whole);
  CHECK(error_of([&] { image_folder(folder.path, 3); }).message.starts_with(folder.path + "/dog/deeper"));
  fs::remove_all(folder.path + "/dog");
  const Str loose = folder.write("loose.jpg", whole);
  CHECK(error_of([&] { image_folder(folder.path, 3); }).message.starts_with(loose));
}

TEST_CASE("the records of a batch are named in the order of its samples") {
  const testing::ScratchFolder folder;
  Str text = "n\n";
  for (int i = 0; i < 20; ++i) text += i % 5 == 3 ? "bad\n" : std::to_string(i) + "\n";
  const Str path = folder.write("x.csv", text);
  const Stream rows = map(shuffle(csv(path, ",", {}, kRow), 4), &kData, {same, kRow, false, "same", {}}, 10);
  data::Loader loader(collate(rows, 6, false), options(2));
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    loader.start(epoch);
    Batch batch;
    for (int64_t number = 0; loader.next(batch); ++number) {
      const std::vector<Str> names = loader.names_of(epoch, number);
      const at::Tensor values = aten(batch.fields[0]);
      REQUIRE(int64_t(names.size()) == values.size(0));
      // The header is line 1, so record i stands in line i + 2.
      for (int64_t i = 0; i < values.size(0); ++i) {
        CHECK(names[size_t(i)] == fmt::format("{}:{}", path, values[i].item().toLong() + 2));
      }
    }
  }
}

TEST_CASE("a file's fingerprint hangs on its bytes alone, and every one of them counts") {
  const testing::ScratchFolder folder;
  Str text = "n\n";
  for (int i = 0; i < 400'000; ++i) text += std::to_string(1'000'000 + i) + "\n";
  const Str first = folder.write("a.csv", text);
  const Str second = folder.write("b.csv", text);
  text[text.size() / 3] = text[text.size() / 3] == '7' ? '8' : '7';
  const Str edited = folder.write("c.csv", text);
  for (const Str& path : {first, second, edited}) csv(path, ",", {}, kRow);
  const auto facts = [&](const Str& path) {
    for (const OpenedFile& file : opened_files()) {
      if (file.path == path) return file;
    }
    return OpenedFile{};
  };
  CHECK(facts(first).records == 400'000);
  CHECK(facts(first).bytes == int64_t(text.size()));
  CHECK(facts(first).fingerprint.size() == 64);
  CHECK(facts(first).fingerprint == facts(second).fingerprint);
  CHECK(facts(first).fingerprint != facts(edited).fingerprint);
}

TEST_CASE("the sounds of a pattern are one entry, whose fingerprint hangs on names and sizes") {
  const testing::ScratchFolder one, two;
  for (const testing::ScratchFolder* folder : {&one, &two}) {
    folder->write("a/1.wav", "not read yet");
    folder->write("b/2.wav", folder == &one ? "read later" : "read never");
  }
  const auto facts = [](const testing::ScratchFolder& folder) {
    Option<OpenedFile> found;
    for (const OpenedFile& file : opened_files()) {
      CHECK_FALSE(file.path.ends_with("/1.wav"));
      if (file.path == folder.path + "/*/*.wav") found = file;
    }
    REQUIRE(found.has_value());
    return *found;
  };
  for (const testing::ScratchFolder* folder : {&one, &two}) audio(folder->path + "/*/*.wav");
  CHECK(facts(one).records == 2);
  CHECK(facts(one).bytes == 22);
  CHECK(facts(one).fingerprint.size() == 64);
  CHECK(facts(one).fingerprint == facts(two).fingerprint);
  two.write("b/3.wav", "another");
  const Str before = facts(two).fingerprint;
  audio(two.path + "/b/*.wav");
  for (const OpenedFile& file : opened_files()) {
    if (file.path == two.path + "/b/*.wav") CHECK(file.fingerprint != before);
  }
}

TEST_CASE("a folder's fingerprint hangs on names and sizes below it") {
  const testing::ScratchFolder one, two;
  for (const testing::ScratchFolder* folder : {&one, &two}) folder->write("cat/a.jpg", doors::read_file(kPhoto));
  two.write("cat/b.jpg", doors::read_file(kPhoto));
  image_folder(one.path, 3);
  image_folder(two.path, 3);
  Str found[2];
  for (const OpenedFile& file : opened_files()) {
    if (file.path == one.path) found[0] = file.fingerprint + std::to_string(file.records);
    if (file.path == two.path) found[1] = file.fingerprint + std::to_string(file.records);
  }
  CHECK(found[0].size() == 65);
  CHECK(found[0].back() == '1');
  CHECK(found[1].back() == '2');
  CHECK(found[0].substr(0, 64) != found[1].substr(0, 64));
}

TEST_CASE("a pure map runs once for each record, and a cache spares it after a random one was refused") {
  static std::atomic<int> runs = 0;
  const auto count = [](const Data&, const Record& in, Record& out) {
    ++runs;
    out[0].whole = in[0].whole * 3;
  };
  runs = 0;
  const Stream mapped = map(range(50), &kData, {count, kRow, false, "count", {}});
  data::Loader loader(collate(cache(mapped, "memory", int64_t(1) << 20), 7, false), options(0));
  Batch batch;
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    loader.start(epoch);
    int64_t sum = 0;
    while (loader.next(batch)) sum += aten(batch.fields[0]).sum().item().toLong();
    CHECK(sum == 3 * 49 * 50 / 2);
  }
  CHECK(runs == 50);
  // Without room for its rows it runs each time.
  runs = 0;
  const Stream random = map(range(50), &kData, {count, kRow, true, "count", {}});
  CHECK(error_of([&] { cache(random, "memory", 1); }).code == "R2006");
  data::Loader second(collate(random, 7, false), options(0));
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    second.start(epoch);
    while (second.next(batch)) continue;
  }
  CHECK(runs == 100);
}

TEST_CASE("prefetch says how many batches may be ready") {
  static std::atomic<int> begun = 0;
  const auto count = [](const Data&, const Record& in, Record& out) {
    ++begun;
    out[0].whole = in[0].whole;
  };
  begun = 0;
  const Stream mapped = map(range(100), &kData, {count, kRow, true, "count", {}});
  {
    data::Loader loader(prefetch(collate(mapped, 1, false), 5), options(1));
    loader.start(0);
    while (begun < 6) std::this_thread::yield();
    Batch batch;
    CHECK(loader.next(batch));
  }
  // One batch taken, six places: never more than seven were begun.
  CHECK(begun <= 7);
}

TEST_CASE("two loaders over one map: the second makes its cache while the first one's workers read") {
  const auto twice = [](const Data&, const Record& in, Record& out) { out[0].whole = in[0].whole * 2; };
  const auto noise = [](const Data&, const Record& in, Record& out) { out[0].whole = in[0].whole + 1; };
  const MapInfo pure{twice, kRow, false, "twice", {}};
  for (int round = 0; round < 20; ++round) {
    const Stream base = map(range(400), &kData, pure);
    const Stream top = map(base, &kData, {noise, kRow, false, "noise", {}});
    data::Loader first(collate(top, 4, false), options(3));
    first.start(0);
    data::Loader second(collate(base, 4, false), options(3));
    second.start(0);
    int64_t a = 0, b = 0;
    Batch batch;
    while (first.next(batch)) a += aten(batch.fields[0]).sum().item().toLong();
    while (second.next(batch)) b += aten(batch.fields[0]).sum().item().toLong();
    CHECK(a == b + 400);
  }
}

}  // namespace ltr

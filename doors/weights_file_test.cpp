#include "doors/weights_file.h"

#include <unistd.h>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "doors/bytes.h"
#include "doors/file.h"
#include "doors/pickle.h"
#include "doors/scratch.h"
#include "doors/token_file.h"
#include "doors/unpacked.h"
#include "doors/weight_plan.h"
#include "doors/zip.h"

namespace ltr::doors {

namespace {

const std::string kInputs = LTR_SOURCE_DIR "/tests/doors/Inputs/";

template <class T>
std::vector<T> values(WeightsFile& file, const std::string& name) {
  for (const TensorEntry& tensor : file.tensors()) {
    if (tensor.name != name) continue;
    std::vector<T> list(tensor.bytes / sizeof(T));
    if (tensor.bytes > 0) std::memcpy(list.data(), file.bytes_of(tensor), tensor.bytes);
    return list;
  }
  return {};
}

const TensorEntry& entry(const WeightsFile& file, const std::string& name) {
  for (const TensorEntry& tensor : file.tensors()) {
    if (tensor.name == name) return tensor;
  }
  throw std::runtime_error("no " + name);
}

std::string file_refusal(const std::string& path) {
  try {
    WeightsFile::open(path);
  } catch (const WeightsError& error) {
    std::string text = error.what();
    for (const std::string& name : error.callables) text += " " + name;
    return text;
  }
  return "";
}

std::vector<Wanted> wanted(const std::vector<std::string>& names) {
  std::vector<Wanted> list;
  for (const std::string& name : names) list.push_back({name, ""});
  return list;
}

}  // namespace

TEST_CASE("a state_dict of torch.save: every type, views, empty and 0-d tensors") {
  WeightsFile file = WeightsFile::open(kInputs + "plain.pt");
  CHECK(file.tensors().size() == 7);
  CHECK(values<float>(file, "a.weight") == std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(entry(file, "a.turned").shape == std::vector<int64_t>{3, 3});
  CHECK(values<float>(file, "a.turned") == std::vector<float>{1, 5, 9, 2, 6, 10, 3, 7, 11});
  CHECK(entry(file, "b.half").dtype == "F16");
  CHECK(values<uint16_t>(file, "b.half") == std::vector<uint16_t>{0x3E00, 0xC000});
  CHECK(entry(file, "b.brain").dtype == "BF16");
  CHECK(values<uint16_t>(file, "b.brain") == std::vector<uint16_t>{0x3F00});
  CHECK(entry(file, "b.count").shape.empty());
  CHECK(values<int64_t>(file, "b.count") == std::vector<int64_t>{7});
  CHECK(entry(file, "b.flags").dtype == "BOOL");
  CHECK(entry(file, "b.empty").bytes == 0);
}

TEST_CASE("a checkpoint: its state_dict, or the part that is named") {
  WeightsFile file = WeightsFile::open(kInputs + "checkpoint.ckpt");
  CHECK(file.tensors().size() == 7);
  WeightsFile part = WeightsFile::open(kInputs + "checkpoint.ckpt#ema");
  CHECK(values<double>(part, "w") == std::vector<double>{1, 1});
  CHECK(file_refusal(kInputs + "checkpoint.ckpt#other").find("no part other; it holds epoch, state_dict") !=
        std::string::npos);
  CHECK(WeightsFile::exists(kInputs + "checkpoint.ckpt#ema"));
  CHECK(!WeightsFile::exists(kInputs + "none.ckpt#ema"));
}

TEST_CASE("a member of a safetensors file, by the names within it") {
  const std::string header =
      R"({"net.fc.weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"netto.bias":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})";
  const float numbers[] = {1.5F, 2.5F};
  const uint64_t size = header.size();
  const testing::ScratchFile file(".safetensors",
                                  std::string(reinterpret_cast<const char*>(&size), sizeof size) + header +
                                      std::string(reinterpret_cast<const char*>(numbers), sizeof numbers));
  CHECK(WeightsFile::exists(file.path + "#net"));
  WeightsFile member = WeightsFile::open(file.path + "#net");
  REQUIRE(member.tensors().size() == 1);
  CHECK(member.tensors()[0].name == "fc.weight");
  CHECK(values<float>(member, "fc.weight") == std::vector<float>{1.5F});
  CHECK(file_refusal(file.path + "#body") == "none of its tensors is of body");
}

TEST_CASE("PyTorch files that are refused say why") {
  CHECK(file_refusal(kInputs + "legacy.pt").find("plain pickle") != std::string::npos);
  CHECK(file_refusal(LTR_SOURCE_DIR "/tests/corpus/data/runs_code.pt").find("os.system") != std::string::npos);
  const testing::ScratchFile cut(".pt", read_file(kInputs + "plain.pt").substr(0, 900));
  CHECK(file_refusal(cut.path).find("cut off") != std::string::npos);
}

TEST_CASE("a flipped bit of a PyTorch file is refused, or changes nothing") {
  const std::string whole = read_file(kInputs + "plain.pt");
  const auto all_of = [](const std::string& path) {
    WeightsFile file = WeightsFile::open(path);
    std::map<std::string, std::string> all;
    for (const TensorEntry& tensor : file.tensors()) {
      std::string& bytes = all[tensor.name];
      if (tensor.bytes > 0) bytes.assign(static_cast<const char*>(file.bytes_of(tensor)), tensor.bytes);
    }
    return all;
  };
  const auto undamaged = all_of(kInputs + "plain.pt");
  int refused = 0;
  for (size_t place = 0; place < whole.size(); ++place) {
    std::string bytes = whole;
    bytes[place] = char(bytes[place] ^ (1 << (place % 8)));
    const testing::ScratchFile scratch(".pt", bytes);
    try {
      const auto read = all_of(scratch.path);
      CHECK_MESSAGE(read == undamaged, "byte ", place);
    } catch (const WeightsError&) {
      ++refused;
    }
  }
  CHECK(refused > 0);
}

TEST_CASE("an archive that is written reads back, and equal entries are equal bytes") {
  const std::vector<std::pair<std::string, std::string>> entries = {
      {"a.npy", "one"}, {"größe.npy", std::string(70'000, 'x')}, {"empty.npy", ""}};
  const std::string bytes = encode_zip(entries);
  CHECK(bytes == encode_zip(entries));
  const testing::ScratchFile file(".npz", bytes);
  const Mapping mapping(file.path);
  const std::vector<ZipEntry> found = read_zip(file.path, mapping);
  REQUIRE(found.size() == entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    CHECK(found[i].name == entries[i].first);
    CHECK(unpacked(file.path, mapping, found[i]) == entries[i].second);
    CHECK(has_its_crc(mapping, found[i]));
  }
  const testing::ScratchFile nothing(".npz", encode_zip({}));
  CHECK(read_zip(nothing.path, Mapping(nothing.path)).empty());
}

TEST_CASE("a storage that does not have its CRC is named, and one without a CRC is read") {
  std::string bytes = read_file(kInputs + "plain.pt");
  const Mapping mapping(kInputs + "plain.pt");
  for (const ZipEntry& entry : read_zip("plain.pt", mapping)) {
    if (entry.name == "plain/data/0") bytes[entry.offset] ^= 1;
  }
  const testing::ScratchFile flipped(".pt", bytes);
  WeightsFile file = WeightsFile::open(flipped.path);  // names and shapes are read alone
  CHECK_THROWS_WITH(file.bytes_of(entry(file, "a.weight")), "the bytes of plain/data/0 do not have their CRC-32");
  CHECK_THROWS_AS(file.bytes_of(entry(file, "a.turned")), WeightsError);
  CHECK(values<int64_t>(file, "b.count") == std::vector<int64_t>{7});

  // As `torch.serialization.set_crc32_options(False)` lets PyTorch write it.
  for (size_t place = bytes.find("PK\1\2"); place < bytes.size(); place = bytes.find("PK\1\2", place + 1))
    bytes.replace(place + 16, 4, 4, '\0');
  const testing::ScratchFile without(".pt", bytes);
  WeightsFile unknown = WeightsFile::open(without.path);
  CHECK(values<int64_t>(unknown, "b.count") == std::vector<int64_t>{7});
  CHECK(values<float>(unknown, "a.weight").size() == 12);
}

TEST_CASE("a damaged PyTorch file is an error, never a crash") {
  const std::string whole = read_file(kInputs + "plain.pt");
  uint32_t state = 1;
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = whole;
    for (int i = 0; i < 3; ++i) {
      state = state * 1664525 + 1013904223;
      bytes[(state >> 8) % bytes.size()] = char(state >> 24);
    }
    const testing::ScratchFile scratch(".pt", bytes);
    try {
      WeightsFile file = WeightsFile::open(scratch.path);
      for (const TensorEntry& tensor : file.tensors()) file.bytes_of(tensor);
    } catch (const WeightsError&) {
      ++refused;
    }
  }
  CHECK(refused > 0);
}

TEST_CASE("a pickle runs nothing and keeps within its stack") {
  CHECK_THROWS_AS(read_pickle("\x80\x02."), PickleError);
  CHECK_THROWS_AS(read_pickle("\x80\x04N."), PickleError);
  CHECK_THROWS_AS(read_pickle("N"), PickleError);
  CHECK_THROWS_AS(read_pickle("h\x01."), PickleError);
  CHECK_THROWS_AS(read_pickle("I1\n."), PickleError);
  const Pickle call = read_pickle(
      "\x80\x02"
      "cos\nsystem\nX\x04" +
      std::string(3, '\0') + "true\x85R.");
  CHECK(call.calls == std::vector<std::string>{"os.system"});
  CHECK(call.at(call.root).kind == PickleValue::Kind::Call);
}

TEST_CASE("rename, skip and freeze") {
  using Kind = LoadRule::Kind;
  LoadPlan plan = plan_load(
      wanted({"fc1.weight", "fc2.weight"}), {"m.fc1.weight", "head.weight"},
      {{Kind::Rename, "m.*", "*"}, {Kind::Skip, "fc2.*", ""}, {Kind::Skip, "head.*", ""}, {Kind::Freeze, "*1*", ""}});
  CHECK(plan.loads == std::vector<std::pair<std::string, std::string>>{{"fc1.weight", "m.fc1.weight"}});
  CHECK(plan.missing.empty());
  CHECK(plan.unexpected.empty());
  CHECK(plan.idle_rules.empty());
  CHECK(plan.frozen == std::vector<std::string>{"fc1.weight"});

  plan = plan_load(wanted({"a"}), {"b"}, {{Kind::Freeze, "c", ""}});
  CHECK(plan.missing == std::vector<std::string>{"a"});
  CHECK(plan.unexpected == std::vector<std::string>{"b"});
  CHECK(plan.idle_rules == std::vector<size_t>{0});
}

TEST_CASE("a rename is proposed where most names fit with it") {
  LoadPlan plan =
      plan_load(wanted({"a.w", "a.b", "c.w", "c.b"}), {"module.a.w", "module.a.b", "module.c.w", "module.c.b"}, {});
  CHECK(plan.rename_from == "module.*");
  CHECK(plan.rename_to == "*");
  plan = plan_load(wanted({"net.a", "net.b"}), {"model.a", "model.b"}, {});
  CHECK(plan.rename_from == "model.*");
  CHECK(plan.rename_to == "net.*");
  plan = plan_load(wanted({"net.a", "net.b"}), {"a", "b"}, {});
  CHECK(plan.rename_from == "*");
  CHECK(plan.rename_to == "net.*");
  CHECK(plan_load(wanted({"x", "y"}), {"a", "b"}, {}).rename_from.empty());
}

TEST_CASE("tied weights may be stored under either name") {
  const std::vector<Wanted> tied = {{"tok.weight", ""}, {"head.weight", "tok.weight"}};
  CHECK(plan_load(tied, {"tok.weight"}, {}).missing.empty());
  CHECK(plan_load(tied, {"head.weight"}, {}).missing.empty());
  CHECK(plan_load(tied, {"tok.weight", "head.weight"}, {}).loads.size() == 2);
  CHECK(plan_load(tied, {}, {}).missing.size() == 2);
}

TEST_CASE("files of tokens, with and without a header") {
  std::string ids;
  for (const uint16_t id : {1, 50303, 65535}) put_le(ids, id);
  const testing::ScratchFile raw(".bin", ids);
  const TokenFile plain(raw.path);
  int32_t out[3];
  plain.copy(0, plain.count(), out);
  CHECK(plain.count() == 3);
  CHECK(out[2] == 65535);

  std::string header;
  for (const int32_t word : {20240801, 7, 2}) put_le(header, word);
  header.resize(1024);
  std::string wide;
  for (const uint32_t id : {70000, 5}) put_le(wide, id);
  const testing::ScratchFile with_header(".bin", header + wide);
  const TokenFile second(with_header.path);
  second.copy(0, 1, out);
  CHECK(second.count() == 2);
  CHECK(out[0] == 70000);
  CHECK_THROWS_AS(TokenFile(testing::ScratchFile("a.bin", header + wide + wide).path), FormatError);
  CHECK_THROWS_AS(TokenFile(testing::ScratchFile("b.bin", "abc").path), FormatError);
}

TEST_CASE("a file of tokens that is cut off while it is read is said to be so") {
  const testing::ScratchFile file(".bin", std::string(40'000, 1));
  const TokenFile tokens(file.path);
  std::vector<int32_t> out(10);
  tokens.copy(0, 10, out.data());
  std::filesystem::resize_file(file.path, 5'000);
  tokens.copy(10, 10, out.data());
  CHECK(out[0] == 257);
  CHECK_THROWS_AS(tokens.copy(15'000, 10, out.data()), FormatError);
  const testing::ScratchFile archive(".tar", std::string(40'000, 'a'));
  const Unpacked bytes(archive.path);
  CHECK(bytes.text()[39'000] == 'a');
  std::filesystem::resize_file(archive.path, 5'000);
  CHECK(bytes.text()[100] == 'a');
  CHECK_FALSE(bytes.is_cut());
  CHECK(bytes.text()[39'000] == '\0');
  CHECK(bytes.is_cut());
  // Another one takes its place among those that are watched.
  const testing::ScratchFile second(".bin", std::string(40'000, 2));
  const TokenFile others(second.path);
  others.copy(15'000, 10, out.data());
  CHECK(out[0] == 514);
}

}  // namespace ltr::doors

#include "doors/tfevents.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>

#include <doctest/doctest.h>

#include "doors/bytes.h"
#include "doors/crc.h"

namespace ltr::doors {

TEST_CASE("CRC-32C of the standard check string") {
  CHECK(crc32c("123456789", 9) == 0xE3069283u);
}

TEST_CASE("an event file begins with its version and a session start, and frames a scalar") {
  const std::string path = (std::filesystem::temp_directory_path() / ("ltr-ev-" + std::to_string(::getpid()))).string();
  std::filesystem::remove(path);
  {
    EventFile file(path, 0, 2.0);
    file.scalar(5, 2.0, "a", 1.5);
  }
  std::ifstream in(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::remove(path.c_str());
  const std::string time("\x09\x00\x00\x00\x00\x00\x00\x00\x40", 9);
  const std::string version = frame_record(time + "\x1a\x0d" "brain.Event:2");
  const std::string start = frame_record(time + "\x3a\x02\x08\x01");
  const std::string scalar = frame_record(time + "\x10\x05" "\x2a\x0a\x0a\x08\x0a\x01" "a\x15" + std::string("\x00\x00\xc0\x3f", 4));
  CHECK(bytes == version + start + scalar);
  CHECK(get_le<uint64_t>(version.data()) == version.size() - 16);
}

TEST_CASE("histograms cover all finite values") {
  const Histogram histogram = make_histogram({0, 0.5, 1, 1, NAN}, 4);
  CHECK(histogram.counts == std::vector<double>{1, 0, 1, 2});
  CHECK(histogram.left.front() == 0);
  CHECK(histogram.right.back() == 1);
  CHECK(make_histogram({}, 4).counts.empty());
  CHECK(make_histogram({2, 2}, 4).counts == std::vector<double>{2});
}

TEST_CASE("TensorBoard's reader finds every kind") {
  const char* python = std::getenv("LTR_TEST_PYTHON");
  const std::string interpreter = python != nullptr ? python : "python3";
  if (std::system((interpreter + " -c 'import tensorboard' 2>/dev/null").c_str()) != 0) {
    MESSAGE("skipped: no tensorboard in " << interpreter << "; LTR_TEST_PYTHON names another one");
    return;
  }
  const std::string folder = (std::filesystem::temp_directory_path() / ("ltr-tb-" + std::to_string(::getpid()))).string();
  std::filesystem::create_directories(folder);
  {
    EventFile first(folder + "/" + event_file_name(100, "h", 1, 0), 0, 100);
    first.hparams_start(100, {{"lr", 0.5}, {"bias", true}, {"act", std::string("relu")}});
    for (int step = 1; step <= 4; ++step) first.scalar(step, 100 + step, "train/loss", 1.0 / step);
    first.histogram(2, 102, "w", make_histogram({0, 1, 2, 3}, 30));
    first.image(2, 102, "picture", Image{2, 1, 3, {255, 0, 0, 0, 255, 0}});
    first.text(2, 102, "words", "**hello**");
  }
  {
    EventFile second(folder + "/" + event_file_name(200, "h", 1, 1), 3, 200);
    second.scalar(3, 203, "train/loss", 9.0);
    second.hparams_end(204, SessionStatus::Success);
  }
  const std::string script = folder + "/read.py";
  std::ofstream(script) << R"(
import sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
a = EventAccumulator(sys.argv[1], size_guidance={'images': 0, 'tensors': 0, 'scalars': 0}); a.Reload()
assert [(e.step, round(e.value, 3)) for e in a.Scalars('train/loss')] == [(1, 1.0), (2, 0.5), (3, 9.0)], a.Scalars('train/loss')
tags = a.Tags()['tensors']
assert {'w', 'picture', 'words'} <= set(tags), tags
h = a.Tensors('w')[0].tensor_proto
assert [d.size for d in h.tensor_shape.dim] == [30, 3] and h.dtype == 2
p = a.Tensors('picture')[0].tensor_proto.string_val
assert p[0] == b'2' and p[1] == b'1' and p[2][:4] == b'\x89PNG', p
assert a.Tensors('words')[0].tensor_proto.string_val[0] == b'**hello**'
plug = a.summary_metadata
assert plug['w'].plugin_data.plugin_name == 'histograms' and plug['picture'].plugin_data.plugin_name == 'images'
from tensorboard.plugins.hparams import metadata
start = metadata.parse_session_start_info_plugin_data(plug['_hparams_/session_start_info'].plugin_data.content)
assert start.hparams['lr'].number_value == 0.5 and start.hparams['bias'].bool_value and start.hparams['act'].string_value == 'relu'
end = metadata.parse_session_end_info_plugin_data(plug['_hparams_/session_end_info'].plugin_data.content)
assert end.status == 1 and end.end_time_secs == 204
)";
  CHECK(std::system((interpreter + " " + script + " " + folder + " 2>" + folder + "/errors || { cat " + folder + "/errors; false; }").c_str()) == 0);
  std::filesystem::remove_all(folder);
}

}  // namespace ltr::doors

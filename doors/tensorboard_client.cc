// Writes event files and reads them back with TensorBoard's own reader. Exits 77 where Python has no tensorboard.

#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "doors/tfevents.h"

namespace ltr::doors {

int check_with_reader() {
  const char* python = std::getenv("LTR_TEST_PYTHON");
  const std::string interpreter = python != nullptr ? python : "python3";
  if (std::system((interpreter + " -c 'import tensorboard' 2>/dev/null").c_str()) != 0) {
    std::printf("skipped: %s has no tensorboard; LTR_TEST_PYTHON names another Python\n", interpreter.c_str());
    return 77;
  }
  const std::string folder =
      (std::filesystem::temp_directory_path() / ("ltr-tb-" + std::to_string(::getpid()))).string();
  std::filesystem::create_directories(folder);
  {
    EventFile first(folder + "/" + event_file_name(100, "h", 1, 0), 0, 100);
    first.hparams_start(100, {{"lr", 0.5}, {"bias", true}, {"act", std::string("relu")}});
    for (int step = 1; step <= 4; ++step) first.scalar(step, 100 + step, "train/loss", 1.0 / step);
    first.histogram(2, 102, "w", make_histogram(std::vector<double>{0, 1, 2, 3}, 30));
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
  const bool is_read =
      std::system((interpreter + " " + script + " " + folder + " 2>" + folder + "/errors").c_str()) == 0;
  if (!is_read) std::system(("cat " + folder + "/errors").c_str());
  std::filesystem::remove_all(folder);
  return is_read ? 0 : 1;
}

}  // namespace ltr::doors

int main() { return ltr::doors::check_with_reader(); }

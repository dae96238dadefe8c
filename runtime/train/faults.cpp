#include "runtime/train/faults.h"

#include <filesystem>

#include <nlohmann/json.hpp>

#include "doors/file.h"
#include "runtime/checkpoint/folder.h"
#include "runtime/tensor/handle.h"

namespace ltr {

Str write_fault(const RunRequest& request, const Batch& batch, const Error& error, int64_t step,
                const std::vector<Str>& records) {
  const Str folder = request.run_dir + "/faults";
  const Str stem = fmt::format("{}/step{:07}", folder, step);
  try {
    std::filesystem::create_directories(folder);
    std::vector<NamedTensor> tensors;
    for (size_t i = 0; i < batch.fields.size(); i++) {
      if (batch.fields[i].defined()) tensors.push_back({request.data.batch[i].name, aten(batch.fields[i])});
    }
    write_tensors(stem + ".safetensors", tensors);
    const nlohmann::json about = {{"code", error.code},
                                  {"message", error.message},
                                  {"file", error.location.file == nullptr ? "" : error.location.file},
                                  {"line", error.location.line},
                                  {"step", step},
                                  {"records", records}};
    doors::write_file_atomically(stem + ".json",
                                 about.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  } catch (const Error&) {
    throw;
  } catch (const std::exception& failure) {
    throw error_at({}, err::cannot_write, stem, failure.what());
  }
  return stem + ".safetensors";
}

Str records_text(const std::vector<Str>& records) {
  constexpr size_t kShown = 3;
  if (records.empty()) return "";
  const size_t shown = std::min(records.size(), kShown);
  Str text = fmt::format(" (records {}", fmt::join(records.begin(), records.begin() + ptrdiff_t(shown), ", "));
  if (records.size() > shown) text += fmt::format(" and {} more", records.size() - shown);
  return text + ")";
}

}  // namespace ltr

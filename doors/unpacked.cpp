#include "doors/unpacked.h"

#include "doors/file.h"

namespace ltr::doors {

Unpacked::Unpacked(const std::string& path) : file_(std::make_unique<Mapping>(path)) {
  file_->watch();
  if (!file_->text().starts_with("\x1F\x8B")) return;
  file_.reset();
  unpacked_ = read_file(path);
}

}  // namespace ltr::doors

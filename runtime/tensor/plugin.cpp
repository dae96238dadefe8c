#include "runtime/tensor/plugin.h"

#include <dlfcn.h>

#include <filesystem>

namespace ltr {

Str file_beside_runtime(const Str& name) {
  Dl_info here{};
  if (::dladdr(reinterpret_cast<const void*>(&file_beside_runtime), &here) == 0 || here.dli_fname == nullptr)
    return name;
  return (std::filesystem::path(here.dli_fname).parent_path() / name).string();
}

Str plugin_file() {
  const Str file = file_beside_runtime("libltr_runtime_cuda.so");
  std::error_code failed;
  return std::filesystem::exists(file, failed) ? file : "";
}

Plugin load_plugin(const Str& file) {
  // For all to see: LibTorch's CPU half asks for the names of the CUDA half.
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) return {nullptr, ::dlerror()};
  const auto get = reinterpret_cast<Accelerator* (*)()>(::dlsym(library, "ltr_accelerator"));
  if (get == nullptr) return {nullptr, file + " is no plug-in of this version"};
  return {get(), ""};
}

int64_t driver_devices() {
  void* driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return 0;
  const auto begin = reinterpret_cast<int (*)(unsigned)>(::dlsym(driver, "cuInit"));
  const auto ask = reinterpret_cast<int (*)(int*)>(::dlsym(driver, "cuDeviceGetCount"));
  int count = 0;
  return begin != nullptr && ask != nullptr && begin(0) == 0 && ask(&count) == 0 ? count : 0;
}

}  // namespace ltr

#pragma once

// The meeting point of all ranks: a small table of keys that one process serves. Ranks find each other there, and one that
// fails says why.

#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "runtime/distributed/place.h"

namespace ltr::distributed {

using Store = c10::intrusive_ptr<c10d::Store>;

/// From now on c10d does not print what it sees when another process is gone, with a stack each time: errors say it. Unless
/// TORCH_CPP_LOG_LEVEL asks for it. Called before there are threads.
void quiet_c10d();

/// A store as `options` say, or what c10d throws; `std::runtime_error` if nobody answers.
Store connect_store(const Str& host, const c10d::TCPStoreOptions& options);

/// Opens it, or joins it, waiting `timeout_s` for who opens it. R1002 if nobody does, R2008 if its port is taken.
Store open_store(const Place& place, double timeout_s);

}  // namespace ltr::distributed

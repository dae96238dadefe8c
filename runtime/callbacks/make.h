#pragma once

// The built-in callbacks: one file each, one row each in make.cpp.

#include "runtime/api/error.h"
#include "runtime/callbacks/listener.h"
#include "runtime/train/feed.h"
#include "runtime/train/run_state.h"
#include "runtime/train/windows.h"

namespace ltr {

class LateGate;
class Saver;

/// What a listener of `fit` may look at, and what it may do. All of it outlives the listener.
struct FitView {
  RunRequest& request;
  LogTable& logs;
  Feed& feed;
  const Windows& windows;
  const Position& at;
  Outcome& outcome;
  Times& times;
  const Batch& batch;  ///< the newest
  const Context& cx;   ///< its epoch is the one under way
  Saver& saver;
  const LateGate& late;
};

/// All listeners of `request`: its callbacks, what is there by itself, and the schedules that wait for a value. R2002
/// names callbacks that do not exist and series that nobody logs.
void make_listeners(const FitView& view, Listeners& listeners);

using ListenerPtr = std::unique_ptr<Listener>;
ListenerPtr make_checkpoint(const Value& call, const FitView& view);
ListenerPtr make_device_stats(const Value& call, const FitView& view);
ListenerPtr make_early_stop(const Value& call, const FitView& view);
ListenerPtr make_ema(const Value& call, const FitView& view);
/// Of all callbacks that hold weights back; null if there are none.
ListenerPtr make_freezing(const FitView& view);
ListenerPtr make_grad_norm(const Value& call, const FitView& view);
ListenerPtr make_histograms(const Value& call, const FitView& view);
ListenerPtr make_image_grid(const Value& call, const FitView& view);
ListenerPtr make_lr_monitor(const Value& call, const FitView& view);
ListenerPtr make_notify(const Value& call, const FitView& view);
ListenerPtr make_sample_predictions(const Value& call, const FitView& view);
ListenerPtr make_spike_guard(const Value& call, const FitView& view);
ListenerPtr make_swa(const Value& call, const FitView& view);
ListenerPtr make_throughput(const Value& call, const FitView& view);
ListenerPtr make_timer(const Value& call, const FitView& view);
ListenerPtr make_plateau(const Optimizer& optimizer, optim::Plateau& plateau, const FitView& view);

}  // namespace ltr

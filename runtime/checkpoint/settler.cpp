#include "runtime/checkpoint/settler.h"

#include <algorithm>
#include <system_error>

#include "runtime/checkpoint/folder.h"

namespace ltr {

Settler::~Settler() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Settler::settle(const Str& name) {
  {
    const std::lock_guard lock(mutex_);
    // One of its name that was to go, and could not while the disk took nothing, is not there any more.
    std::erase_if(to_remove_, [&](const Task& task) { return task.name == name; });
    to_settle_.push_back({name, ++given_});
  }
  try {
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  } catch (const std::system_error&) {
    // Memory has run out, as when this is the checkpoint of a run that failed for it. Whoever waits does the work.
  }
  changed_.notify_all();
}

void Settler::remove(const std::vector<Str>& names) {
  {
    const std::lock_guard lock(mutex_);
    for (const Str& name : names) {
      std::erase_if(to_settle_, [&](const Task& task) { return task.name == name; });
      to_remove_.push_back({name, given_});
    }
  }
  changed_.notify_all();
}

void Settler::wait() {
  std::unique_lock lock(mutex_);
  while (!thread_.joinable() && has_work()) do_next(lock);
  changed_.wait(lock, [&] { return !has_work() && !is_busy_; });
}

std::vector<Str> Settler::take_faults() {
  const std::lock_guard lock(mutex_);
  return std::exchange(faults_, {});
}

void Settler::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_ending_ || has_work(); });
    if (!has_work()) return;
    do_next(lock);
  }
}

void Settler::do_next(std::unique_lock<std::mutex>& lock) {
  const bool removes = can_remove();
  std::deque<Task>& tasks = removes ? to_remove_ : to_settle_;
  const Task task = std::move(tasks.front());
  tasks.pop_front();
  is_busy_ = true;
  lock.unlock();
  if (removes) {
    remove_checkpoint(folder_, task.name);
  } else {
    sync(task);
  }
  lock.lock();
  is_busy_ = false;
  changed_.notify_all();
}

void Settler::sync(const Task& task) {
  Str fault;
  try {
    sync_checkpoint(folder_, task.name);
  } catch (const std::system_error& error) {
    fault = fmt::format("the disk did not take the checkpoint {}: {}; what it replaces is kept", task.name,
                        error.code().message());
  }
  const std::lock_guard lock(mutex_);
  if (fault.empty()) {
    settled_ = task.number;
  } else {
    faults_.push_back(std::move(fault));
  }
}

}  // namespace ltr

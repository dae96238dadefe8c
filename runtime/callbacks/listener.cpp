#include "runtime/callbacks/listener.h"

#include <algorithm>
#include <exception>

#include "runtime/api/error.h"

namespace ltr {

void Listeners::add(Turn turn, Str key, std::unique_ptr<Listener> listener) {
  rows_.push_back({turn, std::move(key), std::move(listener)});
}

void Listeners::finish() {
  std::stable_sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.turn < b.turn; });
  for (const Row& row : rows_) {
    Listener* listener = row.listener.get();
    for (const Hook hook : listener->hooks()) by_hook_[size_t(hook)].push_back(listener);
    for (size_t i = 0; i < kInterests; i++) {
      if ((listener->interests() >> i & 1u) != 0) by_interest_[i].push_back(listener);
    }
  }
}

std::vector<Str> Listeners::columns() const {
  std::vector<Str> names;
  for (const Row& row : rows_) row.listener->columns(names);
  return names;
}

void Listeners::visit(Archive& archive) {
  const Archive::Part part(archive, "callbacks");
  std::vector<Str> unknown = archive.names();
  for (const Row& row : rows_) {
    std::erase(unknown, row.key);
    if (archive.has(row.key)) {
      const Archive::Part own(archive, row.key);
      row.listener->visit(archive);
    } else if (row.listener->has_state()) {
      archive.note(fmt::format("the checkpoint has no state of {}; it keeps its initial one", row.key));
    }
  }
  for (const Str& key : unknown) {
    archive.note(fmt::format("the checkpoint's state of {} is dropped: there is no such callback now", key));
  }
}

void while_evaluating(const Listeners& listeners, const std::function<void()>& body) {
  const auto tell = [&](bool begins) { listeners.each(kEvaluating, [=](Listener& one) { one.evaluating(begins); }); };
  tell(true);
  try {
    body();
  } catch (...) {
    try {
      tell(false);
    } catch (const std::exception&) {
      // What `body` threw is why: ranks that are gone answer nobody.
    }
    throw;
  }
  tell(false);
}

}  // namespace ltr

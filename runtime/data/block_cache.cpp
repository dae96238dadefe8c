#include "runtime/data/block_cache.h"

namespace ltr {

BlockCache::Block BlockCache::get(int64_t key, const std::function<Block()>& read) {
  std::shared_ptr<Entry> entry;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Entry>& found = entries_[key];
    if (found == nullptr) {
      found = std::make_shared<Entry>();
      found->use = uses_.insert(uses_.begin(), key);
    } else {
      uses_.splice(uses_.begin(), uses_, found->use);
    }
    entry = found;
  }
  const std::lock_guard reading(entry->mutex);
  if (entry->block != nullptr) return entry->block;
  entry->block = read();
  const std::lock_guard lock(mutex_);
  const auto kept = entries_.find(key);
  // Others may have needed the room meanwhile.
  if (kept == entries_.end() || kept->second != entry) return entry->block;
  entry->bytes = entry->block->bytes();
  bytes_ += entry->bytes;
  make_room();
  return entry->block;
}

void BlockCache::make_room() {
  while (bytes_ > limit_ && uses_.size() > 1) {
    const auto oldest = entries_.find(uses_.back());
    bytes_ -= oldest->second->bytes;
    entries_.erase(oldest);
    uses_.pop_back();
  }
}

}  // namespace ltr

#include "runtime/distributed/join.h"

#include "runtime/distributed/c10d_ranks.h"

namespace ltr::distributed {

std::unique_ptr<Ranks> join(const Place& place, double exchange_s) {
  const Patience patience{place.join_s, exchange_s};
  return std::make_unique<C10dRanks>(place, open_store(place, patience.join_s), patience);
}

}  // namespace ltr::distributed

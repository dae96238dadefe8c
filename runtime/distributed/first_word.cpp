#include "runtime/distributed/first_word.h"

#include <chrono>
#include <thread>

namespace ltr::distributed {

namespace {

using namespace std::chrono_literals;

// The end of one rank is the end of all under most launchers: who speaks must have done so before another ends, and who keeps
// the meeting point stays for those that are still starting.
constexpr std::chrono::milliseconds kStay = 5s;
constexpr std::chrono::milliseconds kLook = 20ms;
constexpr const char* kSaid = "first word/said";
constexpr const char* kCame = "first word/came";

}  // namespace

FirstWord::FirstWord(const Place& place, const Failure& own) : place_(place) {
  if (place_.host.empty()) {
    // Where they would meet is not known before the settings are. Under most launchers the end of the first is that of all.
    if (place_.rank > 0) std::this_thread::sleep_for(kStay);
    return;
  }
  try {
    store_ = open_store(place_, place_.join_s);
    is_own_ = !tell_failure(*store_, own);
    store_->add(kCame, 1);
  } catch (const std::exception&) {
    store_ = nullptr;
  }
}

FirstWord::~FirstWord() {
  if (store_ == nullptr) return;
  try {
    part();
  } catch (const std::exception&) {
    // Who kept the meeting point is gone; there is nobody left to wait for.
  }
}

void FirstWord::part() const {
  if (is_own_)
    store_->set(kSaid, "");
  else
    store_->wait({kSaid}, kStay);
  if (!place_.serves) return;
  for (auto left = kStay; store_->add(kCame, 0) < place_.world && left > 0ms; left -= kLook)
    std::this_thread::sleep_for(kLook);
}

}  // namespace ltr::distributed

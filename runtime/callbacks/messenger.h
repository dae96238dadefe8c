#pragma once

// Messages that leave behind training, from a thread of their own: whoever gives one does not wait, whatever the server does.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "doors/http_send.h"
#include "doors/notification.h"

namespace ltr {

/// Where messages go, and in which form.
struct Receiver {
  std::string service;  ///< slack teams discord webhook
  std::string address;  ///< a secret: in no message of ours
};

class Messenger {
 public:
  struct Pace {
    double limit_s = 5;  ///< of one try
    double apart_s = 1;  ///< between messages
    int retries = 2;
    double at_end_s = 10;         ///< for what is left when it goes
    double silent_at_end_s = 2;   ///< the same of a server that never answered
    double apart_at_end_s = 0.2;  ///< between messages and tries, then
  };
  Messenger(Receiver receiver, Pace pace);
  explicit Messenger(Receiver receiver) : Messenger(std::move(receiver), Pace{}) {}
  /// What is left leaves, or is let go of, as by `finish`.
  ~Messenger();
  Messenger(const Messenger&) = delete;
  Messenger& operator=(const Messenger&) = delete;

  /// Takes no time of its caller. Progress that waits makes room for newer one.
  void tell(doors::Notification message);
  /// What went wrong since it was asked last, in words; "" if nothing did.
  std::string take_problem();
  /// Waits until nothing is left, as long as `Pace` says at most, in all of its life. Where nobody answers the last message alone is
  /// still tried.
  void finish();

 private:
  void run();
  void send(const doors::Notification& message);
  doors::HttpAnswer try_once(const doors::Notification& message);
  /// Until the next message or try; false if it is to end. `lock` holds `mutex_`.
  bool pause(std::unique_lock<std::mutex>& lock);
  bool is_idle() const { return waiting_.empty() && !is_sending_; }

  Receiver receiver_;
  Pace pace_;
  std::string message_id_;  ///< of Discord, whose one message is kept current
  std::atomic<bool> is_called_off_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<doors::Notification> waiting_;
  bool is_sending_ = false;
  bool is_finishing_ = false;
  bool has_answered_ = false;
  bool is_ending_ = false;
  bool has_given_up_ = false;
  std::string problem_;
  std::thread thread_;
};

}  // namespace ltr

#include "runtime/callbacks/messenger.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <csignal>

namespace ltr {

Messenger::Messenger(Receiver receiver, Pace pace) : receiver_(std::move(receiver)), pace_(pace) {
  // Signals are for the thread that trains.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Messenger::~Messenger() {
  finish();
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    waiting_.clear();
  }
  is_called_off_ = true;
  changed_.notify_all();
  thread_.join();
}

void Messenger::tell(doors::Notification message) {
  {
    const std::lock_guard lock(mutex_);
    if (message.event == "progress")
      std::erase_if(waiting_, [](const doors::Notification& one) { return one.event == "progress"; });
    waiting_.push_back(std::move(message));
  }
  changed_.notify_all();
}

std::string Messenger::take_problem() {
  const std::lock_guard lock(mutex_);
  return std::exchange(problem_, "");
}

void Messenger::finish() {
  using Seconds = std::chrono::duration<double>;
  std::unique_lock lock(mutex_);
  if (has_given_up_) return;
  is_finishing_ = true;
  changed_.notify_all();
  const auto until = [begin = std::chrono::steady_clock::now()](double seconds) {
    return begin + std::chrono::duration_cast<std::chrono::steady_clock::duration>(Seconds(seconds));
  };
  changed_.wait_until(lock, until(pace_.silent_at_end_s), [this] { return is_idle(); });
  if (has_answered_) changed_.wait_until(lock, until(pace_.at_end_s), [this] { return is_idle(); });
  has_given_up_ = !is_idle();
  if (has_given_up_ && problem_.empty()) problem_ = fmt::format("Notify: {} does not answer", receiver_.service);
}

void Messenger::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_ending_ || !waiting_.empty(); });
    if (is_ending_) return;
    const doors::Notification message = std::move(waiting_.front());
    waiting_.pop_front();
    is_sending_ = true;
    lock.unlock();
    send(message);
    lock.lock();
    is_sending_ = false;
    changed_.notify_all();
    if (!waiting_.empty()) pause(lock);
  }
}

bool Messenger::pause(std::unique_lock<std::mutex>& lock) {
  const auto over = [this] { return is_ending_; };
  // The end of training makes a long wait a short one.
  if (!is_finishing_)
    changed_.wait_for(lock, std::chrono::duration<double>(pace_.apart_s), [&] { return over() || is_finishing_; });
  if (is_finishing_) changed_.wait_for(lock, std::chrono::duration<double>(pace_.apart_at_end_s), over);
  return !is_ending_;
}

void Messenger::send(const doors::Notification& message) {
  doors::HttpAnswer answer;
  for (int tries = 0; tries <= pace_.retries; tries++) {
    std::unique_lock lock(mutex_);
    if (tries > 0 && !pause(lock)) return;
    lock.unlock();
    answer = try_once(message);
    // What the server does not want it will not want later, unless it is asked too often.
    if (answer.is_good() || (answer.status >= 400 && answer.status < 500 && answer.status != 429)) break;
  }
  const std::lock_guard lock(mutex_);
  has_answered_ = has_answered_ || answer.status != 0;
  if (answer.is_good() || is_called_off_) return;
  // What could not be said before the end goes with it.
  if (is_finishing_ && answer.status == 0 && waiting_.size() > 1) waiting_.erase(waiting_.begin(), waiting_.end() - 1);
  const std::string why = answer.status != 0 ? fmt::format("it answers {}", answer.status) : answer.problem;
  problem_ = fmt::format("Notify: {} is not told of \"{}\": {}", receiver_.service, doors::title_of(message), why);
}

doors::HttpAnswer Messenger::try_once(const doors::Notification& message) {
  const auto post = [&](const std::string& method, const std::string& address, const std::string& body) {
    return doors::send_http({.method = method, .url = address, .body = body}, pace_.limit_s, is_called_off_);
  };
  if (receiver_.service == "slack") return post("POST", receiver_.address, doors::slack_body(message));
  if (receiver_.service == "teams") return post("POST", receiver_.address, doors::teams_body(message));
  if (receiver_.service != "discord") return post("POST", receiver_.address, doors::plain_body(message));
  const std::string body = doors::discord_body(message);
  // Of a thread the address has a query.
  const size_t mark = std::min(receiver_.address.find('?'), receiver_.address.size());
  const Str address = receiver_.address.substr(0, mark), query = receiver_.address.substr(mark);
  if (!message_id_.empty()) {
    const doors::HttpAnswer changed = post("PATCH", address + "/messages/" + message_id_ + query, body);
    if (changed.status != 404) return changed;  // somebody deleted it
  }
  doors::HttpAnswer made = post("POST", address + query + (query.empty() ? "?" : "&") + "wait=true", body);
  if (made.is_good()) message_id_ = doors::discord_message_id(made.body);
  return made;
}

}  // namespace ltr

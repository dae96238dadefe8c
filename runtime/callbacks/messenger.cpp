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
  std::unique_lock lock(mutex_);
  if (has_given_up_) return;
  has_given_up_ = !changed_.wait_for(lock, std::chrono::duration<double>(pace_.at_end_s),
                                     [this] { return waiting_.empty() && !is_sending_; });
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
    if (waiting_.empty()) continue;
    changed_.wait_for(lock, std::chrono::duration<double>(pace_.apart_s), [this] { return is_ending_; });
  }
}

bool Messenger::pause(double seconds) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return is_ending_; });
}

void Messenger::send(const doors::Notification& message) {
  doors::HttpAnswer answer;
  for (int tries = 0; tries <= pace_.retries; tries++) {
    if (tries > 0 && !pause(pace_.apart_s)) return;
    answer = try_once(message);
    // What the server does not want it will not want later, unless it is asked too often.
    if (answer.is_good() || (answer.status >= 400 && answer.status < 500 && answer.status != 429)) break;
  }
  if (answer.is_good() || is_called_off_) return;
  const std::string why = answer.status != 0 ? fmt::format("it answers {}", answer.status) : answer.problem;
  const std::lock_guard lock(mutex_);
  problem_ = fmt::format("Notify: {} is not told of \"{}\": {}", receiver_.service, doors::title_of(message), why);
}

doors::HttpAnswer Messenger::try_once(const doors::Notification& message) {
  const auto post = [&](const std::string& method, const std::string& address, const std::string& body) {
    return doors::send_json(method, address, body, pace_.limit_s, is_called_off_);
  };
  if (receiver_.service == "slack") return post("POST", receiver_.address, doors::slack_body(message));
  if (receiver_.service == "teams") return post("POST", receiver_.address, doors::teams_body(message));
  if (receiver_.service != "discord") return post("POST", receiver_.address, doors::plain_body(message));
  const std::string body = doors::discord_body(message);
  if (!message_id_.empty()) {
    const doors::HttpAnswer changed = post("PATCH", receiver_.address + "/messages/" + message_id_, body);
    if (changed.status != 404) return changed;  // somebody deleted it
  }
  doors::HttpAnswer made = post("POST", receiver_.address + "?wait=true", body);
  if (made.is_good()) message_id_ = doors::discord_message_id(made.body);
  return made;
}

}  // namespace ltr

#include "runtime/train/saver.h"
#include "runtime/train/session.h"

// A checkpoint that is written while training goes on.

namespace ltr {

void Saver::begin_write(const Wish& wish) {
  session_.late.learn_all();
  session_.gate.check_weights();
  const ProfilePart part("checkpoint", true);
  const Times::Clock::time_point begin = Times::Clock::now();
  const Ranks& ranks = request_.ranks;
  Written one = prepare(wish.name, wish.weights_only, true, ranks, &shelf_);
  one.undo = wish.undo;
  open(one, ranks);
  const bool has_share = ranks.is_first() || state_.root.division != nullptr;
  if (has_share && !ranks.is_first()) shelf_.put(one.data);
  behind_ = std::move(one);
  if (has_share) writing_.start([this] { return write_behind(); });
  session_.agreement.watch([this] { return writing_.is_over(); });
  times_.checkpoint_s += seconds_since(begin);
}

/// In the thread.
nlohmann::json Saver::write_behind() {
  const Written& one = *behind_;
  const nlohmann::json share = write_share(folder_, one.name, one.data);
  // What ranks divide is whole when all of them have met. What is not needs nobody else, however long the step or round is.
  if (state_.root.division == nullptr) {
    sync_open(folder_, one.name);
    close(one, {share});
  }
  return share;
}

void Saver::look() {
  if (behind_ && session_.agreement.is_over()) take_over(request_.ranks);
}

void Saver::finish() {
  if (!behind_) return;
  const Str name = behind_->name;
  const ProfilePart part("checkpoint", true);
  const Times::Clock::time_point begin = Times::Clock::now();
  take_over(request_.ranks);
  const double waited_s = seconds_since(begin);
  times_.checkpoint_s += waited_s;
  // Less is not waiting, but asking.
  constexpr double kSaid_s = 0.01;
  if (waited_s < kSaid_s || std::exchange(has_waited_, true)) return;
  request_.progress.notice(
      fmt::format("the checkpoint of step {} waited {:.2f} s until {} was written: they are due faster than "
                  "they can be written",
                  state_.at.global_step, waited_s, name));
}

void Saver::finish_alone() {
  if (!behind_) return;
  if (state_.root.division == nullptr) return take_over(one_rank());
  writing_.wait();
  request_.progress.notice(fmt::format("{} was still being written, and is not kept", behind_->name));
  behind_.reset();
}

void Saver::take_over(const Ranks& ranks) {
  writing_.wait();
  const Written one = std::move(*std::exchange(behind_, {}));
  try {
    if (state_.root.division == nullptr) {
      together(ranks, [&] { writing_.take(); });
    } else {
      const std::vector<nlohmann::json> shares = each([&] { return writing_.take(); });
      together(ranks, [&] { close(one, shares); });
    }
  } catch (const Error& error) {
    return failed(error, one.undo);
  }
  written(one);
  succeeded();
}

}  // namespace ltr

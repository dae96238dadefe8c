#include "runtime/distributed/c10d_ranks.h"

#include <ATen/ATen.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/comm.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <numeric>
#include <thread>

#include "runtime/distributed/reducer_sum.h"

namespace ltr::distributed {

namespace {

/// So many bytes of a text go in the first exchange; most texts are shorter.
constexpr int64_t kSlot = 1016;
/// How long one that was left waiting gives the cause to say itself.
constexpr double kSayItself_s = 5;
constexpr int64_t kLookEvery_ms = 250;

std::chrono::milliseconds ms(double seconds) { return std::chrono::milliseconds(int64_t(seconds * 1000)); }

int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::vector<uint8_t> bytes(std::string_view text) { return {text.begin(), text.end()}; }

bool is_timeout(std::string_view reason) {
  return reason.find("imed out") != Str::npos || reason.find("imeout") != Str::npos;
}

/// Ranks of one machine meet on loopback; others by the address of their host's name.
c10::intrusive_ptr<c10d::ProcessGroup> gloo_group(const Place& place, const Store& store, double timeout_s) {
  const auto options = c10d::ProcessGroupGloo::Options::create(ms(timeout_s));
  options->devices.push_back(place.local_size == place.world
                                 ? c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")
                                 : c10d::ProcessGroupGloo::createDefaultDevice());
  const auto gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(store, int(place.rank), int(place.world), options);
  auto group = c10::make_intrusive<c10d::ProcessGroup>(store, int(place.rank), int(place.world));
  group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::BackendType::GLOO, gloo);
  group->setDefaultBackend(c10d::ProcessGroup::BackendType::GLOO);
  group->setGroupName("ltr");
  return group;
}

class C10dSum final : public PendingSum {
 public:
  // The tensor owns its memory: Gloo's thread may still write there when an error has taken this away.
  C10dSum(const C10dRanks& ranks, const std::vector<double>& numbers)
      : ranks_(ranks), sums_{at::tensor(numbers, at::kDouble)} {
    work_ = ranks_.exchange("a sum", [&] { return ranks_.group()->allreduce(sums_); });
  }
  std::vector<double> wait() override {
    ranks_.exchange("a sum", [&] { work_->wait(); });
    const auto* data = sums_[0].const_data_ptr<double>();
    return {data, data + sums_[0].numel()};
  }

 private:
  const C10dRanks& ranks_;
  std::vector<at::Tensor> sums_;
  c10::intrusive_ptr<c10d::Work> work_;
};

class C10dTensors final : public PendingTensors {
 public:
  C10dTensors(const C10dRanks& ranks, const char* what, c10::intrusive_ptr<c10d::Work> work,
              std::function<void()> then = {})
      : ranks_(ranks), what_(what), work_(std::move(work)), then_(std::move(then)) {}
  void wait() override {
    ranks_.exchange(what_, [&] { work_->wait(); });
    if (then_) then_();
  }

 private:
  const C10dRanks& ranks_;
  const char* what_;
  c10::intrusive_ptr<c10d::Work> work_;
  std::function<void()> then_;
};

constexpr const char* kScatter = "the sum of gradients";
constexpr const char* kGather = "the gathering of weights";

}  // namespace

C10dRanks::C10dRanks(const Place& place, Store store, const Patience& patience)
    : place_(place), patience_(patience), store_(std::move(store)), failures_(store_), names_(size_t(place.world)) {
  std::iota(names_.begin(), names_.end(), int64_t(0));
  const int64_t begin_ms = now_ms();
  try {
    group_ = gloo_group(place_, store_, patience_.join_s);
  } catch (const std::exception& error) {
    // Gloo calls it a timeout, too, when nobody listens any more where one did.
    if (!is_timeout(error.what()) || now_ms() - begin_ms < int64_t(patience_.join_s * 900)) {
      const Str cause = Str(error.what()).substr(0, Str(error.what()).find('\n'));
      throw with_help(
          error_at({}, err::rank_lost, fmt::format("rank {} cannot meet the others: {}", place_.rank, cause)),
          "GLOO_SOCKET_IFNAME names the network interface that leads to them");
    }
    throw with_help(
        error_at({}, err::rank_lost,
                 fmt::format("not all of the {} ranks came within {:.0f} s", place_.world, patience_.join_s)),
        "see whether all of them were started, and from one build; LTR_JOIN_TIMEOUT=SECONDS waits longer");
  }
  group_->getBackend(c10::DeviceType::CPU)->setTimeout(ms(patience_.exchange_s));
  store_->setTimeout(ms(patience_.join_s));
  if (!is_one_machine()) return;
  for (const Str& process : texts(std::to_string(::getpid()))) processes_.push_back(pid_t(std::stol(process)));
}

C10dRanks::~C10dRanks() = default;

Waiting::Waiting(const C10dRanks& ranks) : ranks_(ranks), begin_ms_(now_ms()) {}

void C10dRanks::check_others(const char* what, int64_t begin_ms) const {
  const int64_t now = now_ms();
  if (double(now - begin_ms) > patience_.exchange_s * 1000) throw lost(what, "timed out");
  if (now - checked_ms_ < kLookEvery_ms) return;
  checked_ms_ = now;
  for (const pid_t process : processes_) {
    if (::kill(process, 0) != 0 && errno == ESRCH) throw lost(what, "a process is gone");
  }
  bool has_failed = true;
  try {
    has_failed = first_failure(*failures_).has_value();
  } catch (const std::exception&) {
    // So is the one that served the store.
  }
  if (has_failed) throw lost(what, "a rank failed");
}

void C10dRanks::meet_on(Accelerator& accelerator) const {
  accelerator_ = &accelerator;
  // Gloo stays, for what lies in host memory.
  group_->setBackend(accelerator.type(), c10d::ProcessGroup::BackendType::NCCL,
                     accelerator.make_group(store_, int(place_.rank), int(place_.world), ms(patience_.exchange_s)));
}

// ---- exchanges -----------------------------------------------------------------------------------------------

std::vector<Str> C10dRanks::texts(const Str& own) const {
  return exchange("an exchange of all ranks", [&] {
    const auto gather = [&](int64_t slot) {
      at::Tensor mine = at::zeros({slot + int64_t(sizeof(int64_t))}, at::kByte);
      char* data = static_cast<char*>(mine.mutable_data_ptr());
      const auto size = int64_t(own.size());
      std::memcpy(data, &size, sizeof(size));
      std::memcpy(data + sizeof(size), own.data(), size_t(std::min(size, slot)));
      at::Tensor all = at::empty({world() * mine.numel()}, at::kByte);
      group_->_allgather_base(all, mine)->wait();
      return all.view({world(), mine.numel()});
    };
    at::Tensor all = gather(kSlot);
    const auto size_of = [&](int64_t rank) {
      int64_t size = 0;
      std::memcpy(&size, all[rank].const_data_ptr(), sizeof(size));
      return size;
    };
    int64_t longest = 0;
    for (int64_t rank = 0; rank < world(); rank++) longest = std::max(longest, size_of(rank));
    if (longest > kSlot) all = gather(longest);
    std::vector<Str> texts;
    for (int64_t rank = 0; rank < world(); rank++) {
      texts.emplace_back(static_cast<const char*>(all[rank].const_data_ptr()) + sizeof(int64_t), size_t(size_of(rank)));
    }
    return texts;
  });
}

std::unique_ptr<PendingSum> C10dRanks::begin_sum(std::vector<double> numbers) const {
  return std::make_unique<C10dSum>(*this, numbers);
}

void C10dRanks::sum_tensor(const at::Tensor& tensor) const {
  exchange("a sum over all ranks", [&] {
    std::vector<at::Tensor> list{tensor};
    group_->allreduce(list)->wait();
  });
}

std::unique_ptr<PendingTensors> C10dRanks::begin_scatter(const at::Tensor& part, const at::Tensor& whole) const {
  at::Tensor to = part, from = whole;
  if (!whole.is_cpu()) {
    return std::make_unique<C10dTensors>(*this, kScatter,
                                         exchange(kScatter, [&] { return group_->_reduce_scatter_base(to, from); }));
  }
  // Gloo sums all of it in any case, and in a copy: here it is in place.
  std::vector<at::Tensor> sums{whole};
  auto work = exchange(kScatter, [&] { return group_->allreduce(sums); });
  return std::make_unique<C10dTensors>(*this, kScatter, std::move(work), [to, from, begin = rank() * part.numel()] {
    to.copy_(from.narrow(0, begin, to.numel()));
  });
}

std::unique_ptr<PendingTensors> C10dRanks::begin_gather(const at::Tensor& whole, const at::Tensor& part) const {
  at::Tensor to = whole, from = part;
  return std::make_unique<C10dTensors>(*this, kGather,
                                       exchange(kGather, [&] { return group_->_allgather_base(to, from); }));
}

std::unique_ptr<Ranks> C10dRanks::among(const std::vector<int64_t>& members) const {
  Place place = place_;
  place.rank = std::find(members.begin(), members.end(), rank()) - members.begin();
  place.world = int64_t(members.size());
  place.local_size = is_one_machine() ? place.world : 0;  // of several machines, until somebody asks of which
  // Groups meet at keys of their own; the n-th of this rank is the n-th of all.
  const Str prefix = fmt::format("group{}/{}/", groups_++, fmt::join(members, "-"));
  auto group = std::make_unique<C10dRanks>(place, c10::make_intrusive<c10d::PrefixStore>(prefix, store_), patience_);
  group->failures_ = failures_;
  for (size_t i = 0; i < members.size(); i++) group->names_[i] = names_[size_t(members[i])];
  if (accelerator_ != nullptr) group->meet_on(*accelerator_);
  return group;
}

void C10dRanks::take_from_first(const std::vector<at::Tensor>& tensors) const {
  constexpr size_t kTogether = size_t(64) << 20;
  exchange("the values of the first rank", [&] { c10d::broadcast_coalesced(group_, tensors, kTogether); });
}

std::unique_ptr<GradientSum> C10dRanks::sum_gradients(const std::vector<at::Tensor>& weights,
                                                      const GradientTravel& travel) const {
  return std::make_unique<ReducerSum>(*this, weights, travel);
}

// ---- between exchanges ---------------------------------------------------------------------------------------

void C10dRanks::hurry() const {
  try {
    hurried_ = store_->add("hurry", 1);
  } catch (const std::exception&) {
    // Who serves the store is gone: the next exchange says so.
  }
}

bool C10dRanks::is_hurried() const {
  const int64_t now = now_ms();
  if (now - looked_ms_ < kLookEvery_ms) return false;
  looked_ms_ = now;
  try {
    const int64_t calls = store_->add("hurry", 0);
    return std::exchange(hurried_, calls) != calls;
  } catch (const std::exception&) {
    return true;
  }
}

// ---- failures ------------------------------------------------------------------------------------------------

Str C10dRanks::absent() const {
  const Str turn = fmt::format("late/{}/", turn_);
  store_->set(turn + std::to_string(rank()), bytes("here"));
  std::this_thread::sleep_for(std::chrono::seconds(2));
  std::vector<Str> missing;
  for (int64_t one = 0; one < world(); one++) {
    if (!store_->check({turn + std::to_string(one)})) missing.push_back(std::to_string(names_[size_t(one)]));
  }
  if (missing.empty()) return "";
  return fmt::format(": rank{} {} did not come", missing.size() == 1 ? "" : "s", fmt::join(missing, ", "));
}

void C10dRanks::rethrow(const char* what) const {
  try {
    throw;
  } catch (const c10::DistError& error) {
    throw lost(what, error.what_without_backtrace());
  } catch (const c10::Error&) {
    throw;  // of an op of the pass
  } catch (const Error&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw lost(what, error.what());  // Gloo's own
  }
}

Error C10dRanks::lost(const char* what, std::string_view reason) const {
  if (is_timeout(reason)) {
    Str who;
    try {
      who = absent();
    } catch (const std::exception&) {
      who = ": rank 0, which has the meeting point, cannot be reached";
    }
    return of_another(with_help(error_here(err::collective_timed_out, what, patience_.exchange_s, who),
                                "what hangs there is the cause; if it is only slow, set topology.timeout"));
  }
  return of_another(with_help(
      error_here(err::rank_lost,
                 fmt::format("rank {} lost its connection to another one in {}", names_[size_t(rank())], what)),
      "the machine may have killed it for its memory; --resume last goes on from the last checkpoint"));
}

Option<Failure> C10dRanks::failed_first(double wait_s) const {
  const int64_t until = now_ms() + int64_t(wait_s * 1000);
  while (true) {
    if (const Option<Failure> first = first_failure(*failures_)) return first;
    if (now_ms() >= until) return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

Option<int> C10dRanks::failing(const Error& error) const {
  const bool has_supervisor = std::getenv("LTR_SUPERVISOR") != nullptr;
  try {
    if (error.is_of_another) {
      // One that hangs says nothing.
      const double patience_s = error.code == err::collective_timed_out.code ? 0 : kSayItself_s;
      if (const Option<Failure> first = failed_first(patience_s)) return first->exit_code;
      // A process that was killed says nothing: its supervisor does.
      if (has_supervisor && error.code == err::rank_lost.code) return error.exit_code();
    }
    const Option<Failure> first = tell_failure(*failures_, {rank(), error.exit_code()});
    // The others leave their exchanges with this one, and must find what it told while it still serves that.
    group_.reset();
    if (place_.serves) std::this_thread::sleep_for(std::chrono::seconds(1));
    return first ? Option<int>(first->exit_code) : std::nullopt;
  } catch (const std::exception&) {
    // The store went with the process that served it: of the others one speaks.
    if (has_supervisor || rank() > 1) return error.exit_code();
    return {};
  }
}

}  // namespace ltr::distributed

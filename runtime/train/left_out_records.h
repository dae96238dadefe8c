#pragma once

// The records that a run left out, over all its resumes.

#include <map>
#include <set>

#include "runtime/checkpoint/archive.h"
#include "runtime/data/left_out.h"

namespace ltr {

class LeftOutRecords {
 public:
  /// Counts those that are new, and returns them: each counts once, however often it comes up, and in however many streams. R3004 beyond
  /// what its stage may leave out.
  std::vector<LeftOut> take(std::vector<LeftOut> found);
  int64_t count() const { return int64_t(different_.size()); }
  /// So many of them have been told.
  int64_t told() const { return told_; }
  /// What came since it was asked last: "3 bad records left out, the first is a.csv:7: …"; "" if nothing did.
  Str news();
  /// All that there are, in the same words.
  Str summary() const { return text(0); }
  void visit(Archive& archive);

  /// One line of JSON for each: where and why.
  static Str lines(const std::vector<LeftOut>& records);
  /// As text for another rank, and back; their places in the program stay behind.
  static Str packed(const std::vector<LeftOut>& records);
  static std::vector<LeftOut> unpacked(const Str& text);
  /// Each once.
  std::vector<LeftOut> all() const;
  /// The first that was not told yet; there is one.
  const LeftOut& first_untold() const { return known_[different_[size_t(told_)]]; }
  /// Those that other ranks have not heard of, by each stage.
  std::vector<LeftOut> unshared() const { return {known_.begin() + shared_, known_.end()}; }
  void have_shared() { shared_ = int64_t(known_.size()); }

 private:
  Str text(int64_t from) const;
  /// Whether no stage left it out before.
  bool add(LeftOut one);

  std::vector<LeftOut> known_;                ///< by each stage that left them out
  std::vector<size_t> different_;             ///< of these, the first of each record
  std::set<std::pair<Str, Str>> told_apart_;  ///< their places and reasons
  std::set<std::pair<int64_t, Str>> places_;
  std::map<int64_t, int64_t> counts_;  ///< by stage
  int64_t told_ = 0;
  int64_t shared_ = 0;
};

}  // namespace ltr

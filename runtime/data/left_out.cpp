#include "runtime/data/left_out.h"

#include <utility>

namespace ltr {

namespace {

thread_local std::vector<LeftOut> left_out_here;

}  // namespace

void note_left_out(LeftOut record) { left_out_here.push_back(std::move(record)); }

std::vector<LeftOut> take_left_out() { return std::exchange(left_out_here, {}); }

}  // namespace ltr

// Borders and images of another size, axis by axis: each place of the new axis is a weighted sum of places of the old one. A gradient
// takes the same terms the other way.

#include <algorithm>
#include <cmath>

#include "runtime/kernels/resample.h"
#include "runtime/plan/cpu/lower/function.h"

namespace ltr::plan {

namespace {

using kernels::resample_kernel;
using kernels::Resampling;

struct Term {
  int64_t from;
  float weight;
};
/// Of each place of an axis.
using Terms = std::vector<std::vector<Term>>;

/// What each place of an axis of `given` places gave to those of `terms`.
Terms turned(const Terms& terms, int64_t given) {
  Terms back{static_cast<size_t>(given)};
  for (size_t i = 0; i < terms.size(); ++i) {
    for (const Term& term : terms[i]) back[size_t(term.from)].push_back({int64_t(i), term.weight});
  }
  return back;
}

class NewAxis {
 public:
  NewAxis(int64_t given, const Terms& terms, double empty)
      : given_(given), empty_(float(empty)), run_(terms.size(), 0) {
    begin_.push_back(0);
    for (const std::vector<Term>& place : terms) {
      for (const Term& term : place) {
        from_.push_back(int32_t(term.from));
        weight_.push_back(term.weight);
      }
      begin_.push_back(int32_t(from_.size()));
    }
    for (size_t i = terms.size(); i-- > 0;) {
      if (terms[i].size() != 1 || terms[i][0].weight != 1) continue;
      const bool goes_on = i + 1 < terms.size() && run_[i + 1] > 0 && terms[i + 1][0].from == terms[i][0].from + 1;
      run_[i] = goes_on ? run_[i + 1] + 1 : 1;
    }
  }

  Resampling of() const {
    return {given_, int64_t(run_.size()), begin_.data(), from_.data(), weight_.data(), run_.data(), empty_};
  }

 private:
  int64_t given_;
  float empty_;
  std::vector<int32_t> begin_, from_, run_;
  std::vector<float> weight_;
};

/// x with `terms` along `axis`, side by side in `into`.
Layout resampled(Lowering& to, const Layout& x, size_t axis, const Terms& terms, double empty, ValueId into) {
  Layout out = dense(into, x.sizes);
  out.sizes[axis] = int64_t(terms.size());
  out = dense(into, out.sizes);
  const Middle of = middle_of(x, int64_t(axis));
  Layout flat = dense(x.root, {of.outer, of.width * of.inner});
  flat.offset = x.offset;
  const bool by_samples = to.is_apart(flat) && to.is_apart(dense(into, {of.outer, int64_t(terms.size()) * of.inner}));
  const Rows rows{of.outer, of.width * of.inner, by_samples};
  call(to, rows.split(), {{x.root, by_samples}}, {{into, by_samples}}, named(to, x),
       [=, along = NewAxis(of.width, terms, empty), wide = int64_t(terms.size()) * of.inner](Memory memory,
                                                                                             const Part& part) {
         const auto [begin, end] = rows.of(part);
         resample_kernel().resample(along.of(), floats(memory, x) + begin * rows.width, end - begin, of.inner,
                                    floats(memory, out) + begin * wide);
       });
  return out;
}

struct Change {
  size_t axis;
  Terms terms;
};

/// All of `changes`, in an order that makes what lies between them small.
bool resample(Lowering& to, Layout x, std::vector<Change> changes, double empty) {
  const Layout out = to.layout(to.result());
  if (changes.empty()) {
    PointProgram program = Lowering::program(x.sizes);
    program.store(to.result(), DType::F32, program.load(x, DType::F32));
    to.add(std::move(program));
    return true;
  }
  x = to.side_by_side(x, DType::F32);
  const auto growth = [&](const Change& one) { return double(one.terms.size()) / double(x.sizes[one.axis]); };
  std::stable_sort(changes.begin(), changes.end(),
                   [&](const Change& a, const Change& b) { return growth(a) < growth(b); });
  for (size_t i = 0; i < changes.size(); ++i) {
    const int64_t count = x.count() / x.sizes[changes[i].axis] * int64_t(changes[i].terms.size());
    const ValueId into = i + 1 == changes.size() ? out.root : to.temporary(DType::F32, count);
    x = resampled(to, x, changes[i].axis, changes[i].terms, empty, into);
  }
  return true;
}

// ---- borders

/// Of `size` places with `front` and `back` more, which may be fewer.
Terms bordered(int64_t size, int64_t front, int64_t back, const Str& mode) {
  Terms terms;
  for (int64_t at = -front; at < size + back; ++at) {
    std::vector<Term>& place = terms.emplace_back();
    int64_t from = at;
    if (mode == "constant" && (at < 0 || at >= size)) continue;
    if (mode == "replicate") from = std::clamp<int64_t>(at, 0, size - 1);
    if (mode == "circular") from = (at % size + size) % size;
    if (mode == "reflect") from = at < 0 ? -at : at >= size ? 2 * (size - 1) - at : at;
    place.push_back({from, 1});
  }
  return terms;
}

std::vector<Change> borders(const Ints& given, const Ints& sizes, const Str& mode) {
  std::vector<Change> changes;
  for (size_t i = 0; 2 * i + 1 < sizes.size(); ++i) {
    const size_t axis = given.size() - 1 - i;
    if (sizes[2 * i] == 0 && sizes[2 * i + 1] == 0) continue;
    changes.push_back({axis, bordered(given[axis], sizes[2 * i], sizes[2 * i + 1], mode)});
  }
  return changes;
}

bool pad(Lowering& to) {
  const Node& node = to.node();
  const Layout& x = to.layout(to.argument(0));
  if (!to.is_f32({to.argument(0)}) || x.count() == 0) return false;
  return resample(to, x, borders(x.sizes, node.host<Ints>(1), node.host<Str>(2)), node.host<double>(3));
}

bool pad_backward(Lowering& to) {
  const Node& node = to.node();
  const ValueId gradient = to.argument(0);
  const Ints given = to.layout(node.value(1).id).sizes;
  if (!to.is_f32({gradient}) || to.layout(gradient).count() == 0) return false;
  std::vector<Change> changes = borders(given, node.host<Ints>(2), node.host<Str>(3));
  for (Change& one : changes) one.terms = turned(one.terms, given[one.axis]);
  return resample(to, to.layout(gradient), std::move(changes), 0);
}

// ---- images of another size

/// The terms of LibTorch, whose places are floats.
Terms scaled(int64_t given, int64_t size, const Str& mode, bool align_corners) {
  Terms terms;
  const int64_t last = given - 1;
  float step = float(given) / float(size);
  if (align_corners && mode != "nearest") step = size > 1 ? float(last) / float(size - 1) : 0;
  for (int64_t i = 0; i < size; ++i) {
    std::vector<Term>& place = terms.emplace_back();
    if (mode == "nearest" || given == size) {
      place.push_back({given == size ? i : std::min(int64_t(std::floor(float(i) * step)), last), 1});
      continue;
    }
    const bool is_cubic = mode == "bicubic";
    float at = align_corners ? step * float(i) : step * (float(i) + 0.5F) - 0.5F;
    if (!is_cubic) at = std::max(at, 0.0F);
    const auto first = std::min(int64_t(std::floor(at)), last);
    const float rest = std::clamp(at - float(first), 0.0F, 1.0F);
    if (!is_cubic) {
      place.push_back({first, 1 - rest});
      if (first < last) place.push_back({first + 1, rest});
      if (first == last) place[0].weight = 1;
      continue;
    }
    // Keys 1981, with a = -3/4.
    const auto near = [](float d) { return ((1.25F * d - 2.25F) * d) * d + 1; };
    const auto far = [](float d) { return ((-0.75F * d + 3.75F) * d - 6) * d + 3; };
    const float weights[] = {far(rest + 1), near(rest), near(1 - rest), far(2 - rest)};
    for (int64_t k = 0; k < 4; ++k) place.push_back({std::clamp<int64_t>(first - 1 + k, 0, last), weights[k]});
  }
  return terms;
}

/// From images [B, C, height, width] to others, or the way back from these.
std::vector<Change> scales(const Ints& given, const Ints& sizes, const Str& mode, bool align_corners, bool is_back) {
  std::vector<Change> changes;
  for (const size_t axis : {size_t(2), size_t(3)}) {
    if (given[axis] == sizes[axis]) continue;
    Terms terms = scaled(given[axis], sizes[axis], mode, align_corners);
    changes.push_back({axis, is_back ? turned(terms, given[axis]) : std::move(terms)});
  }
  return changes;
}

bool interpolate(Lowering& to) {
  const Node& node = to.node();
  const Layout& x = to.layout(to.argument(0));
  if (!to.is_f32({to.argument(0)}) || x.count() == 0) return false;
  return resample(to, x, scales(x.sizes, to.layout(to.result()).sizes, node.host<Str>(3), node.host<bool>(4), false),
                  0);
}

bool interpolate_backward(Lowering& to) {
  const Node& node = to.node();
  const Layout& gradient = to.layout(to.argument(0));
  if (!to.is_f32({to.argument(0)}) || gradient.count() == 0) return false;
  return resample(to, gradient, scales(node.host<Ints>(1), gradient.sizes, node.host<Str>(2), node.host<bool>(3), true),
                  0);
}

}  // namespace

bool lower_resample(Lowering& to) {
  switch (to.node().op) {
    case Op::pad: return pad(to);
    case Op::pad_backward: return pad_backward(to);
    case Op::interpolate: return interpolate(to);
    case Op::interpolate_backward: return interpolate_backward(to);
    default: return false;
  }
}

}  // namespace ltr::plan

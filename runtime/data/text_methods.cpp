// Texts are UTF-8; what they are asked for is in code points.

#include <algorithm>

#include <utf8proc.h>

#include "ltr/api.h"
#include "ltr/operators.h"
#include "ltr/ops.h"
#include "runtime/data/texts.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

/// Calls `visit(point, begin, end)` for each code point of `text`; a byte that is no UTF-8 stands for itself.
template <class Visit>
void for_each_point(const Str& text, Visit&& visit) {
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  for (size_t begin = 0; begin < text.size();) {
    utf8proc_int32_t point = 0;
    const auto read = utf8proc_iterate(bytes + begin, utf8proc_ssize_t(text.size() - begin), &point);
    const size_t size = read > 0 ? size_t(read) : 1;
    visit(read > 0 ? point : -1, begin, begin + size);
    begin += size;
  }
}

/// Where each code point begins, and the end.
std::vector<size_t> places(const Str& text) {
  std::vector<size_t> found;
  for_each_point(text, [&](int32_t, size_t begin, size_t) { found.push_back(begin); });
  found.push_back(text.size());
  return found;
}

/// White space as Unicode has it (White_Space).
bool is_space(int32_t point) {
  if ((point >= 9 && point <= 13) || point == 0x85) return true;
  if (point < 0) return false;
  switch (utf8proc_category(point)) {
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP: return true;
    default: return false;
  }
}

template <class Change>
Str changed(const Str& text, Change&& change) {
  Str out;
  out.reserve(text.size());
  for_each_point(text, [&](int32_t point, size_t begin, size_t end) {
    if (point < 0) return void(out.append(text, begin, end - begin));
    utf8proc_uint8_t bytes[4];
    const auto size = utf8proc_encode_char(change(point), bytes);
    out.append(reinterpret_cast<const char*>(bytes), size_t(size));
  });
  return out;
}

}  // namespace

int64_t length(const Str& s) {
  int64_t count = 0;
  for_each_point(s, [&](int32_t, size_t, size_t) { ++count; });
  return count;
}

int64_t find(const Str& s, const Str& part) {
  const size_t at = s.find(part);
  return at == Str::npos ? -1 : length(s.substr(0, at));
}

Str lower(const Str& s) { return changed(s, utf8proc_tolower); }
Str upper(const Str& s) { return changed(s, utf8proc_toupper); }

Str strip(const Str& s) {
  size_t first = s.size();
  size_t last = 0;
  for_each_point(s, [&](int32_t point, size_t begin, size_t end) {
    if (is_space(point)) return;
    first = std::min(first, begin);
    last = end;
  });
  return last == 0 ? Str() : s.substr(first, last - first);
}

Str replace(const Str& s, const Str& part, const Str& by) {
  if (part.empty()) return s;
  Str out;
  size_t begin = 0;
  for (size_t at = s.find(part); at != Str::npos; at = s.find(part, begin)) {
    out.append(s, begin, at - begin).append(by);
    begin = at + part.size();
  }
  return out.append(s, begin);
}

bool starts_with(const Str& s, const Str& part) { return s.starts_with(part); }
bool ends_with(const Str& s, const Str& part) { return s.ends_with(part); }
bool contains(const Str& s, const Str& part) { return s.find(part) != Str::npos; }

std::vector<Str> chars(const Str& s) {
  std::vector<Str> out;
  for_each_point(s, [&](int32_t, size_t begin, size_t end) { out.push_back(s.substr(begin, end - begin)); });
  return out;
}

Tensor bytes(const Str& s) {
  return guarded([&] {
    at::Tensor out = at::empty({int64_t(s.size())}, at::kByte);
    std::copy(s.begin(), s.end(), reinterpret_cast<char*>(out.data_ptr<uint8_t>()));
    return give(std::move(out));
  });
}

std::vector<Str> split(const Str& s, const Option<Str>& at) {
  std::vector<Str> out;
  if (!at || at->empty()) {
    size_t begin = Str::npos;
    for_each_point(s, [&](int32_t point, size_t from, size_t) {
      if (!is_space(point)) {
        if (begin == Str::npos) begin = from;
      } else if (begin != Str::npos) {
        out.push_back(s.substr(begin, from - begin));
        begin = Str::npos;
      }
    });
    if (begin != Str::npos) out.push_back(s.substr(begin));
    return out;
  }
  size_t begin = 0;
  for (size_t end = s.find(*at); end != Str::npos; end = s.find(*at, begin)) {
    out.push_back(s.substr(begin, end - begin));
    begin = end + at->size();
  }
  out.push_back(s.substr(begin));
  return out;
}

Str join(const std::vector<Str>& parts, const Str& between) {
  Str out;
  for (size_t i = 0; i < parts.size(); ++i) out += (i == 0 ? "" : between) + parts[i];
  return out;
}

Str slice_text(const Str& text, Option<int64_t> first, Option<int64_t> end) {
  const std::vector<size_t> begins = places(text);
  const auto count = int64_t(begins.size()) - 1;
  const auto place = [&](int64_t at) { return std::clamp(at < 0 ? at + count : at, int64_t(0), count); };
  const int64_t from = place(first.value_or(0));
  const int64_t to = std::max(place(end.value_or(count)), from);
  return text.substr(begins[size_t(from)], begins[size_t(to)] - begins[size_t(from)]);
}

Str show_texts(const Tensor& texts) {
  Str out = "[";
  for (const Str& one : unpack_texts(aten(texts))) out += (out.size() == 1 ? "\"" : ", \"") + one + "\"";
  return out + "]";
}

}  // namespace ltr

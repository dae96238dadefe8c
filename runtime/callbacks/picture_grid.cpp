#include "runtime/callbacks/picture_grid.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>

#include "runtime/train/image.h"

namespace ltr {

namespace {

constexpr int64_t kGap = 2;
constexpr int64_t kLeastWidth = 28;
constexpr int64_t kCaption = 7;  ///< rows of a caption: five of a sign, and one at each side

struct Color {
  uint8_t red, green, blue;
};
constexpr Color kPaper = {255, 255, 255}, kInk = {0, 0, 0}, kMark = {208, 32, 32};

/// Five rows of three pixels, the highest bit first.
constexpr std::array<uint16_t, 10> kDigits = {
    0b111101101101111, 0b010110010010111, 0b111001111100111, 0b111001111001111, 0b101101111001001,
    0b111100111001111, 0b111100111101111, 0b111001001001001, 0b111101111101111, 0b111101111001111};
constexpr uint16_t kArrow = 0b100010001010100;

uint16_t sign_of(char c) {
  if (c >= '0' && c <= '9') return kDigits[size_t(c - '0')];
  return c == '>' ? kArrow : 0;
}

void put(doors::Image& into, int64_t x, int64_t y, Color color) {
  uint8_t* pixel = into.pixels.data() + (y * into.width + x) * 3;
  pixel[0] = color.red;
  pixel[1] = color.green;
  pixel[2] = color.blue;
}

/// Values in 0 to 1 as they are; others, of normalized images say, from the least to the greatest.
at::Tensor visible(const at::Tensor& picture) {
  if (picture.scalar_type() == at::kByte) return picture;
  const at::Tensor values = at::nan_to_num(picture.to(at::kFloat), 0, 1, 0);
  const double least = values.min().item().toDouble(), greatest = values.max().item().toDouble();
  if (least >= 0 && greatest <= 1) return values;
  return (values - least) / std::max(greatest - least, 1e-12);
}

void put_picture(doors::Image& into, const doors::Image& from, int64_t left, int64_t top, int64_t scale) {
  for (int64_t y = 0; y < from.height * scale; ++y) {
    for (int64_t x = 0; x < from.width * scale; ++x) {
      const uint8_t* pixel = from.pixels.data() + (y / scale * from.width + x / scale) * from.channels;
      const bool is_grey = from.channels < 3;
      put(into, left + x, top + y, {pixel[0], pixel[is_grey ? 0 : 1], pixel[is_grey ? 0 : 2]});
    }
  }
}

void put_caption(doors::Image& into, const Str& text, Color color, int64_t left, int64_t top, int64_t width) {
  for (int64_t y = 0; y < kCaption; ++y) {
    for (int64_t x = 0; x < width; ++x) put(into, left + x, top + y, kPaper);
  }
  // What has no place is left out whole: half a number is another one.
  if (int64_t(text.size()) * 4 > width) return;
  for (size_t i = 0; i < text.size(); ++i) {
    const uint16_t sign = sign_of(text[i]);
    for (int bit = 0; bit < 15; ++bit) {
      if ((sign >> (14 - bit) & 1) != 0) put(into, left + 1 + int64_t(i) * 4 + bit % 3, top + 1 + bit / 3, color);
    }
  }
}

}  // namespace

doors::Image picture_grid(std::span<const Tile> tiles, int64_t columns) {
  std::vector<doors::Image> pictures;
  int64_t width = 1, height = 1;
  for (const Tile& tile : tiles) {
    pictures.push_back(image_of(visible(tile.picture)));
    width = std::max(width, pictures.back().width);
    height = std::max(height, pictures.back().height);
  }
  const int64_t scale = (kLeastWidth + width - 1) / width;
  const bool has_captions = std::ranges::any_of(tiles, [](const Tile& tile) { return !tile.caption.empty(); });
  const int64_t across = std::min(columns, int64_t(tiles.size()));
  const int64_t down = (int64_t(tiles.size()) + across - 1) / std::max<int64_t>(across, 1);
  const int64_t step_x = width * scale + kGap, step_y = height * scale + (has_captions ? kCaption : 0) + kGap;
  doors::Image out{across * step_x + kGap, down * step_y + kGap, 3, {}};
  out.pixels.resize(size_t(out.width * out.height * 3));
  for (size_t i = 0; i < tiles.size(); ++i) {
    const int64_t left = kGap + int64_t(i) % across * step_x, top = kGap + int64_t(i) / across * step_y;
    put_picture(out, pictures[i], left, top, scale);
    if (has_captions)
      put_caption(out, tiles[i].caption, tiles[i].is_marked ? kMark : kInk, left, top + height * scale, width * scale);
  }
  return out;
}

}  // namespace ltr

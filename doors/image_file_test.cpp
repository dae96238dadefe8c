#include "doors/image_file.h"

#include <doctest/doctest.h>

#include "doors/base64.h"
#include "doors/file.h"

namespace ltr::doors {

namespace {

using Pixels = std::vector<uint8_t>;

Pixels decoded(const char* base64, int64_t channels) {
  return decode_image(*decode_base64(base64), "file", channels).pixels;
}

// Small files, encoded.
constexpr const char* kGrey16 =
    "iVBORw0KGgoAAAANSUhEUgAAAAYAAAABEAAAAACIMlxvAAAAFUlEQVR4nGNgYODicnBoaDhx4v9/ABKABSN5khxBAAAAAElFTkSuQmCC";
constexpr const char* kColours =
    "iVBORw0KGgoAAAANSUhEUgAAAAMAAAABCAIAAACUgoPjAAAADklEQVR4nGP4z8DAAMYADvsC/gkcFjQAAAAASUVORK5CYII=";
constexpr const char* kOpacities =
    "iVBORw0KGgoAAAANSUhEUgAAAAQAAAABCAYAAAD5PA/NAAAAFElEQVR4nGM4wSXCAMQOQNwAxP8BKPgFWEQlWJwAAAAASUVORK5CYII=";
constexpr const char* kGamma =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAABGdBTUEAAYagMeiWXwAAAAxJREFUeJxjMLJxAwABWAC1llYqsgAAAABJRU5ErkJggg"
    "==";
constexpr const char* kPalette =
    "iVBORw0KGgoAAAANSUhEUgAAAAMAAAABCAMAAAAsPuSGAAAACVBMVEXIAAAAyAAKFB6AL4RqAAAAAnRSTlMAgJsrThgAAAAMSURBVHicY2BgZAIAAA"
    "gABDbgsKYAAAAASUVORK5CYII=";
constexpr const char* kTurned =  // EXIF 3
    "iVBORw0KGgoAAAANSUhEUgAAAAMAAAABCAIAAACUgoPjAAAAGmVYSWZNTQAqAAAACAABARIAAwAAAAEAAwAAAAAAAIRfZM4AAAASSURBVHicY/jP"
    "wMDwn4GB4T8ADvsC/lPJrBEAAAAASUVORK5CYII=";
constexpr const char* kUpright =  // EXIF 6
    "iVBORw0KGgoAAAANSUhEUgAAAAMAAAABCAIAAACUgoPjAAAAGmVYSWZNTQAqAAAACAABARIAAwAAAAEABgAAAAAAANZnS2kAAAASSURBVHicY/jP"
    "wMDwn4GB4T8ADvsC/lPJrBEAAAAASUVORK5CYII=";
constexpr const char* kBits =
    "iVBORw0KGgoAAAANSUhEUgAAAAgAAAABAQAAAADLe9LuAAAACklEQVR4nGNYCgAApwCm5bnF4gAAAABJRU5ErkJggg==";
constexpr const char* kInks =
    "/9j/7gAOQWRvYmUAZAAAAAAA/"
    "9sAQwACAQEBAQECAQEBAgICAgIEAwICAgIFBAQDBAYFBgYGBQYGBgcJCAYHCQcGBggLCAkKCgoKCgYICwwLCgwJCgoK/8AAFAgACAAIBEMRAE0R"
    "AFkRAEsRAP/EAB8AAAEFAQEBAQEBAAAAAAAAAAABAgMEBQYHCAkKC//"
    "EALUQAAIBAwMCBAMFBQQEAAABfQECAwAEEQUSITFBBhNRYQcicRQygZGhCCNCscEVUtHwJDNicoIJChYX"
    "GBkaJSYnKCkqNDU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6g4SFhoeIiYqSk5SVlpeYmZqio6Slpqeoqaqys7S1tre4ubrCw8"
    "TFxsfIycrS09TV1tfY2drh"
    "4uPk5ebn6Onq8fLz9PX29/j5+v/aAA4EQwBNAFkASwAAPwD91K9sr826/Vyv/9k=";

}  // namespace

TEST_CASE("pixels of PNG are those of the file, whatever it says of gamma and opacity") {
  CHECK(decoded(kColours, 3) == Pixels{255, 0, 0, 0, 255, 0, 0, 0, 255});
  CHECK(decoded(kOpacities, 3) == Pixels{200, 10, 20, 200, 10, 20, 200, 10, 20, 200, 10, 20});
  CHECK(decoded(kGamma, 3) == Pixels{50, 60, 70});
  CHECK(decoded(kPalette, 3) == Pixels{200, 0, 0, 0, 200, 0, 10, 20, 30});
  CHECK(decoded(kGrey16, 1) == Pixels{0, 10, 64, 128, 200, 255});
  CHECK(decoded(kBits, 1) == Pixels{255, 0, 255, 0, 0, 255, 0, 255});
  CHECK(decoded(kBits, 3).size() == 24);
}

TEST_CASE("a PNG stands as its EXIF says") {
  CHECK(decoded(kTurned, 3) == Pixels{0, 0, 255, 0, 255, 0, 255, 0, 0});
  const Image image = decode_image(*decode_base64(kUpright), "file", 3);
  CHECK(image.width == 1);
  CHECK(image.height == 3);
  CHECK(image.pixels == Pixels{255, 0, 0, 0, 255, 0, 0, 0, 255});
}

TEST_CASE("grey of colours is that of Rec. 601") {
  CHECK(decoded(kColours, 1) == Pixels{76, 150, 29});
  CHECK(decoded(kOpacities, 1) == Pixels{68, 68, 68, 68});
}

TEST_CASE("a JPEG of four inks has the colours that they print") {
  const Pixels pixels = decoded(kInks, 3);
  REQUIRE(pixels.size() == 192);
  for (size_t i = 0; i < pixels.size(); i += 3) CHECK(Pixels(&pixels[i], &pixels[i] + 3) == Pixels{207, 131, 46});
  CHECK(decoded(kInks, 1) == Pixels(64, 144));
}

TEST_CASE("a PNG that is cut off is refused wherever it is") {
  const std::string bytes = *decode_base64(kColours);
  for (size_t size = 0; size + 16 < bytes.size(); ++size)
    CHECK_THROWS_AS(decode_image(bytes.substr(0, size), "file", 3), FormatError);
}

}  // namespace ltr::doors

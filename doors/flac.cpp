#include <FLAC/stream_decoder.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "doors/file.h"
#include "doors/limits.h"
#include "doors/sound.h"

namespace ltr::doors {

namespace {

/// What libFLAC calls while it decodes.
struct Decoding {
  std::string_view bytes;
  size_t position = 0;
  uint64_t frames = 0;  ///< of each channel, as the header says; 0 if it does not
  uint32_t bits = 0;
  Sound sound;
  std::vector<std::vector<float>> channels;
  std::string fault;

  static Decoding& of(void* client) { return *static_cast<Decoding*>(client); }

  static FLAC__StreamDecoderReadStatus read(const FLAC__StreamDecoder*, FLAC__byte buffer[], size_t* count,
                                            void* client) {
    Decoding& self = of(client);
    *count = std::min(*count, self.bytes.size() - self.position);
    std::memcpy(buffer, self.bytes.data() + self.position, *count);
    self.position += *count;
    return *count == 0 ? FLAC__STREAM_DECODER_READ_STATUS_END_OF_STREAM : FLAC__STREAM_DECODER_READ_STATUS_CONTINUE;
  }

  static void metadata(const FLAC__StreamDecoder*, const FLAC__StreamMetadata* data, void* client) {
    if (data->type != FLAC__METADATA_TYPE_STREAMINFO) return;
    const FLAC__StreamMetadata_StreamInfo& info = data->data.stream_info;
    Decoding& self = of(client);
    self.frames = info.total_samples;
    self.bits = info.bits_per_sample;
    self.sound.rate = info.sample_rate;
    self.sound.channels = info.channels;
    self.channels.resize(info.channels);
  }

  static FLAC__StreamDecoderWriteStatus write(const FLAC__StreamDecoder*, const FLAC__Frame* frame,
                                              const FLAC__int32* const buffer[], void* client) {
    Decoding& self = of(client);
    const uint32_t count = frame->header.blocksize;
    if (frame->header.channels != self.channels.size() || frame->header.bits_per_sample != self.bits ||
        frame->header.sample_rate != self.sound.rate) {
      self.fault = "a frame of another form than the header says";
      return FLAC__STREAM_DECODER_WRITE_STATUS_ABORT;
    }
    if ((self.channels[0].size() + count) * self.channels.size() > limits::kSoundBytes) {
      self.fault = "more than " + std::to_string(limits::kSoundBytes) + " samples";
      return FLAC__STREAM_DECODER_WRITE_STATUS_ABORT;
    }
    const double range = double(uint64_t(1) << (self.bits - 1));
    for (size_t channel = 0; channel < self.channels.size(); ++channel) {
      for (uint32_t i = 0; i < count; ++i) self.channels[channel].push_back(float(buffer[channel][i] / range));
    }
    return FLAC__STREAM_DECODER_WRITE_STATUS_CONTINUE;
  }

  static void error(const FLAC__StreamDecoder*, FLAC__StreamDecoderErrorStatus status, void* client) {
    Decoding& self = of(client);
    if (self.fault.empty()) self.fault = FLAC__StreamDecoderErrorStatusString[status];
  }
};

}  // namespace

Sound decode_flac(std::string_view bytes, const std::string& name) {
  Decoding decoding;
  decoding.bytes = bytes;
  const std::unique_ptr<FLAC__StreamDecoder, void (*)(FLAC__StreamDecoder*)> decoder(FLAC__stream_decoder_new(),
                                                                                     FLAC__stream_decoder_delete);
  FLAC__stream_decoder_set_md5_checking(decoder.get(), 1);
  const bool is_begun = FLAC__stream_decoder_init_stream(decoder.get(), Decoding::read, nullptr, nullptr, nullptr,
                                                         nullptr, Decoding::write, Decoding::metadata, Decoding::error,
                                                         &decoding) == FLAC__STREAM_DECODER_INIT_STATUS_OK;
  const bool is_read = is_begun && FLAC__stream_decoder_process_until_end_of_stream(decoder.get()) != 0;
  const bool has_its_sum = FLAC__stream_decoder_finish(decoder.get()) != 0;
  const auto refuse = [&](const std::string& reason) { throw FormatError(name, decoding.position, reason); };
  if (!decoding.fault.empty()) refuse(decoding.fault);
  if (!is_read || decoding.channels.empty() || decoding.sound.rate == 0) refuse("no FLAC that can be read");
  const size_t frames = decoding.channels[0].size();
  if (decoding.frames > frames) refuse("the file ends early");
  if (!has_its_sum) refuse("the samples are not those that were written: their MD5 differs");
  for (const std::vector<float>& channel : decoding.channels)
    decoding.sound.samples.insert(decoding.sound.samples.end(), channel.begin(), channel.end());
  return std::move(decoding.sound);
}

}  // namespace ltr::doors

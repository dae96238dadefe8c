// `tar_shards`: neighbours in tar archives whose names differ in their endings alone, decoded when they are read.

#include <algorithm>

#include <ATen/ATen.h>

#include "doors/file.h"
#include "doors/json.h"
#include "doors/npy.h"
#include "doors/tar.h"
#include "doors/unpacked.h"
#include "doors/utf8.h"
#include "ltr/streams.h"
#include "runtime/api/suggest.h"
#include "runtime/data/foreign_tensor.h"
#include "runtime/data/image_cells.h"
#include "runtime/data/json_cells.h"
#include "runtime/data/known.h"
#include "runtime/data/paths.h"
#include "runtime/data/rows.h"
#include "runtime/data/sound_cells.h"
#include "runtime/data/sources/source.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

constexpr const char* kKey = "__key__";

/// The field that holds the key of its sample.
bool is_key(const FieldInfo& field) { return Str(field.name) == kKey; }

at::Tensor tensor_of(std::string_view bytes, const Str& ending, const FieldInfo& field) {
  const at::ScalarType type = scalar_type(field.dtype);
  if (ending == "npy" || ending.ends_with("_npy")) {
    const doors::NpyArray array = doors::parse_npy(Str(bytes), "");
    const at::ScalarType stored = stored_type(array.dtype).value();
    if (at::isFloatingType(stored) && at::isIntegralType(type, true))
      throw Misfit{fmt::format("it holds {}, which become no {}", to_text(dtype_of(stored)), to_text(field.dtype))};
    if (at::promoteTypes(stored, type) != type)
      throw Misfit{fmt::format("it holds {}, of which {} would lose some: read them as such, and narrow them in a map",
                               to_text(dtype_of(stored)), to_text(field.dtype))};
    const void* data = array.data.data();
    return borrow(static_cast<const std::byte*>(data), array.shape, stored).to(type, false, true);
  }
  if (field.dtype == DType::Float && field.dims.size() == 2) {
    return tensor_of_sound(doors::decode_sound(bytes, ""));
  }
  if (field.dtype != DType::U8 || field.dims.size() != 1)
    throw Misfit{"files of tensors are .npy and .json, and sound `float[?, ?]`, images `u8[3, ?, ?]`, bytes `u8[?]`"};
  const void* data = bytes.data();
  return borrow(static_cast<const std::byte*>(data), {int64_t(bytes.size())}, at::kByte).clone();
}

bool is_json(const Str& ending) { return ending == "json" || ending.ends_with("_json"); }

/// A number as text is one of JSON, but for spaces around it.
Cell number_of(std::string_view bytes, const FieldInfo& field) {
  if (const Str fault = doors::utf8_fault(bytes); !fault.empty())
    refuse_field(field, fmt::format("is none: {}", fault));
  const nlohmann::json json = doors::try_json(bytes);
  if (json.is_discarded()) refuse_field(field, fmt::format("is \"{}\"", bytes.substr(0, 40)));
  if (json.is_null() && field.form == FieldForm::Option) {
    Cell cell;
    cell.is_missing = true;
    return cell;
  }
  FieldInfo plain = field;
  plain.form = FieldForm::Plain;
  return cell_of(json, plain);
}

/// What is no number and no JSON.
Cell value_of(std::string_view bytes, const Str& ending, const FieldInfo& field) {
  Cell cell;
  if (cell_kind(field) == CellKind::Text) {
    if (const Str fault = doors::utf8_fault(bytes); !fault.empty()) throw Misfit{fault};
    cell.text = bytes;
    return cell;
  }
  if (is_image(field)) return image_of_bytes(bytes, field);
  const at::Tensor tensor = tensor_of(bytes, ending, field);
  if (!sizes_fit(field, tensor.sizes()))
    throw Misfit{fmt::format("is [{}], but {} is wanted", fmt::join(tensor.sizes().begin(), tensor.sizes().end(), ", "),
                             type_text(field))};
  cell.tensor = give(tensor);
  return cell;
}

class TarShards : public Source {
 public:
  TarShards(Schema fields, const std::vector<Str>& files) : Source(std::move(fields)) {
    for (const Str& path : files) {
      note_opened(path);
      const int64_t before = size();
      reading(path, [&] { add(path); });
      note_records(path, size() - before);
    }
    if (!samples_.empty()) check_names(samples_[0]);
  }

  int64_t size() const override { return int64_t(samples_.size()); }
  Str name_of(const ReadAt& at) const override { return place_of(samples_[size_t(at.index)]); }

  bool read(const ReadAt& at, Record& out) const override {
    const Sample& sample = samples_[size_t(at.index)];
    if (!sample.twice.empty()) refuse(sample, fmt::format("two files of this sample end in {}", sample.twice));
    out.resize(schema_.size());
    for (size_t i = 0; i < schema_.size(); ++i) {
      try {
        out[i] = read_field(sample, schema_[i]);
      } catch (const Misfit& misfit) {
        refuse(sample, misfit.text);
      }
    }
    need_whole(shards_[sample.shard].file, shards_[sample.shard].path);
    return true;
  }

 private:
  struct Member {
    Str ending;
    uint64_t offset;
    uint64_t size;
  };
  struct Sample {
    size_t shard;
    Str key;
    std::vector<Member> members;
    Str twice;  ///< an ending that two of its files have, the first that was found
  };
  struct Shard {
    Str path;
    doors::Unpacked file;
  };

  void add(const Str& path) {
    shards_.push_back({path, doors::Unpacked(path)});
    bool is_first = true;
    for (const doors::TarEntry& entry : doors::read_tar(shards_.back().file.text(), path)) {
      auto [key, ending] = doors::sample_parts(entry.name);
      if (ending.empty()) continue;
      if (is_first || samples_.back().key != key) samples_.push_back({shards_.size() - 1, key, {}, ""});
      is_first = false;
      Sample& sample = samples_.back();
      if (sample.twice.empty() && find(sample, ending) != nullptr) sample.twice = ending;
      sample.members.push_back({std::move(ending), entry.offset, entry.size});
    }
  }

  static const Member* find(const Sample& sample, const Str& ending) {
    const auto found = std::find_if(sample.members.begin(), sample.members.end(),
                                    [&](const Member& member) { return member.ending == ending; });
    return found == sample.members.end() ? nullptr : &*found;
  }

  Str place_of(const Sample& sample) const { return fmt::format("{}:{}", shards_[sample.shard].path, sample.key); }

  [[noreturn]] void refuse(const Sample& sample, const Str& reason) const {
    need_whole(shards_[sample.shard].file, shards_[sample.shard].path);
    throw bad_record(location(), place_of(sample), reason);
  }

  Cell read_field(const Sample& sample, const FieldInfo& field) const {
    Cell cell;
    if (is_key(field)) {
      cell.text = sample.key;
      return cell;
    }
    const Member* member = find(sample, field.name);
    if (member == nullptr && field.form != FieldForm::Option)
      throw Misfit{fmt::format("no file of this sample ends in {}; an option need not be there", field.name)};
    cell.is_missing = member == nullptr;
    if (cell.is_missing) return cell;
    const std::string_view bytes = shards_[sample.shard].file.text().substr(member->offset, member->size);
    const bool is_number = field.dims.empty() || is_json(member->ending);
    if (is_number && cell_kind(field) != CellKind::Text && !is_image(field)) return number_of(bytes, field);
    try {
      return value_of(bytes, member->ending, field);
    } catch (const Misfit& misfit) {
      throw Misfit{fmt::format("the field {}: {}", field.name, misfit.text)};
    } catch (const doors::FormatError& error) {
      throw Misfit{fmt::format("the field {}: {}", field.name, error.placed())};
    }
  }

  /// R3002 if the first sample lacks a field that every one must have: a name is misspelt sooner than a sample is bad.
  void check_names(const Sample& sample) const {
    std::vector<Str> endings;
    for (const Member& member : sample.members) endings.push_back(member.ending);
    for (const FieldInfo& field : schema_) {
      if (find(sample, field.name) != nullptr || field.form == FieldForm::Option || is_key(field)) continue;
      const Str near = nearest(field.name, endings);
      throw error_here(
          err::schema_differs, place_of(sample),
          fmt::format("no file ends in {}{} (there are: {})", field.name,
                      near.empty() ? "" : fmt::format("; did you mean {}?", near), fmt::join(endings, ", ")));
    }
  }

  std::vector<Shard> shards_;
  std::vector<Sample> samples_;
};

}  // namespace

Stream tar_shards(const Str& glob, const Schema& schema) {
  return open_source(schema, [&] { return Stream(new TarShards(schema, find_files(glob))); });
}

}  // namespace ltr

#pragma once

// The two directions of a checkpoint. A part of a run's state says once, in `visit(Archive&)`, what it consists of;
// `SaveArchive` writes that down, `LoadArchive` puts it back. So nothing can be saved and forgotten on the way back.

#include <nlohmann/json.hpp>

#include <map>
#include <vector>

#include "runtime/checkpoint/folder.h"

namespace ltr {

class Archive {
 public:
  Archive() = default;
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;
  virtual ~Archive() = default;

  /// Whether values are put back.
  virtual bool is_reading() const = 0;

  /// A number, flag or text of the current part. Reading: R2011 if the checkpoint lacks it.
  virtual void value(const Str& name, int64_t& value) = 0;
  virtual void value(const Str& name, double& value) = 0;
  virtual void value(const Str& name, bool& value) = 0;
  virtual void value(const Str& name, Str& value) = 0;
  void value(const Str& name, uint64_t& value);

  /// A tensor, under its whole name whatever the part. Reading: an undefined one is made; a defined one takes the
  /// values, and R2010 if its shape or type differs.
  virtual void tensor(const Str& name, at::Tensor& tensor) = 0;

  /// A tensor that ranks divide, of which this one has `own`; undefined if it has nothing. A checkpoint gives all of it back,
  /// to any number of ranks.
  virtual void slice(const Str& name, at::Tensor& own, const Slice& slice) = 0;

  /// Whether the current part has a value or part `name`, or the checkpoint a tensor. True when writing.
  virtual bool has(const Str& name) const = 0;
  virtual bool has_tensor(const Str& name) const = 0;
  /// Names of the values and parts of the current part. Reading only.
  virtual std::vector<Str> names() const = 0;
  /// Names of all tensors that the checkpoint has. Reading only.
  virtual std::vector<Str> tensor_names() const = 0;
  /// A tensor without memory of the shape and type that the checkpoint has under that name; undefined if it has none. Reading only.
  virtual at::Tensor shape_of(const Str& name) const = 0;

  /// Something to tell the user: state that is missing, or that nobody wants any more. Kept when reading.
  virtual void note(Str text) = 0;

  /// What is visited while it lives is a part of its own, named or an element of a list.
  class Part {
   public:
    Part(Archive& archive, const Str& name) : archive_(archive) { archive_.enter(name); }
    Part(Archive& archive, size_t index) : archive_(archive) { archive_.enter(index); }
    ~Part() { archive_.leave(); }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

   private:
    Archive& archive_;
  };

  /// A list of values, its length included.
  template <class Element, class Visit>
  void list(const Str& name, std::vector<Element>& elements, const Visit& visit) {
    if (is_reading() && !has(name)) return;
    const Part part(*this, name);
    if (is_reading()) elements.resize(size());
    for (size_t i = 0; i < elements.size(); i++) {
      const Part element(*this, i);
      visit(elements[i]);
    }
    if (!is_reading() && elements.empty()) make_list();
  }

 protected:
  virtual void enter(const Str& name) = 0;
  virtual void enter(size_t index) = 0;
  virtual void leave() = 0;
  /// Elements of the current part, which is a list.
  virtual size_t size() const = 0;
  virtual void make_list() = 0;
};

/// Fills a manifest and the tensors of `train.safetensors`.
class SaveArchive : public Archive {
 public:
  explicit SaveArchive(CheckpointData& data) : data_(data), place_{&data.manifest} {}
  bool is_reading() const override { return false; }
  using Archive::value;
  void value(const Str& name, int64_t& value) override { (*place_.back())[name] = value; }
  void value(const Str& name, double& value) override;
  void value(const Str& name, bool& value) override { (*place_.back())[name] = value; }
  void value(const Str& name, Str& value) override { (*place_.back())[name] = value; }
  void tensor(const Str& name, at::Tensor& tensor) override { data_.train.push_back({name, tensor}); }
  void slice(const Str& name, at::Tensor& own, const Slice& slice) override {
    data_.share.slices.push_back({name, own, slice});
  }
  bool has(const Str&) const override { return true; }
  bool has_tensor(const Str&) const override { return true; }
  std::vector<Str> names() const override { return {}; }
  std::vector<Str> tensor_names() const override { return {}; }
  at::Tensor shape_of(const Str&) const override { return {}; }
  void note(Str) override {}

 private:
  void enter(const Str& name) override { place_.push_back(&(*place_.back())[name]); }
  void enter(size_t index) override { place_.push_back(&(*place_.back())[index]); }
  void leave() override { place_.pop_back(); }
  size_t size() const override { return place_.back()->size(); }
  void make_list() override { *place_.back() = nlohmann::json::array(); }

  CheckpointData& data_;
  std::vector<nlohmann::json*> place_;
};

/// Reads what SaveArchive wrote.
class LoadArchive : public Archive {
 public:
  /// `path` is the checkpoint's, for messages.
  LoadArchive(const nlohmann::json& manifest, StoredState state, Str path);
  /// Goes back to what a SaveArchive took down in this process.
  explicit LoadArchive(const CheckpointData& data);
  bool is_reading() const override { return true; }
  using Archive::value;
  void value(const Str& name, int64_t& value) override;
  void value(const Str& name, double& value) override;
  void value(const Str& name, bool& value) override;
  void value(const Str& name, Str& value) override;
  void tensor(const Str& name, at::Tensor& tensor) override;
  void slice(const Str& name, at::Tensor& own, const Slice& slice) override;
  bool has(const Str& name) const override;
  bool has_tensor(const Str& name) const override {
    return stored_.tensors.contains(name) || stored_.parted.contains(name) || slices_.contains(name);
  }
  std::vector<Str> names() const override;
  std::vector<Str> tensor_names() const override;
  at::Tensor shape_of(const Str& name) const override;
  void note(Str text) override { notes_.push_back(std::move(text)); }
  const std::vector<Str>& notes() const { return notes_; }

 private:
  void enter(const Str& name) override;
  void enter(size_t index) override;
  void leave() override { place_.pop_back(); }
  size_t size() const override { return place_.back()->size(); }
  void make_list() override {}
  const nlohmann::json& find(const Str& name) const;

  /// R2010 unless the tensor `name` of the checkpoint is of this shape and type.
  void check_fits(const Str& name, at::IntArrayRef there, at::ScalarType type_there, at::IntArrayRef here,
                  at::ScalarType type_here) const;

  StoredState stored_;
  std::map<Str, at::Tensor> slices_;  ///< of this process
  std::vector<Str> notes_;
  Str path_;
  std::vector<const nlohmann::json*> place_;
};

/// Doubles as text that reads back exactly, nan and infinities included.
nlohmann::json exact(double value);
double exact(const nlohmann::json& value);

}  // namespace ltr

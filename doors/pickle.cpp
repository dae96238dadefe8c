#include "doors/pickle.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>

#include "doors/bytes.h"
#include "doors/limits.h"

namespace ltr::doors {

namespace {

using Kind = PickleValue::Kind;

const std::map<std::string, std::string>& storages() {
  static const std::map<std::string, std::string> kTypes = {
      {"torch.DoubleStorage", "F64"},    {"torch.FloatStorage", "F32"}, {"torch.HalfStorage", "F16"},
      {"torch.BFloat16Storage", "BF16"}, {"torch.LongStorage", "I64"},  {"torch.IntStorage", "I32"},
      {"torch.ShortStorage", "I16"},     {"torch.CharStorage", "I8"},   {"torch.ByteStorage", "U8"},
      {"torch.BoolStorage", "BOOL"}};
  return kTypes;
}

class Machine {
 public:
  explicit Machine(std::string_view bytes) : bytes_(bytes) {}

  Pickle run() {
    if (bytes_.size() > limits::kPickleBytes) fail("it is larger than 64 MiB");
    pickle_.values.emplace_back();  // None, shared.
    for (uint64_t count = 0;; ++count) {
      if (count == limits::kPickleOpcodes) fail("it has more than ten million opcodes");
      opcode_at_ = position_;
      if (!step()) break;
    }
    pickle_.calls.assign(calls_.begin(), calls_.end());
    return std::move(pickle_);
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const { throw PickleError(opcode_at_, reason); }

  std::string_view take(uint64_t count) {
    if (bytes_.size() - position_ < count) fail("it ends early");
    const std::string_view part = bytes_.substr(position_, count);
    position_ += count;
    return part;
  }
  template <class T>
  T number() {
    return get_le<T>(take(sizeof(T)).data());
  }
  std::string line() {
    const size_t end = bytes_.find('\n', position_);
    if (end == std::string_view::npos) fail("a line does not end");
    std::string text(bytes_.substr(position_, end - position_));
    position_ = end + 1;
    return text;
  }

  PickleId add(PickleValue value) {
    // A few bytes of pickle can ask for copies of much that stands before them.
    charge(sizeof value + value.text.size() + value.items.size() * sizeof(PickleId) +
           (value.shape.size() + value.strides.size()) * sizeof(int64_t));
    pickle_.values.push_back(std::move(value));
    return PickleId(pickle_.values.size() - 1);
  }
  PickleId add(Kind kind, std::vector<PickleId> items = {}, std::string text = "") {
    PickleValue value;
    value.kind = kind;
    value.items = std::move(items);
    value.text = std::move(text);
    return add(std::move(value));
  }
  PickleId add_int(int64_t whole, Kind kind = Kind::Int) {
    PickleValue value;
    value.kind = kind;
    value.whole = whole;
    return add(std::move(value));
  }
  PickleValue& value(PickleId id) { return pickle_.values[id]; }
  void charge(uint64_t bytes) {
    held_ += bytes;
    if (held_ > limits::kPickleMemory) fail("what it builds takes more than 1 GiB");
  }

  void push(PickleId id) { stack_.push_back(id); }
  PickleId pop() {
    if (stack_.empty() || (!marks_.empty() && stack_.size() == marks_.back())) fail("nothing is left on the stack");
    const PickleId id = stack_.back();
    stack_.pop_back();
    return id;
  }
  PickleId top() {
    const PickleId id = pop();
    push(id);
    return id;
  }
  /// What was pushed since the last mark.
  std::vector<PickleId> pop_mark() {
    if (marks_.empty()) fail("there is no mark");
    std::vector<PickleId> items(stack_.begin() + ptrdiff_t(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }
  std::vector<PickleId> pop_last(size_t count) {
    std::vector<PickleId> items(count);
    for (size_t i = count; i-- > 0;) items[i] = pop();
    return items;
  }

  void remember(uint64_t slot) { memo_[slot] = top(); }
  void recall(uint64_t slot) {
    const auto known = memo_.find(slot);
    if (known == memo_.end()) fail("it recalls what it never kept");
    push(known->second);
  }

  void append(const std::vector<PickleId>& items, Kind kind) {
    PickleValue& target = value(top());
    // What an object holds beside its state is of no interest to anyone.
    if (target.kind == Kind::Object || target.kind == Kind::Call) return;
    if (target.kind != kind)
      fail(kind == Kind::List ? "it appends to what is no list" : "it sets a key of what is no dict");
    charge(items.size() * sizeof(PickleId));
    target.items.insert(target.items.end(), items.begin(), items.end());
  }

  /// Runs the opcode at the position; false at the end.
  bool step();

  PickleId reduce(PickleId function, PickleId arguments);
  PickleId rebuilt(const std::vector<PickleId>& args);
  PickleId persistent(PickleId id);
  std::vector<int64_t> counts(PickleId id);

  std::string_view bytes_;
  uint64_t position_ = 0;
  uint64_t opcode_at_ = 0;
  Pickle pickle_;
  std::vector<PickleId> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, PickleId> memo_;
  std::set<std::string> calls_;
  uint64_t held_ = 0;  ///< bytes of all values
};

bool Machine::step() {
  const auto opcode = static_cast<unsigned char>(take(1)[0]);
  switch (opcode) {
    case 0x80:  // PROTO
      if (take(1)[0] != 2) fail("it is not of protocol 2");
      return true;
    case '(': marks_.push_back(stack_.size()); return true;
    case '.': pickle_.root = pop(); return false;
    case 'N': push(0); return true;
    case 0x88: push(add_int(1, Kind::Bool)); return true;
    case 0x89: push(add_int(0, Kind::Bool)); return true;
    case 'J': push(add_int(number<int32_t>())); return true;
    case 'K': push(add_int(number<uint8_t>())); return true;
    case 'M': push(add_int(number<uint16_t>())); return true;
    case 0x8a: {  // LONG1
      const std::string_view digits = take(number<uint8_t>());
      if (digits.size() > 8) fail("an integer has more than 64 bits");
      uint64_t whole = !digits.empty() && (digits.back() & 0x80) != 0 ? ~uint64_t(0) : 0;
      for (size_t i = digits.size(); i-- > 0;) whole = whole << 8 | static_cast<unsigned char>(digits[i]);
      push(add_int(int64_t(whole)));
      return true;
    }
    case 'G': {
      uint64_t bits = __builtin_bswap64(number<uint64_t>());
      PickleValue real;
      real.kind = Kind::Float;
      std::memcpy(&real.real, &bits, sizeof bits);
      push(add(std::move(real)));
      return true;
    }
    case 'X': push(add(Kind::Str, {}, std::string(take(number<uint32_t>())))); return true;
    case '}': push(add(Kind::Dict)); return true;
    case ']': push(add(Kind::List)); return true;
    case ')': push(add(Kind::Tuple)); return true;
    case 't': push(add(Kind::Tuple, pop_mark())); return true;
    case 0x85: push(add(Kind::Tuple, pop_last(1))); return true;
    case 0x86: push(add(Kind::Tuple, pop_last(2))); return true;
    case 0x87: push(add(Kind::Tuple, pop_last(3))); return true;
    case 'a': {
      const PickleId item = pop();
      append({item}, Kind::List);
      return true;
    }
    case 'e': append(pop_mark(), Kind::List); return true;
    case 's': append(pop_last(2), Kind::Dict); return true;
    case 'u': {
      const std::vector<PickleId> items = pop_mark();
      if (items.size() % 2 != 0) fail("a key has no value");
      append(items, Kind::Dict);
      return true;
    }
    case 'q': remember(number<uint8_t>()); return true;
    case 'r': remember(number<uint32_t>()); return true;
    case 'h': recall(number<uint8_t>()); return true;
    case 'j': recall(number<uint32_t>()); return true;
    case 'c': {
      const std::string module = line();
      push(add(Kind::Global, {}, module + "." + line()));
      return true;
    }
    case 'R': {
      const PickleId arguments = pop(), function = pop();
      push(reduce(function, arguments));
      return true;
    }
    case 0x81: {  // NEWOBJ
      const PickleId arguments = pop(), type = pop();
      const std::string& name = value(type).text;
      charge(name.size());
      push(name == "collections.OrderedDict" ? add(Kind::Dict) : add(Kind::Object, {arguments}, name));
      return true;
    }
    case 'b': {
      const PickleId state = pop();
      PickleValue& object = value(top());
      // The state of a dict is what torch notes about it.
      if (object.kind == Kind::Object || object.kind == Kind::Call) {
        charge(sizeof state);
        object.items.push_back(state);
        object.whole = 1;
      }
      return true;
    }
    case 'Q': push(persistent(pop())); return true;
    default: fail("opcode " + std::to_string(opcode) + " is none that torch.save writes");
  }
}

PickleId Machine::reduce(PickleId function, PickleId arguments) {
  if (value(arguments).kind != Kind::Tuple) fail("a call has no arguments");
  // Neither is copied, and neither outlives the next `add`.
  const PickleValue& callee = value(function);
  const std::vector<PickleId>& args = value(arguments).items;
  const std::string& name = callee.text;
  if (callee.kind == Kind::Global) {
    if (name == "collections.OrderedDict" && args.empty()) return add(Kind::Dict);
    if (name == "torch._utils._rebuild_tensor" || name == "torch._utils._rebuild_tensor_v2") return rebuilt(args);
    if (name == "torch._utils._rebuild_parameter" && !args.empty()) return args[0];
    if (name == "torch.Size" && args.size() == 1) return args[0];
    if (name == "torch.device") return add(Kind::Str, {}, args.empty() ? "" : value(args[0]).text);
    const bool is_set = name == "__builtin__.set" || name == "builtins.set";
    if (is_set && args.size() <= 1) return args.empty() ? add(Kind::List) : args[0];
    if (name == "_codecs.encode" && !args.empty()) return args[0];
    if (name.starts_with("torch.jit._pickle.build_") && args.size() == 1) return args[0];
    if (name == "torch.jit._pickle.restore_type_tag" && !args.empty()) return args[0];
  }
  calls_.insert(callee.kind == Kind::Global ? name : "a value that is no function");
  charge(name.size() + args.size() * sizeof(PickleId));
  return add(Kind::Call, args, name);
}

std::vector<int64_t> Machine::counts(PickleId id) {
  if (value(id).items.size() > limits::kTensorDims) fail("a tensor has too many dims");
  std::vector<int64_t> list;
  for (const PickleId item : value(id).items) {
    if (value(item).kind != Kind::Int || value(item).whole < 0) fail("a size or stride is no count");
    list.push_back(value(item).whole);
  }
  return list;
}

PickleId Machine::rebuilt(const std::vector<PickleId>& args) {
  if (args.size() < 4 || value(args[0]).kind != Kind::Storage || value(args[1]).kind != Kind::Int)
    fail("a tensor is not built as torch does");
  PickleValue tensor;
  tensor.kind = Kind::Tensor;
  tensor.items = {args[0]};
  tensor.whole = value(args[1]).whole;
  tensor.dtype = value(args[0]).dtype;
  tensor.shape = counts(args[2]);
  tensor.strides = counts(args[3]);
  if (tensor.shape.size() != tensor.strides.size() || tensor.whole < 0)
    fail("sizes and strides of a tensor differ in number");
  return add(std::move(tensor));
}

// ("storage", torch.FloatStorage, "0", "cpu", 12)
PickleId Machine::persistent(PickleId id) {
  const std::vector<PickleId>& parts = value(id).items;
  if (parts.size() < 5 || value(parts[0]).text != "storage" || value(parts[4]).kind != Kind::Int)
    fail("what it refers to is no storage");
  const auto type = storages().find(value(parts[1]).text);
  if (type == storages().end()) fail("the storage " + value(parts[1]).text + " is not known");
  PickleValue storage;
  storage.kind = Kind::Storage;
  storage.dtype = type->second;
  storage.text = value(parts[2]).text;
  storage.whole = value(parts[4]).whole;
  return add(std::move(storage));
}

}  // namespace

const PickleValue* Pickle::find(const PickleValue& dict, std::string_view key) const {
  for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    if (at(dict.items[i]).kind == Kind::Str && at(dict.items[i]).text == key) return &at(dict.items[i + 1]);
  }
  return nullptr;
}

Pickle read_pickle(std::string_view bytes) { return Machine(bytes).run(); }

}  // namespace ltr::doors

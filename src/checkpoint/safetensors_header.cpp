#include "checkpoint/safetensors_header.h"

#include <limits>
#include <optional>
#include <utility>

#include "base/error.h"
#include "checkpoint/quote.h"
#include "checkpoint/strict_sax.h"

namespace assay::checkpoint {
namespace {

constexpr auto kMaxExtent = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

/// The header's grammar as a state machine: one state for each place where a value may stand.
class HeaderReader : public StrictSax {
 public:
  explicit HeaderReader(std::string_view file) : file_(file) {}

  Header take() { return std::move(header_); }

  bool start_object(std::size_t) override {
    switch (state_) {
      case State::start:
        return enter(State::top);
      case State::entry:
        has_dtype_ = has_shape_ = has_offsets_ = false;
        header_.tensors.emplace_back().name = name_;
        return enter(State::tensor);
      case State::metadata_object:
        return enter(State::metadata);
      default:
        return unexpected("an object");
    }
  }

  bool end_object() override {
    if (state_ == State::tensor) {
      finish_tensor();
    }
    return enter(state_ == State::top ? State::done : State::top);
  }

  bool key(string_t& key) override {
    if (state_ == State::top) {
      return enter_entry(key);
    }
    if (state_ == State::metadata) {
      name_ = key;
      return enter(State::metadata_value);
    }
    return enter_field(key);
  }

  bool string(string_t& text) override {
    if (state_ == State::dtype) {
      const std::optional<DType> dtype = dtype_from_name(text);
      if (!dtype) {
        fail(ErrorKind::bad_input, "{}: tensor {} has the unknown dtype {}", file_, quote(name_),
             quote(text));
      }
      header_.tensors.back().dtype = *dtype;
      return enter(State::tensor);
    }
    if (state_ == State::metadata_value) {
      add_metadata(text);
      return enter(State::metadata);
    }
    return unexpected("a string");
  }

  bool start_array(std::size_t) override {
    if (state_ == State::shape) {
      return enter(State::shape_array);
    }
    if (state_ == State::offsets) {
      offsets_.clear();
      return enter(State::offsets_array);
    }
    return unexpected("an array");
  }

  bool number_unsigned(number_unsigned_t number) override {
    if (state_ == State::shape_array) {
      add_extent(number);
      return true;
    }
    if (state_ == State::offsets_array && offsets_.size() < 2) {
      offsets_.push_back(number);
      return true;
    }
    return unexpected("a number");
  }

  bool end_array() override {
    if (state_ == State::offsets_array) {
      if (offsets_.size() != 2) {
        return unexpected("the end of an array");
      }
      header_.tensors.back().begin = offsets_[0];
      header_.tensors.back().end = offsets_[1];
    }
    return enter(State::tensor);
  }

 protected:
  bool unexpected(std::string_view found) const override {
    fail(ErrorKind::bad_input, "{}: {}: found {} where the format has {}", file_, place(), found,
         expected());
  }

 private:
  enum class State {
    start,            // before the header's own object
    top,              // in it
    entry,            // behind a tensor's name
    tensor,           // in a tensor's object
    dtype,            // behind "dtype"
    shape,            // behind "shape"
    shape_array,      // in the array of extents
    offsets,          // behind "data_offsets"
    offsets_array,    // in the array of two offsets
    metadata_object,  // behind "__metadata__"
    metadata,         // in its object
    metadata_value,   // behind a key of it
    done,
  };

  bool enter(State state) {
    state_ = state;
    return true;
  }

  bool enter_entry(const string_t& key) {
    name_ = key;
    if (key == "__metadata__") {
      if (std::exchange(has_metadata_, true)) {
        fail(ErrorKind::bad_input, "{}: the header has __metadata__ twice", file_);
      }
      return enter(State::metadata_object);
    }
    if (header_.tensors.size() == kMaxTensors) {
      fail(ErrorKind::bad_input, "{}: more than {} tensors in one file", file_, kMaxTensors);
    }
    return enter(State::entry);
  }

  bool enter_field(const string_t& key) {
    struct Field {
      std::string_view name;
      bool& seen;
      State state;
    };
    for (const Field& field :
         {Field{"dtype", has_dtype_, State::dtype}, Field{"shape", has_shape_, State::shape},
          Field{"data_offsets", has_offsets_, State::offsets}}) {
      if (key == field.name) {
        if (std::exchange(field.seen, true)) {
          fail(ErrorKind::bad_input, "{}: tensor {} has the key {} twice", file_, quote(name_),
               quote(key));
        }
        return enter(field.state);
      }
    }
    fail(ErrorKind::bad_input,
         "{}: tensor {} has the unknown key {}; the format has dtype, shape and data_offsets",
         file_, quote(name_), quote(key));
  }

  void add_metadata(const string_t& text) {
    if (header_.metadata.size() == kMaxMetadataEntries) {
      fail(ErrorKind::bad_input, "{}: more than {} entries in __metadata__", file_,
           kMaxMetadataEntries);
    }
    if (!header_.metadata.try_emplace(name_, text).second) {
      fail(ErrorKind::bad_input, "{}: __metadata__ has the key {} twice", file_, quote(name_));
    }
  }

  void add_extent(std::uint64_t extent) {
    std::vector<std::int64_t>& shape = header_.tensors.back().shape;
    if (shape.size() == kMaxRank) {
      fail(ErrorKind::bad_input, "{}: tensor {} has more than {} dimensions", file_, quote(name_),
           kMaxRank);
    }
    if (extent > kMaxExtent) {
      fail(ErrorKind::bad_input, "{}: tensor {} has an extent of {}, which overflows", file_,
           quote(name_), extent);
    }
    shape.push_back(static_cast<std::int64_t>(extent));
  }

  void finish_tensor() const {
    const std::string_view missing = !has_dtype_     ? "dtype"
                                     : !has_shape_   ? "shape"
                                     : !has_offsets_ ? "data_offsets"
                                                     : "";
    if (!missing.empty()) {
      fail(ErrorKind::bad_input, "{}: tensor {} has no {}", file_, quote(name_), missing);
    }
  }

  [[nodiscard]] std::string place() const {
    if (state_ == State::start || state_ == State::top || state_ == State::done) {
      return "the header";
    }
    if (state_ == State::metadata_object) {
      return "__metadata__";
    }
    if (state_ == State::metadata || state_ == State::metadata_value) {
      return "__metadata__ " + quote(name_);
    }
    return "tensor " + quote(name_);
  }

  [[nodiscard]] std::string_view expected() const {
    switch (state_) {
      case State::entry:
        return "an object with dtype, shape and data_offsets";
      case State::dtype:
        return "a dtype's name";
      case State::shape:
      case State::shape_array:
        return "a shape of non-negative integers";
      case State::offsets:
      case State::offsets_array:
        return "data_offsets of two non-negative integers";
      case State::metadata_value:
        return "a string";
      default:
        return "an object";
    }
  }

  std::string_view file_;
  State state_ = State::start;
  std::string name_;
  bool has_metadata_ = false;
  bool has_dtype_ = false;
  bool has_shape_ = false;
  bool has_offsets_ = false;
  std::vector<std::uint64_t> offsets_;
  Header header_;
};

}  // namespace

Header parse_header(std::string_view json, std::string_view file) {
  HeaderReader reader(file);
  reader.read(json, fmt::format("{}: the header", file));
  return reader.take();
}

}  // namespace assay::checkpoint

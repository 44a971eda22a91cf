#pragma once
/// Reading a bundle step by step: read() takes all steps, verify() names each.
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "bundle/bundle.h"
#include "bundle/format.h"

namespace assay::bundle {

/// The steps, to be taken in the order in which they stand here: each relies on the ones before.
/// Every one throws corrupt, bad_input or unsupported, without the file's name.
class Reader {
 public:
  /// `file` must live as long as `owner`, which the bundle's constants keep.
  Reader(std::span<const std::byte> file, std::shared_ptr<const void> owner);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void read_preamble();           ///< magic, checksum, version
  void check_size();              ///< the file is as long as it says
  void check_header();            ///< the header's checksum and padding
  void parse_header();            ///< JSON, no unknown feature
  void read_sections();           ///< the table: in order, no holes, no overlaps
  void check_sections();          ///< every section's checksum and padding
  [[nodiscard]] Bundle decode();  ///< model, preprocessing, labels, graph

  [[nodiscard]] const Preamble& preamble() const { return preamble_; }
  [[nodiscard]] std::span<const Section> sections() const { return sections_; }

 private:
  /// The numbers of section `index`, which must be `next`: constants take the sections in order.
  /// Its type is one that `precision` stores.
  [[nodiscard]] graph::Constant constant(std::size_t index, std::size_t& next,
                                         std::string_view precision) const;
  [[nodiscard]] std::span<const std::byte> data() const;

  std::span<const std::byte> file_;
  std::shared_ptr<const void> owner_;
  Preamble preamble_;
  std::unique_ptr<Json> header_;
  std::vector<Section> sections_;
};

/// One step, as verify() lists it; `run` gives what was found and throws as the Reader's step does.
struct Step {
  const char* name;
  std::string (*run)(Reader& reader, Bundle& bundle);
};

/// All steps in order; the last fills the bundle.
std::span<const Step> reading_steps();

/// Takes all steps.
Bundle read_all(Reader& reader);

}  // namespace assay::bundle

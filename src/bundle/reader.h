#pragma once
/// Reading a bundle step by step: read() takes all of them, verify() names each.
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "bundle/bundle.h"
#include "bundle/format.h"

namespace assay::bundle {

/// Takes the steps in the order in which they stand here; each relies on the ones before. Every
/// step throws corrupt, bad_input or unsupported, without the file's name.
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
  [[nodiscard]] graph::Constant constant(std::size_t index, std::vector<bool>& used) const;
  [[nodiscard]] std::span<const std::byte> data() const;

  std::span<const std::byte> file_;
  std::shared_ptr<const void> owner_;
  Preamble preamble_;
  std::unique_ptr<Json> header_;
  std::vector<Section> sections_;
};

}  // namespace assay::bundle

#pragma once
/// The safetensors format, read and written.
///
///     8 bytes   N, the header's length, unsigned little-endian; at most 100,000,000
///     N bytes   the header: a JSON object in UTF-8 that starts with '{' and may end in spaces
///     the rest  the tensors' bytes, row-major, little-endian
///
/// The header maps each tensor's name to {"dtype", "shape", "data_offsets": [begin, end]}, offsets
/// counted from the end of the header, and may have one key "__metadata__", an object of strings.
/// The ranges must cover the rest of the file exactly: no overlap, no hole, no trailing byte. They
/// need not be aligned. A tensor without elements has an empty range; a shape of [] is one element.
/// A type narrower than a byte is packed, and must fill whole bytes.
/// Source: the format's description in the safetensors project's README, "Format". Stricter here:
/// keys that are there twice are refused everywhere, and so is a tensor's key that is not of the
/// format. A file may hold at most kMaxTensors tensors (safetensors_header.h).
///
/// What is wrong with the file's form is bad_input (not this format, header not JSON, unknown
/// dtype, ...); what contradicts itself is corrupt (truncated, overlaps, sizes). Every message
/// names the file, and the tensor where one is meant. Reading allocates a few times the header's
/// length and never the tensors' bytes.
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "checkpoint/checkpoint.h"

namespace assay::checkpoint {

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

/// Reads a whole file's bytes. `file` names it in messages; `owner` keeps `bytes` alive for the
/// tensors that are returned. Throws bad_input or corrupt.
Weights parse_safetensors(std::span<const std::byte> bytes, std::string_view file,
                          const std::shared_ptr<const void>& owner);

/// Writes `weights` with their metadata, the way the format's own library does: tensors by falling
/// alignment of their type, then by name; the header padded with spaces to a multiple of 8. Equal
/// weights give equal bytes. Throws bad_input where a tensor's bytes are not its shape × dtype, or
/// the file cannot be written.
void write_safetensors(const std::filesystem::path& file, const Weights& weights);

}  // namespace assay::checkpoint

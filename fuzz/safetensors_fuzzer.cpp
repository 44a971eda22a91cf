/// Any bytes as a safetensors file: an Error, or tensors that lie in the file and are their shapes.
#include "assay/error.h"
#include "checkpoint/safetensors.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using assay::fuzz::require;
  const auto file = std::as_bytes(std::span(data, size));
  try {
    const auto weights = assay::checkpoint::parse_safetensors(file, "input", nullptr);
    std::size_t total = 0;
    for (const auto& [name, tensor] : weights.all()) {
      const auto bits = static_cast<std::uint64_t>(tensor.elements()) *
                        static_cast<std::uint64_t>(assay::size_in_bits(tensor.dtype));
      require(name == tensor.name, "a tensor is stored under its name");
      require(bits == tensor.bytes.size() * 8, "a tensor's bytes are its shape");
      require(tensor.bytes.empty() ||
                  (tensor.bytes.data() >= file.data() &&
                   tensor.bytes.data() + tensor.bytes.size() <= file.data() + file.size()),
              "a tensor lies in the file");
      total += tensor.bytes.size();
    }
    require(total + 10 <= file.size(), "tensors do not overlap each other or the header");
  } catch (const assay::Error&) {
  }
  return 0;
}

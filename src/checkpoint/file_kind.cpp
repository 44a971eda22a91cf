#include "checkpoint/file_kind.h"

#include <array>

namespace assay::checkpoint {
namespace {

constexpr std::string_view kPickle =
    "this is a PyTorch pickle, which is not read because a pickle can run code; convert it with "
    "safetensors (safetensors.torch.save_file) where you trust it";

struct Kind {
  std::string_view start;
  std::string_view sentence;
};

// A pickle starts with its protocol's opcode 0x80 and number; PyTorch has always written 2, and
// since 1.6 a zip archive around it.
constexpr std::array kKinds{
    Kind{"PK\x03\x04", kPickle},
    Kind{"\x80\x02", kPickle},
    Kind{"\x80\x03", kPickle},
    Kind{"\x80\x04", kPickle},
    Kind{"\x80\x05", kPickle},
    Kind{"version https://git-lfs",
         "this is a Git LFS pointer, not the file; fetch it with git lfs pull"},
    Kind{"GGUF", "this is a GGUF file"},
    Kind{"\x89HDF", "this is an HDF5 file"},
    Kind{"<!DOCTYPE", "this is a web page; the download went wrong"},
    Kind{"<html", "this is a web page; the download went wrong"},
};

}  // namespace

std::string_view describe_foreign_file(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const Kind& kind : kKinds) {
    // 80 02 00 is how a safetensors header of 640 bytes starts, and 00 is no pickle's opcode.
    const bool length = kind.start.size() == 2 && text.size() > 2 && text[2] == '\0';
    if (text.starts_with(kind.start) && !length) {
      return kind.sentence;
    }
  }
  return "";
}

}  // namespace assay::checkpoint

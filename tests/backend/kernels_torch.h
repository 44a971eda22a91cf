#pragma once
/// Reads tests/golden/torch_kernels.txt, whose script says what is in it.
#include <bit>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::backend::cpu {

/// One line: the words before the numbers, and the numbers.
struct TorchCase {
  std::vector<std::string> words;
  std::vector<float> numbers;
};

/// The lines that begin with `kind`, without that word.
inline std::vector<TorchCase> torch_cases(const std::string& kind) {
  std::ifstream file(std::string(ASSAY_SOURCE_DIR) + "/tests/golden/torch_kernels.txt");
  if (!file) throw std::runtime_error("tests/golden/torch_kernels.txt cannot be read");
  std::vector<TorchCase> cases;
  for (std::string line; std::getline(file, line);) {
    std::istringstream stream(line);
    std::string word;
    stream >> word;
    if (word != kind) continue;
    TorchCase& added = cases.emplace_back();
    while (stream >> word) {
      if (word.size() == 8 && word.find_first_not_of("0123456789abcdef") == std::string::npos) {
        added.numbers.push_back(
            std::bit_cast<float>(static_cast<std::uint32_t>(std::stoul(word, nullptr, 16))));
      } else {
        added.words.push_back(word);
      }
    }
  }
  return cases;
}

}  // namespace assay::backend::cpu

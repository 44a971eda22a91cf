#pragma once
/// What assay_cuda_bench can be asked for.
#include <optional>
#include <string>
#include <vector>

#include "backend/cuda/session.h"

namespace assay::bench {

struct Options {
  std::vector<std::string> sources;     ///< checkpoints' folders and bundles
  std::vector<std::string> precisions;  ///< of the checkpoints, one build each
  std::string recipe;                   ///< of the checkpoints; empty: the precision's own
  std::string calibration;              ///< a file, or a folder with one a checkpoint
  std::vector<int> batches{1, 8, 128};
  int level = 1;
  int device = 0;
  int rounds = 10;
  int warmup = 5;  ///< calls a turn that are not kept
  int count = 20;  ///< calls a turn that are
  int steps = 8;   ///< how many of the slowest steps are printed
  bool check_only = false;
  std::string json;  ///< where everything is written; empty: nowhere
};

/// What `argv` says. Prints help or what is wrong and gives the exit code instead.
struct Parsed {
  Options options;
  std::optional<int> exit_code;
};
Parsed parse(int argc, char** argv);

}  // namespace assay::bench

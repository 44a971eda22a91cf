#include "backend/reference/operators.h"

namespace assay::backend::reference {
namespace {

/// Suffix broadcasting: the shorter operand repeats.
template <typename Function>
void combine(const Call& call, const Function& function) {
  const auto a = call.inputs[0].numbers;
  const auto b = call.inputs[1].numbers;
  for (std::size_t i = 0; i < call.out.size(); ++i) {
    call.out[i] = function(a[i % a.size()], b[i % b.size()]);
  }
}

}  // namespace

void run(const graph::Add&, const Call& call) {
  combine(call, [](float a, float b) { return a + b; });
}

void run(const graph::Mul&, const Call& call) {
  combine(call, [](float a, float b) { return a * b; });
}

}  // namespace assay::backend::reference

#pragma once
/// Two studies side by side: two machines, or two versions of Assay.
#include <string>
#include <vector>

#include "study/schema.h"

namespace assay::study {

/// What a pair of figures says.
enum class Agreement {
  equal,  ///< the same, to the last digit
  holds,  ///< speed: the ratios' intervals overlap, or the ratios differ by under 10%
  differs,
  not_judged,   ///< both are there, but something else than the build differs
  not_measured  ///< one of them, or both, is missing
};

/// "equal", "holds", "differs", "not judged", "not measured".
std::string name_of(Agreement agreement);

/// One variant of one model that both studies have.
struct ComparedVariant {
  const Model* first_model = nullptr;
  const Variant* first = nullptr;
  const Variant* second = nullptr;
  Agreement quality = Agreement::not_measured;
  Agreement speed = Agreement::not_measured;
  bool same_verdict = false;
};

struct Comparison {
  const Study* first = nullptr;
  const Study* second = nullptr;
  std::vector<std::string> cautions;  ///< what can't be compared and why; marked text
  std::vector<ComparedVariant> variants;
};

/// Keeps pointers to both studies. Quality is judged where data, selection and checkpoint are the
/// same; speed where the processor and the threads are.
Comparison compare(const Study& first, const Study& second);

/// The comparison as Markdown: what differs around the studies, what can't be compared, a table for
/// quality and one for speed.
std::string compare_text(const Comparison& comparison);

}  // namespace assay::study

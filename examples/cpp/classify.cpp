/// Classifies images with the C++ API: classify BUNDLE IMAGE...
#include <assay/assay.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s BUNDLE IMAGE...\n", argv[0]);
    return 2;
  }
  try {
    const assay::Classifier classifier = assay::load(argv[1]);
    for (int i = 2; i < argc; ++i) {
      const assay::Classification answer = classifier.classify_file(argv[i], 1);
      const assay::Prediction& best = answer.top.front();
      std::printf("%s: %.*s %.4f\n", argv[i], static_cast<int>(best.label.size()),
                  best.label.data(), static_cast<double>(best.probability));
    }
  } catch (const assay::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

/* Classifies images with the C ABI: classify BUNDLE IMAGE... */
#include <assay/assay_c.h>
#include <stdio.h>

static int classify(const assay_model* model, const char* path) {
  assay_prediction best;
  size_t count = 0;
  if (assay_classify_file(model, path, &best, 1, &count) != ASSAY_OK || count == 0) {
    fprintf(stderr, "%s\n", assay_last_error());
    return 1;
  }
  printf("%s: %s %.4f\n", path, best.label, (double)best.probability);
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s BUNDLE IMAGE...\n", argv[0]);
    return 2;
  }
  assay_model* model = NULL;
  if (assay_open(argv[1], NULL, 0, &model) != ASSAY_OK) {
    fprintf(stderr, "%s\n", assay_last_error());
    return 1;
  }
  int failures = 0;
  for (int i = 2; i < argc; ++i) failures += classify(model, argv[i]);
  assay_close(model);
  return failures == 0 ? 0 : 1;
}

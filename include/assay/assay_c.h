/* Assay's C ABI: status codes, no exceptions. See examples/c for a program. */
#ifndef ASSAY_C_H
#define ASSAY_C_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  ASSAY_OK = 0,
  ASSAY_INTERNAL = 1,
  ASSAY_OUT_OF_MEMORY = 2,
  ASSAY_BAD_INPUT = 3,
  ASSAY_UNSUPPORTED = 4,
  ASSAY_NOT_FOUND = 5,
  ASSAY_CORRUPT = 6
} assay_status;

/* A loaded model. Thread-safe but for assay_close; the last error is kept per thread. */
typedef struct assay_model assay_model;

typedef struct {
  int32_t index;
  const char* label; /* lives until assay_close */
  float probability;
} assay_prediction;

/* The message of this thread's last failed call, or "". Valid until this thread's next call. */
const char* assay_last_error(void);
const char* assay_version(void);

/* backend: "cpu", "reference", "cuda", "cuda:1", or NULL for "cpu". threads 0: all cores. */
assay_status assay_open(const char* bundle_path, const char* backend, int threads,
                        assay_model** model);
void assay_close(assay_model* model);

int32_t assay_input_height(const assay_model* model);
int32_t assay_input_width(const assay_model* model);
int32_t assay_classes(const assay_model* model);

/* Each writes at most `capacity` predictions, best first, and how many in *count. */
assay_status assay_classify_file(const assay_model* model, const char* path,
                                 assay_prediction* predictions, size_t capacity, size_t* count);
assay_status assay_classify_memory(const assay_model* model, const void* bytes, size_t size,
                                   assay_prediction* predictions, size_t capacity, size_t* count);
/* Interleaved 8-bit RGB of any size; `stride` bytes a row, at least width * 3. */
assay_status assay_classify_pixels(const assay_model* model, const uint8_t* rgb, int32_t width,
                                   int32_t height, size_t stride, assay_prediction* predictions,
                                   size_t capacity, size_t* count);
/* `batch` normalized float32 images [batch, 3, H, W] to logits [batch, classes]. */
assay_status assay_run_tensor(const assay_model* model, const float* nchw, int32_t batch,
                              float* logits, size_t logits_capacity);

#ifdef __cplusplus
}
#endif
#endif

#pragma once
/// The networks that are measured, in memory, and their sessions on the device.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/cuda/plan.h"
#include "backend/cuda/session.h"
#include "bundle/bundle.h"
#include "options.h"

namespace assay::bench {

/// A network as a bundle holds it, read or built here.
struct Network {
  std::string model;   ///< the architecture
  std::string source;  ///< the word that named it
  std::string format;  ///< its precision, or its recipe where one was asked for
  bundle::Bundle bundle;

  [[nodiscard]] const graph::Graph& graph() const { return *bundle.graph; }
  [[nodiscard]] std::size_t pixels() const;   ///< numbers of one image
  [[nodiscard]] std::size_t classes() const;  ///< numbers of one image's logits
  /// "mobilevit_s fp16".
  [[nodiscard]] std::string title() const { return model + " " + format; }
};

/// Every source at every precision (a bundle at its own). Throws as bundle::read() and build().
std::vector<Network> open_networks(const Options& options);

/// Lowered for `target` and a largest batch. Throws as backend::lower().
std::shared_ptr<backend::Plan> lower(const Network& network, const backend::Target& target,
                                     int level, int batch);

/// One network at one batch on the device.
struct Subject {
  const Network* network = nullptr;
  int batch = 1;
  std::shared_ptr<backend::Plan> plan;  ///< for this batch
  std::unique_ptr<backend::cuda::CudaSession> session;
  std::vector<std::uint8_t> rgb;  ///< batch × H × W × 3
  std::vector<float> tensor;      ///< the same, normalized
  std::vector<float> logits;      ///< batch × classes

  /// One call, from 8-bit pixels on the host to logits on the host.
  void call() { session->run({rgb, {}}, batch, {logits, {}}); }
  /// One call with normalized numbers, which stay on the device.
  void call_normalized() { session->run({{}, tensor}, batch, {logits, {}}); }
};

/// `rgb` are random_images(). Throws as lower().
Subject make_subject(const Network& network, const Options& options, int batch);

/// `images` images of seeded random 8-bit pixels, fewer of them the first of more. Never zeros, on
/// which a kernel can be faster than on what it is for.
std::vector<std::uint8_t> random_images(const Network& network, int images);

}  // namespace assay::bench

#include "backend/cpu/session.h"

#include <algorithm>
#include <chrono>

#include "backend/cpu/denormals.h"
#include "backend/cpu/margin.h"
#include "base/error.h"

namespace assay::backend::cpu {
namespace {

/// Copies the numbers of a value, without whatever lies between them.
void gather(const RunContext& context, const Place& place, float* out) {
  for (std::int64_t line = 0; line < place.lines(); ++line) {
    copy_rows(context.read(place) + line * place.line_stride, place.row_stride,
              out + line * place.line_rows * place.width, place.width, place.line_rows,
              place.width);
  }
}

void check_size(std::string_view what, std::size_t given, std::int64_t each, int batch) {
  const std::size_t expected = static_cast<std::size_t>(each) * static_cast<std::size_t>(batch);
  if (given != 0 && given != expected) {
    fail(ErrorKind::bad_input, "{}: {} numbers were given, a batch of {} needs {}", what, given,
         batch, expected);
  }
}

}  // namespace

CpuSession::CpuSession(std::shared_ptr<const PlanData> data)
    : data_(std::move(data)),
      arena_(static_cast<std::size_t>(data_->image_floats() *
                                      (data_->spreads_images() ? data_->threads : 1))),
      scratch_(round_up_to_line(static_cast<std::size_t>(data_->program.scratch_floats)) *
               static_cast<std::size_t>(data_->threads)),
      pool_(data_->threads),
      barrier_(data_->threads) {}

void CpuSession::check(const Input& input, int batch) const {
  if (active_isa() != data_->isa) {
    fail(ErrorKind::internal, "the plan was lowered for {}, but {} is in use now", name(data_->isa),
         name(active_isa()));
  }
  if (batch < 1 || batch > data_->options.max_batch) {
    fail(ErrorKind::bad_input, "a batch of {} images: this plan runs 1 to {}", batch,
         data_->options.max_batch);
  }
  if (input.rgb.empty() == input.tensor.empty()) {
    fail(ErrorKind::bad_input, "a call reads either pixels or a tensor, exactly one of them");
  }
  const std::int64_t each = graph::elements(data_->graph->value(data_->graph->input).dims);
  check_size("input", input.rgb.size() + input.tensor.size(), each, batch);
}

RunContext CpuSession::context_of(const Input& input, std::int64_t image, float* arena,
                                  int worker) const {
  const std::int64_t each = graph::elements(data_->graph->value(data_->graph->input).dims);
  RunContext context;
  context.blocks = data_->program.blocks;
  context.arena = arena;
  context.scratch =
      scratch_.data() + worker * static_cast<std::int64_t>(scratch_.size()) / data_->threads;
  context.rgb = input.rgb.empty() ? nullptr : input.rgb.data() + image * each;
  context.tensor = input.tensor.empty() ? nullptr : input.tensor.data() + image * each;
  return context;
}

void CpuSession::collect(const RunContext& context, std::int64_t image,
                         const Results& results) const {
  const auto copy = [&](std::string_view name, std::span<float> out) {
    if (out.empty()) return;
    const Place& place = data_->program.places[data_->graph->output(name)];
    gather(context, place, out.data() + image * place.count());
  };
  copy("logits", results.logits);
  copy("features", results.features);
}

void CpuSession::run(const Input& input, int batch, const Results& results) {
  check(input, batch);
  const auto check_output = [&](std::string_view name, std::span<const float> out) {
    if (out.empty()) return;
    check_size(name, out.size(),
               graph::elements(data_->graph->value(data_->graph->output(name)).dims), batch);
  };
  check_output("logits", results.logits);
  check_output("features", results.features);
  // As many images apart as come out even; the rest together, so that nobody is idle at the end.
  const int apart = data_->spreads_images() ? batch / data_->threads * data_->threads : 0;
  if (apart > 0) run_apart(input, apart, results);
  if (apart < batch) run_together(input, {apart, batch}, results);
}

void CpuSession::run_together(const Input& input, Range images, const Results& results) {
  const std::vector<Step>& steps = data_->program.steps;
  pool_.run([&](int worker) {
    const DenormalsAreZero scope;
    for (std::int64_t image = images.begin; image < images.end; ++image) {
      const RunContext context = context_of(input, image, arena_.data(), worker);
      for (std::size_t i = 0; i < steps.size(); ++i) {
        if (!steps[i].serial) {
          steps[i].body(context, {worker, data_->threads});
        } else if (worker == 0) {
          steps[i].body(context, {0, 1});
        }
        // Between two steps of worker 0 alone nobody waits.
        const bool last = i + 1 == steps.size();
        if (last || !steps[i].serial || !steps[i + 1].serial) barrier_.wait();
      }
      if (worker == 0) collect(context, image, results);
      // The next image's first step may overwrite what is collected here.
      if (image + 1 < images.end) barrier_.wait();
    }
  });
}

void CpuSession::run_apart(const Input& input, int batch, const Results& results) {
  pool_.run([&](int worker) {
    const DenormalsAreZero scope;
    const Range images = share(batch, {worker, data_->threads});
    float* const arena = arena_.data() + worker * data_->image_floats();
    for (std::int64_t image = images.begin; image < images.end; ++image) {
      const RunContext context = context_of(input, image, arena, worker);
      for (const Step& step : data_->program.steps) step.body(context, {0, 1});
      collect(context, image, results);
    }
  });
}

void CpuSession::trace(const Input& input, int batch, const TraceCallback& callback) {
  check(input, batch);
  AlignedBuffer arenas(static_cast<std::size_t>(data_->image_floats() * batch));
  std::vector<float> numbers;
  for (const Step& step : data_->program.steps) {
    for (int image = 0; image < batch; ++image) {
      float* const arena = arenas.data() + image * data_->image_floats();
      pool_.run([&](int worker) {
        const DenormalsAreZero scope;
        const RunContext context = context_of(input, image, arena, worker);
        if (!step.serial) {
          step.body(context, {worker, data_->threads});
        } else if (worker == 0) {
          step.body(context, {0, 1});
        }
      });
    }
    for (const graph::ValueId value : step.materialized) {
      const Place& place = data_->program.places[value];
      numbers.resize(static_cast<std::size_t>(place.count() * batch));
      for (int image = 0; image < batch; ++image) {
        float* const arena = arenas.data() + image * data_->image_floats();
        gather(context_of(input, image, arena, 0), place, numbers.data() + image * place.count());
      }
      callback(data_->graph->value(value), batch, numbers);
    }
  }
}

void CpuSession::profile(const Input& input, int batch, std::span<double> seconds) {
  check(input, batch);
  const std::vector<Step>& steps = data_->program.steps;
  if (seconds.size() != steps.size()) {
    fail(ErrorKind::bad_input, "profile: {} entries were given for {} steps", seconds.size(),
         steps.size());
  }
  using Clock = std::chrono::steady_clock;
  for (int image = 0; image < batch; ++image) {
    pool_.run([&](int worker) {
      const DenormalsAreZero scope;
      const RunContext context = context_of(input, image, arena_.data(), worker);
      Clock::time_point before = Clock::now();
      for (std::size_t i = 0; i < steps.size(); ++i) {
        if (!steps[i].serial) {
          steps[i].body(context, {worker, data_->threads});
        } else if (worker == 0) {
          steps[i].body(context, {0, 1});
        }
        barrier_.wait();
        if (worker == 0) {
          const Clock::time_point now = Clock::now();
          seconds[i] += std::chrono::duration<double>(now - before).count();
          before = now;
        }
      }
    });
  }
}

}  // namespace assay::backend::cpu

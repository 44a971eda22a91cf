// Its own new and delete count what a call allocates on this thread.
#include <cstdlib>
#include <new>

#include "golden.h"

namespace {
thread_local std::size_t allocations = 0;
}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace assay::image {
namespace {

TEST(Allocation, AWarmWorkspaceAllocatesNothing) {
  const Image images[] = {noise(101, 57), noise(57, 101), noise(40, 200), noise(16, 16),
                          noise(32, 40)};
  for (const Interpolation interpolation :
       {Interpolation::nearest, Interpolation::bilinear, Interpolation::bicubic}) {
    const Transform transform{
        .input_height = 32, .input_width = 32, .interpolation = interpolation};
    Workspace workspace;
    std::vector<std::uint8_t> out(32 * 32 * 3);
    const auto run_all = [&] {
      for (const Image& image : images) resize_and_crop(view(image), transform, workspace, out);
    };
    run_all();
    const std::size_t before = allocations;
    run_all();
    EXPECT_EQ(allocations - before, 0U) << name(interpolation);
  }
}

}  // namespace
}  // namespace assay::image

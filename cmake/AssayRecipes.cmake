# Writes OUTPUT, a C++ source with the text of every recipe in SOURCE/recipes: the program needs no folder
# at run time. Run with `cmake -DSOURCE=... -DOUTPUT=... -P`.
file(GLOB recipes "${SOURCE}/recipes/*.toml")
list(SORT recipes)
set(entries "")
foreach(recipe ${recipes})
  get_filename_component(name "${recipe}" NAME_WLE)
  file(READ "${recipe}" text)
  string(APPEND entries "    {\"${name}\", R\"recipe(${text})recipe\"},\n")
endforeach()
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT
[[// Written by cmake/AssayRecipes.cmake from recipes/*.toml.
#include <array>

#include "quant/recipe.h"

namespace assay::quant {
namespace {

constexpr auto kRecipes = std::to_array<BuiltinRecipe>({
@entries@});

}  // namespace

std::span<const BuiltinRecipe> builtin_recipes() { return kRecipes; }

}  // namespace assay::quant
]])

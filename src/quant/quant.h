#pragma once
/// The room for fewer bits: watching what the products of an fp32 graph read (observe.h), keeping
/// that in a file (calibration.h), saying which layers become narrow and how (recipe.h), and
/// turning the graph into one whose products take narrow operands (quantize.h); then what that does
/// to the logits (logit_error.h), layer by layer (sensitivity.h), and a recipe within a budget of
/// noise (search.h). It knows no dataset and no bundle.
#include "quant/calibration.h"
#include "quant/logit_error.h"
#include "quant/observe.h"
#include "quant/quantize.h"
#include "quant/recipe.h"
#include "quant/run_images.h"
#include "quant/search.h"
#include "quant/sensitivity.h"

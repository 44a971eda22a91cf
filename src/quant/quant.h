#pragma once
/// The room for fewer bits: watching what the products of an fp32 graph read (observe.h), keeping
/// that in a file (calibration.h), and turning the graph into one whose products take narrow
/// operands (quantize.h). It knows no dataset and no bundle.
#include "quant/calibration.h"
#include "quant/observe.h"
#include "quant/quantize.h"

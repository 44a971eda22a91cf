#pragma once
/// The room for the verdict: a study builds one checkpoint several ways, measures speed, size and
/// quality on one machine and one set of images, and says which of the builds should ship. What was
/// measured is one value (schema.h), kept as study.json; everything that people read is rendered
/// from it and from nothing else (readme.h, report.h, compare.h). A specification (spec.h) says
/// what to measure, run.h measures it, verify.h says whether a record still holds.
#include "study/compare.h"
#include "study/images.h"
#include "study/layer_plot.h"
#include "study/readme.h"
#include "study/readme_numbers.h"
#include "study/report.h"
#include "study/run.h"
#include "study/schema.h"
#include "study/spec.h"
#include "study/split.h"
#include "study/validate.h"
#include "study/verify.h"

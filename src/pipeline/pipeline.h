#pragma once
/// The room from file to answer: decode → preprocess → session → labels, for one image or a
/// dataset. The public Classifier lives here (classifier.h: what is inside one); so do the datasets
/// (dataset.h) and the evaluation (evaluate.h) that `eval` reads, the stages that `preprocess`
/// shows (preprocess.h), and the C ABI.

#pragma once
/// The room from file to answer: decode → preprocess → session → labels, for one image or a
/// dataset. The public Classifier lives here; so do the datasets that `eval` reads.

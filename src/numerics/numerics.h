#pragma once
/// The room for number formats: one file a format, each with an exhaustive test. It knows nothing
/// of tensors, files or networks.

#include "study/state.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace assay::study {
namespace {

constexpr std::uint64_t kMaxStateBytes = std::uint64_t{1} << 30;

}  // namespace

StudyState::StudyState(std::filesystem::path folder, std::string identity, bool resume)
    : folder_(std::move(folder)), identity_(std::move(identity)) {
  const std::filesystem::path file = folder_ / "state.json";
  const bool begun = std::filesystem::exists(file);
  if (begun && !resume)
    fail(
        ErrorKind::bad_input,
        "{}: a study was begun here and not finished: --resume goes on with it; remove {} to begin "
        "again",
        folder_.string(), folder_.parent_path().string());
  if (begun) load(file);
  check_own(begun);
  std::filesystem::create_directories(folder_);
}

/// The folder is removed in the end, so nothing of anyone else's may be in it.
void StudyState::check_own(bool begun) const {
  std::error_code absent;
  if (begun || !std::filesystem::exists(folder_, absent)) return;
  if (!std::filesystem::is_directory(folder_) || !std::filesystem::is_empty(folder_))
    fail(ErrorKind::bad_input,
         "{}: is not what a study keeps there; name another folder for the study, or move it",
         folder_.string());
}

void StudyState::load(const std::filesystem::path& file) {
  const Json json = parse_json(read_text(file, kMaxStateBytes), file.string());
  const auto text = [&](const char* key) {
    if (!json.is_object() || !json.contains(key) || !json[key].is_string())
      fail(ErrorKind::bad_input, "{}: is not what an interrupted study leaves", file.string());
    return json[key].get<std::string>();
  };
  if (text("identity") != identity_)
    fail(ErrorKind::bad_input,
         "{}: was begun with another specification, recipe, checkpoint, reference, data set, "
         "version, number of threads or instruction set, whose results must not be mixed with "
         "these; remove {} to begin again",
         folder_.string(), folder_.parent_path().string());
  if (!json.contains("done") || !json["done"].is_array() || !json.contains("study"))
    fail(ErrorKind::bad_input, "{}: is not what an interrupted study leaves", file.string());
  for (const Json& name : json["done"])
    if (name.is_string()) done_.insert(name.get<std::string>());
  study = from_json(json["study"], file.string());
}

void StudyState::save() const {
  Json json{{"identity", identity_}, {"done", done_}, {"study", to_json(study)}};
  write_file(folder_ / "state.json", json.dump());
}

void StudyState::part(const std::string& name, const std::function<void()>& work) {
  if (done(name)) return;
  work();
  done_.insert(name);
  save();
}

void StudyState::remove() { std::filesystem::remove_all(folder_); }

}  // namespace assay::study

// SPDX-License-Identifier: Apache-2.0
//
// JSON to Verdict, strictly. A Reader remembers the first complaint and goes on with empty values, so that the readers
// below say only what is expected.
#include <cmath>
#include <limits>
#include <set>

#include "base/json.h"
#include "verdict/verdict.h"

namespace ww::verdict {
namespace {

using Complaint = std::optional<Error>;

/// One JSON object that is read key by key. Every key has to be asked for; done() complains of the others.
class Reader {
 public:
  Reader(const Json& json, std::string where, Complaint& complaint)
      : json_(json), where_(std::move(where)), complaint_(complaint) {
    if (!json_.is_object()) complain("is not an object", "");
  }

  void complain(const std::string& message, const std::string& key) {
    if (!complaint_) complaint_ = Error{message, path(key)};
  }

  /// Null where the key is missing.
  const Json& at(const char* key) {
    static const Json null;
    asked_.insert(key);
    if (json_.is_object()) {
      if (const auto found = json_.find(key); found != json_.end()) return *found;
      complain("is missing", key);
    }
    return null;
  }

  bool is_null(const char* key) { return at(key).is_null(); }
  Reader object(const char* key) { return Reader(at(key), path(key), complaint_); }

  std::string text(const char* key) {
    const Json& value = at(key);
    if (value.is_string()) return value.get<std::string>();
    complain("is not text", key);
    return {};
  }

  template <class Integer>
  Integer integer(const char* key) {
    const Json& value = at(key);
    if (value.is_number_unsigned()) {
      const auto number = value.get<uint64_t>();
      if (number <= static_cast<uint64_t>(std::numeric_limits<Integer>::max())) return static_cast<Integer>(number);
    } else if (value.is_number_integer() && std::numeric_limits<Integer>::is_signed) {
      const auto number = value.get<int64_t>();
      if (number >= static_cast<int64_t>(std::numeric_limits<Integer>::min())) return static_cast<Integer>(number);
    }
    complain("is not a whole number in range", key);
    return {};
  }

  bool boolean(const char* key) {
    const Json& value = at(key);
    if (value.is_boolean()) return value.get<bool>();
    complain("is neither true nor false", key);
    return false;
  }

  /// Finite.
  double number(const char* key) {
    const Json& value = at(key);
    if (value.is_number()) return value.get<double>();
    complain("is not a number", key);
    return 0;
  }

  /// With "nan", "inf" and "-inf".
  double any_number(const char* key) {
    const Json& value = at(key);
    if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (value == "inf") return std::numeric_limits<double>::infinity();
    if (value == "-inf") return -std::numeric_limits<double>::infinity();
    return number(key);
  }

  uint64_t seed(const char* key) {
    const std::string value = text(key);
    if (value.size() == 18 && value.starts_with("0x") &&
        value.find_first_not_of("0123456789abcdef", 2) == std::string::npos) {
      return std::stoull(value, nullptr, 16);
    }
    complain("is not a seed (0x and 16 hexadecimal digits)", key);
    return 0;
  }

  std::vector<std::string> texts(const char* key) {
    std::vector<std::string> list;
    each(key, [&](const Json& item, const std::string& where) {
      if (!item.is_string() && !complaint_) complaint_ = Error{"is not text", where};
      if (item.is_string()) list.push_back(item.get<std::string>());
    });
    return list;
  }

  /// Calls read(item, where) for each item of a list.
  template <class Function>
  void each(const char* key, Function read) {
    const Json& list = at(key);
    if (!list.is_array()) return complain("is not a list", key);
    for (size_t i = 0; i < list.size(); i++) read(list[i], path(key) + "[" + std::to_string(i) + "]");
  }

  /// All keys as they are, for maps with free keys.
  template <class Function>
  void each_key(Function read) {
    if (!json_.is_object()) return;
    for (const auto& [key, unused] : json_.items()) read(key.c_str());
  }

  void done() {
    each_key([&](const char* key) {
      if (!asked_.contains(key)) complain("is not a known key", key);
    });
  }

  Complaint& complaint() { return complaint_; }

 private:
  std::string path(const std::string& key) const {
    if (key.empty()) return where_;
    return where_.empty() ? key : where_ + "." + key;
  }

  const Json& json_;
  std::string where_;
  Complaint& complaint_;
  std::set<std::string> asked_;
};

/// nullopt where the key is null.
template <class Function>
auto optional(Reader& reader, const char* key, Function read) -> std::optional<decltype(read(reader, key))> {
  if (reader.is_null(key)) return std::nullopt;
  return read(reader, key);
}

double read_number(Reader& reader, const char* key) { return reader.number(key); }

SideTime read_side(Reader& parent, const char* key) {
  Reader reader = parent.object(key);
  SideTime side{.statistic = reader.text("statistic"),
                .time_us = reader.number("time_us"),
                .low_us = reader.number("low_us"),
                .high_us = reader.number("high_us"),
                .base_us = reader.number("base_us"),
                .error_us = reader.number("error_us"),
                .samples = reader.integer<int64_t>("samples"),
                .discarded = reader.integer<int64_t>("discarded")};
  if (!(0 <= side.low_us && side.low_us <= side.time_us && side.time_us <= side.high_us)) {
    reader.complain("is not between low_us and high_us", "time_us");
  }
  reader.done();
  return side;
}

Times read_times(Reader& parent, const char* key) {
  Reader reader = parent.object(key);
  Times times{.solution = read_side(reader, "solution"),
              .eager = optional(reader, "eager", read_side),
              .compile = optional(reader, "compile", read_side),
              .compile_max = optional(reader, "compile_max", read_side)};
  reader.done();
  return times;
}

Ratio read_ratio(Reader& parent, const char* key) {
  Reader reader = parent.object(key);
  const Ratio ratio{reader.number("ratio"), reader.number("low"), reader.number("high")};
  if (!(0 < ratio.low && ratio.low <= ratio.ratio && ratio.ratio <= ratio.high)) {
    reader.complain("is not between low and high", "ratio");
  }
  reader.done();
  return ratio;
}

Speedup read_speedup(Reader& parent, const char* key) {
  Reader reader = parent.object(key);
  Speedup speedup{optional(reader, "eager", read_ratio), optional(reader, "compile", read_ratio)};
  reader.done();
  return speedup;
}

/// outcome, reason, and figures as `read_figures` finds them; both times and speedup or neither.
template <class Figures, class Function>
Conclusion<Figures> read_conclusion(Reader& reader, Function read_figures) {
  const std::string word = reader.text("outcome"), reason = reader.text("reason");
  const auto outcome = outcome_from_name(word);
  const bool times = !reader.is_null("times"), speedup = !reader.is_null("speedup");
  if (!outcome) reader.complain("is not an outcome: " + word, "outcome");
  if (times != speedup) reader.complain("and speedup belong together", "times");
  if (outcome && *outcome == Outcome::kPass) {
    if (!reason.empty()) reader.complain("of a pass is empty", "reason");
    return Conclusion<Figures>::pass(times && speedup ? std::optional<Figures>(read_figures()) : std::nullopt);
  }
  if (times || speedup) reader.complain("without a pass", "times");
  if (reason.empty()) reader.complain("is empty", "reason");
  if (!outcome || reason.empty()) return {};
  return Conclusion<Figures>::failed(*outcome, reason);
}

Failure read_failure(Reader& parent, const char* key) {
  Reader reader = parent.object(key);
  Failure failure{.workload = reader.text("workload"),
                  .output = reader.text("output"),
                  .pattern = reader.text("pattern"),
                  .trial = reader.integer<int64_t>("trial"),
                  .index = {},
                  .expected = reader.any_number("expected"),
                  .got = reader.any_number("got"),
                  .error = reader.any_number("error"),
                  .input_seed = reader.seed("input_seed"),
                  .weight_seed = reader.seed("weight_seed")};
  reader.each("index", [&](const Json& item, const std::string& where) {
    if (!item.is_number_integer() && !reader.complaint()) reader.complaint() = Error{"is not a whole number", where};
    if (item.is_number_integer()) failure.index.push_back(item.get<int64_t>());
  });
  reader.done();
  return failure;
}

Trials read_trials(Reader& parent, const char* key) {
  Reader reader = parent.object(key);
  Trials trials{.checked = reader.integer<int64_t>("checked"),
                .timed = reader.integer<int64_t>("timed"),
                .honey = reader.integer<int64_t>("honey"),
                .worst_error = reader.any_number("worst_error"),
                .first_failure = optional(reader, "first_failure", read_failure)};
  reader.done();
  return trials;
}

Evidence read_evidence(const Json& json, const std::string& where, Complaint& complaint) {
  Reader reader(json, where, complaint);
  Evidence evidence;
  const std::string word = reader.text("kind");
  if (const auto kind = evidence_kind_from_name(word)) {
    evidence.kind = *kind;
  } else {
    reader.complain("is not a kind of evidence: " + word, "kind");
  }
  evidence.text = reader.text("text");
  Reader numbers = reader.object("numbers");
  numbers.each_key([&](const char* key) { evidence.numbers.emplace_back(key, numbers.any_number(key)); });
  reader.done();
  return evidence;
}

std::vector<task::TensorSpec> read_specs(Reader& reader, const char* key) {
  std::vector<task::TensorSpec> specs;
  reader.each(key, [&](const Json& item, const std::string& where) {
    Result<task::TensorSpec> spec = task::tensor_spec_from_json(item);
    if (spec.ok()) return specs.push_back(*std::move(spec));
    if (!reader.complaint()) reader.complaint() = Error{spec.error().text(), where};
  });
  return specs;
}

WorkloadVerdict read_workload(const Json& json, const std::string& where, Complaint& complaint) {
  Reader reader(json, where, complaint);
  WorkloadVerdict workload;
  workload.name = reader.text("name");
  Reader shapes = reader.object("shapes");
  workload.inputs = read_specs(shapes, "inputs");
  workload.outputs = read_specs(shapes, "outputs");
  shapes.done();
  const auto prepare_us = optional(reader, "prepare_us", read_number);
  workload.conclusion = read_conclusion<WorkloadTiming>(reader, [&] {
    return WorkloadTiming{read_times(reader, "times"), read_speedup(reader, "speedup"), prepare_us};
  });
  if (prepare_us && !workload.conclusion.figures()) reader.complain("without times", "prepare_us");
  workload.config = optional(reader, "config", [](Reader& r, const char* key) { return r.integer<int32_t>(key); });
  workload.bound_us = optional(reader, "bound_us", read_number);
  workload.trials = read_trials(reader, "trials");
  reader.done();
  return workload;
}

ArtifactFacts read_artifact(Reader& parent, const char* key) {
  Reader reader = parent.object(key);
  ArtifactFacts artifact{.id = reader.text("id"),
                         .bytes = reader.integer<uint64_t>("bytes"),
                         .compile_s = reader.number("compile_s"),
                         .cached = reader.boolean("cached"),
                         .needs = reader.texts("needs")};
  reader.done();
  return artifact;
}

DeviceFacts read_device(Reader& parent, const char* key) {
  Reader reader = parent.object(key);
  DeviceFacts device{.name = reader.text("name"),
                     .model = reader.text("model"),
                     .features = reader.text("features"),
                     .cores = reader.integer<int32_t>("cores"),
                     .threads = reader.integer<int32_t>("threads"),
                     .other = {}};
  Reader other = reader.object("other");
  other.each_key([&](const char* name) { device.other.emplace_back(name, other.text(name)); });
  reader.done();
  return device;
}

void read_facts(Reader& reader, Verdict& verdict) {
  Reader task = reader.object("task");
  verdict.task = {task.text("name"), task.text("id")};
  task.done();
  Reader solution = reader.object("solution");
  verdict.solution = {solution.text("path"), solution.text("format"), solution.text("id")};
  solution.done();
  verdict.artifact = optional(reader, "artifact", read_artifact);
  Reader judge = reader.object("judge");
  verdict.judge = {judge.text("version"), judge.text("torch"), judge.text("statistic"), judge.number("time_cap_s")};
  judge.done();
  verdict.device = read_device(reader, "device");
  verdict.contract = reader.at("contract").dump();
  if (!reader.at("contract").is_object()) reader.complain("is not an object", "contract");
  Reader isolation = reader.object("isolation");
  verdict.isolation = {isolation.text("level"), isolation.texts("layers"), isolation.texts("missing")};
  isolation.done();
}

}  // namespace

Result<Verdict> from_json(const Json& json) {
  if (!json.is_object()) return Error{"a verdict is a JSON object", ""};
  if (const auto schema = json.find("schema"); schema == json.end() || *schema != kSchema) {
    return Error{"unknown schema, expected " + std::to_string(kSchema), "schema"};
  }
  Complaint complaint;
  Reader reader(json, "", complaint);
  Verdict verdict;
  reader.at("schema");
  read_facts(reader, verdict);
  verdict.conclusion = read_conclusion<Timing>(reader, [&] {
    return Timing{read_times(reader, "times"), read_speedup(reader, "speedup")};
  });
  verdict.weak_task = reader.texts("weak_task");
  reader.each("workloads", [&](const Json& item, const std::string& where) {
    verdict.workloads.push_back(read_workload(item, where, complaint));
  });
  verdict.trials = read_trials(reader, "trials");
  reader.each("evidence", [&](const Json& item, const std::string& where) {
    verdict.evidence.push_back(read_evidence(item, where, complaint));
  });
  verdict.elapsed_s = reader.number("elapsed_s");
  reader.done();
  if (complaint) return *complaint;
  return verdict;
}

}  // namespace ww::verdict

// SPDX-License-Identifier: MIT OR Apache-2.0
#include "campaign/run.hpp"

#include <algorithm>

#include "campaign/model.hpp"
#include "campaign/rig.hpp"

namespace tessera::campaign {
namespace {

Verdict classify(std::string_view violation) {
  if (violation.find("neither waits for the other") != std::string_view::npos) {
    return Verdict::unordered_conflict;
  }
  if (violation.find("which nothing wrote") != std::string_view::npos ||
      violation.find("nobody wrote") != std::string_view::npos) {
    return Verdict::unwritten_read;
  }
  return Verdict::broken_contract;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  constexpr std::string_view names[] = {
      "passed",         "stale read", "wrong error", "unordered conflict",
      "unwritten read", "leak",       "hang",        "broken contract"};
  return names[static_cast<std::size_t>(verdict)];
}

Outcome run(const Program& program, server::Defect defect) {
  Record record;
  {
    Rig rig(program, defect);
    record = rig.run();
  }
  Outcome outcome;
  outcome.faults = record.faults;
  outcome.lost = record.lost;
  outcome.injections = record.injections;
  outcome.device_operations = record.device_operations;
  outcome.waits = record.waits;
  outcome.parked = record.parked;
  for (const auto& [op, answer] : record.reads) {
    ++outcome.reads;
    if (answer.error) ++outcome.failed_reads;
  }
  const auto verdict = [&](Verdict v, std::string text) {
    outcome.verdict = v;
    outcome.text = std::move(text);
    return outcome;
  };
  if (!record.violations.empty()) {
    return verdict(classify(record.violations.front()), record.violations.front());
  }
  if (!record.hangs.empty()) return verdict(Verdict::hang, record.hangs.front());
  if (const auto mismatch = Model(program, record).judge()) {
    return verdict(
        mismatch->kind == Mismatch::Kind::stale_read ? Verdict::stale_read : Verdict::wrong_error,
        mismatch->text);
  }
  if (!record.leaks.empty()) return verdict(Verdict::leak, record.leaks.front());
  return outcome;
}

Program shrink(Program program, server::Defect defect, Verdict verdict) {
  const auto still_fails = [&](const Program& p) { return run(p, defect).verdict == verdict; };
  for (std::size_t chunk = std::max<std::size_t>(program.ops.size() / 2, 1); chunk > 0;
       chunk /= 2) {
    for (std::size_t at = 0; at < program.ops.size();) {
      Program smaller = program;
      const auto first = smaller.ops.begin() + static_cast<std::ptrdiff_t>(at);
      smaller.ops.erase(
          first, first + static_cast<std::ptrdiff_t>(std::min(chunk, program.ops.size() - at)));
      if (still_fails(smaller)) {
        program = std::move(smaller);
      } else {
        at += chunk;
      }
    }
  }
  const auto try_setting = [&](auto&& change) {
    Program simpler = program;
    change(simpler.setting);
    if (still_fails(simpler)) program = std::move(simpler);
  };
  try_setting([](Setting& s) { s.fail = 0; });
  try_setting([](Setting& s) { s.late = 0; });
  try_setting([](Setting& s) { s.lose = 0; });
  try_setting([](Setting& s) { s.late_news = false; });
  try_setting([](Setting& s) { s.one_access_per_page = false; });
  try_setting([](Setting& s) { s.guard = false; });
  try_setting([](Setting& s) { s.drain_chance = 100; });
  try_setting([](Setting& s) { s.queues = 2; });
  return program;
}

}  // namespace tessera::campaign

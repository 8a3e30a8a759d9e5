// SPDX-License-Identifier: MIT OR Apache-2.0
// tessera-fault-campaign: random programs against a faulty device.
//
// Each program is run on the simulator with faults drawn from its seed and judged by the sequential
// model, the simulator's checkers and a look at what is left over. `--defects` turns the question
// round: each seeded mistake of the server must be found.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "base/log.hpp"
#include "campaign/run.hpp"

namespace tessera::campaign {
namespace {

using server::Defect;

struct Named {
  Defect defect;
  const char* name;
  const char* what;
};
constexpr Named defects[] = {
#define TESSERA_DEFECT(name, what) Named{Defect::name, #name, what},
#include "server/defects.def"
#undef TESSERA_DEFECT
};

void print_program(const Program& program, const Outcome& outcome) {
  const Setting& set = program.setting;
  std::fprintf(
      stderr, "%s",
      fmt::format("seed {}: {}: {}\n  {} queues, submit every {}, limit {} bytes, late news {}, "
                  "one access a page {}, drain {} %, fail {}, late {}, lose {}\n",
                  set.seed, to_string(outcome.verdict), outcome.text, set.queues, set.submit_every,
                  set.memory_limit, set.late_news, set.one_access_per_page, set.drain_chance,
                  set.fail, set.late, set.lose)
          .c_str());
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    std::fprintf(stderr, "  %s\n", describe(program.ops[i], i).c_str());
  }
  for (const std::string& s : outcome.injections) std::fprintf(stderr, "  %s\n", s.c_str());
}

struct Totals {
  std::uint64_t programs = 0, faults = 0, operations = 0, lost = 0;
  std::uint64_t device_operations = 0, waits = 0, parked = 0, reads = 0, failed_reads = 0;
  std::map<Verdict, std::uint64_t> verdicts;
};

// Seeds [first, first + count) on so many threads. Prints the first failures of each kind, shrunk.
Totals campaign(std::uint64_t first, std::uint64_t count, unsigned threads) {
  Totals totals;
  std::mutex mutex;
  std::atomic<std::uint64_t> next{0};
  std::map<Verdict, int> printed;
  const auto work = [&] {
    for (std::uint64_t i = next++; i < count; i = next++) {
      const Program program = generate(first + i);
      const Outcome outcome = run(program, Defect::none);
      bool show = false;
      {
        const std::lock_guard lock(mutex);
        show = outcome.verdict != Verdict::passed && printed[outcome.verdict]++ < 2;
        ++totals.programs;
        totals.faults += outcome.faults;
        totals.operations += program.ops.size();
        totals.lost += outcome.lost ? 1 : 0;
        totals.device_operations += outcome.device_operations;
        totals.waits += outcome.waits;
        totals.parked += outcome.parked;
        totals.reads += outcome.reads;
        totals.failed_reads += outcome.failed_reads;
        ++totals.verdicts[outcome.verdict];
      }
      if (show) {
        const Program small = shrink(program, Defect::none, outcome.verdict);
        const std::lock_guard lock(mutex);
        print_program(small, run(small, Defect::none));
      }
    }
  };
  std::vector<std::thread> workers;
  for (unsigned t = 0; t < threads; ++t) workers.emplace_back(work);
  for (std::thread& w : workers) w.join();
  return totals;
}

struct Found {
  const Named* defect;
  std::uint64_t programs = 0;  // that it took; 0: not found
  Verdict verdict = Verdict::passed;
  std::size_t operations = 0;  // of the shrunk program
};

Found hunt(const Named& defect, std::uint64_t first, std::uint64_t most) {
  for (std::uint64_t i = 0; i < most; ++i) {
    const Program program = generate(first + i);
    const Outcome outcome = run(program, defect.defect);
    if (outcome.verdict == Verdict::passed) continue;
    const Program small = shrink(program, defect.defect, outcome.verdict);
    return {&defect, i + 1, outcome.verdict, small.ops.size()};
  }
  return {&defect};
}

int run_defects(std::uint64_t seed, std::uint64_t most, unsigned threads, const std::string& only,
                bool json) {
  std::vector<Found> found(std::size(defects));
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> workers;
  for (unsigned t = 0; t < threads; ++t) {
    workers.emplace_back([&] {
      for (std::size_t i = next++; i < found.size(); i = next++) {
        found[i].defect = &defects[i];
        if (only.empty() || only == defects[i].name) found[i] = hunt(defects[i], seed, most);
      }
    });
  }
  for (std::thread& w : workers) w.join();
  int missed = 0;
  nlohmann::json out = nlohmann::json::array();
  for (const Found& f : found) {
    if (!only.empty() && only != f.defect->name) continue;
    if (f.programs == 0) ++missed;
    if (json) {
      out.push_back({{"defect", f.defect->name},
                     {"what", f.defect->what},
                     {"programs", f.programs},
                     {"verdict", to_string(f.verdict)},
                     {"shrunk_operations", f.operations}});
    } else {
      std::printf("%-22s %s\n", f.defect->name,
                  f.programs == 0 ? fmt::format("NOT FOUND in {} programs", most).c_str()
                                  : fmt::format("found by program {:4}: {}, {} operations",
                                                f.programs, to_string(f.verdict), f.operations)
                                        .c_str());
    }
  }
  if (json) std::printf("%s\n", nlohmann::json{{"schema", 1}, {"defects", out}}.dump(2).c_str());
  return missed == 0 ? 0 : 1;
}

int main(int argc, char** argv) {
  CLI::App app("Random programs on a faulty simulated device, against a sequential model.");
  std::uint64_t programs = 2000, seed = 1;
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  bool json = false, seeded = false;
  std::string only;
  app.add_option("--programs", programs, "how many programs")->check(CLI::PositiveNumber);
  app.add_option("--seed", seed, "of the first program; the next have the next numbers");
  app.add_option("--threads", threads, "that run programs side by side")->check(CLI::Range(1, 256));
  app.add_flag("--json", json, "print JSON");
  app.add_flag("--defects", seeded, "look for every seeded mistake, in at most --programs each");
  app.add_option("--defect", only, "with --defects: this one alone");
  CLI11_PARSE(app, argc, argv);
  base::set_log_level(base::LogLevel::off);  // violations are results here

  if (seeded) return run_defects(seed, programs, threads, only, json);
  const auto start = std::chrono::steady_clock::now();
  const Totals totals = campaign(seed, programs, threads);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto count = [&](Verdict v) {
    const auto it = totals.verdicts.find(v);
    return it == totals.verdicts.end() ? std::uint64_t{0} : it->second;
  };
  const nlohmann::ordered_json out = {
      {"schema", 1},
      {"programs", totals.programs},
      {"operations", totals.operations},
      {"device_operations", totals.device_operations},
      {"waits_between_queues", totals.waits},
      {"commands_parked", totals.parked},
      {"reads", totals.reads},
      {"reads_that_failed", totals.failed_reads},
      {"faults_injected", totals.faults},
      {"devices_lost", totals.lost},
      {"stale_reads", count(Verdict::stale_read)},
      {"wrong_errors", count(Verdict::wrong_error)},
      {"unordered_conflicts", count(Verdict::unordered_conflict)},
      {"unwritten_reads", count(Verdict::unwritten_read)},
      {"leaks", count(Verdict::leak)},
      {"hangs", count(Verdict::hang)},
      {"broken_contracts", count(Verdict::broken_contract)},
      {"seconds", seconds},
  };
  if (json) {
    std::printf("%s\n", out.dump(2).c_str());
  } else {
    for (const auto& [key, value] : out.items()) {
      std::printf("%-20s %s\n", key.c_str(), value.dump().c_str());
    }
  }
  return count(Verdict::passed) == totals.programs ? 0 : 1;
}

}  // namespace
}  // namespace tessera::campaign

int main(int argc, char** argv) {
  return tessera::campaign::main(argc, argv);
}

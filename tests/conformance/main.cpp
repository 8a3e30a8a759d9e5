// SPDX-License-Identifier: MIT OR Apache-2.0
// tessera-conformance --driver webgpu|sim|cpu [--device SPEC]…: the same tests on every device of a
// driver. Tests that a device is known to fail are listed with the reason in
// expected_failures.def; one of them passing is a failure of the list.
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>

#include "conformance/on_device.hpp"

namespace tessera::conformance {

std::vector<std::string>& specs() {
  static std::vector<std::string> list;
  return list;
}

const Device& device_of(const std::string& spec) {
  static auto* const opened = new std::map<std::string, Device>;
  const auto it = opened->find(spec);
  if (it != opened->end()) return it->second;
  Result<Device> device = open(spec);
  if (!device) {
    std::fprintf(stderr, "%s\n", device.error().full().c_str());
    std::exit(3);
  }
  return opened->emplace(spec, *device).first->second;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name;
  for (const char c : info.param)
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

namespace {

struct Expected {
  const char* device;  // part of the adapter's name
  const char* test;    // Suite.Name
  const char* reason;
};
const std::vector<Expected> expected = {
#define TESSERA_EXPECTED_FAILURE(device, test, reason) {device, test, reason},
#include "conformance/expected_failures.def"
#undef TESSERA_EXPECTED_FAILURE
};

const Expected* expectation(const std::string& name, const std::string& spec) {
  for (const Expected& e : expected) {
    if (name.find(e.test) != std::string::npos &&
        device_of(spec).properties().name.find(e.device) != std::string::npos) {
      return &e;
    }
  }
  return nullptr;
}

class Judge : public testing::EmptyTestEventListener {
 public:
  void OnTestEnd(const testing::TestInfo& info) override {
    const std::string suite = info.test_suite_name();
    const std::string full = suite.substr(suite.find('/') + 1) + "." + info.name();
    const std::string spec = info.value_param() != nullptr ? parameter(info.value_param()) : "";
    const std::string plain = full.substr(0, full.find('/', full.find('.')));
    const Expected* e = spec.empty() ? nullptr : expectation(plain, spec);
    if (info.result()->Skipped()) {
      ++skipped;
    } else if (info.result()->Passed()) {
      if (e != nullptr) {
        std::printf("UNEXPECTED PASS %s: remove it from the list\n", full.c_str());
        ++failed;
      } else {
        ++passed;
      }
    } else if (e != nullptr) {
      std::printf("expected failure %s: %s\n", full.c_str(), e->reason);
      ++known;
    } else {
      ++failed;
    }
  }
  int passed = 0, failed = 0, skipped = 0, known = 0;

 private:
  static std::string parameter(const std::string& text) {
    return text.size() >= 2 && text[0] == '"' ? text.substr(1, text.size() - 2) : text;
  }
};

}  // namespace
}  // namespace tessera::conformance

int main(int argc, char** argv) {
  using namespace tessera;
  using namespace tessera::conformance;
  std::string driver;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string(argv[i]) == "--driver") driver = argv[i + 1];
    if (std::string(argv[i]) == "--device") specs().push_back(argv[i + 1]);
  }
  if (driver.empty() && specs().empty()) {
    std::fprintf(stderr, "usage: tessera-conformance --driver webgpu|sim|cpu | --device SPEC\n");
    return 2;
  }
  if (driver == "sim") specs().insert(specs().end(), {"sim:seed=1", "sim:seed=2,queues=2"});
  if (driver == "cpu") specs().push_back("cpu");
  if (driver == "webgpu") {
    for (const DeviceInfo& d : devices()) {
      if (d.driver == "webgpu" && d.unusable.empty()) specs().push_back(d.spec);
    }
  }
  if (specs().empty()) {
    std::fprintf(stderr, "No device of the driver \"%s\" can be used here:\n", driver.c_str());
    for (const DeviceInfo& d : devices()) {
      if (d.driver == driver)
        std::fprintf(stderr, "  %s: %s\n", d.spec.c_str(), d.unusable.c_str());
    }
    return 3;
  }
  testing::InitGoogleTest(&argc, argv);
  auto* judge = new Judge;
  testing::UnitTest::GetInstance()->listeners().Append(judge);
  for (const std::string& spec : specs()) {
    std::printf("%s: %s\n", spec.c_str(), device_of(spec).properties().name.c_str());
  }
  // Its verdict does not know the list of expected failures; ours follows.
  [[maybe_unused]] const int plain = RUN_ALL_TESTS();
  std::printf("%d passed, %d failed, %d skipped, %d expected failures\n", judge->passed,
              judge->failed, judge->skipped, judge->known);
  std::fflush(stdout);
  return judge->failed > 0 ? 1 : 0;
}

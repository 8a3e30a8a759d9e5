// SPDX-License-Identifier: MIT OR Apache-2.0
// Configuration from a real file and the real environment of this process, which every test starts
// with empty.
#include "base/config.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

extern char** environ;

namespace tessera::base {
namespace {

namespace fs = std::filesystem;

class ConfigTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tessera-config-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    std::vector<std::string> names;
    for (char** v = environ; *v != nullptr; ++v) {
      const std::string_view pair(*v);
      if (pair.starts_with("TESSERA_")) names.emplace_back(pair.substr(0, pair.find('=')));
    }
    for (const std::string& name : names) unsetenv(name.c_str());
    set("XDG_CONFIG_HOME", folder.string());
  }
  void TearDown() override {
    for (const char* name : {"TESSERA_CONFIG", "TESSERA_LOG_LEVEL", "TESSERA_STREAMS_MAX",
                             "TESSERA_STREAM_MAX", "TESSERA_WEBGPU_LIBRARY"}) {
      unsetenv(name);
    }
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }

  static void set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }
  // The file of the XDG folder.
  fs::path write_file(std::string_view text) {
    const fs::path file = folder / "tessera" / "config.toml";
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file;
  }
  static Error refused(const ConfigOptions& options = {}) {
    const Result<Config> r = load_config(options);
    EXPECT_FALSE(r.has_value()) << "it was accepted";
    return r.has_value() ? Error(ErrorKind::Mismatch, "accepted") : r.error();
  }
  static bool mentions(const Error& e, std::string_view part) {
    return e.message().find(part) != std::string::npos;
  }

  fs::path folder;
};

TEST_F(ConfigTest, WithoutAnythingEveryKeyHasItsDefault) {
  const Config c = load_config({}).value();
  EXPECT_GE(c.entries().size(), 9u);
  for (const ConfigEntry& e : c.entries()) {
    EXPECT_EQ(e.value, e.standard) << e.key;
    EXPECT_EQ(e.source, ConfigSource::standard) << e.key;
    EXPECT_FALSE(e.description.empty()) << e.key;
  }
  EXPECT_EQ(c.number("streams.max"), 8);
  EXPECT_EQ(c.text("log.level"), "warn");
  EXPECT_TRUE(c.warnings().empty());
}

TEST_F(ConfigTest, DefaultsAreThemselvesAllowed) {
  std::string file;
  const Config standard = load_config({}).value();
  for (const ConfigEntry& e : standard.entries()) {
    EXPECT_TRUE(e.variable.starts_with("TESSERA_")) << e.variable;
    file += e.key + " = \"" + e.standard + "\"\n";
  }
  write_file(file);
  const Result<Config> r = load_config({});
  ASSERT_TRUE(r.has_value()) << r.error().full();
  for (const ConfigEntry& e : r->entries()) EXPECT_EQ(e.source, ConfigSource::file) << e.key;
}

TEST_F(ConfigTest, FileBeatsDefaultAndEnvironmentBeatsFile) {
  write_file("[streams]\nmax = 3\n[log]\nlevel = \"info\"\n");
  set("TESSERA_LOG_LEVEL", "error");
  const Config c = load_config({}).value();
  EXPECT_EQ(c.number("streams.max"), 3);
  EXPECT_EQ(c.text("log.level"), "error");
  EXPECT_TRUE(c.from_environment("log.level"));
  EXPECT_FALSE(c.from_environment("streams.max"));
  for (const ConfigEntry& e : c.entries()) {
    if (e.key == "log.level") {
      EXPECT_EQ(e.source, ConfigSource::environment);
    }
    if (e.key == "streams.max") {
      EXPECT_EQ(e.source, ConfigSource::file);
    }
    if (e.key == "device.default") {
      EXPECT_EQ(e.source, ConfigSource::standard);
    }
  }
}

TEST_F(ConfigTest, TheNamedFileIsReadInsteadOfTheOther) {
  write_file("streams.max = 3\n");
  const fs::path named = folder / "mine.toml";
  std::ofstream(named) << "streams.max = 5\n";
  set("TESSERA_CONFIG", named.string());
  EXPECT_EQ(load_config({}).value().number("streams.max"), 5);
}

TEST_F(ConfigTest, TheEnvironmentCanBeIgnored) {
  write_file("streams.max = 3\n");
  set("TESSERA_CONFIG", (folder / "absent.toml").string());
  set("TESSERA_STREAMS_MAX", "far too many");
  set("TESSERA_STREAM_MAX", "4");
  const Result<Config> r = load_config({.ignore_environment = true});
  ASSERT_TRUE(r.has_value()) << r.error().full();
  EXPECT_EQ(r->number("streams.max"), 3);
  EXPECT_TRUE(r->warnings().empty());
}

TEST_F(ConfigTest, TheWorkingDirectoryIsNotLookedAt) {
  const fs::path before = fs::current_path();
  const fs::path inside = folder / "elsewhere";
  fs::create_directories(inside / "tessera");
  std::ofstream(inside / "config.toml") << "streams.max = 99\n";
  std::ofstream(inside / "tessera" / "config.toml") << "streams.max = 99\n";
  fs::current_path(inside);
  const Result<Config> r = load_config({});
  fs::current_path(before);
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(r->number("streams.max"), 8);
}

TEST_F(ConfigTest, BadNumbersOfTheEnvironmentAreRefusedWithWhatIsAllowed) {
  for (const char* value :
       {"0", "129", "-1", "8.5", "0x8", "8 ", " 8", "+8", "eight", "", "99999999999999999999"}) {
    set("TESSERA_STREAMS_MAX", value);
    const Error e = refused();
    EXPECT_EQ(e.kind(), ErrorKind::InvalidArgument) << value;
    EXPECT_TRUE(mentions(e, "TESSERA_STREAMS_MAX")) << e.message();
    EXPECT_TRUE(mentions(e, "\"" + std::string(value) + "\"")) << e.message();
    EXPECT_TRUE(mentions(e, "from 1 to 128")) << e.message();
  }
  for (const char* value : {"1", "128"}) {
    set("TESSERA_STREAMS_MAX", value);
    EXPECT_EQ(load_config({}).value().number("streams.max"), std::stoll(value));
  }
}

TEST_F(ConfigTest, BadChoicesAreRefusedWithTheChoices) {
  for (const char* value : {"loud", "WARN", "warn error", "war", ""}) {
    set("TESSERA_LOG_LEVEL", value);
    const Error e = refused();
    EXPECT_EQ(e.kind(), ErrorKind::InvalidArgument) << value;
    EXPECT_TRUE(mentions(e, "trace debug info warn error off")) << e.message();
  }
}

TEST_F(ConfigTest, BadValuesOfTheFileAreRefusedWithTheFile) {
  for (const char* text :
       {"streams.max = 0", "streams.max = 129", "streams.max = \"many\"", "streams.max = true",
        "streams.max = 8.5", "streams.max = 8.0", "streams.max = [8]", "streams.max = 2026-12-01",
        "log.level = \"loud\"", "log.level = 3"}) {
    const fs::path file = write_file(text);
    const Error e = refused();
    EXPECT_EQ(e.kind(), ErrorKind::InvalidArgument) << text;
    EXPECT_TRUE(mentions(e, file.string())) << e.message();
    EXPECT_TRUE(mentions(e, text[0] == 's' ? "streams.max" : "log.level")) << e.message();
  }
}

TEST_F(ConfigTest, UnknownKeysWarnWithTheNearestName) {
  const fs::path file = write_file("[stream]\nmax = 3\n[log]\nlevle = \"info\"\n");
  const Config c = load_config({}).value();
  EXPECT_EQ(c.number("streams.max"), 8);
  EXPECT_EQ(c.text("log.level"), "warn");
  ASSERT_EQ(c.warnings().size(), 2u);
  for (const std::string& w : c.warnings()) {
    EXPECT_NE(w.find(file.string()), std::string::npos) << w;
    const bool first = w.find("stream.max") != std::string::npos;
    EXPECT_NE(w.find(first ? "the nearest is streams.max" : "the nearest is log.level"),
              std::string::npos)
        << w;
  }
}

TEST_F(ConfigTest, UnknownVariablesWarnWithTheNearestName) {
  set("TESSERA_STREAM_MAX", "3");
  const Config c = load_config({}).value();
  ASSERT_EQ(c.warnings().size(), 1u);
  EXPECT_NE(c.warnings()[0].find("TESSERA_STREAM_MAX"), std::string::npos);
  EXPECT_NE(c.warnings()[0].find("nearest is TESSERA_STREAMS_MAX"), std::string::npos);
  EXPECT_EQ(c.number("streams.max"), 8);
}

TEST_F(ConfigTest, ATextMayBeEmptyAndKeepsItsCharacters) {
  set("TESSERA_WEBGPU_LIBRARY", "/a b/=c.so");
  EXPECT_EQ(load_config({}).value().text("webgpu.library"), "/a b/=c.so");
  set("TESSERA_WEBGPU_LIBRARY", "");
  EXPECT_EQ(load_config({}).value().text("webgpu.library"), "");
}

TEST_F(ConfigTest, AFileThatIsNoTomlIsRefusedWithTheLine) {
  const fs::path file = write_file("streams.max = 3\nlog.level = = 4\n");
  const Error e = refused();
  EXPECT_EQ(e.kind(), ErrorKind::Io);
  EXPECT_TRUE(mentions(e, file.string())) << e.message();
  EXPECT_TRUE(mentions(e, "line 2")) << e.message();
}

TEST_F(ConfigTest, ANamedFileThatIsNotThereIsRefused) {
  const std::string absent = (folder / "absent.toml").string();
  set("TESSERA_CONFIG", absent);
  const Error e = refused();
  EXPECT_EQ(e.kind(), ErrorKind::Io);
  EXPECT_TRUE(mentions(e, absent)) << e.message();
}

TEST_F(ConfigTest, AFolderInPlaceOfAFileIsRefused) {
  set("TESSERA_CONFIG", folder.string());
  const Error e = refused();
  EXPECT_EQ(e.kind(), ErrorKind::Io);
  EXPECT_TRUE(mentions(e, folder.string())) << e.message();
}

TEST_F(ConfigTest, BytesThatAreNoTextAreRefusedNotFollowed) {
  write_file(std::string_view("\xff\xfe\0\x01streams.max = 3\n", 20));
  EXPECT_EQ(refused().kind(), ErrorKind::Io);
}

TEST_F(ConfigTest, AnEmptyFileSaysNothing) {
  write_file("");
  EXPECT_EQ(load_config({}).value().number("streams.max"), 8);
}

}  // namespace
}  // namespace tessera::base

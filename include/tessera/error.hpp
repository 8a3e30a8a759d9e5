// SPDX-License-Identifier: MIT OR Apache-2.0
// What went wrong, as a value: one sentence with figures, where, while doing what, and the root.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/source_loc.hpp"

namespace tessera::inline v0 {

enum class ErrorKind : std::uint8_t {
  InvalidArgument,     // the call can never work with these values
  Unsupported,         // the device lacks what is asked for
  CompileFailed,       // a kernel could not be traced, verified or compiled
  OutOfMemory,         // may succeed later
  TooLarge,            // can never fit this device
  LaunchFailed,        // the driver refused to enqueue
  KernelFault,         // a check in a running kernel failed
  BufferFailed,        // what should have written these bytes failed; carries the root
  CaptureRefused,      // the operation cannot be recorded
  GraphState,          // prepare, begin, end, replay or destroy in the wrong state
  Mismatch,            // ranks of a collective disagree
  Timeout,             // a deadline passed
  DeviceLost,          // the device is gone; carries the first cause
  BackendUnavailable,  // no library, driver or adapter
  Io,                  // a file or stream of the host
};

/// The enumerator's own spelling, for example "KernelFault".
std::string_view to_string(ErrorKind kind) noexcept;

/// A shared immutable value; copying costs one reference count, so that the same failure can be
/// recorded on thousands of byte ranges. Thread-safe, since nothing in it ever changes.
class [[nodiscard]] Error {
 public:
  /// `message` is a full sentence with the values in it; `where` is the user's call where known.
  explicit Error(ErrorKind kind, std::string message, SourceLoc where = {});

  ErrorKind kind() const noexcept;
  /// The sentence alone.
  const std::string& message() const noexcept;
  /// What was being done, innermost first; each entry completes "while …".
  const std::vector<std::string>& context() const noexcept;
  /// Name of the kernel concerned, or empty.
  const std::string& kernel() const noexcept;
  SourceLoc where() const noexcept;
  /// The failure that started it: the deepest cause, or this error itself.
  Error root() const;
  /// The direct cause, or null.
  const Error* cause() const noexcept;

  /// Copies with one thing added.
  Error with_context(std::string doing) const;
  Error with_kernel(std::string name) const;
  Error with_cause(Error cause) const;

  /// Kind, sentence, kernel, place, the "while …" chain and the root, on several lines.
  std::string full() const;

  /// Two errors are the same failure when they share their root value.
  bool same_root(const Error& other) const noexcept;

 private:
  struct Data;
  explicit Error(std::shared_ptr<const Data> data) noexcept;
  std::shared_ptr<const Data> data_;
};

/// Thrown by Result::value() alone; what() is Error::full().
class Exception : public std::exception {
 public:
  explicit Exception(Error error);
  const char* what() const noexcept override;
  const Error& error() const noexcept { return error_; }

 private:
  Error error_;
  std::string text_;
};

namespace detail {
// Out of line, so that a program built without exceptions can include the headers.
[[noreturn]] void throw_error(const Error& error);
}  // namespace detail

}  // namespace tessera::inline v0

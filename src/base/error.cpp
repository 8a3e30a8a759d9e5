// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <utility>

namespace tessera::inline v0 {

std::string_view to_string(ErrorKind kind) noexcept {
  constexpr std::array<std::string_view, 15> names = {
      "InvalidArgument", "Unsupported", "CompileFailed", "OutOfMemory",        "TooLarge",
      "LaunchFailed",    "KernelFault", "BufferFailed",  "CaptureRefused",     "GraphState",
      "Mismatch",        "Timeout",     "DeviceLost",    "BackendUnavailable", "Io"};
  return names[static_cast<std::size_t>(kind)];
}

struct Error::Data {
  ErrorKind kind;
  std::string message;
  SourceLoc where;
  std::vector<std::string> context;
  std::string kernel;
  std::optional<Error> cause;
  // The value that the failure began with: shared by every copy and derived error.
  std::shared_ptr<const Data> origin;
};

Error::Error(ErrorKind kind, std::string message, SourceLoc where)
    : data_(std::make_shared<Data>(Data{kind, std::move(message), where, {}, {}, {}, {}})) {}

Error::Error(std::shared_ptr<const Data> data) noexcept : data_(std::move(data)) {}

ErrorKind Error::kind() const noexcept {
  return data_->kind;
}
const std::string& Error::message() const noexcept {
  return data_->message;
}
const std::vector<std::string>& Error::context() const noexcept {
  return data_->context;
}
const std::string& Error::kernel() const noexcept {
  return data_->kernel;
}
SourceLoc Error::where() const noexcept {
  return data_->where;
}

const Error* Error::cause() const noexcept {
  return data_->cause ? &*data_->cause : nullptr;
}

Error Error::root() const {
  Error e = *this;
  while (e.data_->cause) e = Error(*e.data_->cause);
  return e;
}

Error Error::with_context(std::string doing) const {
  auto data = std::make_shared<Data>(*data_);
  if (!data->origin) data->origin = data_;
  data->context.push_back(std::move(doing));
  return Error(std::shared_ptr<const Data>(std::move(data)));
}

Error Error::with_kernel(std::string name) const {
  auto data = std::make_shared<Data>(*data_);
  if (!data->origin) data->origin = data_;
  data->kernel = std::move(name);
  return Error(std::shared_ptr<const Data>(std::move(data)));
}

Error Error::with_cause(Error cause) const {
  auto data = std::make_shared<Data>(*data_);
  if (!data->origin) data->origin = data_;
  data->cause = std::move(cause);
  return Error(std::shared_ptr<const Data>(std::move(data)));
}

bool Error::same_root(const Error& other) const noexcept {
  const auto origin = [](const Error& e) {
    const Data* d = e.data_.get();
    while (d->cause) d = d->cause->data_.get();
    return d->origin ? d->origin.get() : d;
  };
  return origin(*this) == origin(other);
}

std::string Error::full() const {
  std::string text = fmt::format("{}: {}", to_string(kind()), message());
  if (where().line != 0) text += fmt::format("\n  at {}:{}", where().file, where().line);
  if (!kernel().empty()) text += fmt::format("\n  in kernel {}", kernel());
  for (const std::string& doing : context()) text += fmt::format("\n  while {}", doing);
  if (const Error* because = cause()) text += "\ncaused by " + because->full();
  return text;
}

Exception::Exception(Error error) : error_(std::move(error)), text_(error_.full()) {}
const char* Exception::what() const noexcept {
  return text_.c_str();
}

namespace detail {

void throw_error(const Error& error) {
#if defined(__cpp_exceptions)
  throw Exception(error);
#else
  (void)error;
  std::abort();  // value() without a value, in a library built without exceptions
#endif
}

}  // namespace detail

}  // namespace tessera::inline v0

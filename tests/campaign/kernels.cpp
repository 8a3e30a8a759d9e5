// SPDX-License-Identifier: MIT OR Apache-2.0
#include "campaign/kernels.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "lang/trace.hpp"
#include "passes/prepare.hpp"
#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/lang/signature.hpp"

namespace tessera::campaign {
namespace {

using Values = std::vector<std::uint32_t>;
using Bindings = std::span<Values>;

std::uint32_t or_else(const Values& v, std::uint64_t i, std::uint32_t other) {
  return i < v.size() ? v[i] : other;
}

void add_into(In<u32> a, InOut<u32> b) {
  $if(absolute_pos < b.len()) {
    b[absolute_pos] = b[absolute_pos] * 3 + a.load_or(absolute_pos, 7u);
  }
}
bool add_into_host(std::uint64_t n, Bindings v) {
  for (std::uint64_t i = 0; i < n && i < v[1].size(); ++i)
    v[1][i] = v[1][i] * 3 + or_else(v[0], i, 7);
  return true;
}

void checked(In<u32> a, Out<u32> b) {
  check(a[0] % 5 != 0, "not a multiple of five");
  $if(absolute_pos < b.len()) {
    b[absolute_pos] = a.load_or(absolute_pos, 1u) + 11;
  }
}
bool checked_host(std::uint64_t n, Bindings v) {
  if (n > 0 && v[0][0] % 5 == 0) return false;
  for (std::uint64_t i = 0; i < n && i < v[1].size(); ++i) v[1][i] = or_else(v[0], i, 1) + 11;
  return true;
}

void two_outputs(In<u32> a, Out<u32> b, Out<u32> c) {
  $if(absolute_pos < b.len()) {
    b[absolute_pos] = a.load_or(absolute_pos, 0u) ^ 1u;
  }
  $if(absolute_pos < c.len()) {
    c[absolute_pos] = a.load_or(absolute_pos, 0u) + 5;
  }
}
bool two_outputs_host(std::uint64_t n, Bindings v) {
  for (std::uint64_t i = 0; i < n && i < v[1].size(); ++i) v[1][i] = or_else(v[0], i, 0) ^ 1u;
  for (std::uint64_t i = 0; i < n && i < v[2].size(); ++i) v[2][i] = or_else(v[0], i, 0) + 5;
  return true;
}

// Runs out of range where an element points past the end.
void gather(In<u32> a, Out<u32> b) {
  $if(absolute_pos < b.len()) {
    const auto at = a.load_or(absolute_pos, 0u) % 67u;
    b[absolute_pos] = a[at];
  }
}
bool gather_host(std::uint64_t n, Bindings v) {
  bool sound = true;
  for (std::uint64_t i = 0; i < n && i < v[1].size(); ++i) {
    const std::uint32_t at = or_else(v[0], i, 0) % 67;
    sound = sound && at < v[0].size();
    v[1][i] = or_else(v[0], at, 0);
  }
  return sound;
}

void combine(In<u32> a, In<u32> b, Out<u32> c) {
  $if(absolute_pos < c.len()) {
    c[absolute_pos] = a.load_or(absolute_pos, 1u) * b.load_or(absolute_pos, 2u);
  }
}
bool combine_host(std::uint64_t n, Bindings v) {
  for (std::uint64_t i = 0; i < n && i < v[2].size(); ++i) {
    v[2][i] = or_else(v[0], i, 1) * or_else(v[1], i, 2);
  }
  return true;
}

void never_compiles(In<u32> a, Out<u32> b) {
  $if(absolute_pos < b.len()) {
    b[absolute_pos] = a.load_or(absolute_pos, 0u);
  }
}
bool never_compiles_host(std::uint64_t, Bindings) {
  return false;
}

// A loop whose condition reads the memory: it ends at the first multiple of three or faults at the
// end of the buffer.
void search(In<u32> a, Out<u32> b) {
  $if(absolute_pos < b.len()) {
    Var<u32> at = 0u;
    $while(a[at] % 3 != 0) {
      at += 1u;
    }
    b[absolute_pos] = at;
  }
}
bool search_host(std::uint64_t n, Bindings v) {
  std::uint32_t at = 0;
  while (at < v[0].size() && v[0][at] % 3 != 0) ++at;
  if (n > 0 && at == v[0].size()) return false;
  for (std::uint64_t i = 0; i < n && i < v[1].size(); ++i) v[1][i] = at;
  return true;
}

template <class F>
struct Context {
  F function;
  typename detail::Signature<F>::Stored stored;
  static void body(void* c) {
    auto& self = *static_cast<Context*>(c);
    detail::Signature<F>::call(self.function, self.stored);
  }
};

struct Entry {
  std::string_view name;
  bool (*host)(std::uint64_t, Bindings);
  std::vector<ir::Access> access;
  std::shared_ptr<const ir::Kernel> kernel;
};

template <class F>
Entry entry(std::string_view name, F function, bool (*host)(std::uint64_t, Bindings)) {
  using Signature = detail::Signature<F>;
  lang::TraceInput input;
  input.name = std::string(name);
  input.units = {units, 1, 1};
  Entry e{name, host, {}, nullptr};
  for (std::size_t i = 0; i < Signature::count; ++i) {
    ir::BindingParam b;
    b.name = "buffer " + std::to_string(i);
    b.type = Signature::params[i].type;
    b.declared = Signature::params[i].access;
    e.access.push_back(b.declared);
    input.bindings.push_back(std::move(b));
  }
  Context<F> context{function, {}};
  Result<ir::Kernel> kernel = lang::trace(std::move(input), &Context<F>::body, &context);
  if (!kernel || !passes::prepare(*kernel)) {
    std::fprintf(stderr, "campaign: kernel %s does not trace.\n", e.name.data());
    std::abort();
  }
  e.kernel = std::make_shared<const ir::Kernel>(*std::move(kernel));
  return e;
}

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = {
      entry("add_into", &add_into, &add_into_host),
      entry("checked", &checked, &checked_host),
      entry("two_outputs", &two_outputs, &two_outputs_host),
      entry("gather", &gather, &gather_host),
      entry("combine", &combine, &combine_host),
      entry(uncompilable, &never_compiles, &never_compiles_host),
      entry("search", &search, &search_host),
  };
  return all;
}

constexpr std::array<std::size_t, 7> bindings = {2, 2, 3, 2, 3, 2, 2};

}  // namespace

std::size_t kernel_count() {
  return bindings.size();
}
std::size_t kernel_bindings(std::size_t kernel) {
  return bindings[kernel];
}
std::string_view kernel_name(std::size_t kernel) {
  return entries()[kernel].name;
}
ir::Access kernel_access(std::size_t kernel, std::size_t binding) {
  return entries()[kernel].access[binding];
}
const std::shared_ptr<const ir::Kernel>& kernel_ir(std::size_t kernel) {
  return entries()[kernel].kernel;
}

bool evaluate(std::size_t kernel, std::uint64_t running_units, Bindings values) {
  return entries()[kernel].host(running_units, values);
}

}  // namespace tessera::campaign

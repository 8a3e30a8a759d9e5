// SPDX-License-Identifier: MIT OR Apache-2.0
#include "emit/wgsl.hpp"

#include <fmt/format.h>

#include "emit/info_layout.hpp"
#include "emit/wgsl_names.hpp"
#include "emit/wgsl_statements.hpp"

namespace tessera::emit {
namespace {

using ir::Kernel;
using ir::Opcode;
using ir::Variant;

// The first type that WGSL lacks, with the place where it is used.
std::string unsupported(const Kernel& k, bool f16) {
  for (const ir::BindingParam& b : k.bindings) {
    if (const std::string t = wgsl_lacks(b.type.elem, f16); !t.empty()) {
      return fmt::format("{} (elements of {})", t, b.name);
    }
  }
  for (const ir::ScalarParam& s : k.scalars) {
    if (const std::string t = wgsl_lacks(s.elem, f16); !t.empty()) {
      return fmt::format("{} (parameter {})", t, s.name);
    }
  }
  for (const ir::SharedBlock& s : k.shared) {
    if (const std::string t = wgsl_lacks(s.type.elem, f16); !t.empty()) {
      return fmt::format("{} (shared memory)", t);
    }
  }
  for (const ir::Op& op : k.ops) {
    if (const std::string t = wgsl_lacks(op.type.elem, f16); !t.empty()) {
      return fmt::format("{} (at {}:{})", t, k.locs[op.loc].file, k.locs[op.loc].line);
    }
  }
  return "";
}

bool uses_f16(const Kernel& k) {
  for (const ir::Op& op : k.ops) {
    if (op.type.elem == Elem::f16) return true;
  }
  for (const ir::BindingParam& b : k.bindings) {
    if (b.type.elem == Elem::f16) return true;
  }
  return false;
}

std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  return out;
}

std::string declarations(const Kernel& k, const Variant& variant) {
  std::string out;
  const auto n = k.bindings.size();
  for (std::size_t i = 0; i < n; ++i) {
    if (storage_of(variant, i) != i) continue;
    const ir::BindingParam& b = k.bindings[i];
    bool writable = b.atomic;
    for (std::size_t j = 0; j < n; ++j) {
      if (storage_of(variant, j) == i && ((variant.writable >> j) & 1) != 0) writable = true;
    }
    const std::string type =
        b.atomic ? fmt::format("atomic<{}>", wgsl_type(b.type)) : wgsl_type(b.type);
    out += fmt::format("@group(0) @binding({}) var<storage, {}> b{}: array<{}>;  // {}\n", i,
                       writable ? "read_write" : "read", i, type, one_line(b.name));
  }
  out += fmt::format("struct TessInfo {{ words: array<vec4<u32>, {}> }};\n", info_vec4s(k));
  out += fmt::format("@group(0) @binding({}) var<uniform> tess: TessInfo;\n", n);
  for (std::size_t i = 0; i < k.shared.size(); ++i) {
    const ir::SharedBlock& s = k.shared[i];
    const std::string type =
        s.atomic ? fmt::format("atomic<{}>", wgsl_type(s.type)) : wgsl_type(s.type);
    out += fmt::format("var<workgroup> s{}: array<{}, {}>;\n", i, type, s.count);
  }
  return out;
}

// A launch has one fault word; the first unit that faults claims it. The exchange is repeated
// while it fails for no reason.
std::string fault_support(const Kernel& k, bool whole_cube) {
  std::string out = fmt::format(
      "struct TessFault {{ claim: atomic<u32>, site: u32, low: u32, high: u32 }};\n"
      "@group(0) @binding({}) var<storage, read_write> tess_faults: array<TessFault>;\n"
      "var<private> tess_faulted: bool = false;\n",
      k.bindings.size() + 1);
  if (whole_cube) out += "var<workgroup> tess_cube_faulted: u32;\n";
  out += fmt::format(
      "fn tess_fault(site: u32, low: u32, high: u32) {{\n"
      "  tess_faulted = true;\n{}"
      "  let slot = {};\n"
      "  loop {{\n"
      "    let r = atomicCompareExchangeWeak(&tess_faults[slot].claim, 0u, {});\n"
      "    if (r.exchanged) {{\n"
      "      tess_faults[slot].site = site;\n"
      "      tess_faults[slot].low = low;\n"
      "      tess_faults[slot].high = high;\n"
      "      break;\n    }}\n"
      "    if (r.old_value != 0u) {{ break; }}\n  }}\n}}\n",
      whole_cube ? "  tess_cube_faulted = 1u;\n" : "", wgsl_info(info_fault_slot),
      wgsl_info(info_fault_claim));
  return out;
}

// The virtual grid: as it is, or found from the linear number of the cube.
std::string topology(const Variant& variant) {
  if (!variant.folded) {
    return "  let tess_count = tess_groups;\n"
           "  let tess_cube = tess_group;\n";
  }
  return fmt::format(
      "  let tess_linear = tess_group.x + tess_groups.x * (tess_group.y + tess_groups.y * "
      "tess_group.z);\n"
      "  if (tess_linear >= {}) {{ return; }}\n"
      "  let tess_count = vec3<u32>({}, {}, {});\n"
      "  let tess_cube = vec3<u32>(tess_linear % tess_count.x, (tess_linear / tess_count.x) % "
      "tess_count.y, tess_linear / (tess_count.x * tess_count.y));\n",
      wgsl_info(info_cube_total), wgsl_info(0), wgsl_info(1), wgsl_info(2));
}

}  // namespace

std::uint32_t info_vec4s(const ir::Kernel& kernel) {
  return (info_parameters + ir::parameter_layout(kernel).count + 3) / 4;
}

Result<std::string> wgsl(const ir::Kernel& kernel, const WgslOptions& options) {
  if (const std::string t = unsupported(kernel, options.f16); !t.empty()) {
    return Error(ErrorKind::Unsupported,
                 fmt::format("Kernel {} uses {}, which this device does not have.", kernel.name, t))
        .with_kernel(kernel.name);
  }
  if (options.variant.wide_index) {
    return Error(ErrorKind::TooLarge,
                 fmt::format("Kernel {} needs 64-bit indices, which WGSL does not have: every "
                             "extent and offset must be below 2^31.",
                             kernel.name))
        .with_kernel(kernel.name);
  }
  Helpers helpers;
  Statements statements(kernel, options.variant, helpers);
  const std::string body = statements.text();
  const auto& u = kernel.units;
  std::string out = fmt::format("// {}\n", one_line(kernel.name));
  if (uses_f16(kernel)) out += "enable f16;\n";
  out += declarations(kernel, options.variant);
  if (ir::can_fault(kernel)) out += fault_support(kernel, statements.leaves_loops_together());
  out += helpers.text();
  out += fmt::format(
      "@compute @workgroup_size({}, {}, {})\n"
      "fn main(@builtin(local_invocation_id) tess_unit: vec3<u32>,\n"
      "        @builtin(local_invocation_index) tess_unit_index: u32,\n"
      "        @builtin(workgroup_id) tess_group: vec3<u32>,\n"
      "        @builtin(num_workgroups) tess_groups: vec3<u32>) {{\n",
      u[0], u[1], u[2]);
  out += topology(options.variant);
  out += body;
  out += "}\n";
  return out;
}

}  // namespace tessera::emit

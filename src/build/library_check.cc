// SPDX-License-Identifier: Apache-2.0
#include "build/library_check.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "build/diagnostics.h"
#include "build/refusal.h"
#include "warpwright/solution.h"

namespace ww::build {
namespace {

constexpr std::array<std::string_view, 8> kSystemLibraries = {"libc.so.6",       "libm.so.6",           "libmvec.so.1",
                                                              "libstdc++.so.6",  "libgcc_s.so.1",       "libgomp.so.1",
                                                              "libpthread.so.0", "ld-linux-x86-64.so.2"};
constexpr std::string_view kDnnl = "libdnnl.so.2";

[[noreturn]] void malformed(const char* what) {
  refuse(Failure::Kind::kBuildError, fmt::format("the compiled library is malformed: {}", what));
}

[[noreturn]] void forbid(std::string text) { refuse(Failure::Kind::kForbidden, std::move(text)); }

/// The file as the loader sees it: program headers and the dynamic section. Section headers are not believed.
class Image {
 public:
  explicit Image(std::string_view bytes) : bytes_(bytes) {
    const auto header = at<Elf64_Ehdr>(0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_DYN || header.e_machine != EM_X86_64 ||
        header.e_phentsize != sizeof(Elf64_Phdr)) {
      malformed("not a shared library for x86-64");
    }
    for (size_t i = 0; i < header.e_phnum; i++)
      segments_.push_back(at<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr)));
    const auto dynamic = std::ranges::find(segments_, static_cast<Elf64_Word>(PT_DYNAMIC), &Elf64_Phdr::p_type);
    if (dynamic == segments_.end()) malformed("no dynamic section");
    for (size_t i = 0; i < dynamic->p_filesz / sizeof(Elf64_Dyn); i++) {
      const auto entry =
          at<Elf64_Dyn>(offset_of(dynamic->p_vaddr, sizeof(Elf64_Dyn) * (i + 1)) + i * sizeof(Elf64_Dyn));
      if (entry.d_tag == DT_NULL) break;
      dynamic_.push_back(entry);
    }
  }

  std::span<const Elf64_Phdr> segments() const { return segments_; }
  std::span<const Elf64_Dyn> dynamic() const { return dynamic_; }

  std::optional<uint64_t> find(Elf64_Sxword tag) const {
    for (const Elf64_Dyn& entry : dynamic_) {
      if (entry.d_tag == tag) return entry.d_un.d_val;
    }
    return std::nullopt;
  }

  uint64_t require(Elf64_Sxword tag, const char* what) const {
    const auto value = find(tag);
    if (!value) malformed(what);
    return *value;
  }

  std::string_view text(uint64_t index) const {
    const uint64_t table = require(DT_STRTAB, "no string table"), size = require(DT_STRSZ, "no string table size");
    if (index >= size) malformed("a name outside the string table");
    const std::string_view rest = bytes_.substr(offset_of(table, size) + index, size - index);
    const size_t end = rest.find('\0');
    if (end == std::string_view::npos) malformed("a name without an end");
    return rest.substr(0, end);
  }

  template <class T>
  T at_address(uint64_t address) const {
    return at<T>(offset_of(address, sizeof(T)));
  }

  /// Without looking for the name's end: many symbols may share one endless name.
  bool is_named(uint64_t index, std::string_view name) const {
    const uint64_t table = require(DT_STRTAB, "no string table"), size = require(DT_STRSZ, "no string table size");
    if (index > size || size - index <= name.size()) return false;
    const std::string_view found = bytes_.substr(offset_of(table, size) + index, name.size() + 1);
    return found.substr(0, name.size()) == name && found.back() == '\0';
  }

  /// The defined symbol of that name, the first in the table.
  std::optional<Elf64_Sym> find_symbol(std::string_view name) const {
    const uint64_t table = require(DT_SYMTAB, "no symbol table");
    const uint32_t count = symbol_count();
    for (uint32_t i = 1; i < count; i++) {
      const auto symbol = at_address<Elf64_Sym>(table + uint64_t{i} * sizeof(Elf64_Sym));
      if (symbol.st_shndx != SHN_UNDEF && is_named(symbol.st_name, name)) return symbol;
    }
    return std::nullopt;
  }

 private:
  template <class T>
  T at(uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) malformed("it ends too early");
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  /// File offset of `size` bytes at `address`.
  uint64_t offset_of(uint64_t address, uint64_t size) const {
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
      const uint64_t inside = address - segment.p_vaddr;
      if (inside > segment.p_filesz || segment.p_filesz - inside < size) continue;
      const uint64_t offset = segment.p_offset + inside;
      if (offset < inside || offset > bytes_.size() || bytes_.size() - offset < size)
        malformed("a segment outside the file");
      return offset;
    }
    malformed("an address outside the loaded segments");
  }

  /// The loader has no count of symbols either: the GNU hash table's last chain ends at the last exported one.
  uint32_t symbol_count() const {
    const uint64_t table = require(DT_GNU_HASH, "no symbol hash table");
    const auto header = at_address<std::array<uint32_t, 4>>(table);  // buckets, first symbol, bloom words, bloom shift
    const uint64_t buckets = table + sizeof header + uint64_t{header[2]} * sizeof(uint64_t);
    uint32_t last = 0;
    for (uint32_t i = 0; i < header[0]; i++) last = std::max(last, at_address<uint32_t>(buckets + uint64_t{i} * 4));
    if (last < header[1]) return header[1];
    const uint64_t chains = buckets + uint64_t{header[0]} * 4;
    while ((at_address<uint32_t>(chains + (uint64_t{last} - header[1]) * 4) & 1) == 0) last++;
    return last + 1;
  }

  std::string_view bytes_;
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Dyn> dynamic_;
};

void check_segments(const Image& image) {
  const auto is = [](const Elf64_Phdr& segment, uint32_t flags) { return (segment.p_flags & flags) == flags; };
  bool stack_declared = false;
  for (const Elf64_Phdr& segment : image.segments()) {
    if (segment.p_type == PT_GNU_STACK) stack_declared = true;
    if (segment.p_type == PT_GNU_STACK && is(segment, PF_X)) forbid("the library asks for an executable stack");
    if (segment.p_type == PT_LOAD && is(segment, PF_W | PF_X))
      forbid("the library has memory that is writable and executable");
  }
  if (!stack_declared) forbid("the library does not say that its stack is not executable");
}

/// Loader features that load, replace or redirect code of others.
void check_loader_features(const Image& image) {
  constexpr std::array<std::pair<Elf64_Sxword, std::string_view>, 8> kFeatures = {{{DT_RPATH, "DT_RPATH"},
                                                                                   {DT_RUNPATH, "DT_RUNPATH"},
                                                                                   {DT_AUDIT, "DT_AUDIT"},
                                                                                   {DT_DEPAUDIT, "DT_DEPAUDIT"},
                                                                                   {DT_CONFIG, "DT_CONFIG"},
                                                                                   {DT_FILTER, "DT_FILTER"},
                                                                                   {DT_AUXILIARY, "DT_AUXILIARY"},
                                                                                   {DT_TEXTREL, "text relocations"}}};
  for (const auto& [tag, feature] : kFeatures) {
    if (image.find(tag)) forbid(fmt::format("the library uses {}", feature));
  }
  if (image.find(DT_FLAGS).value_or(0) & DF_TEXTREL) forbid("the library uses text relocations");
}

std::vector<std::string> check_needs(const Image& image, bool allow_dnnl) {
  std::vector<std::string> needs;
  for (const Elf64_Dyn& entry : image.dynamic()) {
    if (entry.d_tag != DT_NEEDED) continue;
    const std::string name = printable(image.text(entry.d_un.d_val));
    const bool system = std::ranges::find(kSystemLibraries, name) != kSystemLibraries.end();
    if (!system && !(allow_dnnl && name == kDnnl))
      forbid(fmt::format("the library needs {}, which the contract does not allow", name));
    needs.push_back(name);
  }
  return needs;
}

void check_exports(const Image& image) {
  const auto forward = image.find_symbol("ww_forward");
  if (!forward) {
    refuse(Failure::Kind::kBuildError,
           "no ww_forward: the solution has to define int ww_forward(const ww_call*) as declared in "
           "warpwright/solution.h");
  }
  const auto version_symbol = image.find_symbol("ww_solution_abi");
  if (!version_symbol) {
    refuse(Failure::Kind::kBuildError, "no ww_solution_abi: the solution has to include warpwright/solution.h");
  }
  const auto version = image.at_address<int32_t>(version_symbol->st_value);
  if (version != WW_ABI_VERSION) {
    refuse(Failure::Kind::kBuildError,
           fmt::format("the solution was written for ABI version {}; this is version {}", version, WW_ABI_VERSION));
  }
}

}  // namespace

Library check_library(std::string_view bytes, bool allow_dnnl) {
  const Image image(bytes);
  check_segments(image);
  check_loader_features(image);
  Library library{check_needs(image, allow_dnnl)};
  check_exports(image);
  return library;
}

}  // namespace ww::build

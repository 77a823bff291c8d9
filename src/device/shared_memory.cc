// SPDX-License-Identifier: Apache-2.0
#include "device/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "base/fault.h"

namespace ww::device {

uint64_t page_bytes() {
  static const uint64_t bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

SharedMemory::SharedMemory(const char* name, uint64_t bytes) {
  WW_CHECK(bytes > 0, "shared memory of no bytes");
  bytes_ = (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
  fd_ = Fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd_.valid()) throw_errno("making shared memory");
  if (::ftruncate(fd_.get(), static_cast<off_t>(bytes_)) != 0) throw_errno("sizing shared memory");
  if (::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) throw_errno("sealing shared memory");
  void* mapping = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd_.get(), 0);
  if (mapping == MAP_FAILED) throw_errno("mapping shared memory");
  data_ = static_cast<std::byte*>(mapping);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : fd_(std::move(other.fd_)), data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

void SharedMemory::seal_for_others() {
  if (::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0) {
    throw_errno("sealing shared memory against writers");
  }
}

std::span<std::byte> SharedMemory::span(uint64_t offset, uint64_t count) {
  WW_CHECK(offset <= bytes_ && count <= bytes_ - offset, "a span outside its shared memory");
  return {data_ + offset, count};
}

}  // namespace ww::device

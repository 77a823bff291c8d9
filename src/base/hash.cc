// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <openssl/evp.h>
#include <sys/random.h>

#include "base/fault.h"

namespace ww {
namespace {

std::string hexadecimal(const unsigned char* bytes, size_t count) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * count);
  for (size_t i = 0; i < count; i++) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

}  // namespace

struct ContentHash::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  State() { WW_CHECK(context && EVP_DigestInit_ex(context, EVP_sha256(), nullptr) == 1, "OpenSSL has no SHA-256"); }
  ~State() { EVP_MD_CTX_free(context); }
  void update(const void* data, size_t size) {
    WW_CHECK(EVP_DigestUpdate(context, data, size) == 1, "SHA-256 update failed");
  }
};

ContentHash::ContentHash() : state_(std::make_unique<State>()) {}
ContentHash::ContentHash(ContentHash&&) noexcept = default;
ContentHash::~ContentHash() = default;

ContentHash& ContentHash::add(std::string_view field) {
  const uint64_t size = field.size();
  state_->update(&size, sizeof size);
  state_->update(field.data(), field.size());
  return *this;
}

std::string ContentHash::hex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  WW_CHECK(EVP_DigestFinal_ex(state_->context, digest, &size) == 1, "SHA-256 final failed");
  return hexadecimal(digest, size);
}

std::string sha256_hex(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  WW_CHECK(EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr) == 1, "SHA-256 failed");
  return hexadecimal(digest, size);
}

uint64_t random_word() {
  uint64_t word = 0;
  if (::getrandom(&word, sizeof word, 0) != sizeof word) throw_errno("drawing random bytes");
  return word;
}

}  // namespace ww

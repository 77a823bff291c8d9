// SPDX-License-Identifier: Apache-2.0
#include "writer/prelude.h"

namespace ww::writer {

const std::string_view kLoopPrelude = R"cpp(
  // What a config chooses at run time.
  struct Config {
    bool stream;     // write outputs past the caches
    int64_t pieces;  // pieces of rows per thread: 1 is an even split, more are handed out as threads become free
  };

  // body(begin, end, thread) over [0, rows).
  template <class Body>
  static inline void parallel_rows(const ww_call* call, const Config& config, int64_t rows, Body body) {
    const int64_t threads = call->threads < 1 ? 1 : call->threads < rows ? call->threads : rows;
    const int64_t pieces = threads * config.pieces < rows ? threads * config.pieces : rows;
#pragma omp parallel for num_threads((int)threads) schedule(dynamic, 1) if (threads > 1)
    for (int64_t piece = 0; piece < pieces; ++piece) {
      body(rows * piece / pieces, rows * (piece + 1) / pieces, omp_get_thread_num());
    }
  }

  // Copies a finished row to its output without reading the output's lines into the caches first.
  static inline void stream_row(void* target, const void* source, int64_t bytes) {
    char* to = (char*)target;
    const char* from = (const char*)source;
#ifdef __AVX512F__
    constexpr int64_t kLine = 64;
    const int64_t head = (kLine - ((intptr_t)to & (kLine - 1))) & (kLine - 1);
    if (bytes >= head + kLine) {
      __builtin_memcpy(to, from, (size_t)head);
      int64_t at = head;
      for (; at + kLine <= bytes; at += kLine) _mm512_stream_si512((__m512i*)(to + at), _mm512_loadu_si512(from + at));
      __builtin_memcpy(to + at, from + at, (size_t)(bytes - at));
      return;
    }
#endif
    __builtin_memcpy(to, from, (size_t)bytes);
  }

  // Running sum in place. Sixteen at a time: within a vector by doubling shifts, across vectors in double.
  static inline void running_sum(float* row, int64_t count) {
    double carry = 0;
    int64_t at = 0;
#ifdef __AVX512F__
    const __m512 zero = _mm512_setzero_ps();
    for (; at + 16 <= count; at += 16) {
      __m512 v = _mm512_loadu_ps(row + at);
      v = _mm512_add_ps(
          v, _mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(v), _mm512_castps_si512(zero), 15)));
      v = _mm512_add_ps(
          v, _mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(v), _mm512_castps_si512(zero), 14)));
      v = _mm512_add_ps(
          v, _mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(v), _mm512_castps_si512(zero), 12)));
      v = _mm512_add_ps(v,
                        _mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(v), _mm512_castps_si512(zero), 8)));
      const float last = _mm_cvtss_f32(_mm_shuffle_ps(_mm512_extractf32x4_ps(v, 3), _mm512_extractf32x4_ps(v, 3), 0xff));
      const __m512d base = _mm512_set1_pd(carry);
      const __m256 low = _mm512_cvtpd_ps(_mm512_add_pd(base, _mm512_cvtps_pd(_mm512_castps512_ps256(v))));
      const __m256 high = _mm512_cvtpd_ps(_mm512_add_pd(base, _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1))));
      _mm256_storeu_ps(row + at, low);
      _mm256_storeu_ps(row + at + 8, high);
      carry += (double)last;
    }
#endif
    for (; at < count; ++at) {
      carry += row[at];
      row[at] = (float)carry;
    }
  }

  template <class T>
  static inline void running_sum(T* row, int64_t count) {
    T carry = 0;
    for (int64_t at = 0; at < count; ++at) row[at] = carry = (T)(carry + row[at]);
  }

  // The tensor of that name; null where there is none.
  static inline const DLTensor* find(const ww_tensors& tensors, const char* name) {
    for (int32_t i = 0; i < tensors.count; ++i) {
      if (__builtin_strcmp(tensors.names[i], name) == 0) return tensors.items[i];
    }
    return nullptr;
  }

  template <class T>
  static inline T* data(const ww_tensors& tensors, const char* name) {
    const DLTensor* tensor = find(tensors, name);
    return tensor ? (T*)tensor->data : nullptr;
  }

  static inline bool matches(const ww_tensors& tensors, const char* name, DLDataType dtype,
                             std::initializer_list<int64_t> shape) {
    const DLTensor* tensor = find(tensors, name);
    if (!tensor || tensor->ndim != (int32_t)shape.size()) return false;
    if (tensor->dtype.code != dtype.code || tensor->dtype.bits != dtype.bits) return false;
    int32_t dim = 0;
    for (const int64_t extent : shape) {
      if (tensor->shape[dim++] != extent) return false;
    }
    return true;
  }
)cpp";

}  // namespace ww::writer

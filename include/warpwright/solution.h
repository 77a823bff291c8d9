/* SPDX-License-Identifier: Apache-2.0
 *
 * The native solution format, version 1: what a solution exports and what it is given. Plain C, no torch and no C++
 * library in it. This header is a public promise: a field keeps its place and its meaning within one ABI version.
 *
 * A solution is a folder whose kernels/ *.cpp (device cpu) or kernels/ *.cu (CUDA) define ww_forward and, optionally,
 * the other four functions declared at the end. All functions are called from one thread, one call at a time.
 *
 * Buffers are the judge's: 256-byte aligned, contiguous, row-major, in the reference's order. They may move between
 * calls, and their contents are new at every call. Inputs and weights are read-only. Outputs hold garbage before the call.
 * A winner's module.py passes torch's own tensors on, which are 64-byte aligned: rely on no more.
 */
#ifndef WARPWRIGHT_SOLUTION_H
#define WARPWRIGHT_SOLUTION_H

#include <stdint.h>

#define WW_ABI_VERSION 1

#ifdef __cplusplus
#define WW_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define WW_EXPORT __attribute__((visibility("default")))
#endif

/* Return values of ww_forward and ww_prepare. Any other value is a failure of the solution. */
#define WW_OK 0
#define WW_UNSUPPORTED 1 /* this config does not handle these shapes; another config may */

/* DLPack 1.x's DLTensor, field for field (https://dmlc.github.io/dlpack). Skipped where DLPack itself is included. */
#ifndef DLPACK_DLPACK_H_
typedef enum { kDLCPU = 1, kDLCUDA = 2 } DLDeviceType;
typedef struct {
  int32_t device_type; /* DLDeviceType */
  int32_t device_id;
} DLDevice;
typedef enum { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4, kDLComplex = 5, kDLBool = 6 } DLDataTypeCode;
typedef struct {
  uint8_t code; /* DLDataTypeCode */
  uint8_t bits;
  uint16_t lanes; /* always 1 here */
} DLDataType;
typedef struct {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;   /* ndim elements */
  int64_t* strides; /* ndim elements, in elements; never NULL here; always contiguous row-major */
  uint64_t byte_offset; /* always 0 here */
} DLTensor;
#endif

/* An ordered list of named tensors. An item is NULL where the argument was None. */
typedef struct {
  int32_t count;
  const char* const* names;
  DLTensor* const* items;
} ww_tensors;

typedef struct {
  uint32_t struct_size; /* sizeof(ww_call) of the caller; later versions only append */
  int32_t config;       /* 0 <= config < ww_config_count() */
  ww_tensors inputs;    /* forward()'s arguments in order; numbers and bools are 0-dimensional host tensors (int64, float64, bool) */
  ww_tensors weights;   /* state_dict, then other buffers and tensor attributes, by name */
  ww_tensors outputs;   /* what forward() returns, flattened in order; then the buffers named in the contract's `mutates` */
  ww_tensors init;      /* get_init_inputs() that are numbers or lists of numbers (1-dimensional) */
  void* packed;         /* ww_packed_bytes() bytes, filled by ww_prepare, unchanged until the next ww_prepare */
  void* workspace;      /* ww_workspace_bytes() bytes of scratch; contents undefined at every call */
  void* stream;         /* cudaStream_t on CUDA; NULL on cpu */
  int32_t threads;      /* threads to use on cpu */
} ww_call;

/* Required. Computes outputs from inputs and weights; all work is finished when it returns (CUDA: when the stream is). */
WW_EXPORT int ww_forward(const ww_call* call);

/* Optional. Sizes in bytes for these shapes and this config; input, weight and output data pointers are NULL. */
WW_EXPORT uint64_t ww_workspace_bytes(const ww_call* call);
WW_EXPORT uint64_t ww_packed_bytes(const ww_call* call);

/* Optional. weights -> packed; once per weight set, workload and config. Timed apart and reported. Input and output data
 * pointers are NULL. */
WW_EXPORT int ww_prepare(const ww_call* call);

/* Optional. Number of variants to tune over; 1 if absent. */
WW_EXPORT int32_t ww_config_count(void);

/* Exported by including this header, so that a loader can refuse a solution built against another version. */
#ifdef __cplusplus
extern "C" {
#endif
__attribute__((weak, visibility("default"))) extern const int32_t ww_solution_abi;
const int32_t ww_solution_abi = WW_ABI_VERSION;
#ifdef __cplusplus
}
#endif

/* bfloat16 and float16 as their bits: g++ 12 has no __bf16. Conversions to narrow types round to nearest even. */
typedef uint16_t ww_bf16;
typedef uint16_t ww_fp16;

static inline float ww_bf16_to_float(ww_bf16 value) {
  uint32_t bits = (uint32_t)value << 16;
  float result;
  __builtin_memcpy(&result, &bits, sizeof result);
  return result;
}

static inline ww_bf16 ww_bf16_from_float(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (ww_bf16)((bits >> 16) | 0x40u); /* NaN stays NaN */
  return (ww_bf16)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

#if defined(__FLT16_MANT_DIG__) && !defined(__CUDACC__)
static inline float ww_fp16_to_float(ww_fp16 value) {
  _Float16 half;
  __builtin_memcpy(&half, &value, sizeof half);
  return (float)half;
}

static inline ww_fp16 ww_fp16_from_float(float value) {
  _Float16 half = (_Float16)value;
  ww_fp16 result;
  __builtin_memcpy(&result, &half, sizeof result);
  return result;
}
#endif

#endif

// SPDX-License-Identifier: Apache-2.0
#include "writer/prelude.h"

namespace ww::writer {

const std::string_view kMathPrelude = R"cpp(
  // Elementwise functions, branch-free so that loops over them vectorise; about 1 to 2 ulp in float.
  namespace math {

  constexpr float kInfinity = __builtin_inff();

  static inline float from_bits(uint32_t bits) {
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
  }

  static inline uint32_t to_bits(float value) {
    uint32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
  }

  static inline float from_bf16(ww_bf16 value) { return from_bits((uint32_t)value << 16); }

  static inline ww_bf16 to_bf16(float value) {
    const uint32_t bits = to_bits(value);
    const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    return (ww_bf16)(value != value ? (bits >> 16) | 0x40u : rounded);
  }

  // Half precision by integer arithmetic: g++ 12 converts _Float16 one element at a time.
  static inline float from_fp16(ww_fp16 half) {
    const uint32_t magnitude = (uint32_t)(half & 0x7fffu) << 13;
    const float finite = from_bits(magnitude) * 0x1p112f;
    const uint32_t bits = magnitude >= 0x0f800000u ? magnitude | 0x7f800000u : to_bits(finite);
    return from_bits(bits | (uint32_t)(half & 0x8000u) << 16);
  }

  static inline ww_fp16 to_fp16(float value) {
    const float scaled = (__builtin_fabsf(value) * 0x1p112f) * 0x1p-110f;
    const uint32_t bits = to_bits(value), doubled = bits + bits;
    const uint32_t exponent = doubled & 0xff000000u;
    const uint32_t bias = exponent < 0x71000000u ? 0x71000000u : exponent;
    const uint32_t rounded = to_bits(from_bits((bias >> 1) + 0x07800000u) + scaled);
    const uint32_t magnitude = ((rounded >> 13) & 0x7c00u) + (rounded & 0x0fffu);
    return (ww_fp16)((bits >> 16 & 0x8000u) | (doubled > 0xff000000u ? 0x7e00u : magnitude));
  }

  template <class T>
  static inline T max(T a, T b) {
    return a > b ? a : b;
  }
  template <class T>
  static inline T min(T a, T b) {
    return a < b ? a : b;
  }
  template <class T>
  static inline T abs(T a) {
    return a < 0 ? -a : a;
  }
  static inline float abs(float a) { return __builtin_fabsf(a); }
  static inline double abs(double a) { return __builtin_fabs(a); }
  static inline int64_t clamp(int64_t a, int64_t low, int64_t high) { return a < low ? low : a > high ? high : a; }

  // 2^n * exp(r), |r| <= ln(2) / 2. Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits. Results below
  // the
  // smallest normal number are 0.
  static inline float exp(float x) {
    const float shifted = __builtin_fmaf(x, 1.442695041f, 12582912.0f);
    const float n = shifted - 12582912.0f;
    const float r = __builtin_fmaf(n, -1.42860677e-6f, __builtin_fmaf(n, -0.693145752f, x));
    float p = 1.37805939e-3f;
    p = __builtin_fmaf(p, r, 8.37312452e-3f);
    p = __builtin_fmaf(p, r, 4.16695364e-2f);
    p = __builtin_fmaf(p, r, 1.66664720e-1f);
    p = __builtin_fmaf(p, r, 4.99999851e-1f);
    p = __builtin_fmaf(p, r, 1.0f);
    p = __builtin_fmaf(p, r, 1.0f);
    float y = from_bits(to_bits(p) + (to_bits(shifted) << 23));
    y = x < -87.0f ? 0.0f : y;
    return x > 88.7228394f ? kInfinity : y;
  }

  static inline float exp2(float x) {
    const float shifted = x + 12582912.0f;
    const float fraction = exp((x - (shifted - 12582912.0f)) * 0.693147181f);
    float y = from_bits(to_bits(fraction) + (to_bits(shifted) << 23));
    y = x < -125.5f ? 0.0f : y;
    return x >= 128.0f ? kInfinity : y;
  }

  static inline float expm1(float x) {
    float p = 2.48015873e-5f;
    p = __builtin_fmaf(p, x, 1.98412698e-4f);
    p = __builtin_fmaf(p, x, 1.38888889e-3f);
    p = __builtin_fmaf(p, x, 8.33333333e-3f);
    p = __builtin_fmaf(p, x, 4.16666667e-2f);
    p = __builtin_fmaf(p, x, 1.66666667e-1f);
    p = __builtin_fmaf(p, x, 0.5f);
    return abs(x) < 0.5f ? __builtin_fmaf(p * x, x, x) : exp(x) - 1.0f;
  }

  // log1p(m) of the mantissa, m in [-1/3, 1/3], plus the exponent's share.
  static inline float log(float x) {
    const bool tiny = x < 1.17549435e-38f;
    const float a = tiny ? x * 8388608.0f : x;
    const int32_t e = (int32_t)((to_bits(a) - 0x3f2aaaabu) & 0xff800000u);
    const float i = __builtin_fmaf((float)e, 1.19209290e-7f, tiny ? -23.0f : 0.0f);
    const float m = from_bits(to_bits(a) - (uint32_t)e) - 1.0f, s = m * m;
    float r = -0.130310059f, t = 0.140869141f;
    r = __builtin_fmaf(r, s, -0.121483512f);
    t = __builtin_fmaf(t, s, 0.139814854f);
    r = __builtin_fmaf(r, s, -0.166846126f);
    t = __builtin_fmaf(t, s, 0.200120345f);
    r = __builtin_fmaf(r, s, -0.249996200f);
    r = __builtin_fmaf(t, m, r);
    r = __builtin_fmaf(r, m, 0.333331972f);
    r = __builtin_fmaf(r, m, -0.5f);
    r = __builtin_fmaf(r, s, m);
    r = __builtin_fmaf(i, 0.693147182f, r);
    r = x == 0.0f ? -kInfinity : r;
    r = x == kInfinity ? x : r;
    return x >= 0.0f ? r : __builtin_nanf("");
  }

  static inline float log1p(float x) {
    const float u = 1.0f + x;
    return u == 1.0f ? x : u == kInfinity ? u : log(u) + (x - (u - 1.0f)) / u;
  }

  static inline float log2(float x) { return log(x) * 1.442695041f; }
  static inline float log10(float x) { return log(x) * 0.4342944819f; }
  static inline float sqrt(float x) { return __builtin_sqrtf(x); }
  static inline float rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
  static inline float reciprocal(float x) { return 1.0f / x; }
  static inline float sigmoid(float x) { return 1.0f / (1.0f + exp(-x)); }
  static inline float relu(float x) { return x < 0.0f ? 0.0f : x; }
  static inline float silu(float x) { return x / (1.0f + exp(-x)); }

  static inline float tanh(float x) {
    const float a = abs(x), s = x * x;
    float p = -5.70498872745e-3f;
    p = __builtin_fmaf(p, s, 2.06390887954e-2f);
    p = __builtin_fmaf(p, s, -5.37397155531e-2f);
    p = __builtin_fmaf(p, s, 1.33314422036e-1f);
    p = __builtin_fmaf(p, s, -3.33332819422e-1f);
    const float far = __builtin_copysignf(1.0f - 2.0f / (exp(2.0f * a) + 1.0f), x);
    return a < 0.625f ? __builtin_fmaf(p * s, x, x) : far;
  }

  static inline float erf(float x) {
    const float t = abs(x), s = x * x;
    float f = __builtin_fmaf(-1.72853470e-5f, t, 3.83197126e-4f);
    const float u = __builtin_fmaf(-3.88396438e-3f, t, 2.42546219e-2f);
    f = __builtin_fmaf(f, s, u);
    f = __builtin_fmaf(f, t, -1.06777877e-1f);
    f = __builtin_fmaf(f, t, -6.34846687e-1f);
    f = __builtin_fmaf(f, t, -1.28717512e-1f);
    f = __builtin_copysignf(1.0f - exp(__builtin_fmaf(f, t, -t)), x);
    float p = -5.96761703e-4f;
    p = __builtin_fmaf(p, s, 4.99119423e-3f);
    p = __builtin_fmaf(p, s, -2.67681349e-2f);
    p = __builtin_fmaf(p, s, 1.12819925e-1f);
    p = __builtin_fmaf(p, s, -3.76125336e-1f);
    p = __builtin_fmaf(p, s, 1.28379166e-1f);
    return t > 0.927734375f ? f : __builtin_fmaf(p, x, x);
  }

  static inline float gelu(float x) { return 0.5f * x * (1.0f + erf(x * 0.707106781f)); }

  // 1 / 2 * (1 + tanh(u)) is the sigmoid of 2u.
  static inline float gelu_tanh(float x) {
    return x / (1.0f + exp(-1.59576912f * __builtin_fmaf(0.044715f * x * x, x, x)));
  }

  // Quadrants; the reduction is in double.
  static inline float sine(float x, int32_t quarter) {
    const double n = (x * 0.63661977236758134 + 6755399441055744.0) - 6755399441055744.0;
    const float r = (float)__builtin_fma(n, -6.123233995736766e-17, __builtin_fma(n, -1.5707963267948966, (double)x));
    const int32_t quadrant = (int32_t)n + quarter;
    const float s = r * r;
    float c = __builtin_fmaf(2.44331571e-5f, s, -1.38873162e-3f);
    c = __builtin_fmaf(c, s, 4.16666456e-2f);
    c = __builtin_fmaf(c, s, -0.5f);
    c = __builtin_fmaf(c, s, 1.0f);
    float d = __builtin_fmaf(2.86567956e-6f, s, -1.98559923e-4f);
    d = __builtin_fmaf(d, s, 8.33338592e-3f);
    d = __builtin_fmaf(d, s, -1.66666672e-1f);
    d = __builtin_fmaf(d * s, r, r);
    const float y = (quadrant & 1) ? c : d;
    return (quadrant & 2) ? -y : y;
  }

  static inline float sin(float x) { return sine(x, 0); }
  static inline float cos(float x) { return sine(x, 1); }
  static inline float tan(float x) { return sine(x, 0) / sine(x, 1); }
  static inline float pow(float x, float y) { return __builtin_powf(x, y); }
  static inline float floor(float x) { return __builtin_floorf(x); }
  static inline float ceil(float x) { return __builtin_ceilf(x); }
  static inline float trunc(float x) { return __builtin_truncf(x); }
  static inline float round(float x) { return __builtin_rintf(x); }

  static inline double exp(double x) { return __builtin_exp(x); }
  static inline double exp2(double x) { return __builtin_exp2(x); }
  static inline double expm1(double x) { return __builtin_expm1(x); }
  static inline double log(double x) { return __builtin_log(x); }
  static inline double log1p(double x) { return __builtin_log1p(x); }
  static inline double log2(double x) { return __builtin_log2(x); }
  static inline double log10(double x) { return __builtin_log10(x); }
  static inline double sqrt(double x) { return __builtin_sqrt(x); }
  static inline double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
  static inline double reciprocal(double x) { return 1.0 / x; }
  static inline double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }
  static inline double relu(double x) { return x < 0.0 ? 0.0 : x; }
  static inline int64_t relu(int64_t x) { return x < 0 ? 0 : x; }
  static inline double silu(double x) { return x / (1.0 + exp(-x)); }
  static inline double tanh(double x) { return __builtin_tanh(x); }
  static inline double erf(double x) { return __builtin_erf(x); }
  static inline double gelu(double x) { return 0.5 * x * (1.0 + erf(x * 0.70710678118654752)); }
  static inline double gelu_tanh(double x) { return x / (1.0 + exp(-1.5957691216057308 * (x + 0.044715 * x * x * x))); }
  static inline double sin(double x) { return __builtin_sin(x); }
  static inline double cos(double x) { return __builtin_cos(x); }
  static inline double tan(double x) { return __builtin_tan(x); }
  static inline double pow(double x, double y) { return __builtin_pow(x, y); }
  static inline double floor(double x) { return __builtin_floor(x); }
  static inline double ceil(double x) { return __builtin_ceil(x); }
  static inline double trunc(double x) { return __builtin_trunc(x); }
  static inline double round(double x) { return __builtin_rint(x); }
  static inline int64_t pow(int64_t x, int64_t y) {
    int64_t power = 1;
    for (; y > 0; --y) power *= x;
    return power;
  }

  }  // namespace math
)cpp";

}  // namespace ww::writer

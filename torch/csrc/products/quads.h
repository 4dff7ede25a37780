// The sums of products of numbers of eight bits, four by four, with the instructions that processors have for them.
#pragma once

#include <cstdint>

namespace ap {

constexpr int kQuadVectors = 2;  // of a panel (panels.h)

// Whether the processor has the instructions and APERTURE_ISA allows them.
bool has_vnni();      // of 512 bits
bool has_avx_vnni();  // of 256 bits

// c_MN = a_MK panel_KN, sums of 32 bits. An element of a, `lda` to a row, and of the panel is four numbers beside each
// other, of which all four products are added: K is the number of fours. The panel's are from -127 to 127.
using SumQuads = void (*)(const float *a, int64_t lda, const float *panel, int64_t K, int32_t *c, int64_t M);

// a's are from 0 to 255, by has_vnni() and has_avx_vnni().
void sum_quads_vnni(const float *a, int64_t lda, const float *panel, int64_t K, int32_t *c, int64_t M);
void sum_quads_avx_vnni(const float *a, int64_t lda, const float *panel, int64_t K, int32_t *c, int64_t M);

// a's are from -127 to 127, on every processor.
void sum_quads_avx2(const float *a, int64_t lda, const float *panel, int64_t K, int32_t *c, int64_t M);

}  // namespace ap

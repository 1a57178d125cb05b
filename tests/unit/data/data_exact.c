/* Integer-made numbers: square root, FLOAT and FLOAT16 bits against the machine's own arithmetic and known values. */
#include <math.h>

#include "data/exact.h"
#include "t.h"

static uint32_t bits_of(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	return u;
}

static void roots(void)
{
	for (uint64_t i = 0; i < 200000; i++) {
		uint64_t v = gw__exact_hash(1, i) >> (i % 64), r = gw__exact_isqrt(v);

		if (r * r > v || (r < UINT32_MAX && (r + 1) * (r + 1) <= v)) {
			T_EQ(v, 0);
			return;
		}
	}
	T_EQ(gw__exact_isqrt(0), 0);
	T_EQ(gw__exact_isqrt(UINT64_MAX), UINT32_MAX);
	T_EQ(gw__exact_isqrt(UINT64_C(4) << 32), 131072);
}

/* A 53-bit integer times a power of two is exact in double, and the conversion to float rounds to nearest even. */
static void singles(void)
{
	uint32_t n_wrong = 0;

	for (uint64_t i = 0; i < 300000; i++) {
		int64_t v = (int64_t)(gw__exact_hash(2, i) >> 11) >> (i % 53);
		int frac = (int)(gw__exact_hash(3, i) % 101);

		v = i & 1 ? -v : v;
		n_wrong += gw__exact_f32(v, frac) != bits_of((float)ldexp((double)v, -frac)) && v != 0;
	}
	T_EQ(n_wrong, 0);
	T_EQ(gw__exact_f32(0, 10), 0);
	T_EQ(gw__exact_f32(INT64_MIN, 0), bits_of(-0x1p63f));
	T_EQ(gw__exact_f32(0x1ffffff, 0), bits_of(0x1ffffffp0f)); /* the carry reaches the exponent */
}

static void halves(void)
{
	T_EQ(gw__exact_f16(1, 0), 0x3c00);
	T_EQ(gw__exact_f16(-3, 1), 0xbe00);
	T_EQ(gw__exact_f16(65504, 0), 0x7bff);
	T_EQ(gw__exact_f16(65519, 0), 0x7bff);  /* below the middle: largest number */
	T_EQ(gw__exact_f16(65520, 0), 0x7c00);  /* the middle: infinity, by ties to even */
	T_EQ(gw__exact_f16(1 << 20, 0), 0x7c00);
	T_EQ(gw__exact_f16(1, 14), 0x0400);     /* smallest normal */
	T_EQ(gw__exact_f16(1, 24), 0x0001);     /* smallest subnormal */
	T_EQ(gw__exact_f16(1, 25), 0x0000);     /* half of it: tie to even */
	T_EQ(gw__exact_f16(3, 26), 0x0001);
	T_EQ(gw__exact_f16(-1, 100), 0x8000);
	T_EQ(gw__exact_f16(2049, 0), 0x6800);   /* tie to even, down */
	T_EQ(gw__exact_f16(2051, 0), 0x6802);   /* tie to even, up */
	T_EQ(gw__exact_f16(2047, 25), 0x0400);  /* a subnormal rounds up into the normals */
}

int main(void)
{
	roots();
	singles();
	halves();
	T_DONE();
}

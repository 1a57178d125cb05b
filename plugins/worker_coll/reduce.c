/* worker_coll/reduce.c: element-wise arithmetic. Buffers may be unaligned. Must not know ranks. Next: algo.c. */
#include <string.h>

#include "coll.h"

#define LOOP(T, EXPR)                                                                              \
	do {                                                                                       \
		for (size_t i = 0; i < count; i++) {                                               \
			T a, b;                                                                    \
			memcpy(&a, (char *)acc + i * sizeof(T), sizeof(T));                        \
			memcpy(&b, (const char *)in + i * sizeof(T), sizeof(T));                   \
			a = (T)(EXPR);                                                             \
			memcpy((char *)acc + i * sizeof(T), &a, sizeof(T));                        \
		}                                                                                  \
	} while (0)

/* Integers wrap: computed without sign, where wrapping is defined. */
#define OPS(NAME, T, U)                                                                            \
	static void NAME(uint32_t op, void *acc, const void *in, size_t count)                     \
	{                                                                                          \
		if (op == UROM_COLL_SUM)                                                           \
			LOOP(T, (U)a + (U)b);                                                      \
		else if (op == UROM_COLL_PROD)                                                     \
			LOOP(T, (U)a * (U)b);                                                      \
		else if (op == UROM_COLL_MIN)                                                      \
			LOOP(T, a < b ? a : b);                                                    \
		else                                                                               \
			LOOP(T, a > b ? a : b);                                                    \
	}

OPS(reduce_int8, int8_t, uint32_t)
OPS(reduce_int32, int32_t, uint32_t)
OPS(reduce_int64, int64_t, uint64_t)
OPS(reduce_float, float, float)
OPS(reduce_double, double, double)

void coll_reduce(uint32_t type, uint32_t op, void *acc, const void *in, size_t count)
{
	static void (*const table[UROM_COLL_TYPES])(uint32_t, void *, const void *, size_t) = {
		[UROM_COLL_INT8] = reduce_int8,	  [UROM_COLL_INT32] = reduce_int32,
		[UROM_COLL_INT64] = reduce_int64, [UROM_COLL_FLOAT] = reduce_float,
		[UROM_COLL_DOUBLE] = reduce_double,
	};

	table[type](op, acc, in, count);
}

/* SPSC ring: capacity, order, wrap, two threads; bitmap counts; allocation failures. */
#include <pthread.h>

#include "base/alloc.h"
#include "base/bitmap.h"
#include "base/ring.h"
#include "t.h"

#define N 200000u

static void *produce(void *arg)
{
	struct gw__ring *r = arg;

	for (uint32_t i = 0; i < N;)
		if (gw__ring_push(r, &i))
			i++;
	return NULL;
}

static void two_threads(void)
{
	struct gw__ring r;
	pthread_t t;
	uint32_t got, want = 0, bad = 0;

	T_RC(gw__ring_init(&r, 64, sizeof(uint32_t)), 0);
	pthread_create(&t, NULL, produce, &r);
	while (want < N)
		if (gw__ring_pop(&r, &got))
			bad += got != want++;
	pthread_join(t, NULL);
	T_EQ(bad, 0);
	T_EQ(gw__ring_count(&r), 0);
	gw__ring_fini(&r);
}

static void capacity(void)
{
	struct gw__ring r;
	uint64_t in[10] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 }, out[10];

	T_RC(gw__ring_init(&r, 0, 8), -EINVAL);
	T_RC(gw__ring_init(&r, 5, 8), 0); /* rounds up to 8 */
	for (int lap = 0; lap < 5; lap++) {
		T_EQ(gw__ring_push_n(&r, in, 10), 8);
		T_EQ(gw__ring_push_n(&r, in, 1), 0);
		T_EQ(gw__ring_pop_n(&r, out, 3), 3);
		T_EQ(gw__ring_pop_n(&r, out + 3, 10), 5);
		T_MEM(out, in, 8 * sizeof(*in));
	}
	gw__ring_fini(&r);
	gw__alloc_fail_at(1);
	T_RC(gw__ring_init(&r, 8, 8), -ENOMEM);
	gw__alloc_fail_at(0);
}

static void bits(void)
{
	uint64_t map[3] = { 0 };

	gw__bit_set(map, 0);
	gw__bit_set(map, 63);
	gw__bit_set(map, 64);
	gw__bit_set(map, 191);
	T_EQ(gw__bitmap_count(map, 0, 192), 4);
	T_EQ(gw__bitmap_count(map, 1, 62), 0);
	T_EQ(gw__bitmap_count(map, 63, 2), 2);
	T_EQ(gw__bitmap_count(map, 191, 1), 1);
	gw__bit_clear(map, 63);
	T_OK(!gw__bit_test(map, 63));
	T_EQ(gw__bitmap_words(65), 2);
}

int main(void)
{
	capacity();
	bits();
	two_threads();
	T_EQ(gw__alloc_live(), 0);
	T_DONE();
}

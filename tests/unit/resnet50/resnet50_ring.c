/* tests/unit/resnet50/resnet50_ring.c: 8 slots hold 7 jobs; order and bytes survive two real threads.
 * Next: apps/resnet50_inference/job_ring.c. */
#include "job_ring.h"

#include <pthread.h>

#include "t.h"

#define N 20000

static struct job_ring ring;

static void *produce(void *arg)
{
	for (uint64_t i = 0; i < N; i++) {
		struct job job = { .serial = i, .n_images = (uint32_t)(i * 7) };

		while (!job_ring_push(&ring, &job))
			job_ring_wait_room(&ring, 1000000000);
	}
	job_ring_close(&ring);
	return NULL;
}

int main(void)
{
	struct job job = { .serial = 1 };
	uint64_t want = 0;
	pthread_t thread;

	T_NEED(job_ring_init(&ring) == 0);
	for (int i = 0; i < 7; i++)
		T_OK(job_ring_push(&ring, &job));
	T_OK(!job_ring_push(&ring, &job));
	T_EQ(job_ring_depth(&ring), 7);
	for (int i = 0; i < 7; i++)
		T_OK(job_ring_pop(&ring, &job));
	T_OK(!job_ring_pop(&ring, &job));
	T_OK(!job_ring_finished(&ring));
	T_EQ(JOB_MIN_OUTPUT_BUFS, 9);

	T_NEED(pthread_create(&thread, NULL, produce, NULL) == 0);
	while (!job_ring_finished(&ring)) {
		if (!job_ring_pop(&ring, &job)) {
			job_ring_wait_work(&ring, 1000000000);
			continue;
		}
		if (job.serial != want || job.n_images != (uint32_t)(want * 7))
			break;
		want++;
	}
	T_EQ(want, N);
	pthread_join(thread, NULL);
	job_ring_fini(&ring);
	T_DONE();
}

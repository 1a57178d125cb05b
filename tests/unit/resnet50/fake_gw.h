/* tests/unit/resnet50/fake_gw.h: a stand-in for the library, linked in its place, so that the application's
 * workers run on a clock turned by hand. It must not be clever: a script of receive answers, a pool, a log.
 * Next: fake_gw.c; rx_producer.c and inference_consumer.c here use it. */
#ifndef FAKE_GW_H
#define FAKE_GW_H

#include <gpuwire/gpuwire.h>
#include <stdbool.h>

#include "base/clock.h"

#define FAKE_MAX 512

struct fake_burst {
	uint32_t flags;
	uint32_t n_pkts;          /* raw bursts */
	bool null_input;
	int info_again;           /* -EAGAIN answers before info is known; < 0 = info fails for good */
	uint32_t packets;         /* placed; 0 = full */
	uint64_t group_valid[4];  /* used when packets != 0 */
	uint32_t n_groups_valid;
	uint64_t batch_id;
};

struct fake {
	struct gw__clock_manual clock;
	uint32_t images_per_window, packets_per_image;
	/* receive script: entries are given out in order, each at its time */
	struct fake_burst script[FAKE_MAX];
	uint64_t at_ns[FAKE_MAX];
	int n_script, next;
	int idle_rc;              /* gw_rx_burst's answer when nothing is due: 0, -ENOBUFS, -ENODEV */
	uint64_t rx_packets;      /* what gw_rxq_stats reports */
	uint64_t packet_every_ns; /* a packet trickles in this often until trickle_end_ns */
	uint64_t trickle_end_ns;
	int flush_gives;          /* script entries that only a flush hands over (the last ones) */
	bool flushed;
	int n_flush;
	uint64_t flush_ns;
	/* pool */
	int n_out;                /* bursts out now */
	int most_out;
	int n_released;
	bool double_release;
	uint8_t out[FAKE_MAX];    /* script entry is out */
	uint8_t *tensor;
	/* network */
	int infer_fail_at;        /* the n-th call fails, from 1 */
	int n_infer;
	uint64_t infer_ns;        /* a call takes this long on the clock */
	uint32_t pending_n;
	const void *pending_input;
	uint32_t infer_n[FAKE_MAX];
	long infer_offset[FAKE_MAX]; /* bytes into the tensor */
	bool reads_released;      /* an input was released before its results came back */
	float rows[2][FAKE_MAX];
	int parity;
	/* transmit */
	uint32_t n_used;          /* packets sent from the sender's own memory */
	uint32_t tx_slots;        /* given per reservation at most */
	uint32_t tx_short;        /* taken per submit at most, 0 = all */
	uint32_t seg_size[2], n_segs;
	uint8_t slot[2][64][2048];
	uint8_t sent[FAKE_MAX][2048];
	uint32_t sent_len[FAKE_MAX];
	int n_sent, n_reserved;
	int submit_rc;            /* < 0: every submit fails so */
};

extern struct fake fake;

/* Everything back to a full pool and the clock at 1 s. */
void fake_reset(void);
/* Script `n` full windows, one each `every_ns`. */
void fake_script_full(int n, uint64_t every_ns);

#endif

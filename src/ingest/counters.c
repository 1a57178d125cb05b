/* ingest/counters.c: every counter's name and meaning, once: stats.c reads the values by these rows, `config
 * explain`, the schema and the man page print them. It must not read a counter. Next: stats.c. */
#include "ingest/counters.h"

#include <gpuwire/stats.h>

#define PORT(f, h)                                                                                 \
	{                                                                                          \
#f, h, "port", offsetof(struct gw_port_stats, f)                                   \
	}
#define RXQ(f, h)                                                                                  \
	{                                                                                          \
#f, h, "receive queue", offsetof(struct gw_queue_stats, f)                         \
	}
#define TXQ(f, h)                                                                                  \
	{                                                                                          \
#f, h, "transmit queue", offsetof(struct gw_queue_stats, f)                        \
	}
#define PLAN(f, h)                                                                                 \
	{                                                                                          \
#f, h, "reorder plan", offsetof(struct gw_reorder_stats, f)                        \
	}

const struct gw__counter_row gw__port_rows[] = {
	PORT(rx_wire_packets, "frames the link handed to the port"),
	PORT(rx_packets, "frames written into a queue's slot"),
	PORT(rx_bytes, "bytes of those frames"),
	PORT(rx_missed, "frames that found no slot posted: the consumer is late"),
	PORT(rx_steer_miss, "frames that no rule matched"),
	PORT(rx_steer_drop, "frames that a drop rule or the shut gate took"),
	PORT(rx_errors, "runts, frames longer than the slot, frames that could not be read"),
	PORT(rx_l3_bad, "delivered with a false IPv4 length or checksum"),
	PORT(rx_l4_bad, "delivered with a false UDP length or checksum"),
	PORT(tx_packets, "frames the link took"),
	PORT(tx_bytes, "bytes of those frames"),
	PORT(tx_errors, "requests refused: key, length or opcode"),
	PORT(tx_dropped, "frames the link refused for good"),
	PORT(tx_paused, "times the link held the sender back"),
	{ .name = NULL },
};

const struct gw__counter_row gw__rxq_rows[] = {
	RXQ(rx_packets, "packets taken from the completion queue"),
	RXQ(rx_bytes, "bytes of those packets"),
	RXQ(delivered_bursts, "raw bursts the application took"),
	RXQ(delivered_packets, "packets in them"),
	RXQ(no_free_bursts, "times the burst pool ran empty"),
	RXQ(in_flight, "packets taken and not yet placed, delivered or dropped"),
	RXQ(silence_ns, "longest wait for the sender at which a window was given up at its deadline"),
	{ .name = NULL },
};

const struct gw__counter_row gw__txq_rows[] = {
	TXQ(tx_packets, "packets submitted"),
	TXQ(tx_bytes, "bytes of those packets"),
	TXQ(tx_completions, "packets whose slot came back"),
	TXQ(in_flight, "packets submitted and not completed"),
	{ .name = NULL },
};

const struct gw__counter_row gw__plan_rows[] = {
	PLAN(windows, "windows handed over"),
	PLAN(windows_incomplete, "of those, with a hole"),
	PLAN(placed_packets, "packets placed in windows handed over or open"),
	PLAN(duplicate_packets, "packets whose place was taken already"),
	PLAN(late_packets, "packets of a window handed over before"),
	PLAN(stale_packets, "packets further back than the number can say"),
	PLAN(bad_packets, "packets with the number or the payload outside the frame"),
	PLAN(missing_packets, "holes in windows handed over"),
	PLAN(no_free_buffers, "times no output buffer was free"),
	PLAN(open_packets, "packets placed in windows still open"),
	PLAN(dropped_windows, "windows dropped for a hole (missing_action: drop)"),
	PLAN(dropped_packets, "packets in them"),
	{ .name = NULL },
};

const struct gw__counter_row *gw__counter_nth(size_t i)
{
	static const struct gw__counter_row *const all[] = { gw__port_rows, gw__rxq_rows,
							     gw__txq_rows, gw__plan_rows };

	for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
		for (const struct gw__counter_row *r = all[k]; r->name; r++)
			if (!i--)
				return r;
	return NULL;
}

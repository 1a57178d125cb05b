/* examples/01_receive.c: the smallest receiver: open a configuration, take bursts, count, give them back.
 *   01_receive CONFIG.yaml PORT [SECONDS]
 * It does not look into packets. Next: 02_resnet_tutorial.c; docs/walk.md follows one packet from here. */
#include <gpuwire/gpuwire.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int receive(struct gw *gw, const char *interface, double seconds)
{
	int port = gw_port_id(gw, interface), got = 0;
	uint64_t packets = 0, bytes = 0, wait_ns = (uint64_t)(seconds * 1e9);
	struct gw_burst burst;

	/* waits at most `seconds` for the next packet, then ends */
	while (port >= 0 && (got = gw_rx_wait(gw, (uint16_t)port, 0, wait_ns)) == 1) {
		while ((got = gw_rx_burst(gw, (uint16_t)port, 0, &burst)) == 1) {
			packets += burst.n_pkts;
			for (uint32_t i = 0; burst.len && i < burst.n_pkts; i++)
				bytes += burst.len[i];
			gw_burst_release(&burst); /* from here its memory is the library's again */
		}
	}
	printf("%" PRIu64 " packets, %" PRIu64 " bytes\n", packets, bytes);
	return port < 0 ? port : got;
}

int main(int argc, char **argv)
{
	struct gw_diag diag = { "" };
	struct gw_config *cfg = NULL;
	struct gw *gw = NULL;
	int err;

	if (argc < 3) {
		fprintf(stderr, "usage: %s CONFIG.yaml PORT [SECONDS]\n", argv[0]);
		return 64;
	}
	err = gw_config_load(argv[1], NULL, &cfg, &diag);
	if (!err)
		err = gw_open(cfg, &gw, &diag);
	if (!err)
		err = gw_start(gw, &diag);
	if (!err)
		err = receive(gw, argv[2], argc > 3 ? atof(argv[3]) : 5);
	if (err)
		fprintf(stderr, "%s: error %d %s\n", argv[0], err, diag.text);
	gw_close(gw);
	gw_config_free(cfg);
	return err ? 1 : 0;
}

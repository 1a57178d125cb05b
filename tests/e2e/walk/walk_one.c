/* Two packets make one tensor: sent, received, looked at, given back. For the debugger to follow. */
#include "rig.h"

int main(void)
{
	struct rig r = { .engine = "nic", .address = "cable:0", .ppb = 2, .batch = 2 };
	struct gw_config *cfg = rig_config(&r);
	struct gw_diag d = { "" };
	struct gw *gw = NULL;
	struct gw_burst b;

	T_NEED(!gw_open(cfg, &gw, &d));
	T_NEED(!gw_start(gw, &d));
	for (uint64_t n = 0; n < 2; n++)
		T_RC(rig_send(gw, &r, n, RIG_PORT), 1);
	T_NEED(gw_rx_wait(gw, 1, 0, 60000000000u) == 1);
	T_RC(gw_rx_burst(gw, 1, 0, &b), 1);
	gw_burst_release(&b);
	gw_close(gw);
	gw_config_free(cfg);
	T_DONE();
}

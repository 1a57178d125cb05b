/* What a daemon and its workers hear and see from those who mean harm, or are broken: a named error, and the
 * others go on. A well-behaved client runs throughout and is asked after each case. */
#include "group.h"
#include "raw.h"
#include "urom_graph.h"

static struct fixture fix;
static struct urom_session good;
static struct doca_urom_worker *good_worker;
static uint64_t graph_id;

static int n_back;

static void back(doca_error_t result, union doca_data cookie, uint64_t data)
{
	(void)cookie;
	n_back += result == DOCA_SUCCESS && data == 42;
}

/* The well-behaved client still works, and at once. */
static void others_unharmed(void)
{
	double t = now_s();

	n_back = 0;
	T_EQ(urom_graph_task_loopback(good_worker, (union doca_data){ .ptr = NULL }, 42, back), DOCA_SUCCESS);
	while (!n_back && now_s() < t + 5)
		doca_pe_progress(good.pe);
	T_EQ(n_back, 1);
	T_OK(now_s() < t + 2);
}

/* ---- at the daemon's door ---------------------------------------------------------------------------- */

static void says(const void *bytes, size_t len, int ms, const char *want)
{
	uint8_t buf[4096];
	int fd = raw_connect(fix.endpoint), n, status;

	T_NEED(fd >= 0);
	T_EQ(send(fd, bytes, len, MSG_NOSIGNAL), (long)len);
	n = raw_drain(fd, buf, sizeof(buf), ms);
	T_OK(n >= 0); /* the daemon ended it */
	if (n >= 0)
		T_HAS(raw_error(buf, n, &status), want);
	close(fd);
	others_unharmed();
}

static void door(void)
{
	uint8_t hdr[GW__UROM_HDR + 64];
	struct gw__frame f = { .type = GW__F_HELLO, .len = 10 };

	says("GET / HTTP/1.0\r\n\r\n                   ", 37, 1000, "not UROM frames"); /* wrong magic */
	f.major = 7;
	gw__frame_encode(hdr, &f);
	says(hdr, GW__UROM_HDR, 1000, "speaks UROM wire 7.x"); /* version skew, both named */
	f.major = 1;
	f.len = 5000000;
	gw__frame_encode(hdr, &f);
	says(hdr, GW__UROM_HDR, 1000, "over the limit"); /* oversized */
	f.len = 40;
	memset(hdr, 0xff, sizeof(hdr));
	gw__frame_encode(hdr, &f);
	says(hdr, GW__UROM_HDR + 40, 1000, "malformed HELLO");
	f.len = 1000;
	gw__frame_encode(hdr, &f);
	says(hdr, GW__UROM_HDR + 5, 3000, "took longer than 1 s"); /* truncated: never completed */
	f.type = GW__F_SPAWN;
	f.len = 0;
	gw__frame_encode(hdr, &f);
	says(hdr, GW__UROM_HDR, 1000, "before the greeting");
}

/* After a proper greeting: frames that a daemon does not take. */
static void inside(void)
{
	struct gw__frame odd = { .type = 200 }, optional = { .type = 201, .flags = GW__FL_OPTIONAL }, f;
	struct gw__frame junk = { .type = GW__F_SPAWN, .len = 11, .payload = (const uint8_t *)"hello world", .context = 5 };
	struct gw__dial d;
	struct gw_diag why;
	char text[300];

	T_NEED(raw_greet(&d, fix.endpoint, GW__ROLE_CTL, NULL, &why));
	T_RC(gw__chan_send(&d.chan, &optional), 0); /* skipped */
	T_RC(gw__chan_send(&d.chan, &junk), 0);
	T_EQ(raw_next(&d.chan, &f, 1000), 1);
	T_EQ(f.type, GW__F_ERROR);
	T_EQ(f.context, 5);
	T_RC(gw__chan_send(&d.chan, &odd), 0);
	T_EQ(raw_next(&d.chan, &f, 1000), 1);
	gw__error_text(&f, text, sizeof(text));
	T_HAS(text, "type 200");
	T_EQ(raw_next(&d.chan, &f, 1000), -ECONNRESET);
	gw__chan_fini(&d.chan);
	others_unharmed();
}

/* One byte at a time, for ever: ended at the deadline. */
static void slow_sender(void)
{
	uint8_t hdr[GW__UROM_HDR], buf[1024];
	struct gw__frame f = { .type = GW__F_HELLO, .len = 100 };
	int fd = raw_connect(fix.endpoint), status, n;
	double t = now_s();

	gw__frame_encode(hdr, &f);
	for (int i = 0; i < 20 && send(fd, hdr + i, 1, MSG_NOSIGNAL) == 1; i++)
		usleep(80000);
	n = raw_drain(fd, buf, sizeof(buf), 2000);
	T_OK(n >= 0 && now_s() - t < 3.5);
	T_HAS(raw_error(buf, n > 0 ? n : 0, &status), "longer than 1 s");
	close(fd);
	others_unharmed();
}

/* Hundreds of half-open connections do not keep a real host out. */
static void half_open(void)
{
	int fds[400];
	struct urom_session s;

	for (int i = 0; i < 400; i++)
		fds[i] = raw_connect(fix.endpoint);
	T_EQ(urom_session_open(&s, "mlx5_0", 2, 4096), DOCA_SUCCESS);
	urom_session_close(&s);
	others_unharmed();
	for (int i = 0; i < 400; i++)
		close(fds[i]);
}

/* ---- tickets ------------------------------------------------------------------------------------------ */

static void tickets(void)
{
	struct gw__dial d, host;
	struct gw_diag why;
	struct gw__frame f;
	uint8_t buf[64], ticket[16] = "guessed ticket";
	struct gw__tlv_w w = gw__tlv_writer(buf, sizeof(buf));
	struct gw__dial_opts o = { .role = GW__ROLE_JOIN, .max_msg = 4096, .worker = 0 };
	struct gw__ep ep;
	uint64_t id;

	doca_urom_worker_get_id(good_worker, &id);
	o.worker = id;
	memcpy(o.ticket, ticket, 16);
	T_RC(gw__ep_parse(fix.endpoint, &ep, NULL), 0);
	T_RC(gw__dial_start(&d, &ep, &o, &why), 0);
	T_OK(gw__dial_wait(&d, gw__now_ns(gw__clock_monotonic()) + 2000000000u, &why) < 0);
	T_HAS(why.text, "ticket");
	/* a real one, twice */
	T_NEED(raw_greet(&host, fix.endpoint, GW__ROLE_HOST, NULL, &why));
	gw__tlv_put_u64(&w, GW__T_WORKER, id);
	T_RC(gw__send_tlv(&host.chan, GW__F_SPAWN, 1, buf, w.len), 0);
	T_EQ(raw_next(&host.chan, &f, 2000), 1);
	T_NEED(f.type == GW__F_READY);
	T_RC(gw__tlv_find_copy(f.payload, f.len, GW__T_TICKET, o.ticket, 16), 0);
	T_RC(gw__dial_start(&d, &ep, &o, &why), 0);
	T_RC(gw__dial_wait(&d, gw__now_ns(gw__clock_monotonic()) + 2000000000u, &why), 0);
	gw__chan_fini(&d.chan);
	T_RC(gw__dial_start(&d, &ep, &o, &why), 0);
	T_OK(gw__dial_wait(&d, gw__now_ns(gw__clock_monotonic()) + 2000000000u, &why) < 0);
	T_HAS(why.text, "used");
	/* one of a host that has left */
	T_RC(gw__send_tlv(&host.chan, GW__F_SPAWN, 2, buf, w.len), 0);
	T_EQ(raw_next(&host.chan, &f, 2000), 1);
	T_RC(gw__tlv_find_copy(f.payload, f.len, GW__T_TICKET, o.ticket, 16), 0);
	gw__chan_fini(&host.chan);
	usleep(50000);
	T_RC(gw__dial_start(&d, &ep, &o, &why), 0);
	T_OK(gw__dial_wait(&d, gw__now_ns(gw__clock_monotonic()) + 2000000000u, &why) < 0);
	others_unharmed();
}

/* ---- at the worker ------------------------------------------------------------------------------------- */

/* A raw data channel to the good client's worker. */
static bool raw_worker(struct gw__dial *d, uint32_t inflight, uint64_t features)
{
	struct gw__dial host;
	struct gw_diag why;
	struct gw__frame f;
	uint8_t buf[64];
	struct gw__tlv_w w = gw__tlv_writer(buf, sizeof(buf));
	struct gw__dial_opts o = { .role = GW__ROLE_JOIN, .max_msg = 4096, .max_inflight = inflight,
				   .features = features };
	struct gw__ep ep;
	bool ok;

	doca_urom_worker_get_id(good_worker, &o.worker);
	if (!raw_greet(&host, fix.endpoint, GW__ROLE_HOST, NULL, &why))
		return false;
	gw__tlv_put_u64(&w, GW__T_WORKER, o.worker);
	gw__send_tlv(&host.chan, GW__F_SPAWN, 1, buf, w.len);
	if (raw_next(&host.chan, &f, 2000) != 1 || gw__tlv_find_copy(f.payload, f.len, GW__T_TICKET, o.ticket, 16))
		return false;
	ok = !gw__ep_parse(fix.endpoint, &ep, NULL) && !gw__dial_start(d, &ep, &o, &why) &&
	     !gw__dial_wait(d, gw__now_ns(gw__clock_monotonic()) + 2000000000u, &why);
	gw__chan_fini(&host.chan);
	return ok;
}

static void worker_says(const struct gw__frame *f, size_t cut, const char *want)
{
	uint8_t hdr[GW__UROM_HDR + 64] = { 0 }, buf[8192];
	struct gw__dial d;
	int n, status;

	T_NEED(raw_worker(&d, 8, 0));
	gw__frame_encode(hdr, f);
	T_OK(send(d.chan.fd, hdr, GW__UROM_HDR + cut, MSG_NOSIGNAL) > 0);
	n = raw_drain(d.chan.fd, buf, sizeof(buf), 8000);
	T_OK(n >= 0);
	if (n >= 0)
		T_HAS(raw_error(buf, n, &status), want);
	gw__chan_fini(&d.chan);
	others_unharmed();
}

static void at_worker(void)
{
	struct gw__frame f = { .type = GW__F_CMD, .len = 4096 };

	worker_says(&f, 0, "over the limit");
	f.len = 0;
	f.type = 150;
	worker_says(&f, 0, "unexpected");
	f.major = 3;
	worker_says(&f, 0, "wire 3.x");
}

/* Commands beyond what was agreed: refused one by one, then the client is ended. The others are not. */
static void command_flood(void)
{
	struct gw__frame cmd = { .type = GW__F_CMD, .plugin = (uint32_t)__builtin_ctzll(graph_id), .len = 3,
				 .payload = (const uint8_t *)"bad" }, f;
	struct gw__dial d;
	int n_told = 0, n;

	T_NEED(raw_worker(&d, 4, 0));
	/* an unknown plugin is an answer, not an end */
	cmd.plugin = 60;
	cmd.context = 77;
	T_RC(gw__chan_send(&d.chan, &cmd), 0);
	T_EQ(raw_next(&d.chan, &f, 2000), 1);
	T_EQ(f.status, DOCA_ERROR_NOT_FOUND);
	T_EQ(f.context, 77);
	cmd.plugin = (uint32_t)__builtin_ctzll(graph_id);
	for (int i = 0; i < 100000 && !gw__chan_send(&d.chan, &cmd); i++)
		if (i % 16 == 0)
			while ((n = gw__chan_recv(&d.chan, &f, 1)) > 0)
				n_told++;
	others_unharmed();
	T_OK(n_told > 0);
	gw__chan_fini(&d.chan);
}

/* A client that never reads: its queue is bounded, its worker serves the others. */
static void deaf_client(void)
{
	uint8_t payload[12] = { 1 };
	struct gw__frame cmd = { .type = GW__F_CMD, .plugin = (uint32_t)__builtin_ctzll(graph_id), .len = 12,
				 .payload = payload };
	struct gw__dial d;

	T_NEED(raw_worker(&d, 4096, 0));
	for (int i = 0; i < 60000; i++)
		if (gw__chan_send(&d.chan, &cmd))
			break;
	others_unharmed();
	gw__chan_fini(&d.chan);
	others_unharmed();
}

/* Memory offers that lie. */
static void bad_memory(void)
{
	for (int way = 0; way < 3; way++) {
		struct gw__dial d;
		struct gw__frame f = { .type = GW__F_MEM }, g;
		uint8_t buf[64];
		struct gw__tlv_w w = gw__tlv_writer(buf, sizeof(buf));
		int fd = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING);

		T_NEED(raw_worker(&d, 8, GW__FEAT_SHM));
		T_EQ(ftruncate(fd, 4096), 0);
		if (way) /* way 0: not sealed; 1: smaller than said; 2: no descriptor at all */
			fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
		gw__tlv_put_u64(&w, GW__T_SEG, 0);
		gw__tlv_put_u64(&w, GW__T_LENGTH, way == 1 ? 8192 : 4096);
		gw__tlv_put_u32(&w, GW__T_RIGHTS, 3);
		gw__tlv_put_u32(&w, GW__T_MODE, 1);
		if (way < 2)
			T_RC(gw__chan_send_fds(&d.chan, &f, &fd, 1), 0);
		f.payload = buf;
		f.len = (uint32_t)w.len;
		T_RC(gw__chan_send(&d.chan, &f), 0);
		T_OK(raw_next(&d.chan, &g, 3000) != 0); /* told, or ended */
		gw__chan_fini(&d.chan);
		close(fd);
		others_unharmed();
	}
}

int main(void)
{
	struct urom_worker_spec spec = { .id = 1 };
	uint64_t version;

	signal(SIGPIPE, SIG_IGN);
	T_NEED(fixture_start(&fix, NULL, NULL, NULL));
	setenv("DOCA_UROM_ENDPOINT", fix.endpoint, 1);
	T_NEED(urom_session_open(&good, "mlx5_0", 4, 4096) == DOCA_SUCCESS);
	T_NEED(urom_find_plugin(&good, "worker_graph", &graph_id, &version) == DOCA_SUCCESS);
	T_EQ(urom_graph_init(graph_id, version), DOCA_SUCCESS);
	spec.plugins = graph_id;
	T_NEED(urom_worker_open(good.service, good.pe, &spec, &good_worker) == DOCA_SUCCESS);
	door();
	inside();
	slow_sender();
	half_open();
	tickets();
	at_worker();
	command_flood();
	deaf_client();
	bad_memory();
	urom_worker_close(good.pe, good_worker);
	urom_session_close(&good);
	T_EQ(fixture_stop(&fix, SIGTERM), 0);
	fixture_clean(&fix);
	T_DONE();
}

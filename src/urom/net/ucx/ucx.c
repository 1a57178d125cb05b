/* urom_net/ucx/ucx.c: the only file that includes UCX. libucp is opened at run time, so that a program
 * which never names a ucx: endpoint does not load it (its start-up hooks signals and memory calls).
 * Must not know what frames mean. Next: chan.c. */
#include "urom_net/ucx.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <ucp/api/ucp.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "urom_net/auth.h"

#define AM_ID 0u
#define AM_HDR (GW__UCX_TOKEN + GW__UROM_HDR)
#define MAX_FLYING (4u << 20) /* bytes sent and not yet complete */
#define MAX_WAITING (8u << 20) /* bytes received and not yet read */

#define CALLS(X)                                                                                   \
	X(ucp_init_version) X(ucp_cleanup) X(ucp_config_read) X(ucp_config_modify) X(ucp_config_release) \
	X(ucp_worker_create) X(ucp_worker_destroy) X(ucp_worker_progress) X(ucp_worker_get_address)      \
	X(ucp_worker_release_address) X(ucp_worker_get_efd) X(ucp_worker_arm)                            \
	X(ucp_worker_set_am_recv_handler) X(ucp_ep_create) X(ucp_ep_close_nbx) X(ucp_am_send_nbx)        \
	X(ucp_request_check_status) X(ucp_request_free)

static struct {
#define FIELD(f) __typeof__(&f) f;
	CALLS(FIELD)
#undef FIELD
} ucp;

/* One context a process, shared by channels; made with the first, gone with the last. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ucp_context_h context;
static int n_users;
static void *library;

struct incoming {
	struct incoming *next;
	uint32_t len;
	uint8_t bytes[]; /* header, payload */
};

struct outgoing {
	struct gw__ucx_chan *u;
	size_t size;
	uint8_t bytes[]; /* token, header, payload */
};

struct gw__ucx_chan {
	ucp_worker_h worker;
	ucp_ep_h ep;
	ucp_address_t *addr;
	size_t addr_len;
	uint8_t token[GW__UCX_TOKEN];      /* ours: what arrives must carry it */
	uint8_t peer_token[GW__UCX_TOKEN];
	struct incoming *first, **last, *reading;
	size_t waiting, flying;
	int efd;
	int err;
};

static int load(struct gw_diag *diag)
{
	if (library)
		return 0;
	library = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return gw__fail(diag, -ENOTSUP, "ucx: %s; install libucx0, or use tcp: or unix:", dlerror());
#define LOAD(f)                                                                                    \
	*(void **)&ucp.f = dlsym(library, #f);                                                     \
	if (!ucp.f)                                                                                \
		return gw__fail(diag, -ENOTSUP, "ucx: libucp.so.0 has no %s", #f);
	CALLS(LOAD)
#undef LOAD
	return 0;
}

static int get_context(struct gw_diag *diag)
{
	ucp_params_t p = { .field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED,
			   .features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP, .mt_workers_shared = 1 };
	ucp_config_t *config;
	int err = 0;

	pthread_mutex_lock(&lock);
	if (!n_users) {
		err = load(diag);
		if (!err && ucp.ucp_config_read(NULL, NULL, &config) != UCS_OK)
			err = gw__fail(diag, -EINVAL, "ucx: the UCX_* variables do not parse");
		if (!err) {
			/* frames are at most 1 MiB: eager keeps them in order and whole */
			ucp.ucp_config_modify(config, "RNDV_THRESH", "inf");
			if (ucp.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &p, config, &context) != UCS_OK)
				err = gw__fail(diag, -ENODEV,
					       "ucx: no usable transport; see UCX_TLS and UCX_NET_DEVICES");
			ucp.ucp_config_release(config);
		}
	}
	if (!err)
		n_users++;
	pthread_mutex_unlock(&lock);
	return err;
}

static void put_context(void)
{
	pthread_mutex_lock(&lock);
	if (--n_users == 0)
		ucp.ucp_cleanup(context);
	pthread_mutex_unlock(&lock);
}

/* An active message: the token first, then keep header and payload until read. */
static ucs_status_t on_message(void *arg, const void *hdr, size_t hdr_len, void *data, size_t len,
			       const ucp_am_recv_param_t *param)
{
	struct gw__ucx_chan *u = arg;
	struct incoming *in;

	if (hdr_len != AM_HDR || !gw__secret_equal(hdr, u->token, GW__UCX_TOKEN))
		return UCS_OK; /* not from our peer: dropped */
	if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) || len > GW__UROM_MSG_MAX ||
	    u->waiting + len > MAX_WAITING) {
		u->err = -EPROTO;
		return UCS_OK;
	}
	in = gw__malloc(sizeof(*in) + GW__UROM_HDR + len);
	if (!in) {
		u->err = -ENOMEM;
		return UCS_OK;
	}
	in->next = NULL;
	in->len = (uint32_t)len;
	memcpy(in->bytes, (const uint8_t *)hdr + GW__UCX_TOKEN, GW__UROM_HDR);
	if (len)
		memcpy(in->bytes + GW__UROM_HDR, data, len);
	u->waiting += len;
	*u->last = in;
	u->last = &in->next;
	return UCS_OK;
}

static int make_worker(struct gw__ucx_chan *u)
{
	ucp_worker_params_t p = { .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
				  .thread_mode = UCS_THREAD_MODE_SINGLE };
	ucp_am_handler_param_t h = { .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
						   UCP_AM_HANDLER_PARAM_FIELD_ARG |
						   UCP_AM_HANDLER_PARAM_FIELD_FLAGS,
				     .id = AM_ID, .flags = UCP_AM_FLAG_WHOLE_MSG, .cb = on_message, .arg = u };

	if (ucp.ucp_worker_create(context, &p, &u->worker) != UCS_OK)
		return -ENODEV;
	if (ucp.ucp_worker_get_address(u->worker, &u->addr, &u->addr_len) != UCS_OK ||
	    u->addr_len > GW__UCX_ADDR_MAX || ucp.ucp_worker_get_efd(u->worker, &u->efd) != UCS_OK ||
	    ucp.ucp_worker_set_am_recv_handler(u->worker, &h) != UCS_OK)
		return -EIO;
	return gw__random(u->token, sizeof(u->token));
}

int gw__ucx_open(struct gw__ucx_chan **out, struct gw_diag *diag)
{
	struct gw__ucx_chan *u = gw__calloc(1, sizeof(*u));
	int err;

	if (!u)
		return gw__fail(diag, -ENOMEM, "ucx: out of memory");
	u->last = &u->first;
	u->efd = -1;
	err = get_context(diag);
	if (err) {
		gw__free(u);
		return err;
	}
	err = make_worker(u);
	if (err) {
		gw__ucx_close(u);
		return gw__fail(diag, err, "ucx: cannot make a worker; see UCX_TLS and UCX_NET_DEVICES");
	}
	*out = u;
	return 0;
}

void gw__ucx_close(struct gw__ucx_chan *u)
{
	ucp_request_param_t p = { .op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE };
	struct incoming *in;

	if (!u)
		return;
	if (u->ep) {
		ucs_status_ptr_t r;

		/* let what is in flight go, but never wait for a dead peer */
		for (int i = 0; i < 2000 && u->flying && !u->err; i++)
			ucp.ucp_worker_progress(u->worker);
		r = ucp.ucp_ep_close_nbx(u->ep, &p);
		for (int i = 0; UCS_PTR_IS_PTR(r) && i < 100000; i++) {
			if (ucp.ucp_request_check_status(r) != UCS_INPROGRESS)
				break;
			ucp.ucp_worker_progress(u->worker);
		}
		if (UCS_PTR_IS_PTR(r))
			ucp.ucp_request_free(r);
	}
	if (u->addr)
		ucp.ucp_worker_release_address(u->worker, u->addr);
	if (u->worker)
		ucp.ucp_worker_destroy(u->worker);
	put_context();
	while ((in = u->first)) {
		u->first = in->next;
		gw__free(in);
	}
	gw__free(u->reading);
	gw__free(u);
}

const void *gw__ucx_address(const struct gw__ucx_chan *u, size_t *len)
{
	*len = u->addr_len;
	return u->addr;
}

const uint8_t *gw__ucx_token(const struct gw__ucx_chan *u)
{
	return u->token;
}

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
	struct gw__ucx_chan *u = arg;

	(void)ep;
	(void)status;
	u->err = -ECONNRESET;
}

int gw__ucx_connect(struct gw__ucx_chan *u, const void *addr, size_t len, const uint8_t token[GW__UCX_TOKEN])
{
	ucp_ep_params_t p = { .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
					    UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
					    UCP_EP_PARAM_FIELD_ERR_HANDLER,
			      .address = addr, .err_mode = UCP_ERR_HANDLING_MODE_PEER,
			      .err_handler = { .cb = on_error, .arg = u } };

	(void)len;
	memcpy(u->peer_token, token, GW__UCX_TOKEN);
	if (ucp.ucp_ep_create(u->worker, &p, &u->ep) == UCS_OK)
		return 0;
	u->ep = NULL;
	/* shared-memory transports alone (UCX_TLS=posix) know no peer errors: the socket will tell */
	p.err_mode = UCP_ERR_HANDLING_MODE_NONE;
	if (ucp.ucp_ep_create(u->worker, &p, &u->ep) == UCS_OK)
		return 0;
	u->ep = NULL;
	return -EHOSTUNREACH;
}

static void on_sent(void *request, ucs_status_t status, void *arg)
{
	struct outgoing *o = arg;

	o->u->flying -= o->size;
	if (status != UCS_OK && !o->u->err)
		o->u->err = -ECONNRESET;
	gw__free(o);
	ucp.ucp_request_free(request);
}

int gw__ucx_send(struct gw__ucx_chan *u, const uint8_t hdr[GW__UROM_HDR], const void *payload, uint32_t len)
{
	struct outgoing *o;
	ucp_request_param_t p = { .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
						  UCP_OP_ATTR_FIELD_FLAGS,
				  .flags = UCP_AM_SEND_FLAG_EAGER, .cb.send = on_sent };
	ucs_status_ptr_t r;

	if (u->err)
		return -ECONNRESET;
	if (u->flying + len > MAX_FLYING) {
		ucp.ucp_worker_progress(u->worker);
		return -EAGAIN;
	}
	o = gw__malloc(sizeof(*o) + AM_HDR + len);
	if (!o)
		return -ENOMEM;
	o->u = u;
	o->size = AM_HDR + (size_t)len;
	memcpy(o->bytes, u->peer_token, GW__UCX_TOKEN);
	memcpy(o->bytes + GW__UCX_TOKEN, hdr, GW__UROM_HDR);
	if (len)
		memcpy(o->bytes + AM_HDR, payload, len);
	p.user_data = o;
	u->flying += o->size;
	r = ucp.ucp_am_send_nbx(u->ep, AM_ID, o->bytes, AM_HDR, o->bytes + AM_HDR, len, &p);
	if (UCS_PTR_IS_PTR(r))
		return 0;
	u->flying -= o->size;
	gw__free(o);
	return r == NULL ? 0 : -ECONNRESET;
}

int gw__ucx_recv(struct gw__ucx_chan *u, uint32_t max_msg, struct gw__frame *f)
{
	struct incoming *in = u->first;
	int err;

	if (!in) {
		ucp.ucp_worker_progress(u->worker);
		in = u->first;
	}
	if (!in)
		return u->err;
	u->first = in->next;
	if (!u->first)
		u->last = &u->first;
	u->waiting -= in->len;
	gw__free(u->reading);
	u->reading = in; /* the payload stays until the next call */
	err = gw__frame_decode(in->bytes, max_msg, f);
	if (err)
		return err;
	if (f->len != in->len)
		return -EPROTO;
	f->payload = in->bytes + GW__UROM_HDR;
	return 1;
}

bool gw__ucx_arm(struct gw__ucx_chan *u)
{
	if (u->first || u->err || ucp.ucp_worker_progress(u->worker) || u->first)
		return true;
	return ucp.ucp_worker_arm(u->worker) != UCS_OK; /* busy: events wait */
}

int gw__ucx_event_fd(const struct gw__ucx_chan *u)
{
	return u->efd;
}

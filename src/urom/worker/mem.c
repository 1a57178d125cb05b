/* urom_worker/mem.c: host memory as plugins reach it: mapped, or by messages to the host's library.
 * Must not know what plugins store there. Next: src/urom/host/mem.c.
 *
 * One-sided only where it is mapped; by messages it moves when the host calls doca_pe_progress(). */
#include <doca/doca_urom.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "urom_net/mem_op.h"
#include "urom_net/tlv.h"
#include "urom_worker/worker.h"

struct gw__w_memop {
	struct gw__w_memop *next;
	uint64_t context, dest;
	urom_mem_done_t done;
	void *arg;
	uint32_t kind, len;
};

/* The descriptor that came with MODE 1: sealed and of the size named, else SIGBUS could follow. */
static int map_seg(int fd, struct gw__w_seg *s)
{
	int seals = fcntl(fd, F_GET_SEALS), prot = PROT_READ | (s->rights & DOCA_UROM_MEM_WRITE ? PROT_WRITE : 0);
	struct stat st;

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st) || (uint64_t)st.st_size < s->len)
		return -EPROTO;
	s->map = gw__calloc(1, sizeof(*s->map));
	if (!s->map)
		return -ENOMEM;
	*s->map = (struct gw__w_map){ .len = s->len, .refs = 1, .addr = mmap(NULL, s->len, prot, MAP_SHARED, fd, 0) };
	if (s->map->addr != MAP_FAILED)
		return 0;
	gw__free(s->map);
	s->map = NULL;
	return -errno;
}

static void put_map(struct gw__w_map *map)
{
	if (--map->refs)
		return;
	munmap(map->addr, map->len);
	gw__free(map);
}

int gw__w_seg_add(struct gw__worker *w, struct gw__w_client *c, const struct gw__frame *f)
{
	struct gw__w_seg s = { .used = true };
	uint64_t seg, len;
	uint32_t mode = 0;
	int fd, err = 0;

	if (f->len == 0)
		return 0; /* the carrier of a descriptor; its words follow */
	if (gw__tlv_find_u64(f->payload, f->len, GW__T_SEG, &seg) ||
	    gw__tlv_find_u64(f->payload, f->len, GW__T_LENGTH, &len) ||
	    gw__tlv_find_u32(f->payload, f->len, GW__T_RIGHTS, &s.rights) || seg >= GW__W_SEGS ||
	    c->segs[seg].used || !len || len > (uint64_t)1 << 40)
		return -EPROTO;
	s.len = (size_t)len;
	(void)gw__tlv_find_u32(f->payload, f->len, GW__T_MODE, &mode);
	if (mode == 1) {
		struct gw__frame side;

		/* with a ring the words overtake nothing: the descriptor is in the socket already */
		if (!c->chan.n_fds && gw__chan_recv_side(&c->chan, &side) < 0)
			return -ECONNRESET;
		fd = gw__chan_take_fd(&c->chan);
		err = fd < 0 ? -EPROTO : map_seg(fd, &s);
		if (fd >= 0)
			close(fd);
	}
	if (!err)
		c->segs[seg] = s;
	return err;
}

static struct gw__w_seg *seg_of(struct urom_worker_ctx *ctx, uint64_t dest, uint64_t seg, struct gw__w_client **c)
{
	*c = gw__w_client(gw__w_plugin_of(ctx)->worker, dest);
	return *c && seg < GW__W_SEGS && (*c)->segs[seg].used ? &(*c)->segs[seg] : NULL;
}

static doca_error_t check(struct gw__w_seg *s, uint32_t right, uint64_t offset, size_t len)
{
	if (!s)
		return DOCA_ERROR_NOT_FOUND;
	if (!(s->rights & right))
		return DOCA_ERROR_NOT_PERMITTED;
	if (len > GW__MEM_CHUNK || offset > s->len || len > s->len - offset)
		return DOCA_ERROR_INVALID_VALUE;
	return DOCA_SUCCESS;
}

/* Ask the host's library; done when it answers. */
static doca_error_t send_op(struct urom_worker_ctx *ctx, struct gw__w_client *c, struct gw__mem_op *op,
			    const void *data, urom_mem_done_t done, void *arg)
{
	struct gw__worker *w = gw__w_plugin_of(ctx)->worker;
	uint32_t n = GW__MEM_OP_HDR + (op->op == GW__MEM_PUT ? op->len : 0);
	struct gw__w_memop *m = gw__malloc(sizeof(*m));
	uint8_t *buf = gw__malloc(n);
	struct gw__frame f = { .type = GW__F_MEM_OP, .payload = buf, .len = n };

	if (!m || !buf) {
		gw__free(m);
		gw__free(buf);
		return DOCA_ERROR_NO_MEMORY;
	}
	gw__mem_op_write(buf, op);
	if (op->op == GW__MEM_PUT)
		memcpy(buf + GW__MEM_OP_HDR, data, op->len);
	*m = (struct gw__w_memop){ .next = w->memops, .context = ++w->n_memops, .dest = c->dest, .done = done,
				   .arg = arg, .kind = op->op, .len = op->len };
	f.context = m->context;
	w->memops = m;
	if (gw__w_send(w, c, &f)) {
		w->memops = m->next;
		gw__free(m);
		gw__free(buf);
		return DOCA_ERROR_AGAIN;
	}
	gw__free(buf);
	return DOCA_SUCCESS;
}

static void end_op(struct gw__w_memop *m, doca_error_t status, const void *data, size_t len, uint64_t value)
{
	if (m->done)
		m->done(m->arg, status, data, len, value);
	gw__free(m);
}

void gw__w_mem_ack(struct gw__worker *w, struct gw__w_client *c, const struct gw__frame *f)
{
	struct gw__w_memop **at = &w->memops, *m;
	doca_error_t r = f->status < 0 ? DOCA_ERROR_UNKNOWN : (doca_error_t)f->status;
	uint64_t value = 0;

	while (*at && ((*at)->context != f->context || (*at)->dest != c->dest))
		at = &(*at)->next;
	m = *at;
	if (!m)
		return;
	*at = m->next;
	if (r == DOCA_SUCCESS && f->len != (m->kind == GW__MEM_GET ? m->len : m->kind == GW__MEM_FADD ? 8 : 0))
		r = DOCA_ERROR_UNEXPECTED;
	if (r == DOCA_SUCCESS && m->kind == GW__MEM_FADD)
		value = gw__get_le64(f->payload);
	end_op(m, r, f->payload, r == DOCA_SUCCESS && m->kind == GW__MEM_GET ? f->len : 0, value);
}

void gw__w_mem_client_gone(struct gw__worker *w, struct gw__w_client *c)
{
	struct gw__w_memop **at = &w->memops;

	while (*at) {
		struct gw__w_memop *m = *at;

		if (m->dest != c->dest) {
			at = &m->next;
			continue;
		}
		*at = m->next;
		end_op(m, DOCA_ERROR_CONNECTION_RESET, NULL, 0, 0);
		at = &w->memops; /* done() may have asked for more */
	}
	for (uint32_t i = 0; i < GW__W_SEGS; i++)
		if (c->segs[i].used && c->segs[i].map)
			put_map(c->segs[i].map);
	memset(c->segs, 0, sizeof(c->segs));
}

static doca_error_t info(struct urom_worker_ctx *ctx, uint64_t dest, uint64_t seg, void **addr, size_t *len,
			 uint32_t *rights)
{
	struct gw__w_client *c;
	struct gw__w_seg *s = seg_of(ctx, dest, seg, &c);

	if (!s)
		return DOCA_ERROR_NOT_FOUND;
	*addr = s->map ? s->map->addr : NULL;
	*len = s->len;
	*rights = s->rights;
	return DOCA_SUCCESS;
}

static void *hold(struct urom_worker_ctx *ctx, uint64_t dest, uint64_t seg, uint64_t offset, size_t len,
		  uint32_t rights, void **held)
{
	struct gw__w_client *c;
	struct gw__w_seg *s = seg_of(ctx, dest, seg, &c);

	if (!s || !s->map || (s->rights & rights) != rights || offset > s->len || len > s->len - offset)
		return NULL;
	s->map->refs++;
	*held = s->map;
	return (uint8_t *)s->map->addr + offset;
}

static void release(struct urom_worker_ctx *ctx, void *held)
{
	(void)ctx;
	if (held)
		put_map(held);
}

static doca_error_t put(struct urom_worker_ctx *ctx, uint64_t dest, uint64_t seg, uint64_t offset, const void *data,
			size_t len, urom_mem_done_t done, void *arg)
{
	struct gw__w_client *c;
	struct gw__w_seg *s = seg_of(ctx, dest, seg, &c);
	struct gw__mem_op op = { .op = GW__MEM_PUT, .len = (uint32_t)len, .seg = seg, .offset = offset };
	doca_error_t r = check(s, DOCA_UROM_MEM_WRITE, offset, len);

	if (r != DOCA_SUCCESS)
		return r;
	if (!s->map)
		return send_op(ctx, c, &op, data, done, arg);
	gw__mem_store((uint8_t *)s->map->addr + offset, data, len);
	if (done)
		done(arg, DOCA_SUCCESS, NULL, 0, 0);
	return DOCA_SUCCESS;
}

static doca_error_t get(struct urom_worker_ctx *ctx, uint64_t dest, uint64_t seg, uint64_t offset, size_t len,
			urom_mem_done_t done, void *arg)
{
	struct gw__w_client *c;
	struct gw__w_seg *s = seg_of(ctx, dest, seg, &c);
	struct gw__mem_op op = { .op = GW__MEM_GET, .len = (uint32_t)len, .seg = seg, .offset = offset };
	doca_error_t r = check(s, DOCA_UROM_MEM_READ, offset, len);

	if (r != DOCA_SUCCESS)
		return r;
	if (!s->map)
		return send_op(ctx, c, &op, NULL, done, arg);
	done(arg, DOCA_SUCCESS, (uint8_t *)s->map->addr + offset, len, 0);
	return DOCA_SUCCESS;
}

static doca_error_t fetch_add(struct urom_worker_ctx *ctx, uint64_t dest, uint64_t seg, uint64_t offset,
			      uint64_t value, urom_mem_done_t done, void *arg)
{
	struct gw__w_client *c;
	struct gw__w_seg *s = seg_of(ctx, dest, seg, &c);
	struct gw__mem_op op = { .op = GW__MEM_FADD, .seg = seg, .offset = offset, .value = value };
	doca_error_t r = check(s, DOCA_UROM_MEM_WRITE, offset, 8);

	if (r == DOCA_SUCCESS && (offset & 7))
		r = DOCA_ERROR_INVALID_VALUE;
	if (r != DOCA_SUCCESS)
		return r;
	if (!s->map)
		return send_op(ctx, c, &op, NULL, done, arg);
	/* the host polls the word with atomics of its own */
	value = atomic_fetch_add_explicit((_Atomic uint64_t *)(void *)((uint8_t *)s->map->addr + offset), value,
					  memory_order_seq_cst);
	done(arg, DOCA_SUCCESS, NULL, 0, value);
	return DOCA_SUCCESS;
}

const struct urom_worker_mem_iface gw__w_mem_iface = { 
	.info = info,
	.hold = hold,
	.release = release,
	.put = put,
	.get = get,
	.fetch_add = fetch_add,
};

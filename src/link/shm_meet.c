/* link/shm_meet.c: two processes find each other by name and share one sealed memory file and their events.
 * The first one listens, the second connects; both must belong to one user. Must not know frames.
 * Next: shm.c. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "base/log.h"
#include "link/shm.h"

#define PAGE 4096u
#define FILE_BYTES (PAGE + 2ull * SHM_RING)
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
static_assert(sizeof(struct shm_page) <= PAGE, "the head fits its page");

struct hello {
	uint32_t magic, version, ring;
};

/* ---- messages with one descriptor ------------------------------------------------------------------- */

static int send_fd(int sock, const void *data, size_t n, int fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} c;
	struct iovec iov = { .iov_base = (void *)(uintptr_t)data, .iov_len = n };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = c.buf, .msg_controllen = sizeof(c.buf) };
	struct cmsghdr *h;

	memset(&c, 0, sizeof(c));
	h = CMSG_FIRSTHDR(&m);
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &fd, sizeof(int));
	return sendmsg(sock, &m, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)n ? 0 : -errno;
}

/* 1 got it (*fd may be -1), 0 nothing there, negative errno. */
static int recv_fd(int sock, void *data, size_t n, int *fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} c;
	struct iovec iov = { .iov_base = data, .iov_len = n };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = c.buf, .msg_controllen = sizeof(c.buf) };
	ssize_t got = recvmsg(sock, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *h;

	*fd = -1;
	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	h = CMSG_FIRSTHDR(&m);
	if (h && h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS && h->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(h), sizeof(int));
	if ((size_t)got == n)
		return 1;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return got ? -EPROTO : -EPIPE;
}

/* ---- the shared file ---------------------------------------------------------------------------------- */

/* One ring twice in a row. */
static uint8_t *map_ring(int fd, off_t at)
{
	uint8_t *p = mmap(NULL, 2ul * SHM_RING, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	for (int i = 0; i < 2; i++) {
		if (mmap(p + (size_t)i * SHM_RING, SHM_RING, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			 at) == MAP_FAILED) {
			munmap(p, 2ul * SHM_RING);
			return NULL;
		}
	}
	return p;
}

static int map_all(struct shm *s, int fd)
{
	uint8_t *ring[2] = { map_ring(fd, PAGE), map_ring(fd, PAGE + (off_t)SHM_RING) };
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	s->tx_ring = ring[s->side];
	s->rx_ring = ring[!s->side];
	s->page = page == MAP_FAILED ? NULL : page;
	return s->page && ring[0] && ring[1] ? 0 : -ENOMEM;
}

static int make_file(void)
{
	int fd = memfd_create("gpuwire-shm", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)FILE_BYTES) || fcntl(fd, F_ADD_SEALS, SEALS)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

/* A file that could shrink would kill us with SIGBUS. */
static bool file_ok(int fd)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & F_SEAL_SHRINK) && !fstat(fd, &st) && st.st_size == (off_t)FILE_BYTES;
}

/* ---- meeting -------------------------------------------------------------------------------------------- */

static bool same_user(int sock)
{
	struct ucred c;
	socklen_t n = sizeof(c);

	return !getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &c, &n) && c.uid == geteuid();
}

static void up(struct shm *s)
{
	gw__shm_offer_events(s);
	atomic_store_explicit(&s->state, SHM_UP, memory_order_release);
	gw__info("shm:%s: connected", s->name);
}

static void fail(struct shm *s, const char *why)
{
	gw__warn("shm:%s: %s", s->name, why);
	if (s->page) /* half mapped is as good as dead; nobody saw it up */
		atomic_store_explicit(&s->state, SHM_DEAD, memory_order_release);
	if (s->sock >= 0)
		close(s->sock);
	s->sock = -1;
}

static void meet_listening(struct shm *s)
{
	struct hello h = { .magic = SHM_MAGIC, .version = SHM_VERSION, .ring = SHM_RING };
	int fd, err;

	s->sock = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (s->sock < 0)
		return;
	if (!same_user(s->sock)) {
		fail(s, "refused a peer of another user");
		return;
	}
	fd = make_file();
	err = fd < 0 ? fd : map_all(s, fd);
	if (!err)
		err = send_fd(s->sock, &h, sizeof(h), fd);
	if (fd >= 0)
		close(fd);
	if (err) {
		fail(s, "could not share memory with the peer");
		return;
	}
	close(s->listener); /* a third one finds nobody */
	s->listener = -1;
	if (s->path)
		unlink(s->path);
	up(s);
}

static void meet_connecting(struct shm *s)
{
	struct hello h;
	int fd, r;

	if (s->sock < 0)
		return;
	r = recv_fd(s->sock, &h, sizeof(h), &fd);
	if (!r)
		return;
	if (r < 0 || fd < 0 || h.magic != SHM_MAGIC || h.version != SHM_VERSION || h.ring != SHM_RING ||
	    !file_ok(fd) || !same_user(s->sock) || map_all(s, fd)) {
		fail(s, r == -EPIPE ? "the peer went away before it shared its memory" :
				      "the peer speaks another version, or its memory cannot be mapped");
		atomic_store_explicit(&s->state, SHM_DEAD, memory_order_release);
	} else {
		up(s);
	}
	if (fd >= 0)
		close(fd);
}

bool gw__shm_meet(struct shm *s)
{
	int state;

	if (pthread_mutex_trylock(&s->lock))
		return false;
	state = atomic_load_explicit(&s->state, memory_order_relaxed);
	if (state == SHM_LISTENING)
		meet_listening(s);
	else if (state == SHM_CONNECTING)
		meet_connecting(s);
	state = atomic_load_explicit(&s->state, memory_order_relaxed);
	pthread_mutex_unlock(&s->lock);
	return state >= SHM_UP;
}

void gw__shm_offer_events(struct shm *s)
{
	while (s->n_offered < s->n_own_fds && !send_fd(s->sock, "E", 1, s->own_fd[s->n_offered]))
		s->n_offered++;
	atomic_store_explicit(&s->page->n_events[s->side], s->n_offered, memory_order_release);
}

/* Only an eventfd will do: a write to anything else could block or kill. */
static bool is_eventfd(int fd)
{
	char link[64], target[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, target, sizeof(target) - 1);
	if (n < 0)
		return false;
	target[n] = 0;
	return !strcmp(target, "anon_inode:[eventfd]") && !fcntl(fd, F_SETFL, O_NONBLOCK);
}

void gw__shm_take_events(struct shm *s)
{
	uint32_t offered = atomic_load_explicit(&s->page->n_events[!s->side], memory_order_acquire);
	char c;
	int fd;

	while (s->n_peer_fds < offered && s->n_peer_fds < SHM_MAX_EVENTS && recv_fd(s->sock, &c, 1, &fd) == 1) {
		if (fd >= 0 && !is_eventfd(fd)) {
			close(fd);
			fd = -1;
		}
		if (fd >= 0)
			s->peer_fd[s->n_peer_fds++] = fd;
	}
}

/* ---- open and close ------------------------------------------------------------------------------------- */

void gw__shm_part(struct shm *s)
{
	if (s->path && s->listener >= 0)
		unlink(s->path);
	if (s->listener >= 0)
		close(s->listener);
	if (s->sock >= 0)
		close(s->sock);
	for (uint32_t i = 0; i < s->n_peer_fds; i++)
		close(s->peer_fd[i]);
	if (s->tx_ring)
		munmap(s->tx_ring, 2ul * SHM_RING);
	if (s->rx_ring)
		munmap(s->rx_ring, 2ul * SHM_RING);
	if (s->page)
		munmap(s->page, PAGE);
	pthread_mutex_destroy(&s->lock);
	gw__free(s->path);
	gw__free(s->name);
	gw__free(s);
}

/* NAME with a slash is a path in the file system; else a name only this machine and user know. */
static int address_of(const char *name, struct sockaddr_un *a, socklen_t *n)
{
	int k;

	memset(a, 0, sizeof(*a));
	a->sun_family = AF_UNIX;
	if (strchr(name, '/'))
		k = snprintf(a->sun_path, sizeof(a->sun_path), "%s", name);
	else
		k = snprintf(a->sun_path + 1, sizeof(a->sun_path) - 1, "gpuwire/shm/%u/%s", geteuid(), name);
	if (k <= 0 || (size_t)k >= sizeof(a->sun_path) - 1)
		return -ENAMETOOLONG;
	*n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)k);
	return 0;
}

static int new_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

/* Connect if somebody listens, else listen. */
static int connect_or_listen(struct shm *s, const struct sockaddr_un *a, socklen_t n)
{
	for (int tries = 0; tries < 8; tries++) {
		int fd = new_socket();

		if (fd < 0)
			return fd;
		if (!connect(fd, (const struct sockaddr *)a, n)) {
			s->sock = fd;
			s->side = 1;
			atomic_init(&s->state, SHM_CONNECTING);
			return 0;
		}
		if (errno != ECONNREFUSED && errno != ENOENT) {
			int err = -errno;

			close(fd);
			return err == -EAGAIN ? -EBUSY : err;
		}
		if (s->path && errno == ECONNREFUSED) { /* left by a process that died, if it is ours to remove */
			struct stat st;

			if (!lstat(s->path, &st) && !S_ISSOCK(st.st_mode)) {
				close(fd);
				return -ENOTSOCK;
			}
			unlink(s->path);
		}
		if (!bind(fd, (const struct sockaddr *)a, n) && !listen(fd, 1)) {
			s->listener = fd;
			atomic_init(&s->state, SHM_LISTENING);
			return 0;
		}
		close(fd); /* somebody was quicker: connect to it */
	}
	return -EADDRINUSE;
}

int gw__shm_open(const char *name, struct gw__clock *clock, struct gw__link **out, struct gw_diag *diag)
{
	struct sockaddr_un a;
	socklen_t n;
	struct shm *s;
	int err = *name ? address_of(name, &a, &n) : -EINVAL;

	if (err)
		return gw__fail(diag, err, "address \"shm:%s\": write shm:NAME, at most 80 characters", name);
	s = gw__calloc(1, sizeof(*s));
	if (!s)
		return gw__fail(diag, -ENOMEM, "no memory for shm:%s", name);
	pthread_mutex_init(&s->lock, NULL);
	s->sock = s->listener = -1;
	s->link.ops = &gw__shm_ops;
	s->link.clock = clock;
	s->link.mtu = GW_LINK_MTU;
	s->link.can_pause = true;
	s->name = gw__strdup(name);
	s->path = strchr(name, '/') ? gw__strdup(name) : NULL;
	if (!s->name || (strchr(name, '/') && !s->path))
		err = gw__fail(diag, -ENOMEM, "no memory for shm:%s", name);
	if (!err) {
		err = connect_or_listen(s, &a, n);
		if (err)
			gw__fail(diag, err, "shm:%s: cannot meet a peer there (%s)", name, strerror(-err));
	}
	if (err) {
		gw__shm_part(s);
		return err;
	}
	*out = &s->link;
	return 0;
}

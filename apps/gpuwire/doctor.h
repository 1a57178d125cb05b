/* apps/gpuwire/doctor.h: findings, and reading a machine's files below a root that a test may have made.
 * Must not know any check. Next: cmd_doctor.c prints, doctor_*.c look. */
#ifndef GW_APP_DOCTOR_H
#define GW_APP_DOCTOR_H

#include <gpuwire/common.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum finding_status {
	FIND_OK,   /* as it should be */
	FIND_NOTE, /* something else is possible; nothing is wrong */
	FIND_WARN, /* works, slower or with less */
	FIND_BAD,  /* what was asked for cannot work */
};

struct doctor {
	const char *root; /* "" for the machine itself; no slash at its end */
	struct finding *finding;
	size_t n, room;
	uint32_t n_gpu, n_rdma; /* counted by doctor_pci() */
};

struct finding {
	enum finding_status status;
	const char *topic; /* static */
	char text[320];
	char fix[320]; /* a command line; "" = none */
};

/* Add a finding: text may be a format. The fix of the last finding is set apart, so that each is one sentence. */
void doctor_find(struct doctor *d, enum finding_status status, const char *topic, const char *format, ...)
	GW_PRINTF(4, 5);
void doctor_fix(struct doctor *d, const char *format, ...) GW_PRINTF(2, 3);

/* ---- doctor_read.c: all paths are absolute, as on the machine itself ----------------------------- */

/* First n - 1 bytes of a file, white space at the end cut off. Length, or -1 and an empty string. */
int sys_text(const struct doctor *d, char *buf, size_t n, const char *path, ...) GW_PRINTF(4, 5);
/* The bytes as they are. */
int sys_bytes(const struct doctor *d, void *buf, size_t n, const char *path, ...) GW_PRINTF(4, 5);
/* A number (0x too); other if absent. */
long long sys_number(const struct doctor *d, long long other, const char *path, ...) GW_PRINTF(3, 4);
bool sys_exists(const struct doctor *d, const char *path, ...) GW_PRINTF(2, 3);
/* Last part of where a link points to; "" if there is none. */
void sys_link(const struct doctor *d, char *buf, size_t n, const char *path, ...) GW_PRINTF(4, 5);
/* The whole of it, with every link followed, root cut off; "" if there is none. */
void sys_real(const struct doctor *d, char *buf, size_t n, const char *path, ...) GW_PRINTF(4, 5);
/* "0-3,7" -> 5. */
uint32_t sys_count_list(const char *list);
/* Call fn for each match, sorted, with the path below root. */
void sys_glob(struct doctor *d, const char *pattern, void (*fn)(struct doctor *d, const char *path));
/* A line "key value" of a /proc file, without the key; "" if absent. */
void sys_line(const struct doctor *d, char *buf, size_t n, const char *path, const char *key);

/* ---- the checks, in the order in which they are printed ------------------------------------------ */

void doctor_gpuwire(struct doctor *d);
void doctor_cpu(struct doctor *d);
void doctor_memory(struct doctor *d);
void doctor_net(struct doctor *d);
void doctor_pci(struct doctor *d);
void doctor_driver(struct doctor *d);

#endif

/* apps/gpuwire/doctor_read.c: files, links and lists below a root. Must not know any check. Next: doctor.h. */
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"

#define PATH_OF(path, d, format)                                                                             \
	char path[PATH_MAX];                                                                                 \
	do {                                                                                                 \
		va_list ap_;                                                                                 \
		size_t n_ = (size_t)snprintf(path, sizeof(path), "%s", (d)->root);                           \
		va_start(ap_, format);                                                                       \
		if (n_ < sizeof(path))                                                                       \
			vsnprintf(path + n_, sizeof(path) - n_, format, ap_);                                \
		va_end(ap_);                                                                                 \
	} while (0)

static int read_file(const char *path, void *buf, size_t n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t got = 0;
	ssize_t r;

	if (fd < 0)
		return -1;
	while (got < n && (r = read(fd, (char *)buf + got, n - got)) > 0)
		got += (size_t)r;
	close(fd);
	return (int)got;
}

static int read_text(const char *path, char *buf, size_t n)
{
	int got = read_file(path, buf, n - 1);

	buf[got < 0 ? 0 : got] = '\0';
	while (got > 0 && strchr(" \t\n", buf[got - 1]))
		buf[--got] = '\0';
	return got;
}

int sys_text(const struct doctor *d, char *buf, size_t n, const char *format, ...)
{
	PATH_OF(path, d, format);
	return read_text(path, buf, n);
}

int sys_bytes(const struct doctor *d, void *buf, size_t n, const char *format, ...)
{
	PATH_OF(path, d, format);
	return read_file(path, buf, n);
}

long long sys_number(const struct doctor *d, long long other, const char *format, ...)
{
	char text[64], *end;
	long long v;

	PATH_OF(path, d, format);
	if (read_text(path, text, sizeof(text)) <= 0)
		return other;
	v = strtoll(text, &end, 0);
	return end == text ? other : v;
}

bool sys_exists(const struct doctor *d, const char *format, ...)
{
	PATH_OF(path, d, format);
	return !access(path, F_OK);
}

void sys_link(const struct doctor *d, char *buf, size_t n, const char *format, ...)
{
	char to[PATH_MAX];
	ssize_t got;

	PATH_OF(path, d, format);
	got = readlink(path, to, sizeof(to) - 1);
	to[got > 0 ? got : 0] = '\0';
	snprintf(buf, n, "%s", strrchr(to, '/') ? strrchr(to, '/') + 1 : to);
}

void sys_real(const struct doctor *d, char *buf, size_t n, const char *format, ...)
{
	char root[PATH_MAX] = "", to[PATH_MAX];
	size_t cut;

	PATH_OF(path, d, format);
	buf[0] = '\0';
	if (*d->root && !realpath(d->root, root))
		return;
	cut = strlen(root);
	if (realpath(path, to) && !strncmp(to, root, cut))
		snprintf(buf, n, "%s", to + cut);
}

uint32_t sys_count_list(const char *list)
{
	uint32_t n = 0;

	while (*list) {
		char *end;
		unsigned long a = strtoul(list, &end, 10), b = a;

		if (end == list)
			break;
		if (*end == '-')
			b = strtoul(end + 1, &end, 10);
		n += b >= a ? (uint32_t)(b - a + 1) : 0;
		list = *end == ',' ? end + 1 : end;
	}
	return n;
}

void sys_glob(struct doctor *d, const char *pattern, void (*fn)(struct doctor *d, const char *path))
{
	char full[PATH_MAX];
	glob_t g;

	snprintf(full, sizeof(full), "%s%s", d->root, pattern);
	if (glob(full, 0, NULL, &g))
		return;
	for (size_t i = 0; i < g.gl_pathc; i++)
		fn(d, g.gl_pathv[i] + strlen(d->root));
	globfree(&g);
}

void sys_line(const struct doctor *d, char *buf, size_t n, const char *path, const char *key)
{
	char full[PATH_MAX], line[1024];
	FILE *f;

	buf[0] = '\0';
	snprintf(full, sizeof(full), "%s%s", d->root, path);
	f = fopen(full, "re");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key))) {
			const char *v = line + strlen(key);

			v += strspn(v, " \t");
			snprintf(buf, n, "%.*s", (int)strcspn(v, "\n"), v);
			break;
		}
	fclose(f);
}

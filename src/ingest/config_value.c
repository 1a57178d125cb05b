/* ingest/config_value.c: one scalar's text to one value, strictly. It must not know keys or bounds.
 * Never strtoul: it takes signs, spaces, octal and silently wraps. Next: config_check.c. */
#include "ingest/config_value.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int gw__parse_u64(const char *s, uint64_t *out)
{
	unsigned base = 10;
	uint64_t v = 0;

	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
		base = 16;
		s += 2;
	} else if (s[0] == '0' && s[1]) {
		return -EINVAL;
	}
	if (!*s)
		return -EINVAL;
	for (const char *p = s; *p; p++)
		if (hex_digit(*p) < 0 || hex_digit(*p) >= (int)base)
			return -EINVAL;
	for (; *s; s++) {
		uint64_t d = (uint64_t)hex_digit(*s);

		if (v > (UINT64_MAX - d) / base)
			return -ERANGE;
		v = v * base + d;
	}
	*out = v;
	return 0;
}

int gw__parse_i64(const char *s, int64_t *out)
{
	bool neg = *s == '-';
	uint64_t v;
	int r = gw__parse_u64(s + neg, &v);

	if (r)
		return r;
	if (v > (uint64_t)INT64_MAX + neg)
		return -ERANGE;
	*out = neg ? (v ? -(int64_t)(v - 1) - 1 : 0) : (int64_t)v;
	return 0;
}

int gw__parse_bool(const char *s, bool *out)
{
	if (!strcasecmp(s, "true") || !strcasecmp(s, "yes"))
		*out = true;
	else if (!strcasecmp(s, "false") || !strcasecmp(s, "no"))
		*out = false;
	else
		return -EINVAL;
	return 0;
}

int gw__parse_mac(const char *s, uint8_t out[6])
{
	uint8_t mac[6];

	if (strlen(s) != 17)
		return -EINVAL;
	for (int i = 0; i < 6; i++) {
		int hi = hex_digit(s[3 * i]), lo = hex_digit(s[3 * i + 1]);
		char sep = s[3 * i + 2];

		if (hi < 0 || lo < 0 ||
		    (i < 5 ? sep != s[2] || (sep != ':' && sep != '-') : sep != '\0'))
			return -EINVAL;
		mac[i] = (uint8_t)(hi << 4 | lo);
	}
	memcpy(out, mac, 6);
	return 0;
}

int gw__parse_ipv4(const char *s, uint8_t out[4])
{
	uint8_t ip[4];

	for (int i = 0; i < 4; i++) {
		int v = 0, n = 0;

		for (; isdigit((unsigned char)*s) && n < 3; n++)
			v = v * 10 + *s++ - '0';
		if (!n || v > 255 || *s != (i < 3 ? '.' : '\0'))
			return -EINVAL;
		s += i < 3;
		ip[i] = (uint8_t)v;
	}
	memcpy(out, ip, 4);
	return 0;
}

int gw__parse_ipv6(const char *s, uint8_t out[16])
{
	return inet_pton(AF_INET6, s, out) == 1 ? 0 : -EINVAL;
}

static int parse_port(const char *s, size_t n, uint16_t *out)
{
	char buf[8];
	uint64_t v;
	int r;

	if (n >= sizeof(buf))
		return -ERANGE;
	memcpy(buf, s, n);
	buf[n] = '\0';
	r = gw__parse_u64(buf, &v);
	if (r)
		return r;
	if (v > 65535)
		return -ERANGE;
	*out = (uint16_t)v;
	return 0;
}

int gw__parse_ports(const char *s, uint16_t *lo, uint16_t *hi)
{
	const char *dash = strchr(s, '-');
	uint16_t a, b;
	int r = parse_port(s, dash ? (size_t)(dash - s) : strlen(s), &a);

	b = a;
	if (!r && dash)
		r = parse_port(dash + 1, strlen(dash + 1), &b);
	if (r)
		return r;
	if (a > b)
		return -EDOM;
	*lo = a;
	*hi = b;
	return 0;
}

bool gw__is_bdf(const char *s)
{
	static const char shape[] = "hhhh:hh:hh.o"; /* h hexadecimal, o 0..7 */

	for (const char *p = shape; *p; p++, s++) {
		if (*p == 'h' ? hex_digit(*s) < 0 : *p == 'o' ? *s < '0' || *s > '7' : *s != *p)
			return false;
	}
	return !*s;
}

bool gw__is_placeholder(const char *s)
{
	size_t n = strlen(s);

	return n > 2 && s[0] == '<' && s[n - 1] == '>';
}

void gw__number_fix(const char *s, char *buf, size_t n)
{
	char *end;
	double d;
	int len = 0;

	buf[0] = '\0';
	while (*s == '0' && isdigit((unsigned char)s[1]))
		s++;
	if (strlen(s) > 20 || !isdigit((unsigned char)*s) || (s[0] == '0' && (s[1] | 0x20) == 'x'))
		return;
	d = strtod(s, &end);
	if (!*end && d >= 0 && d < 1e15) {
		snprintf(buf, n, "%.0f", floor(d));
		return;
	}
	while (isdigit((unsigned char)s[len]))
		len++;
	snprintf(buf, n, "%.*s", len, s);
}

int gw__edit_distance(const char *a, const char *b, int limit)
{
	size_t la = strlen(a), lb = strlen(b);
	int row[64], prev, cur;

	if (la >= 64 || lb >= 64)
		return limit;
	for (size_t j = 0; j <= lb; j++)
		row[j] = (int)j;
	for (size_t i = 1; i <= la; i++) {
		prev = row[0];
		row[0] = (int)i;
		for (size_t j = 1; j <= lb; j++) {
			cur = row[j];
			row[j] = prev + (tolower((unsigned char)a[i - 1]) !=
					 tolower((unsigned char)b[j - 1]));
			if (cur + 1 < row[j])
				row[j] = cur + 1;
			if (row[j - 1] + 1 < row[j])
				row[j] = row[j - 1] + 1;
			prev = cur;
		}
	}
	return row[lb] < limit ? row[lb] : limit;
}

/* ingest/config_value.h: strict readings of one scalar's text. Pure functions; they know no key.
 * Returns everywhere: 0, -EINVAL (not such a value), -ERANGE (too big for the type).
 * Next: config_check.c, which adds the bounds and the sentence. */
#ifndef GW_INGEST_CONFIG_VALUE_H
#define GW_INGEST_CONFIG_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decimal without leading zeros, or 0x hexadecimal; nothing before or after. */
int gw__parse_u64(const char *s, uint64_t *out);
int gw__parse_i64(const char *s, int64_t *out);
int gw__parse_bool(const char *s, bool *out); /* yes no true false, any case */
int gw__parse_mac(const char *s, uint8_t out[6]);
int gw__parse_ipv4(const char *s,
		   uint8_t out[4]); /* 000.000.000.0 too: zeros never mean octal here */
int gw__parse_ipv6(const char *s, uint8_t out[16]);
/* "4096" or "1000-1010", both ends 0..65535. -EDOM: the ends are reversed. */
int gw__parse_ports(const char *s, uint16_t *lo, uint16_t *hi);
bool gw__is_bdf(const char *s);         /* dddd:bb:dd.f */
bool gw__is_placeholder(const char *s); /* <anything> */
/* What the writer of a bad number probably meant ("08" 8, "1e3" 1000, "12x" 12), or "" */
void gw__number_fix(const char *s, char *buf, size_t n);
/* Edit distance, at most `limit`. */
int gw__edit_distance(const char *a, const char *b, int limit);

#endif

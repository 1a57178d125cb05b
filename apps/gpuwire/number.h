/* apps/gpuwire/number.h: a whole number from the command line, in bounds or refused with both bounds said. */
#ifndef GW_APP_NUMBER_H
#define GW_APP_NUMBER_H

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

/* Decimal or 0x hexadecimal. Does not return when refused: argp_error() ends the process with 64. */
static inline uint64_t number_arg(struct argp_state *state, const char *option, const char *text, uint64_t min,
				  uint64_t max)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(text, &end, 0);
	if (!isdigit((unsigned char)text[0]) || *end || errno || v < min || v > max)
		argp_error(state, "%s %s: a whole number from %llu to %llu is needed", option, text,
			   (unsigned long long)min, (unsigned long long)max);
	return v;
}

#endif

/* apps/gpuwire/json.h: one string as JSON, quotes and all. Must not know what is written. */
#ifndef GW_APP_JSON_H
#define GW_APP_JSON_H

#include <stdio.h>

static inline void json_string(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < 0x20)
			fprintf(out, "\\u%04x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

#endif

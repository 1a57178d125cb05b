/* base/diag.c: one sentence about a refusal. Must not log: whoever decides the error logs once. */
#include "base/diag.h"

#include <stdarg.h>
#include <stdio.h>

int gw__fail(struct gw_diag *diag, int err, const char *fmt, ...)
{
	va_list ap;

	if (!diag)
		return err;
	va_start(ap, fmt);
	vsnprintf(diag->text, sizeof(diag->text), fmt, ap);
	va_end(ap);
	return err;
}

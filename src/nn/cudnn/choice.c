/* nn/cudnn/choice.c: lines "choice<TAB>microseconds<TAB>key". Must not know cuDNN. Next: conv.c. */
#include "nn/cudnn/choice.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

int gw__choice_get(const char *path, const char *key, int n)
{
	char line[512];
	int found = -1;
	FILE *f = path ? fopen(path, "re") : NULL;

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		char *end, *tab = strchr(line, '\t');
		long v;

		tab = tab ? strchr(tab + 1, '\t') : NULL;
		if (!tab)
			continue;
		tab[1 + strcspn(tab + 1, "\n")] = '\0';
		v = strtol(line, &end, 10);
		if (*end == '\t' && v >= 0 && v < n && !strcmp(tab + 1, key))
			found = (int)v;
	}
	fclose(f);
	return found;
}

void gw__choice_put(const char *path, const char *key, int choice, double us)
{
	FILE *f = path ? fopen(path, "ae") : NULL;

	if (!f) {
		if (path)
			gw__warn("%s: the engine choice cannot be kept: %s", path, strerror(errno));
		return;
	}
	fprintf(f, "%d\t%.2f\t%s\n", choice, us, key);
	fclose(f);
}

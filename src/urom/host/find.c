/* urom/find.c: which daemon serves a device: override, environment, service file, default.
 * Must not connect. Next: service.c. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/diag.h"
#include "doca/dev.h"
#include "urom/host.h"

/* Split at blanks, in place; at most n words. */
static int words(char *line, char **out, int n)
{
	int k = 0;

	for (char *p = line; k < n;) {
		p += strspn(p, " \t\r\n");
		if (!*p || *p == '#')
			break;
		out[k++] = p;
		p += strcspn(p, " \t\r\n");
		if (*p)
			*p++ = '\0';
	}
	return k;
}

/* host dpu devhost pci net,devs [endpoint] */
static doca_error_t from_file(const char *path, const char *pci, char *endpoint, size_t cap, struct gw_diag *diag)
{
	FILE *f = fopen(path, "re");
	char line[1024], host[256] = "", *w[6];
	int n, at = 0;
	doca_error_t r = DOCA_ERROR_NOT_FOUND;

	if (!f) {
		gw__fail(diag, 0, "DOCA_UROM_SERVICE_FILE %s: %s", path, strerror(errno));
		return DOCA_ERROR_BAD_CONFIG;
	}
	gethostname(host, sizeof(host) - 1);
	gw__fail(diag, 0, "%s: no line for host %s and device %s", path, host, pci);
	while (r == DOCA_ERROR_NOT_FOUND && fgets(line, sizeof(line), f)) {
		at++;
		n = words(line, w, 6);
		if (n == 0)
			continue;
		if (n < 5 || strcmp(w[1], "dpu")) {
			gw__fail(diag, 0, "%s:%d: want \"host dpu device-host pci net-devices [endpoint]\"", path, at);
			r = DOCA_ERROR_BAD_CONFIG;
		} else if (!strcmp(w[0], host) && !strcasecmp(w[3], pci)) {
			if (n > 5)
				snprintf(endpoint, cap, "%s", w[5]);
			else
				snprintf(endpoint, cap, "tcp:%.200s:%d", w[2], GW__UROM_PORT);
			r = DOCA_SUCCESS;
		}
	}
	fclose(f);
	return r;
}

doca_error_t gw__urom_find(struct doca_urom_service *s, struct gw_diag *diag)
{
	const char *env = getenv("DOCA_UROM_ENDPOINT"), *file = getenv("DOCA_UROM_SERVICE_FILE");
	char pci[DOCA_DEVINFO_PCI_ADDR_SIZE], text[256];
	doca_error_t r;

	if (s->endpoint[0]) {
		snprintf(text, sizeof(text), "%s", s->endpoint);
	} else if (env && *env) {
		snprintf(text, sizeof(text), "%s", env);
	} else if (file && *file) {
		doca_devinfo_get_pci_addr_str(doca_dev_as_devinfo(s->dev), pci);
		r = from_file(file, pci, text, sizeof(text), diag);
		if (r != DOCA_SUCCESS)
			return r;
	} else {
		gw__ep_default(text, sizeof(text));
	}
	switch (gw__ep_parse(text, &s->ep, diag)) {
	case 0:
		return DOCA_SUCCESS;
	case -EHOSTUNREACH:
		return DOCA_ERROR_NOT_CONNECTED;
	default:
		return DOCA_ERROR_BAD_CONFIG;
	}
}

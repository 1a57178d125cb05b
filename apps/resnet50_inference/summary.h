/* resnet50_inference/summary.h: the closing text on standard error, and the same as JSON.
 * Must not measure anything. Next: summary.c, report_json.c. */
#ifndef RESNET50_SUMMARY_H
#define RESNET50_SUMMARY_H

#include "results.h"

void summary_print(const struct results *r);
/* One JSON document to a file, "-" = standard output. gw may be NULL (no counters). 0 or negative errno. */
int report_json(const struct results *r, struct gw *gw, const char *path, struct gw_diag *diag);

#endif

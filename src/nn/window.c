/* nn/window.c: attributes of a node, and the arithmetic of sliding windows with its overflow checks.
 * Must not know what slides. Next: lower.c. */
#include "base/diag.h"
#include "nn/lower.h"

#include <errno.h>
#include <string.h>

#define MAX_WINDOW 255 /* kernel, stride, dilation, padding: far above any real network's */

const struct gw__attr *gw__node_attr(const struct gw__node *node, const char *name)
{
	for (uint32_t i = 0; i < node->n_attrs; i++)
		if (strcmp(node->attrs[i].name, name) == 0)
			return &node->attrs[i];
	return NULL;
}

int gw__node_int(struct gw__lower *l, const struct gw__node *node, const char *name, int64_t fallback, int64_t *out)
{
	const struct gw__attr *a = gw__node_attr(node, name);

	if (a && a->kind != GW__ATTR_INT)
		return GW__REFUSE(l, -EPROTO, node, "attribute %s must be one whole number", name);
	*out = a ? a->i : fallback;
	return 0;
}

int gw__node_attrs_known(struct gw__lower *l, const struct gw__node *node, const char *const *names)
{
	for (uint32_t i = 0; i < node->n_attrs; i++) {
		const char *const *n = names;

		while (*n && strcmp(*n, node->attrs[i].name) != 0)
			n++;
		if (!*n)
			return GW__REFUSE(l, -ENOTSUP, node, "attribute %s is not run",
					  GW__CLEAN(node->attrs[i].name));
	}
	return 0;
}

static int pair(struct gw__lower *l, const struct gw__node *node, const char *name, int64_t least, int64_t out[2])
{
	const struct gw__attr *a = gw__node_attr(node, name);

	if (!a)
		return 0;
	if (a->kind != GW__ATTR_INTS || a->n_ints != 2)
		return GW__REFUSE(l, -ENOTSUP, node, "attribute %s must be two numbers", name);
	for (int i = 0; i < 2; i++) {
		if (a->ints[i] < least || a->ints[i] > MAX_WINDOW)
			return GW__REFUSE(l, -EPROTO, node, "attribute %s is %lld, outside %lld..%d", name,
					  (long long)a->ints[i], (long long)least, MAX_WINDOW);
		out[i] = a->ints[i];
	}
	return 0;
}

static int pads(struct gw__lower *l, const struct gw__node *node, struct gw__window *win)
{
	const struct gw__attr *a = gw__node_attr(node, "auto_pad");
	const struct gw__attr *p = gw__node_attr(node, "pads");

	if (a && (a->kind != GW__ATTR_STRING || (strcmp(a->s, "NOTSET") != 0 && strcmp(a->s, "VALID") != 0)))
		return GW__REFUSE(l, -ENOTSUP, node, "attribute auto_pad: only NOTSET and VALID are run");
	if (!p)
		return 0;
	if (p->kind != GW__ATTR_INTS || p->n_ints != 4)
		return GW__REFUSE(l, -ENOTSUP, node, "attribute pads must be four numbers");
	for (int i = 0; i < 4; i++)
		if (p->ints[i] < 0 || p->ints[i] > MAX_WINDOW)
			return GW__REFUSE(l, -EPROTO, node, "attribute pads has %lld, outside 0..%d",
					  (long long)p->ints[i], MAX_WINDOW);
	for (int i = 0; i < 2; i++) {
		win->pad_lo[i] = p->ints[i];
		win->pad_hi[i] = p->ints[i + 2];
	}
	return 0;
}

int gw__node_window(struct gw__lower *l, const struct gw__node *node, const struct gw__shape *in,
		    const int64_t *kernel, struct gw__window *win, struct gw__shape *out)
{
	const int64_t side[2] = {in->h, in->w};
	int64_t made[2];
	int err;

	for (int i = 0; i < 2; i++) {
		win->kernel[i] = kernel ? kernel[i] : 0;
		win->stride[i] = 1;
		win->dilation[i] = 1;
		win->pad_lo[i] = win->pad_hi[i] = 0;
	}
	err = pair(l, node, "kernel_shape", 1, win->kernel);
	if (!err)
		err = pair(l, node, "strides", 1, win->stride);
	if (!err)
		err = pair(l, node, "dilations", 1, win->dilation);
	if (!err)
		err = pads(l, node, win);
	if (err)
		return err;
	for (int i = 0; i < 2; i++) {
		int64_t span = (win->kernel[i] - 1) * win->dilation[i] + 1;
		int64_t room = side[i] + win->pad_lo[i] + win->pad_hi[i] - span;

		if (win->kernel[i] < 1 || win->kernel[i] > MAX_WINDOW)
			return GW__REFUSE(l, -EPROTO, node, "kernel of %lld, outside 1..%d",
					  (long long)win->kernel[i], MAX_WINDOW);
		if (kernel && win->kernel[i] != kernel[i])
			return GW__REFUSE(l, -EPROTO, node, "kernel_shape says %lld, the weights say %lld",
					  (long long)win->kernel[i], (long long)kernel[i]);
		if (room < 0 || win->pad_lo[i] >= span || win->pad_hi[i] >= span)
			return GW__REFUSE(l, -EPROTO, node, "window of %lld on a side of %lld with padding %lld and %lld",
					  (long long)span, (long long)side[i], (long long)win->pad_lo[i],
					  (long long)win->pad_hi[i]);
		made[i] = room / win->stride[i] + 1;
	}
	out->h = made[0];
	out->w = made[1];
	return 0;
}

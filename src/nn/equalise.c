/* nn/equalise.c: convolutions with ReLU commute with a positive factor a channel, so a factor may be moved through
 * them (cross-layer equalisation, Nagel et al. 2019). Values that are added share theirs. Must not know backends.
 * Next: onednn/conv.c, which quantises the result. */
#include "nn/equalise.h"

#include "base/alloc.h"

#include <errno.h>
#include <math.h>

#define LEAST 1e-3f /* a channel that hardly moves is not stretched without bound */
/* How far ranges are evened out: 1 would leave no room above the calibration's peak of any channel, and one picture
 * that goes beyond it is cut off there; 0 would leave weak channels few steps. */
#define EVENNESS 0.6f

size_t gw__chan_at(const struct gw__plan *plan, uint32_t value)
{
	size_t at = 0;

	for (uint32_t v = 0; v < value; v++)
		at += (size_t)plan->shapes[v].c;
	return at;
}

struct work {
	struct gw__plan *plan;
	struct gw__chan_stats *stats;
	uint32_t *group; /* [n_values] smallest value of the group */
	bool *bound;     /* [n_values] by group: may not change */
	float *factor;   /* by group, at gw__chan_at */
};

static bool is_max_pool(const struct gw__plan_op *op)
{
	return op->kind == GW__PLAN_POOL && op->pool == GW__POOL_MAX;
}

static void join(struct work *w, int a, int b)
{
	uint32_t from = w->group[a], to = w->group[b];

	if (from < to) {
		to = from;
		from = w->group[b];
	}
	for (uint32_t v = 0; v < w->plan->n_values; v++)
		if (w->group[v] == from)
			w->group[v] = to;
}

static void find_groups(struct work *w)
{
	const struct gw__plan *p = w->plan;

	for (uint32_t v = 0; v < p->n_values; v++)
		w->group[v] = v;
	for (uint32_t i = 0; i < p->n_ops; i++) {
		if (p->ops[i].kind == GW__PLAN_CONV && p->ops[i].in2 >= 0)
			join(w, p->ops[i].in2, p->ops[i].out);
		else if (is_max_pool(&p->ops[i]))
			join(w, p->ops[i].in, p->ops[i].out);
	}
}

/* A mean of whole pictures, and a flattening of one position, only pass channels on: may their reader, a last
 * AFFINE or DENSE, take the factor? Then *last is that op. */
static bool tail(const struct work *w, int value, struct gw__plan_op **last)
{
	struct gw__plan *p = w->plan;
	struct gw__plan_op *only = NULL;

	for (uint32_t i = 0; i < p->n_ops; i++) {
		if (p->ops[i].in2 == value || (p->ops[i].in == value && only))
			return false;
		if (p->ops[i].in == value)
			only = &p->ops[i];
	}
	if (value == p->output || !only)
		return false;
	if (only->kind == GW__PLAN_DENSE || (only->kind == GW__PLAN_AFFINE && !only->relu)) {
		*last = only;
		return true;
	}
	if ((only->kind == GW__PLAN_POOL && !is_max_pool(only)) ||
	    (only->kind == GW__PLAN_FLATTEN && p->shapes[only->out].c == p->shapes[value].c))
		return tail(w, only->out, last);
	return false;
}

static void find_bound(struct work *w)
{
	struct gw__plan *p = w->plan;
	struct gw__plan_op *last;

	w->bound[w->group[p->output]] = true;
	for (uint32_t i = 0; i < p->n_ops; i++) {
		const struct gw__plan_op *op = &p->ops[i];

		if (op->kind != GW__PLAN_CONV && !is_max_pool(op))
			w->bound[w->group[op->out]] = true; /* it cannot be made with a factor */
		if (op->in >= 0 && op->kind != GW__PLAN_CONV && !is_max_pool(op) &&
		    !(op->kind == GW__PLAN_POOL && tail(w, op->out, &last)))
			w->bound[w->group[op->in]] = true;
		if (op->in2 >= 0 && op->kind != GW__PLAN_CONV)
			w->bound[w->group[op->in2]] = true;
	}
}

static float peak_of(const struct work *w, uint32_t v)
{
	const float *peak = w->stats->peak + gw__chan_at(w->plan, v);
	float most = 0.0f;

	for (int64_t c = 0; c < w->plan->shapes[v].c; c++)
		most = fmaxf(most, peak[c]);
	return most;
}

static void find_factors(struct work *w)
{
	const struct gw__plan *p = w->plan;

	for (uint32_t v = 0; v < p->n_values; v++) {
		const float *peak = w->stats->peak + gw__chan_at(p, v);
		float *f = w->factor + gw__chan_at(p, w->group[v]), most = peak_of(w, v);

		for (int64_t c = 0; c < p->shapes[v].c; c++)
			f[c] = fmaxf(f[c], most > 0.0f && isfinite(most)
						   ? fmaxf(powf(peak[c] / most, EVENNESS), LEAST)
						   : 1.0f);
	}
	for (uint32_t v = 0; v < p->n_values; v++)
		for (int64_t c = 0; w->bound[v] && w->group[v] == v && c < p->shapes[v].c; c++)
			w->factor[gw__chan_at(p, v) + (size_t)c] = 1.0f;
}

static const float *factor_of(const struct work *w, int value)
{
	return w->factor + gw__chan_at(w->plan, w->group[value]);
}

static void rescale_conv(const struct work *w, struct gw__plan_op *op)
{
	const float *made = factor_of(w, op->out), *read = factor_of(w, op->in);
	int64_t n_out = w->plan->shapes[op->out].c, per_group = w->plan->shapes[op->in].c / op->groups;
	int64_t area = op->win.kernel[0] * op->win.kernel[1];

	for (int64_t o = 0; o < n_out; o++) {
		int64_t first = o / (n_out / op->groups) * per_group;

		op->bias[o] /= made[o];
		for (int64_t k = 0; k < per_group * area; k++)
			op->weights[o * per_group * area + k] *= read[first + k / area] / made[o];
	}
}

/* The op at the end of a tail takes the factor of the value at its beginning. */
static void rescale_tail(const struct work *w, const struct gw__plan_op *pool)
{
	const float *f = factor_of(w, pool->in);
	struct gw__plan_op *last;
	int64_t n_in;

	if (w->bound[w->group[pool->in]] || !tail(w, pool->out, &last))
		return;
	n_in = w->plan->shapes[last->in].c;
	for (int64_t c = 0; last->kind == GW__PLAN_AFFINE && c < n_in; c++)
		last->scale[c] *= f[c];
	for (int64_t k = 0; last->kind == GW__PLAN_DENSE && k < n_in * w->plan->shapes[last->out].c; k++)
		last->weights[k] *= f[k % n_in];
}

static void apply(const struct work *w, float *peaks)
{
	struct gw__plan *p = w->plan;

	for (uint32_t i = 0; i < p->n_ops; i++) {
		if (p->ops[i].kind == GW__PLAN_CONV)
			rescale_conv(w, &p->ops[i]);
		else if (p->ops[i].kind == GW__PLAN_POOL && !is_max_pool(&p->ops[i]))
			rescale_tail(w, &p->ops[i]);
	}
	for (uint32_t v = 0; v < p->n_values; v++) {
		size_t at = gw__chan_at(p, v);

		for (int64_t c = 0; c < p->shapes[v].c; c++) {
			w->stats->peak[at + (size_t)c] /= factor_of(w, (int)v)[c];
			w->stats->mean[at + (size_t)c] /= factor_of(w, (int)v)[c];
		}
		peaks[v] = peak_of(w, v);
	}
}

int gw__plan_equalise(struct gw__plan *plan, struct gw__chan_stats *stats, float *peaks)
{
	struct work w = {.plan = plan, .stats = stats};
	int err = -ENOMEM;

	w.group = gw__calloc(plan->n_values, sizeof(*w.group));
	w.bound = gw__calloc(plan->n_values, sizeof(*w.bound));
	w.factor = gw__calloc(gw__chan_at(plan, plan->n_values), sizeof(*w.factor));
	if (w.group && w.bound && w.factor) {
		find_groups(&w);
		find_bound(&w);
		find_factors(&w);
		apply(&w, peaks);
		err = 0;
	}
	gw__free(w.group);
	gw__free(w.bound);
	gw__free(w.factor);
	return err;
}

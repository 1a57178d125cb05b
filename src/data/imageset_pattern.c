/* data/imageset_pattern.c: ten classes of drawings, so that a run needs no file at all: shapes with random place,
 * size, colours and noise. Must not use floating point. Next: imageset_priv.h. */
#include "data/exact.h"
#include "data/imageset_priv.h"

#define SIDE 32
#define N_PATTERNS (1u << 20)

struct drawing {
	int period, phase_x, phase_y, cx, cy, radius;
	int ink[3], paper[3];
};

static int pick(uint64_t key, uint64_t i, int low, int high)
{
	return low + (int)(gw__exact_hash(key, i) % (uint64_t)(high - low + 1));
}

static struct drawing draw_drawing(uint64_t key)
{
	struct drawing d = {
		.period = pick(key, 0, 6, 10),  .phase_x = pick(key, 1, 0, 31), .phase_y = pick(key, 2, 0, 31),
		.cx = pick(key, 3, 11, 20),     .cy = pick(key, 4, 11, 20),     .radius = pick(key, 5, 7, 11),
	};

	for (int c = 0; c < 3; c++) {
		d.ink[c] = pick(key, 8 + (uint64_t)c, 150, 239);
		d.paper[c] = pick(key, 12 + (uint64_t)c, 16, 105);
	}
	return d;
}

/* Is (x, y) inked? The order is that of the class names. */
static bool inked(const struct drawing *d, uint32_t cls, int x, int y)
{
	int p = d->period, u = x + d->phase_x, v = y + d->phase_y;
	int dx = x - d->cx, dy = y - d->cy, r = d->radius, square = dx * dx + dy * dy;
	int ax = dx < 0 ? -dx : dx, ay = dy < 0 ? -dy : dy;

	switch (cls) {
	case 0:
		return v % p < p / 2;
	case 1:
		return u % p < p / 2;
	case 2:
		return (u + v) % p < p / 2;
	case 3:
		return (u + 64 - y) % p < p / 2;
	case 4:
		return (u % p < p / 2) != (v % p < p / 2);
	case 5:
		return square <= r * r;
	case 6:
		return square <= r * r && square >= (r - 3) * (r - 3);
	case 7:
		return ax < r && ay < r;
	case 8:
		return (ax < 3 && ay <= r) || (ay < 3 && ax <= r);
	default:
		return u % p == 0 && v % p == 0;
	}
}

static int open_pattern(struct gw__imageset *set, const struct gw__imageset_opts *opts, struct gw_diag *diag)
{
	(void)opts;
	(void)diag;
	set->n_images = N_PATTERNS;
	set->n_chan = 3;
	set->height = SIDE;
	set->width = SIDE;
	return 0;
}

static int read_pattern(struct gw__imageset *set, uint32_t i, uint8_t *picture, uint32_t *label, struct gw_diag *diag)
{
	uint64_t key = gw__exact_hash(set->seed, i);
	uint32_t cls = (uint32_t)(gw__exact_hash(key, 6) % GW__N_CLASSES);
	struct drawing d = draw_drawing(key);

	(void)diag;
	for (int y = 0; y < SIDE; y++) {
		for (int x = 0; x < SIDE; x++) {
			const int *colour = inked(&d, cls, x, y) ? d.ink : d.paper;
			uint64_t noise = gw__exact_hash(key, 64 + (uint64_t)(y * SIDE + x));

			for (int c = 0; c < 3; c++) /* the noise keeps every value within 0..255 */
				picture[(c * SIDE + y) * SIDE + x] =
					(uint8_t)(colour[c] + (int)(noise >> (8 * c) & 31) - 16);
		}
	}
	*label = cls;
	return 0;
}

const struct gw__image_source gw__image_source_pattern = {
	.name = "pattern",
	.class_names = { "rows", "columns", "diagonals", "antidiagonals", "checkers", "disc", "ring", "square", "cross",
			 "dots" },
	.open = open_pattern,
	.read = read_pattern,
};

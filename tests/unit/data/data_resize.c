/* Pictures to tensors: identity, constants, known bilinear values, borders, grey to three planes. */
#include <math.h>

#include "data/exact.h"
#include "data/resize.h"
#include "t.h"

#define SIDE GW__IMAGE_SIDE
static uint8_t picture[3 * 1024 * 1024];
static int8_t tensor[GW__IMAGE_BYTES];

static int at(uint32_t c, uint32_t y, uint32_t x)
{
	return tensor[(c * SIDE + y) * SIDE + x] + 128;
}

static double sample(const uint8_t *plane, int h, int w, double y, double x)
{
	int y0, x0, y1, x1;

	y = y < 0 ? 0 : y;
	x = x < 0 ? 0 : x;
	y0 = (int)y;
	x0 = (int)x;
	y1 = y0 + 1 < h ? y0 + 1 : y0;
	x1 = x0 + 1 < w ? x0 + 1 : x0;
	y -= y0;
	x -= x0;
	return (plane[y0 * w + x0] * (1 - x) + plane[y0 * w + x1] * x) * (1 - y) +
	       (plane[y1 * w + x0] * (1 - x) + plane[y1 * w + x1] * x) * y;
}

/* Against the formula in floating point: never more than rounding apart. */
static void formula(uint32_t n_chan, uint32_t h, uint32_t w)
{
	double worst = 0;

	for (uint32_t i = 0; i < n_chan * h * w; i++)
		picture[i] = (uint8_t)gw__exact_hash(h * 5000 + w, i);
	gw__resize_to_tensor(picture, n_chan, h, w, tensor);
	for (uint32_t c = 0; c < 3; c++)
		for (uint32_t y = 0; y < SIDE; y++)
			for (uint32_t x = 0; x < SIDE; x++) {
				double v = sample(picture + (n_chan == 3 ? c : 0) * h * w, (int)h, (int)w,
						  (y + 0.5) * h / SIDE - 0.5, (x + 0.5) * w / SIDE - 0.5);

				worst = fmax(worst, fabs(v - at(c, y, x)));
			}
	T_OK(worst <= 0.5 + 1e-9);
}

int main(void)
{
	for (uint32_t i = 0; i < GW__IMAGE_BYTES; i++)
		picture[i] = (uint8_t)gw__exact_hash(1, i);
	gw__resize_to_tensor(picture, 3, SIDE, SIDE, tensor);
	for (uint32_t i = 0; i < GW__IMAGE_BYTES; i++)
		if (tensor[i] != picture[i] - 128) {
			T_EQ(tensor[i], picture[i] - 128); /* 224 x 224: nothing but the subtraction */
			break;
		}
	for (uint32_t v = 0; v < 256; v += 85) {
		memset(picture, (int)v, 28 * 28);
		gw__resize_to_tensor(picture, 1, 28, 28, tensor);
		T_OK(at(0, 0, 0) == (int)v && at(2, 223, 223) == (int)v && at(1, 100, 7) == (int)v);
	}
	memcpy(picture, (uint8_t[]){ 0, 255 }, 2);
	gw__resize_to_tensor(picture, 1, 1, 2, tensor);
	T_EQ(at(0, 0, 55), 0);   /* left of the first pixel's centre */
	T_EQ(at(0, 9, 56), 1);   /* 0.5 / 112 of 255 is 1.14 */
	T_EQ(at(0, 9, 111), 126); /* 55.5 / 112 of 255 is 126.4 */
	T_EQ(at(1, 223, 168), 255);
	formula(1, 28, 28);
	formula(3, 32, 32);
	formula(3, 1, 1);
	formula(1, 7, 300);
	formula(3, 1024, 1024);
	T_DONE();
}

/* Input elements on stdin, converted ones on stdout: convert_filter SIMD IN OUT host|network, the types as the
 * configuration spells them. Judged by convert.py. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reorder/convert.h"

static int elem_of(const char *name)
{
	static const char *const names[] = { [GW_INT4] = "int4", [GW_INT8] = "int8", [GW_INT16] = "int16",
					     [GW_INT32] = "int32", [GW_FP16] = "fp16", [GW_BF16] = "bf16",
					     [GW_FP32] = "fp32", [GW_FP64] = "fp64" };

	for (int i = GW_INT4; i <= GW_FP64; i++)
		if (!strcmp(names[i], name))
			return i;
	return GW_ELEM_NONE;
}

int main(int argc, char **argv)
{
	enum gw__simd simd = GW__SIMD_SCALAR;
	static uint8_t in[1 << 20], out[16 << 20];
	gw__convert_fn fn;
	size_t n;

	if (argc != 5)
		return 1;
	while (simd < GW__SIMD_N && strcmp(gw__simd_name(simd), argv[1]))
		simd++;
	if (simd > gw__simd_best())
		return 77;
	fn = gw__convert_find(simd, (enum gw__elem)elem_of(argv[2]), (enum gw__elem)elem_of(argv[3]),
			      !strcmp(argv[4], "network"));
	n = fread(in, 1, sizeof(in), stdin);
	if (!fn)
		return 1;
	fn(out, in, n);
	n = gw__converted_bytes((enum gw__elem)elem_of(argv[2]), (enum gw__elem)elem_of(argv[3]), n);
	return fwrite(out, 1, n, stdout) != n;
}

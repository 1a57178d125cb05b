/* tests/fuzz/onnx.c: any bytes as an ONNX file: read, checked, lowered and fused; never run.
 * Next: src/nn/onnx/load.c, src/nn/lower.c. */
#include "nn/onnx/onnx.h"
#include "nn/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gw_diag diag;
	struct gw__graph g;
	struct gw__plan plan;

	if (gw__onnx_parse(data, size, &g, &diag) < 0)
		return 0;
	if (gw__plan_make(&g, &plan, &diag) == 0) {
		/* Every value has the op that made it, and every shape is inside the bound. */
		for (uint32_t i = 0; i < plan.n_values; i++)
			if (plan.ops[i].out != (int)i || !gw__shape_elems(&plan.shapes[i]))
				__builtin_trap();
		gw__plan_fini(&plan);
	}
	gw__graph_fini(&g);
	return 0;
}

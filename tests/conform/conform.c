/* One list of cases, run on the engine named on the command line; engines must agree. An engine that is not
 * compiled in is a failure here, not a skip: the build asks only for engines it has. */
#include "bed.h"

int main(int argc, char **argv)
{
	const struct conform_list *const lists[] = { &rx_list, &tx_list, &life_list, &reorder_list, &flow_list };
	const char *engine = argc > 1 ? argv[1] : "null", *only = argc > 2 ? argv[2] : NULL;
	int n = 0;

	for (size_t l = 0; l < sizeof(lists) / sizeof(lists[0]); l++) {
		for (const struct conform_case *c = lists[l]->cases; c->name; c++) {
			int before = *lists[l]->n_failed;

			if (only && strcmp(only, c->name))
				continue;
			c->fn(engine);
			n++;
			printf("%-4s %s: %s\n", *lists[l]->n_failed == before ? "ok" : "FAIL", engine, c->name);
			fflush(stdout);
		}
		t__checks += *lists[l]->n_checks;
		t__failed += *lists[l]->n_failed;
	}
	printf("%d cases on engine %s\n", n, engine);
	T_OK(only || n >= 40);
	T_DONE();
}

/* The test writer's whole kit: a program per subject, exit 0 (pass), 1 (fail), 77 (skip, reason said).
 * T_OK(cond), T_EQ(a, b), T_STR(a, b), T_MEM(a, b, n), T_RC(call, want), T_SKIP("why"), T_DONE().
 * Checks go on after a failure so that one run shows all of them; T_NEED stops at once. */
#ifndef GW_TESTS_T_H
#define GW_TESTS_T_H

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int t__failed;
static int t__checks;

#define T__FAIL(...)                                                                               \
	do {                                                                                       \
		if (t__failed++ >= 25) /* the count still tells; the log stays readable */         \
			break;                                                                     \
		fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                    \
		fprintf(stderr, __VA_ARGS__);                                                      \
		fputc('\n', stderr);                                                               \
	} while (0)

#define T_OK(cond)                                                                                 \
	do {                                                                                       \
		t__checks++;                                                                       \
		if (!(cond))                                                                       \
			T__FAIL("false: %s", #cond);                                               \
	} while (0)

#define T_NEED(cond)                                                                               \
	do {                                                                                       \
		t__checks++;                                                                       \
		if (!(cond)) {                                                                     \
			T__FAIL("needed: %s", #cond);                                              \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#define T_EQ(a, b)                                                                                 \
	do {                                                                                       \
		long long t__a = (long long)(a), t__b = (long long)(b);                            \
		t__checks++;                                                                       \
		if (t__a != t__b)                                                                  \
			T__FAIL("%s = %lld, want %s = %lld", #a, t__a, #b, t__b);                  \
	} while (0)

#define T_RC(call, want)                                                                           \
	do {                                                                                       \
		long long t__r = (long long)(call);                                                \
		t__checks++;                                                                       \
		if (t__r != (long long)(want))                                                     \
			T__FAIL("%s returned %lld (%s), want %lld", #call, t__r,                   \
				t__r < 0 ? strerror((int)-t__r) : "ok", (long long)(want));        \
	} while (0)

#define T_STR(a, b)                                                                                \
	do {                                                                                       \
		const char *t__a = (a), *t__b = (b);                                               \
		t__checks++;                                                                       \
		if (!t__a || !t__b || strcmp(t__a, t__b))                                          \
			T__FAIL("%s = \"%s\", want \"%s\"", #a, t__a ? t__a : "(null)",            \
				t__b ? t__b : "(null)");                                           \
	} while (0)

#define T_HAS(text, part)                                                                          \
	do {                                                                                       \
		const char *t__a = (text), *t__b = (part);                                         \
		t__checks++;                                                                       \
		if (!t__a || !strstr(t__a, t__b))                                                  \
			T__FAIL("\"%s\" does not contain \"%s\"", t__a ? t__a : "(null)", t__b);   \
	} while (0)

#define T_MEM(a, b, n)                                                                             \
	do {                                                                                       \
		const unsigned char *t__a = (const void *)(a), *t__b = (const void *)(b);          \
		size_t t__n = (n), t__i = 0;                                                       \
		t__checks++;                                                                       \
		while (t__i < t__n && t__a[t__i] == t__b[t__i])                                    \
			t__i++;                                                                    \
		if (t__i < t__n)                                                                   \
			T__FAIL("%s and %s differ at byte %zu of %zu: %02x, want %02x", #a, #b,    \
				t__i, t__n, t__a[t__i], t__b[t__i]);                               \
	} while (0)

#define T_SKIP(...)                                                                                \
	do {                                                                                       \
		printf("SKIP: ");                                                                  \
		printf(__VA_ARGS__);                                                               \
		putchar('\n');                                                                     \
		exit(77);                                                                          \
	} while (0)

/* A program that checked nothing has not passed. */
#define T_DONE()                                                                                   \
	do {                                                                                       \
		if (!t__checks) {                                                                  \
			fprintf(stderr, "%s: no check ran\n", __FILE__);                           \
			return 1;                                                                  \
		}                                                                                  \
		printf("%d checks, %d failed\n", t__checks, t__failed);                            \
		return t__failed ? 1 : 0;                                                          \
	} while (0)

#endif

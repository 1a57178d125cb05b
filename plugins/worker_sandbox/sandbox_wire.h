/* worker_sandbox/sandbox_wire.h: the plugin's messages, for both halves.
 *   MEM_MAP   command u32 type, u64 segment                        answer u64 memh_id
 *   TAG_SEND  command u32 type, u64 dest, u64 tag, u64 memh_id,
 *             u64 offset, u64 count, [blob]                        answer nothing
 *   TAG_RECV  command u32 type, u64 tag, u64 mask, u64 memh_id,
 *             u64 offset, u64 count                                answer u64 tag, u64 count, [blob]
 * A blob is there when memh_id is 0: the data travels inside. Each answer begins with u32 type.
 * Must not know either half. Next: urom_sandbox.c (host), worker_sandbox.c (worker). */
#ifndef SANDBOX_WIRE_H
#define SANDBOX_WIRE_H

#include <doca_urom_pack.h>

#define SANDBOX_VERSION 1u

enum {
	SANDBOX_MEM_MAP = 0,
	SANDBOX_TAG_SEND = 1,
	SANDBOX_TAG_RECV = 2,
};

#endif

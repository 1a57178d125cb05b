/* ingest/engines/null/null.h: the engine's row entry. */
#ifndef GW_INGEST_ENGINES_NULL_H
#define GW_INGEST_ENGINES_NULL_H

#include "ingest/engine.h"

extern const struct gw__engine_ops gw__engine_null;

#endif

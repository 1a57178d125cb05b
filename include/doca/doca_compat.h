/* doca_compat.h: the export marks that the vendor's headers use.
 * Must not know any object. Next: doca_error.h. */
#ifndef DOCA_COMPAT_H_
#define DOCA_COMPAT_H_

#define DOCA_EXPERIMENTAL __attribute__((visibility("default")))
#define DOCA_STABLE __attribute__((visibility("default")))

#ifdef __cplusplus
#define DOCA_BEGIN_DECLS extern "C" {
#define DOCA_END_DECLS }
#else
#define DOCA_BEGIN_DECLS
#define DOCA_END_DECLS
#endif

#endif

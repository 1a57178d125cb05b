/* gpu/simt.h: the words a kernel is written in: one source for nvcc (CUDA C++) and for gcc (C).
 *
 *   GW_KERNEL(name, struct args) { ... a->field ... gw_thread_idx() ... }
 *
 * Under nvcc each word is the GPU's own; under gcc it is the emulator's (emu/simt.c): blocks and lanes as
 * fibers, so that every kernel runs, and can be tested, without a card. Must not know any kernel. */
#ifndef GW_GPU_SIMT_H
#define GW_GPU_SIMT_H

#include <stddef.h>
#include <stdint.h>

#define GW_FULL_MASK 0xffffffffu

#ifdef __CUDACC__ /* ------------------------------------------------------------------ the card ---- */

#include <stdio.h>

#define GW_DEVICE static __device__ __forceinline__
#define GW_KERNEL(name, type)                                                                      \
	static __device__ __forceinline__ void name##_body(const type *a);                         \
	extern "C" __global__ void name(const __grid_constant__ type arg)                          \
	{                                                                                          \
		name##_body(&arg);                                                                 \
	}                                                                                          \
	static __device__ __forceinline__ void name##_body(const type *a)
#define GW_SHARED(type, name, n) __shared__ type name[n]
#define gw_printf(...) printf(__VA_ARGS__)

GW_DEVICE uint32_t gw_thread_idx(void) { return threadIdx.x; }
GW_DEVICE uint32_t gw_block_idx(void) { return blockIdx.x; }
GW_DEVICE uint32_t gw_block_dim(void) { return blockDim.x; }
GW_DEVICE uint32_t gw_grid_dim(void) { return gridDim.x; }
GW_DEVICE uint32_t gw_lane_idx(void) { return threadIdx.x & 31u; }
GW_DEVICE void gw_syncthreads(void) { __syncthreads(); }
GW_DEVICE void gw_syncwarp(uint32_t mask) { __syncwarp(mask); }
GW_DEVICE uint32_t gw_shfl(uint32_t mask, uint32_t v, uint32_t lane) { return __shfl_sync(mask, v, (int)lane); }
GW_DEVICE uint32_t gw_ballot(uint32_t mask, int pred) { return __ballot_sync(mask, pred); }
GW_DEVICE int gw_any(uint32_t mask, int pred) { return __any_sync(mask, pred); }
GW_DEVICE int gw_all(uint32_t mask, int pred) { return __all_sync(mask, pred); }
GW_DEVICE uint32_t gw_reduce_max(uint32_t mask, uint32_t v) { return __reduce_max_sync(mask, v); }
GW_DEVICE uint32_t gw_reduce_add(uint32_t mask, uint32_t v) { return __reduce_add_sync(mask, v); }
GW_DEVICE uint64_t gw_globaltimer(void)
{
	uint64_t t;

	asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
	return t;
}
GW_DEVICE void gw_trap(void) { __trap(); }
GW_DEVICE void gw_spin_hint(void) { __nanosleep(64); }

/* Atomics by scope: _cta one block, _gpu the card, _sys the CPU and NIC too. */
#define GW_ATOMICS(T, sfx, ptx)                                                                    \
	GW_DEVICE T gw_load_acquire_##sfx##_cta(const T *p)                                        \
	{                                                                                          \
		T v;                                                                               \
		asm volatile("ld.acquire.cta." ptx " %0, [%1];" : "=" GW_R_##sfx(v) : "l"(p) : "memory"); \
		return v;                                                                          \
	}                                                                                          \
	GW_DEVICE T gw_load_acquire_##sfx##_gpu(const T *p)                                        \
	{                                                                                          \
		T v;                                                                               \
		asm volatile("ld.acquire.gpu." ptx " %0, [%1];" : "=" GW_R_##sfx(v) : "l"(p) : "memory"); \
		return v;                                                                          \
	}                                                                                          \
	GW_DEVICE T gw_load_acquire_##sfx##_sys(const T *p)                                        \
	{                                                                                          \
		T v;                                                                               \
		asm volatile("ld.acquire.sys." ptx " %0, [%1];" : "=" GW_R_##sfx(v) : "l"(p) : "memory"); \
		return v;                                                                          \
	}                                                                                          \
	GW_DEVICE void gw_store_release_##sfx##_cta(T *p, T v)                                     \
	{                                                                                          \
		asm volatile("st.release.cta." ptx " [%0], %1;" : : "l"(p), GW_R_##sfx(v) : "memory"); \
	}                                                                                          \
	GW_DEVICE void gw_store_release_##sfx##_gpu(T *p, T v)                                     \
	{                                                                                          \
		asm volatile("st.release.gpu." ptx " [%0], %1;" : : "l"(p), GW_R_##sfx(v) : "memory"); \
	}                                                                                          \
	GW_DEVICE void gw_store_release_##sfx##_sys(T *p, T v)                                     \
	{                                                                                          \
		asm volatile("st.release.sys." ptx " [%0], %1;" : : "l"(p), GW_R_##sfx(v) : "memory"); \
	}
#define GW_R_u32(v) "r"(v)
#define GW_R_u64(v) "l"(v)
GW_ATOMICS(uint32_t, u32, "u32")
GW_ATOMICS(uint64_t, u64, "u64")
GW_DEVICE uint32_t gw_atomic_add_u32_cta(uint32_t *p, uint32_t v) { return atomicAdd_block(p, v); }
GW_DEVICE uint32_t gw_atomic_add_u32_gpu(uint32_t *p, uint32_t v) { return atomicAdd(p, v); }
GW_DEVICE uint32_t gw_atomic_add_u32_sys(uint32_t *p, uint32_t v) { return atomicAdd_system(p, v); }
GW_DEVICE uint32_t gw_atomic_max_u32_gpu(uint32_t *p, uint32_t v) { return atomicMax(p, v); }
GW_DEVICE uint32_t gw_atomic_cas_u32_gpu(uint32_t *p, uint32_t want, uint32_t v) { return atomicCAS(p, want, v); }
GW_DEVICE uint64_t gw_atomic_add_u64_gpu(uint64_t *p, uint64_t v)
{
	return atomicAdd((unsigned long long *)p, (unsigned long long)v);
}
GW_DEVICE uint64_t gw_atomic_max_u64_gpu(uint64_t *p, uint64_t v)
{
	return atomicMax((unsigned long long *)p, (unsigned long long)v);
}
GW_DEVICE void gw_fence_cta(void) { __threadfence_block(); }
GW_DEVICE void gw_fence_gpu(void) { __threadfence(); }
GW_DEVICE void gw_fence_sys(void) { __threadfence_system(); }

#else /* --------------------------------------------------------------------------- the emulator --- */

#define GW_DEVICE static inline __attribute__((unused))
#define GW_KERNEL(name, type)                                                                      \
	static void name##_body(const type *a);                                                    \
	void name##_lane(const void *arg);                                                         \
	void name##_lane(const void *arg)                                                          \
	{                                                                                          \
		name##_body((const type *)arg);                                                    \
	}                                                                                          \
	static void name##_body(const type *a)
/* one piece of shared memory a block and place in the source */
#define GW_SHARED(type, name, n)                                                                   \
	static const char name##_key_;                                                             \
	type *const name = (type *)gw__simt_shared(&name##_key_, sizeof(type) * (n))

uint32_t gw_thread_idx(void);
uint32_t gw_block_idx(void);
uint32_t gw_block_dim(void);
uint32_t gw_grid_dim(void);
#define gw_lane_idx() (gw_thread_idx() & 31u)
void gw_syncthreads(void);
void gw_syncwarp(uint32_t mask);
uint32_t gw_shfl(uint32_t mask, uint32_t v, uint32_t lane);
uint32_t gw_ballot(uint32_t mask, int pred);
uint32_t gw_reduce_max(uint32_t mask, uint32_t v);
uint32_t gw_reduce_add(uint32_t mask, uint32_t v);
#define gw_any(mask, pred) (gw_ballot(mask, pred) != 0)
#define gw_all(mask, pred) (gw_ballot(mask, pred) == (mask))
uint64_t gw_globaltimer(void);
void gw_trap(void);
/* every spin says it here: other lanes run, and so does the NIC, so that one core is enough */
void gw_spin_hint(void);
void gw_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void *gw__simt_shared(const void *key, size_t n_bytes);

/* All scopes are one here. Acquire/release accesses, never fence + relaxed: tsan understands them. */
#define GW_ATOMICS_SCOPE(T, sfx, scope)                                                            \
	GW_DEVICE T gw_load_acquire_##sfx##_##scope(const T *p)                                    \
	{                                                                                          \
		return __atomic_load_n(p, __ATOMIC_ACQUIRE);                                       \
	}                                                                                          \
	GW_DEVICE void gw_store_release_##sfx##_##scope(T *p, T v)                                 \
	{                                                                                          \
		__atomic_store_n(p, v, __ATOMIC_RELEASE);                                          \
	}                                                                                          \
	GW_DEVICE T gw_atomic_add_##sfx##_##scope(T *p, T v)                                       \
	{                                                                                          \
		return __atomic_fetch_add(p, v, __ATOMIC_ACQ_REL);                                 \
	}                                                                                          \
	GW_DEVICE T gw_atomic_cas_##sfx##_##scope(T *p, T want, T v)                               \
	{                                                                                          \
		__atomic_compare_exchange_n(p, &want, v, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);   \
		return want;                                                                       \
	}                                                                                          \
	GW_DEVICE T gw_atomic_max_##sfx##_##scope(T *p, T v)                                       \
	{                                                                                          \
		T old = __atomic_load_n(p, __ATOMIC_ACQUIRE);                                      \
		while (old < v && !__atomic_compare_exchange_n(p, &old, v, 0, __ATOMIC_ACQ_REL,    \
							       __ATOMIC_ACQUIRE))                  \
			;                                                                          \
		return old;                                                                        \
	}
#define GW_ATOMICS(T, sfx)                                                                         \
	GW_ATOMICS_SCOPE(T, sfx, cta)                                                              \
	GW_ATOMICS_SCOPE(T, sfx, gpu)                                                              \
	GW_ATOMICS_SCOPE(T, sfx, sys)
GW_ATOMICS(uint32_t, u32)
GW_ATOMICS(uint64_t, u64)
#ifndef GW_TSAN
GW_DEVICE void gw_fence_cta(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
GW_DEVICE void gw_fence_gpu(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
GW_DEVICE void gw_fence_sys(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
#else /* tsan does not model fences: a read-modify-write of a word of our own orders the same way */
extern uint32_t gw__simt_fence_word;
GW_DEVICE void gw_fence_sys(void) { __atomic_fetch_add(&gw__simt_fence_word, 0, __ATOMIC_SEQ_CST); }
#define gw_fence_cta gw_fence_sys
#define gw_fence_gpu gw_fence_sys
#endif

#endif
#endif

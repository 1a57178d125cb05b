/* nic/mlx5_format.h: the bytes that a queue holds: work requests, receive entries, completions, doorbells.
 * All fields big-endian; every offset is asserted below. Must not know who fills or drains them.
 * Source: mlx5 queue formats as public drivers use them (send WQE, CQE, mini CQE, doorbell record).
 * Next: soft/sq.c, soft/rq.c, soft/cq.c. */
#ifndef GW_NIC_MLX5_FORMAT_H
#define GW_NIC_MLX5_FORMAT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* ---- send work requests: 64-byte basic blocks of four 16-byte segments ------------------------- */

#define MLX5_BB 64u       /* basic block */
#define MLX5_SEG 16u      /* segment */
#define MLX5_MAX_DS 63u   /* segments in one request: six bits */
#define MLX5_INVALID_LKEY 0x100u

enum mlx5_opcode {
	MLX5_OP_NOP = 0x00,
	MLX5_OP_SEND_INVAL = 0x01,
	MLX5_OP_RDMA_WRITE = 0x08,
	MLX5_OP_RDMA_WRITE_IMM = 0x09,
	MLX5_OP_SEND = 0x0a,
	MLX5_OP_SEND_IMM = 0x0b,
	MLX5_OP_TSO = 0x0e,
	MLX5_OP_WAIT = 0x0f,
	MLX5_OP_RDMA_READ = 0x10,
	MLX5_OP_ATOMIC_CS = 0x11,
	MLX5_OP_ATOMIC_FA = 0x12,
	MLX5_OP_MASKED_CS = 0x14,
	MLX5_OP_MASKED_FA = 0x15,
	MLX5_OP_DUMP = 0x23,
	MLX5_OP_UMR = 0x25,
	MLX5_OP_EMPW = 0x29, /* Ethernet: one packet for each data segment */
	MLX5_OP_MMO = 0x2f,
};
#define MLX5_OPMOD_WAIT_TIME 2u

struct mlx5_ctrl {
	uint32_t opmod_idx_opcode; /* opmod << 24 | index << 8 | opcode */
	uint32_t qpn_ds;           /* number << 8 | segments */
	uint8_t signature;
	uint8_t stream[2];
	uint8_t fm_ce_se; /* fence << 5 | completion << 2 | solicited << 1 */
	uint32_t imm;
};

enum mlx5_ce { MLX5_CE_ERROR = 0, MLX5_CE_FIRST_ERROR = 1, MLX5_CE_ALWAYS = 2, MLX5_CE_EVENT = 3 };
#define MLX5_CE_SHIFT 2u

struct mlx5_eth {
	uint32_t swp;
	uint8_t cs_flags; /* MLX5_ETH_L3_CSUM, MLX5_ETH_L4_CSUM */
	uint8_t swp_flags;
	uint16_t mss;
	uint32_t flow_table_metadata;
	uint16_t inline_hdr_sz;
	uint8_t inline_hdr[2];
};
#define MLX5_ETH_L3_CSUM (1u << 6)
#define MLX5_ETH_L4_CSUM (1u << 7)

struct mlx5_data {
	uint32_t byte_count; /* bit 31: inline */
	uint32_t lkey;
	uint64_t addr;
};
#define MLX5_INLINE 0x80000000u

struct mlx5_raddr {
	uint64_t raddr;
	uint32_t rkey;
	uint32_t reserved;
};

struct mlx5_atomic {
	uint64_t swap_add;
	uint64_t compare;
};

struct mlx5_wait_cq {
	uint8_t reserved[8];
	uint32_t max_index;
	uint32_t cqn;
};

/* Until the clock has passed value = seconds << 32 | nanoseconds. */
struct mlx5_wait_time {
	uint32_t operation;
	uint32_t lkey;
	uint64_t va;
	uint64_t value;
	uint64_t mask;
};

static_assert(sizeof(struct mlx5_ctrl) == 16 && offsetof(struct mlx5_ctrl, qpn_ds) == 4 &&
		      offsetof(struct mlx5_ctrl, signature) == 8 && offsetof(struct mlx5_ctrl, fm_ce_se) == 11 &&
		      offsetof(struct mlx5_ctrl, imm) == 12,
	      "control segment");
static_assert(sizeof(struct mlx5_eth) == 16 && offsetof(struct mlx5_eth, cs_flags) == 4 &&
		      offsetof(struct mlx5_eth, mss) == 6 && offsetof(struct mlx5_eth, inline_hdr_sz) == 12,
	      "Ethernet segment");
static_assert(sizeof(struct mlx5_data) == 16 && offsetof(struct mlx5_data, lkey) == 4 &&
		      offsetof(struct mlx5_data, addr) == 8,
	      "data segment");
static_assert(sizeof(struct mlx5_raddr) == 16 && offsetof(struct mlx5_raddr, rkey) == 8, "remote address segment");
static_assert(sizeof(struct mlx5_atomic) == 16 && offsetof(struct mlx5_atomic, compare) == 8, "atomic segment");
static_assert(sizeof(struct mlx5_wait_cq) == 16 && offsetof(struct mlx5_wait_cq, max_index) == 8 &&
		      offsetof(struct mlx5_wait_cq, cqn) == 12,
	      "wait-on-CQ segment");
static_assert(sizeof(struct mlx5_wait_time) == 32 && offsetof(struct mlx5_wait_time, va) == 8 &&
		      offsetof(struct mlx5_wait_time, value) == 16,
	      "wait-on-time segment");

/* ---- doorbells ---------------------------------------------------------------------------------- */

#define MLX5_DBREC_RCV 0u /* be32[2]: entries posted, low 16 bits */
#define MLX5_DBREC_SND 1u
#define MLX5_CQ_DBREC_CI 0u /* be32[2]: consumer index, low 24 bits */
#define MLX5_CQ_DBREC_ARM 1u

/* The doorbell word is the first 8 bytes of a control segment: be32(pi << 8), be32(number << 8). */
static inline uint64_t mlx5_doorbell(uint32_t number, uint32_t pi)
{
	uint64_t hi = __builtin_bswap32((pi & 0xffff) << 8);

	return hi | (uint64_t)__builtin_bswap32(number << 8) << 32;
}

/* ---- completions --------------------------------------------------------------------------------- */

enum mlx5_cqe_opcode {
	MLX5_CQE_REQ = 0,
	MLX5_CQE_RESP_WR_IMM = 1,
	MLX5_CQE_RESP_SEND = 2,
	MLX5_CQE_RESP_SEND_IMM = 3,
	MLX5_CQE_RESP_SEND_INV = 4,
	MLX5_CQE_RESIZE = 5,
	MLX5_CQE_REQ_ERR = 13,
	MLX5_CQE_RESP_ERR = 14,
	MLX5_CQE_INVALID = 15,
};
#define MLX5_CQE_FORMAT_COMPRESSED 3u /* op_own bits 2..3 of a title */
#define MLX5_OP_OWN_EMPTY 0xf1u       /* a fresh ring */

enum mlx5_syndrome {
	MLX5_SYND_LOCAL_LENGTH = 0x01,
	MLX5_SYND_LOCAL_QP_OP = 0x02,
	MLX5_SYND_LOCAL_PROT = 0x04,
	MLX5_SYND_WR_FLUSH = 0x05,
	MLX5_SYND_BAD_RESP = 0x10,
	MLX5_SYND_LOCAL_ACCESS = 0x11,
	MLX5_SYND_REMOTE_INV_REQ = 0x12,
	MLX5_SYND_REMOTE_ACCESS = 0x13,
	MLX5_SYND_REMOTE_OP = 0x14,
	MLX5_SYND_TRANSPORT_RETRY = 0x15,
	MLX5_SYND_RNR_RETRY = 0x16,
	MLX5_SYND_ABORTED = 0x22,
};

struct mlx5_cqe {
	uint8_t reserved0[2];
	uint16_t wqe_id;
	uint8_t reserved4[8];
	uint32_t rx_hash; /* Ethernet receive: the RSS hash */
	uint8_t rx_hash_type;
	uint8_t ml_path;
	uint8_t reserved18[2];
	uint16_t check_sum;
	uint16_t slid;
	uint32_t flags_rqpn;
	uint8_t hds_ip_ext;  /* MLX5_L3_OK, MLX5_L4_OK */
	uint8_t l4_l3_type;  /* L4 kind << 4 | L3 kind << 2 | tag stripped */
	uint16_t vlan_info;
	uint32_t srqn_uidx;
	uint32_t imm_inval_pkey;
	uint32_t app; /* gpuwire: frames for this queue that found no entry just before this one */
	uint32_t byte_cnt;
	uint64_t timestamp;
	uint32_t sop_drop_qpn; /* Ethernet receive: the flow's tag, low 24 bits */
	uint16_t wqe_counter;
	uint8_t signature;
	uint8_t op_own; /* opcode << 4 | format << 2 | solicited << 1 | owner */
};
#define MLX5_L3_OK (1u << 1)
#define MLX5_L4_OK (1u << 2)
#define MLX5_TAG_STRIPPED 1u
#define MLX5_L3_TYPE(b) (((b) >> 2) & 3u)
#define MLX5_L3_IPV6 1u
#define MLX5_L3_IPV4 2u
#define MLX5_L4_TYPE(b) (((b) >> 4) & 7u)
#define MLX5_L4_UDP 2u

struct mlx5_err_cqe {
	uint8_t reserved0[32];
	uint32_t srqn;
	uint8_t reserved36[16];
	uint8_t hw_err_synd;
	uint8_t hw_synd_type;
	uint8_t vendor_err_synd;
	uint8_t syndrome;
	uint32_t s_wqe_opcode_qpn; /* opcode << 24 | number */
	uint16_t wqe_counter;
	uint8_t signature;
	uint8_t op_own;
};

static_assert(sizeof(struct mlx5_cqe) == 64 && offsetof(struct mlx5_cqe, wqe_id) == 2 &&
		      offsetof(struct mlx5_cqe, rx_hash) == 12 && offsetof(struct mlx5_cqe, ml_path) == 17 &&
		      offsetof(struct mlx5_cqe, slid) == 22 && offsetof(struct mlx5_cqe, flags_rqpn) == 24,
	      "completion, first half");
static_assert(offsetof(struct mlx5_cqe, hds_ip_ext) == 28 && offsetof(struct mlx5_cqe, l4_l3_type) == 29 &&
		      offsetof(struct mlx5_cqe, vlan_info) == 30 && offsetof(struct mlx5_cqe, srqn_uidx) == 32 &&
		      offsetof(struct mlx5_cqe, imm_inval_pkey) == 36 && offsetof(struct mlx5_cqe, app) == 40 &&
		      offsetof(struct mlx5_cqe, byte_cnt) == 44 && offsetof(struct mlx5_cqe, timestamp) == 48 &&
		      offsetof(struct mlx5_cqe, sop_drop_qpn) == 56 &&
		      offsetof(struct mlx5_cqe, wqe_counter) == 60 && offsetof(struct mlx5_cqe, signature) == 62 &&
		      offsetof(struct mlx5_cqe, op_own) == 63,
	      "completion, second half");
static_assert(sizeof(struct mlx5_err_cqe) == 64 && offsetof(struct mlx5_err_cqe, srqn) == 32 &&
		      offsetof(struct mlx5_err_cqe, hw_err_synd) == 52 &&
		      offsetof(struct mlx5_err_cqe, hw_synd_type) == 53 &&
		      offsetof(struct mlx5_err_cqe, vendor_err_synd) == 54 &&
		      offsetof(struct mlx5_err_cqe, syndrome) == 55 &&
		      offsetof(struct mlx5_err_cqe, s_wqe_opcode_qpn) == 56 &&
		      offsetof(struct mlx5_err_cqe, wqe_counter) == 60 &&
		      offsetof(struct mlx5_err_cqe, op_own) == 63,
	      "error completion");

/* A title (format 3) stands for byte_cnt packets, the first in receive entry wqe_counter, the rest in the
 * entries after it; all share its flags, flow and queue. Their sizes are in arrays of eight mini entries which
 * lie in the ring slots title + 1, title + 8, title + 16, ... The consumer index moves by byte_cnt; the
 * consumer marks title and array slots invalid, so that no later lap can take them for completions. */
struct mlx5_mini_cqe {
	uint32_t rx_hash;
	uint32_t byte_cnt;
};
static_assert(sizeof(struct mlx5_mini_cqe) == 8 && offsetof(struct mlx5_mini_cqe, byte_cnt) == 4,
	      "mini completion");
#define MLX5_MINI_PER_SLOT 8u

/* Ring slot, counted from the title, that holds mini entry i. */
static inline uint32_t mlx5_mini_slot(uint32_t i)
{
	return i < MLX5_MINI_PER_SLOT ? 1 : i & ~(MLX5_MINI_PER_SLOT - 1);
}

/* The owner bit of ring index i in its lap. */
static inline uint8_t mlx5_owner(uint32_t i, uint32_t log_n)
{
	return (uint8_t)(i >> log_n & 1);
}

#endif

// The part of QEMU's plugin interface that the counter uses, for interface version 1 (QEMU 4.2 to
// 8.2). Debian 12 packages an emulator with the interface and no header of it.
#ifndef LITECAST_QEMU_PLUGIN_V1_H
#define LITECAST_QEMU_PLUGIN_V1_H

#include <stddef.h>
#include <stdint.h>

#define PLUGIN_EXPORT __attribute__((visibility("default")))
enum { INTERFACE_VERSION = 1 };

typedef uint64_t qemu_plugin_id_t;
typedef struct qemu_info_t qemu_info_t;
struct qemu_plugin_tb;   // a block of guest instructions that is translated and run as a whole
struct qemu_plugin_insn; // one guest instruction of a block

enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 = 0 };

typedef void (*block_translated_fn)(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void (*system_call_fn)(qemu_plugin_id_t, unsigned vcpu, int64_t number, uint64_t a1,
                               uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6,
                               uint64_t a7, uint64_t a8);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, block_translated_fn);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t, system_call_fn);
// Emits, into the translated block, code that adds `value` to the u64 at `counter`.
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *, enum qemu_plugin_op,
                                              void *counter, uint64_t value);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t idx);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);

#endif

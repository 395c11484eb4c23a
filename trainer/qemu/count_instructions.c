// QEMU plugin: instructions that a guest program executes between two marks, by class.
//
// A mark is the system call getpid with one of the words below as its first argument, which the
// kernel ignores. BEGIN sets the counts to zero. END writes them, as one line of JSON, to the
// file descriptor that is its second argument: user-mode emulation gives guest and host the same
// descriptors, so a guest that passes the end of a pipe reads its own counts from the other.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <qemu-plugin.h>

#include "a64_classes.h"

enum { GETPID = 172 };
static const uint64_t BEGIN = 0x6c697465, END = 0x63617374;

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

static uint64_t counts[N_CLASSES];

// Counting costs one addition for each class that occurs in a block, not a call.
static void block_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *block) {
    (void)id;
    uint64_t in_block[N_CLASSES] = {0};
    for (size_t idx = 0; idx < qemu_plugin_tb_n_insns(block); idx++) {
        uint32_t word;
        memcpy(&word, qemu_plugin_insn_data(qemu_plugin_tb_get_insn(block, idx)), sizeof word);
        in_block[class_of(word)]++;
    }
    for (int class = 0; class < N_CLASSES; class++)
        if (in_block[class])
            qemu_plugin_register_vcpu_tb_exec_inline(block, QEMU_PLUGIN_INLINE_ADD_U64,
                                                     &counts[class], in_block[class]);
}

static void write_counts(int descriptor) {
    for (int class = 0; class < N_CLASSES; class++)
        dprintf(descriptor, "%c\"%s\":%" PRIu64, class ? ',' : '{', CLASS_NAMES[class],
                counts[class]);
    dprintf(descriptor, "}\n");
}

static void system_call(qemu_plugin_id_t id, unsigned vcpu, int64_t number, uint64_t a1,
                        uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6,
                        uint64_t a7, uint64_t a8) {
    (void)id, (void)vcpu, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
    if (number != GETPID)
        return;
    if (a1 == BEGIN)
        memset(counts, 0, sizeof counts);
    else if (a1 == END)
        write_counts((int)a2);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info,
                                           int argc, char **argv) {
    (void)info, (void)argc, (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, block_translated);
    qemu_plugin_register_vcpu_syscall_cb(id, system_call);
    return 0;
}

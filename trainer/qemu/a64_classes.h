// Classes of A64 instructions (Armv8-A), told from their encoding.
#ifndef LITECAST_A64_CLASSES_H
#define LITECAST_A64_CLASSES_H

#include <stddef.h>
#include <stdint.h>

enum class {
    BRANCH,
    LOAD,
    STORE,
    INTEGER,
    INTEGER_MULTIPLY, // and divide
    VECTOR_LOAD,      // of a SIMD and floating-point register, whatever its width
    VECTOR_STORE,
    VECTOR_INTEGER,  // SIMD without multiplication: arithmetic, shifts, permutations, moves
    VECTOR_MULTIPLY, // SIMD integer multiplication, dot products among them
    FLOAT,           // floating point, scalar and SIMD
    SYSTEM,          // exceptions, hints, barriers, system registers
    N_CLASSES
};

static const char *const CLASS_NAMES[N_CLASSES] = {
    "branch",      "load",         "store",          "integer",         "integer_multiply",
    "vector_load", "vector_store", "vector_integer", "vector_multiply", "float",
    "system",
};

struct encoding {
    uint32_t mask, value;
    enum class class;
};

// The first row that an instruction matches tells its class; within a group of the Arm
// Architecture Reference Manual (C4.1) the special cases come first. Bits that are named: V (26)
// tells a SIMD register from a general one, L (22) a load from a store.
static const struct encoding ENCODINGS[] = {
    // Data processing, immediate.
    {0x1C000000, 0x10000000, INTEGER},
    // Branches, exceptions, system.
    {0xFF000000, 0xD4000000, SYSTEM}, // exceptions
    {0xFFC00000, 0xD5000000, SYSTEM}, // hints, barriers, system registers
    {0x1C000000, 0x14000000, BRANCH},
    // Loads and stores: SIMD structures, one or several.
    {0xBE400000, 0x0C400000, VECTOR_LOAD},
    {0xBE400000, 0x0C000000, VECTOR_STORE},
    // Exclusive, ordered and compare-and-swap.
    {0x3F400000, 0x08400000, LOAD},
    {0x3F400000, 0x08000000, STORE},
    // Ordered with an offset: opc (23:22) is 0 for a store.
    {0x3FE00C00, 0x19000000, STORE},
    {0x3F200C00, 0x19000000, LOAD},
    // Literals; prefetches count as loads.
    {0x3F000000, 0x18000000, LOAD},
    {0x3F000000, 0x1C000000, VECTOR_LOAD},
    // Pairs.
    {0x3E400000, 0x28400000, LOAD},
    {0x3E400000, 0x28000000, STORE},
    {0x3E400000, 0x2C400000, VECTOR_LOAD},
    {0x3E400000, 0x2C000000, VECTOR_STORE},
    // One register. Atomic operations read and write.
    {0x3F200C00, 0x38200000, LOAD},
    {0x3EC00000, 0x38000000, STORE}, // opc is 0
    {0x3E000000, 0x38000000, LOAD},
    {0x3E400000, 0x3C400000, VECTOR_LOAD},
    {0x3E400000, 0x3C000000, VECTOR_STORE},
    // Data processing, register.
    {0x1F000000, 0x1B000000, INTEGER_MULTIPLY}, // three sources
    {0x7FE0F800, 0x1AC00800, INTEGER_MULTIPLY}, // divisions
    {0x0E000000, 0x0A000000, INTEGER},
    // Scalar floating point, with its moves and conversions.
    {0x5E000000, 0x1E000000, FLOAT},
    // SIMD, three registers of one width.
    {0x9F20C400, 0x0E20C400, FLOAT},
    {0x9F60C400, 0x0E400400, FLOAT},           // half precision
    {0x9F20FC00, 0x0E209400, VECTOR_MULTIPLY}, // MLA, MLS
    {0x9F20FC00, 0x0E209C00, VECTOR_MULTIPLY}, // MUL, PMUL
    {0x9F20FC00, 0x0E20B400, VECTOR_MULTIPLY}, // SQDMULH, SQRDMULH
    {0x9F208400, 0x0E008400, VECTOR_MULTIPLY}, // SQRDMLAH, dot products, matrix products
    // SIMD, three registers of different widths; PMULL among the multiplications.
    {0x9F208C00, 0x0E208000, VECTOR_MULTIPLY},
    // SIMD, two registers.
    {0x9F3F8C00, 0x0E218800, FLOAT}, // roundings, conversions, estimates, roots
    {0x9F3FEC00, 0x0E216800, FLOAT}, // FCVTN, FCVTL
    {0x9FBFCC00, 0x0EA0C800, FLOAT}, // comparisons with 0, FABS, FNEG
    {0x9F7E0C00, 0x0E780800, FLOAT}, // the same in half precision
    {0x9F3FCC00, 0x0E30C800, FLOAT}, // largest and smallest of a vector
    // SIMD, immediates; then shifts by one, where conversions of fixed point are no shifts.
    {0x9FF80400, 0x0F000400, VECTOR_INTEGER},
    {0x9F00FC00, 0x0F00E400, FLOAT},
    {0x9F00FC00, 0x0F00FC00, FLOAT},
    // SIMD, by element.
    {0x9F00F400, 0x0F001000, FLOAT}, // FMLA
    {0x9F00F400, 0x0F005000, FLOAT}, // FMLS
    {0x9F00F400, 0x0F009000, FLOAT}, // FMUL, FMULX
    {0x9F000400, 0x0F000000, VECTOR_MULTIPLY},
    // SIMD instructions on one element: three registers, two registers, a pair, by element.
    {0xDF20C400, 0x5E20C400, FLOAT},
    {0xDF3F8C00, 0x5E218800, FLOAT},
    {0xDF3ECC00, 0x5E30C800, FLOAT},
    {0xDF00F400, 0x5F001000, FLOAT},
    {0xDF00F400, 0x5F009000, FLOAT},
    {0x0E000000, 0x0E000000, VECTOR_INTEGER},
};

// The class of an instruction word. Words of no known group (SVE, reserved) are SYSTEM, for
// neither processor that is emulated has them.
static enum class class_of(uint32_t word) {
    for (size_t idx = 0; idx < sizeof ENCODINGS / sizeof *ENCODINGS; idx++)
        if ((word & ENCODINGS[idx].mask) == ENCODINGS[idx].value)
            return ENCODINGS[idx].class;
    return SYSTEM;
}

#endif

//! Products of two feature maps on Ethos-U55 and U65, whose multipliers only accept weights as second operand:
//! elementwise products and their sums. Reproduces `DecomposeMatmul` and `EstimateMatMulCycles` of Vela.

use crate::targets::ethos_u::accelerator::{Accelerator, MemoryPort};
use crate::targets::ethos_u::blocks::{self, Block, elementwise};
use crate::targets::ethos_u::cycles::{CycleContext, Elementwise, Part, operator_cycles};
use crate::targets::ethos_u::geometry::{Hwc, IfmOfm, ceil_div};
use crate::targets::ethos_u::layer::{Layer, UNCHANGED};
use crate::targets::ethos_u::program::{INT32_BYTES, Operation, Program};
use crate::targets::ethos_u::scheduled_operation::{Execution, MatMul, Read, ScheduledOperation};

/// Minimum side of a block of the products.
const MIN_SIDE: i64 = 4;

/// A scheduled operation that multiplies rows and sums the products by `sum`, for each of `n_columns`.
pub fn mat_mul<'a>(
    accelerator: &Accelerator,
    program: &Program,
    operation: &Operation,
    sum: Layer,
    n_columns: f64,
) -> Option<ScheduledOperation<'a>> {
    let [_, second] = operation.inputs[..] else {
        return None;
    };
    let output = &program.maps[*operation.outputs.first()?];
    let rows = sum.ifm;
    let several = rows_of_several_blocks(accelerator, rows);
    let block = blocks::choose(
        accelerator,
        &Layer {
            ifm: several,
            ofm: [several[0], several[1], 1],
            element_bytes: IfmOfm {
                ifm: INT32_BYTES,
                ofm: sum.element_bytes.ofm,
            },
            ..sum
        },
    )?;
    let product = wide_product(accelerator, rows, several);
    let execution = Execution::MatMul(Box::new(MatMul {
        product,
        sum: (sum, block),
        n_columns,
    }));
    let read = rows.iter().product::<i64>() as f64 * n_columns;
    let planned = accelerator.planned_feature_maps();
    let cycles = mat_mul_cycles(
        accelerator,
        (&product, &sum, &block, n_columns),
        &IfmOfm::both(planned),
        planned,
    );
    let bytes = IfmOfm {
        ifm: read,
        ofm: output.stored_bytes(),
    };
    Some(ScheduledOperation {
        second: Some(Box::new(Read::whole(program, second))),
        ..ScheduledOperation::new(execution, cycles, bytes)
    })
}

/// The elementwise products of two matrices, which are 32 bits wide.
fn wide_product(accelerator: &Accelerator, rows: Hwc, several: Hwc) -> Elementwise {
    let shapes = elementwise::Shapes {
        ofm: several,
        ifm: several,
        second: Some([rows[0], 1, rows[2]]),
        element_bytes: 1,
        order: UNCHANGED,
        is_brick: false,
    };
    let products_block = elementwise::choose(accelerator, &shapes);
    Elementwise {
        block: products_block,
        read_block: products_block,
        shapes: IfmOfm::both(rows),
        element_bytes: IfmOfm {
            ifm: 1,
            ofm: INT32_BYTES,
        },
        is_brick: IfmOfm::both(false),
        second: Some((rows, false)),
        cycles_per_element: accelerator.output.product_to_wide(),
    }
}

/// Divides rows so that a block contains only a part of them, and one block is computed while another one waits
/// (`MatMulDependencyFit` in Vela).
fn rows_of_several_blocks(accelerator: &Accelerator, mut rows: Hwc) -> Hwc {
    let axis = usize::from(rows[0] <= accelerator.max_block[0]);
    if rows[axis] <= accelerator.max_block[axis] {
        let n_blocks = [3, 2].into_iter().find(|n| rows[axis] >= MIN_SIDE * n);
        rows[axis] = ceil_div(rows[axis], n_blocks.unwrap_or(1));
    }
    rows
}

/// Cycles of products and sums. Intermediate results are in the memory of the compiler's first plan.
pub fn mat_mul_cycles(
    accelerator: &Accelerator,
    (product, sum, block, n_columns): (&Elementwise, &Layer, &Block, f64),
    memories: &IfmOfm<MemoryPort>,
    second: MemoryPort,
) -> f64 {
    let between = accelerator.planned_feature_maps();
    let conditions = CycleContext {
        feature_maps: IfmOfm {
            ifm: between,
            ofm: memories.ofm,
        },
        scale_latency_cycles: 0.0,
        part: Part::WHOLE,
    };
    let products_in = IfmOfm {
        ofm: between,
        ..*memories
    };
    let sums = operator_cycles(accelerator, sum, block, conditions);
    (product.cycles(accelerator, &products_in, Some(second)) + sums) * n_columns
}

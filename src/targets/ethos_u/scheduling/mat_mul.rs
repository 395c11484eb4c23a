//! Products of two feature maps on Ethos-U55 and U65, which can only multiply by weights: elementwise products
//! and their sums. Reproduces `DecomposeMatmul` and `EstimateMatMulCycles` of Vela.

use crate::targets::ethos_u::accelerator::{Accelerator, Memory};
use crate::targets::ethos_u::blocks::{self, Block, elementwise};
use crate::targets::ethos_u::cycles::{Conditions, Elementwise, Part, operator_cycles};
use crate::targets::ethos_u::geometry::{Hwc, ceil_div};
use crate::targets::ethos_u::layer::Layer;
use crate::targets::ethos_u::program::{INT32_BYTES, Operation, Program};
use crate::targets::ethos_u::scheduled_operation::{Execution, Read, ScheduledOperation};

/// Smallest side of a block of the products.
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
    let [batches, ..] = rows;
    let several = in_several_blocks(accelerator, rows);
    let block = blocks::choose(
        accelerator,
        &Layer {
            ifm: several,
            ofm: [several[0], several[1], 1],
            element_bytes: [INT32_BYTES, sum.element_bytes[1]],
            ..sum
        },
    )?;
    let shapes = elementwise::Shapes {
        ofm: several,
        ifm: several,
        second: Some([batches, 1, rows[2]]),
        element_bytes: 1,
    };
    let product = Elementwise {
        block: elementwise::choose(accelerator, &shapes),
        shapes: [rows; 2],
        element_bytes: [1, 4],
        is_brick: [false; 2],
        second: Some((rows, false)),
        cycles_per_element: accelerator.output.product_to_wide(),
    };
    let execution = Execution::MatMul {
        product,
        sum: (sum, block),
        n_columns,
    };
    let read = rows.iter().product::<i64>() as f64 * n_columns;
    let feature_maps = [accelerator.planned_feature_maps(); 2];
    let cycles = mat_mul_cycles(
        accelerator,
        (&product, &sum, &block, n_columns),
        feature_maps,
        feature_maps[0],
    );
    Some(ScheduledOperation {
        second: Some(Read::whole(program, second)),
        ..ScheduledOperation::new(execution, cycles, [read, output.stored_bytes()])
    })
}

/// Rows of which a block holds only a part, so that one block is computed while another one waits
/// (`MatMulDependencyFit` in Vela).
fn in_several_blocks(accelerator: &Accelerator, mut rows: Hwc) -> Hwc {
    let axis = usize::from(rows[0] <= accelerator.max_block[0]);
    if rows[axis] <= accelerator.max_block[axis] {
        let n_blocks = [3, 2].into_iter().find(|n| rows[axis] >= MIN_SIDE * n);
        rows[axis] = ceil_div(rows[axis], n_blocks.unwrap_or(1));
    }
    rows
}

/// Cycles of products and sums. What is between them is in the memory of the compiler's first plan.
pub fn mat_mul_cycles(
    accelerator: &Accelerator,
    (product, sum, block, n_columns): (&Elementwise, &Layer, &Block, f64),
    [from, to]: [Memory; 2],
    second: Memory,
) -> f64 {
    let between = accelerator.planned_feature_maps();
    let conditions = Conditions {
        feature_maps: [between, to],
        scale_latency_cycles: 0.0,
        part: Part::WHOLE,
    };
    let sums = operator_cycles(accelerator, sum, block, conditions);
    (product.cycles(accelerator, [from, between], Some(second)) + sums) * n_columns
}

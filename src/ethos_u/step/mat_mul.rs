//! Products of matrices by accelerators that multiply by weights only.

use super::{Read, Step, Work};
use crate::ethos_u::accelerator::{Accelerator, Memory};
use crate::ethos_u::blocks::{self, Block, elementwise};
use crate::ethos_u::cycles::{Conditions, Elementwise, Part, operator_cycles};
use crate::ethos_u::layer::Layer;
use crate::ethos_u::program::{Operation, Program};

/// Products and their sums, `sum` of each row.
pub fn mat_mul<'a>(
    accelerator: &Accelerator,
    program: &Program,
    operation: &Operation,
    sum: Layer,
    n_columns: f64,
) -> Option<Step<'a>> {
    let [_, second] = operation.inputs[..] else {
        return None;
    };
    let output = &program.maps[*operation.outputs.first()?];
    let rows = sum.ifm;
    let block = blocks::choose(accelerator, &sum)?;
    let shapes = elementwise::Shapes {
        ofm: rows,
        ifm: rows,
        second: Some(rows),
        element_bytes: 1,
    };
    let product = Elementwise {
        block: elementwise::choose(accelerator, &shapes),
        shapes: [rows; 2],
        element_bytes: [1, 4],
        is_brick: [false; 2],
        second: None,
        cycles_per_element: accelerator.output.product_to_wide,
    };
    let work = Work::MatMul {
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
    );
    Some(Step {
        second: Some(Read::whole(program, second)),
        ..Step::new(work, cycles, [read, output.stored_bytes()])
    })
}

/// Cycles of products and sums; what is between lies where the compiler has feature maps at first.
pub fn mat_mul_cycles(
    accelerator: &Accelerator,
    (product, sum, block, n_columns): (&Elementwise, &Layer, &Block, f64),
    [from, to]: [Memory; 2],
) -> f64 {
    let between = accelerator.planned_feature_maps();
    let conditions = Conditions {
        feature_maps: [between, to],
        scale_latency_cycles: 0.0,
        part: Part::WHOLE,
    };
    let sums = operator_cycles(accelerator, sum, block, conditions);
    (product.cycles(accelerator, [from, between], None) + sums) * n_columns
}

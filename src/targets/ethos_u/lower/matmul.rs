//! BATCH_MATMUL.

use super::lowering::{Lowering, n_elements};
use super::transpose::{Pass, is_exchanged_before};
use crate::formats::tflite::BuiltinOptions;
use crate::targets::ethos_u::layer::Kind;
use crate::targets::ethos_u::program::{Action, INT32_BYTES, Operation};

/// Ethos-U85 multiplies two feature maps, one batch after the other. On the others, elementwise products of each column
/// of the second matrix with all rows of the first one are summed.
pub fn batch_matmul(lowering: &mut Lowering) -> Option<()> {
    let BuiltinOptions::BatchMatMul { adj_x, adj_y } = lowering.operator().options else {
        return None;
    };
    let (first, second, output) = (lowering.input(0)?, lowering.input(1)?, lowering.output()?);
    if lowering.element_bytes(output) != 1 {
        return None;
    }
    let matrices = |shape: &[i32]| -> Option<[i64; 3]> {
        let [outer @ .., rows, columns] = shape else {
            return None;
        };
        let sizes = [
            n_elements(outer),
            n_elements(&[*rows]),
            n_elements(&[*columns]),
        ];
        sizes.iter().all(|&size| size > 0).then_some(sizes)
    };
    let [n, rows, columns] = matrices(&lowering.tensor(output).shape)?;
    let [_, one, other] = matrices(&lowering.tensor(first).shape)?;
    let inner = if adj_x { one } else { other };
    let first = match adj_x {
        true => transposed(lowering, first, [n, inner, rows]),
        false => first,
    };
    // A TRANSPOSE before it may already perform this transposition.
    let is_done = adj_y || is_exchanged_before(lowering, second);
    let second = match is_done {
        true => second,
        false => transposed(lowering, second, [n, inner, columns]),
    };
    if lowering.accelerator.is_u85() {
        lowering.push(Operation {
            seen: Some(Box::new([[1, rows, inner], [1, rows, columns]])),
            repeats: n as f64,
            ..lowering.operation(Action::Layer(Kind::MatrixProduct), &[first, second], output)
        });
        return Some(());
    }
    let products = lowering.linear_map([n, rows, inner], 1);
    let map = &mut lowering.program.maps[products];
    map.is_off_chip = true;
    if let Some(bytes) = map.bytes.get() {
        map.bytes = (bytes * INT32_BYTES as f64).into();
    }
    lowering.push(Operation {
        outputs: [output, products].as_slice().into(),
        seen: Some(Box::new([[n, rows, inner], [n, rows, 1]])),
        ..lowering.operation(
            Action::MatMul { n_columns: columns },
            &[first, second],
            output,
        )
    });
    Some(())
}

fn transposed(lowering: &mut Lowering, input: usize, [n, rows, columns]: [i64; 3]) -> usize {
    let output = lowering.linear_map([n, columns, rows], 1);
    lowering.transpose_pass([input, output], Pass::of([n, rows, columns], [0, 2, 1]));
    output
}

//! What automatic mixed precision computes in float32. Normalisations, softmaxes and powers write it, products never do,
//! and any other kernel writes it if an operand has it. The parameters of a scale, a bias or an embedding have it, too.

use super::kernel::{Kernel, Kind};

/// Sets [`Kernel::float32_inputs`] and [`Kernel::writes_float32`]. Linear in kernels and their operands.
pub(super) fn mark_float32(kernels: &mut [Kernel], n_tensors: usize) {
    // By tensor: elements, and those of them that are float32.
    let mut written: Vec<Option<[f64; 2]>> = vec![None; n_tensors];
    for kernel in kernels {
        // The network's inputs are float32; their sizes are known if a kernel reads nothing else.
        let unknown = [kernel.inputs / kernel.sources.len().max(1) as f64; 2];
        let mut sums = [0.0; 2];
        for &source in &kernel.sources {
            let [all, single] = written[source].unwrap_or(unknown);
            sums[0] += all;
            sums[1] += single;
        }
        let [all, single] = sums;
        if single > 0.0 {
            kernel.float32_inputs = kernel.inputs * single / all;
        }
        kernel.writes_float32 |= match kernel.kind {
            Kind::Normalisation | Kind::Softmax => true,
            Kind::Scale if !kernel.is_scalar => true,
            _ => single > 0.0 && !kernel.is_product(),
        };
        let single = if kernel.writes_float32 {
            kernel.outputs
        } else {
            0.0
        };
        written[kernel.output] = Some([kernel.outputs, single]);
    }
}

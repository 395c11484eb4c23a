//! Time and memory of one network by batch size on a GPU.

use std::num::NonZeroU32;

use crate::evaluation::{EstimateError, ModelFile, Request};
use crate::formats::tflite::MAIN_SUBGRAPH;
use crate::graph::{self, analysis};
use crate::model_variants::Changes;
use crate::targets::gpu::Bundle;
use crate::targets::gpu::specifications::Gpu;
use crate::targets::gpu::sweep::{Sweep, sweep};

/// Time and memory by batch size on a GPU, after `changes` were applied to the file's network; `None` if no measured
/// network spends time in the kernels of this one.
pub fn sweep_batch(
    file: ModelFile,
    changes: &Changes,
    gpu: &Gpu,
    bundle: &Bundle,
) -> Result<Option<Sweep>, EstimateError> {
    let one_input = ModelFile {
        request: Request {
            batch: NonZeroU32::MIN,
            ..file.request
        },
        ..file
    };
    let model = one_input.read_changed_as_it_is(changes)?;
    let graph = graph::build(&model, MAIN_SUBGRAPH)?;
    Ok(sweep(&graph, &analysis::analyze(&graph), gpu, bundle))
}

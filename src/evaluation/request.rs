//! What is asked of a file, and the network that it is asked of.

use std::num::NonZeroU32;

use super::error::EstimateError;
use crate::boards::Application;
use crate::formats;
use crate::formats::onnx::Dimensions;
use crate::formats::tflite::{Format, MAIN_SUBGRAPH, Model, Tensor};
use crate::graph::as_int8;
use crate::graph::shapes::{batch_size, inference};
use crate::model_variants::{Changes, EstimateAs};
use crate::report;

/// The circumstances that a model is estimated in. The default changes nothing: batch size 1, one thread.
#[derive(Clone, Copy, Debug)]
pub struct Request<'f> {
    /// Batch size, for a file whose batch size is 1: see [`batch_size`].
    pub batch: NonZeroU32,
    /// Threads on a Cortex-A processor, at most one for each core of the board.
    pub threads: NonZeroU32,
    /// Sizes that a file leaves open, by name: symbolic dimensions of an ONNX file, and those that
    /// [`set_input_sizes`](inference::set_input_sizes) takes of a TFLite file. The first dimension of an ONNX
    /// file's input is the batch if it has no size here.
    pub dimensions: &'f [(String, u32)],
    /// Whether `dimensions` are for several files, not all of which have every one. A name that this file does not
    /// leave open is then a warning in the report instead of an error.
    pub are_dimensions_shared: bool,
    /// Memory that the application needs for itself on microcontrollers.
    pub application: Application,
    /// In which precision a network of floats is estimated.
    pub estimate_as: EstimateAs,
    /// SHA-256 of the file for the report, in 64 hexadecimal digits; computed if absent.
    pub sha256: Option<&'f str>,
}

impl Default for Request<'_> {
    fn default() -> Self {
        Self {
            batch: NonZeroU32::MIN,
            threads: NonZeroU32::MIN,
            dimensions: &[],
            are_dimensions_shared: false,
            application: Application::default(),
            estimate_as: EstimateAs::default(),
            sha256: None,
        }
    }
}

/// A model, and what is asked of it.
#[derive(Clone, Copy, Debug)]
pub struct ModelFile<'f> {
    /// Name in the report.
    pub name: &'f str,
    /// A `.tflite` or `.onnx` file, or a graph without weights (`docs/guide/graph-json.md`).
    pub bytes: &'f [u8],
    /// The circumstances that it is estimated in.
    pub request: Request<'f>,
}

impl<'f> ModelFile<'f> {
    /// The file without changes.
    pub fn new(name: &'f str, bytes: &'f [u8]) -> Self {
        Self {
            name,
            bytes,
            request: Request::default(),
        }
    }

    pub(crate) fn sha256_or_computed(&self) -> String {
        match self.request.sha256 {
            Some(known) => known.to_owned(),
            None => report::sha256(self.bytes),
        }
    }

    fn open_dimensions(&self) -> Dimensions<'f> {
        Dimensions {
            batch: self.request.batch.get(),
            named: self.request.dimensions,
        }
    }

    pub(crate) fn read_changed_as_it_is(
        &self,
        changes: &Changes,
    ) -> Result<Model<'f>, EstimateError> {
        let mut model = formats::read(self.bytes, &self.open_dimensions())?;
        inference::set_input_sizes(&mut model, self.request.dimensions)?;
        match &model.unmatched_dimensions {
            Some(unmatched) if self.request.are_dimensions_shared => {
                model.diagnostics.push(unmatched.diagnostic());
            }
            Some(unmatched) => return Err(unmatched.clone().into()),
            None => {}
        }
        inference::fill(&mut model);
        let as_int8 = self.request.estimate_as == EstimateAs::Int8 && as_int8::is_float(&model);
        let changes = Changes {
            int8: changes.int8 || as_int8,
            ..changes.clone()
        };
        changes.apply(&mut model)?;
        Ok(model)
    }

    /// The network as int8, read once more.
    pub(crate) fn read_as_int8(&self, changes: &Changes) -> Result<Model<'f>, EstimateError> {
        let as_int8 = Self {
            request: Request {
                estimate_as: EstimateAs::Int8,
                ..self.request
            },
            ..*self
        };
        as_int8.read_changed(changes)
    }

    pub(crate) fn read_changed(&self, changes: &Changes) -> Result<Model<'f>, EstimateError> {
        let mut model = self.read_changed_as_it_is(changes)?;
        // An ONNX file that leaves the batch open was already read with the requested batch size.
        if model.format != Format::Onnx || !has_batch(&model, self.request.batch) {
            batch_size::set_batch(&mut model, self.request.batch)?;
        }
        Ok(model)
    }
}

fn has_batch(model: &Model, batch: NonZeroU32) -> bool {
    let subgraph = &model.subgraphs[MAIN_SUBGRAPH];
    let mut inputs = subgraph
        .inputs
        .iter()
        .map(|&input| &subgraph.tensors[input]);
    let first = |tensor: &Tensor| tensor.shape.first().and_then(|&n| u32::try_from(n).ok());
    inputs.all(|tensor| first(tensor) == Some(batch.get()))
}

//! The trained network as an ONNX file → its outputs for a batch of graphs, run by tract. This is the only module that
//! names tract.

mod columns;
mod operators;
mod scatter_rows;
mod tensors;

use std::sync::OnceLock;

use prost::Message;
use tract_onnx::pb::tensor_shape_proto::dimension::Value as Dimension;
use tract_onnx::pb::type_proto::Value as TypeOfValue;
use tract_onnx::pb::{ModelProto, ValueInfoProto};
use tract_onnx::tract_core::internal::*;

use crate::learned::batch::Batch;
use crate::learned::manifest::N_NODES;

/// A network. It is optimised when it runs for the first time, because many files never need it.
pub struct PredictorNetwork {
    source: Source,
    runnable: OnceLock<Arc<TypedRunnableModel>>,
}

enum Source {
    Model(TypedModel),
    /// An ONNX file that was read before without an error.
    Checked(Vec<u8>),
}

/// A file that is not a network we can run, or a run that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// The file is not ONNX.
    #[error("expected an ONNX file: {0}")]
    File(#[from] prost::DecodeError),
    /// The file contains an operator that [`PredictorNetwork::load`] does not know.
    #[error(
        "node `{node}`: operator {found}, expected one of {}",
        operators::known()
    )]
    Operator { found: String, node: String },
    /// Another defect of the file, or a failure of tract.
    #[error("{0:#}")]
    Tract(TractError),
}

impl PredictorNetwork {
    /// Reads an ONNX file.
    pub fn load(onnx: &[u8]) -> Result<Self, NetworkError> {
        Ok(Self::new(Source::Model(read(onnx)?)))
    }

    /// A network from an ONNX file that [`PredictorNetwork::load`] accepted before. The file is read when the network runs for
    /// the first time.
    pub fn from_checked(onnx: Vec<u8>) -> Self {
        Self::new(Source::Checked(onnx))
    }

    fn new(source: Source) -> Self {
        Self {
            source,
            runnable: OnceLock::new(),
        }
    }

    /// Runs the network. Returns the values of each output in row-major order.
    pub fn run(&self, batch: &Batch) -> Result<Vec<Vec<f32>>, NetworkError> {
        let runnable = self.runnable()?;
        outputs(runnable, batch).map_err(NetworkError::Tract)
    }

    fn runnable(&self) -> Result<&Arc<TypedRunnableModel>, NetworkError> {
        if let Some(runnable) = self.runnable.get() {
            return Ok(runnable);
        }
        let model = match &self.source {
            Source::Model(model) => model.clone(),
            Source::Checked(onnx) => read(onnx)?,
        };
        let runnable = optimised(model).map_err(NetworkError::Tract)?;
        Ok(self.runnable.get_or_init(|| runnable))
    }
}

fn read(onnx: &[u8]) -> Result<TypedModel, NetworkError> {
    #[cfg(target_arch = "wasm32")]
    crate::constructors::run_once();
    let file = ModelProto::decode(onnx)?;
    check_operators(&file)?;
    model(&file).map_err(NetworkError::Tract)
}

fn outputs(runnable: &Arc<TypedRunnableModel>, batch: &Batch) -> TractResult<Vec<Vec<f32>>> {
    let n_nodes = batch.n_nodes();
    let n_columns = batch.nodes.len() / n_nodes.max(1);
    let rows = Tensor::from_shape(&[n_nodes, n_columns], &batch.nodes)?;
    let mut inputs = tvec![rows.into_tvalue()];
    for indices in batch.indices() {
        inputs.push(Tensor::from_shape(&indices.shape, indices.values)?.into_tvalue());
    }
    let values = |output: &TValue| -> TractResult<Vec<f32>> {
        Ok(output
            .to_plain_array_view::<f32>()?
            .iter()
            .copied()
            .collect())
    };
    runnable.run(inputs)?.iter().map(values).collect()
}

/// Checks that [`PredictorNetwork::load`] knows every operator of a file. The trainer checks its exports with it.
pub fn check_operators(file: &ModelProto) -> Result<(), NetworkError> {
    let mut nodes = file.graph.iter().flat_map(|graph| &graph.node);
    match nodes.find(|node| !operators::is_known(&node.op_type)) {
        None => Ok(()),
        Some(node) => Err(NetworkError::Operator {
            found: node.op_type.clone(),
            node: node.name.clone(),
        }),
    }
}

fn optimised(mut model: TypedModel) -> TractResult<Arc<TypedRunnableModel>> {
    // tract vectorises operators on rows only if it knows that there is at least one row.
    model.symbols.add_assertion(format!("{N_NODES} >= 1"))?;
    // Skip the simplifying passes of `into_optimized`: they find nothing to simplify in an exported network and take
    // half of the loading time.
    model.optimize()?;
    model.into_runnable()
}

/// Builds the model node by node. ONNX lists each node after the nodes whose results it reads.
fn model(file: &ModelProto) -> TractResult<TypedModel> {
    let graph = file.graph.as_ref().context("expected a graph")?;
    let mut model = TypedModel::default();
    let mut outlets: HashMap<&str, OutletId> = HashMap::new();
    for input in &graph.input {
        let fact = fact(&model, input)?;
        let outlet = model.add_source(&input.name, fact)?;
        outlets.insert(&input.name, outlet);
    }
    for tensor in &graph.initializer {
        let outlet = model.add_const(&tensor.name, tensors::tensor(tensor)?)?;
        outlets.insert(&tensor.name, outlet);
    }
    let find = |outlets: &HashMap<&str, OutletId>, name: &str| {
        let outlet = outlets.get(name).copied();
        outlet.with_context(|| format!("expected a tensor `{name}` before it is read"))
    };
    for node in &graph.node {
        let inputs = node.input.iter().map(|name| find(&outlets, name));
        let inputs = inputs.collect::<TractResult<_>>()?;
        let results = operators::wire(&mut model, node, inputs)?;
        for (name, &outlet) in node.output.iter().zip(&results) {
            outlets.insert(name, outlet);
        }
    }
    let outputs = graph
        .output
        .iter()
        .map(|output| find(&outlets, &output.name));
    let outputs: Vec<OutletId> = outputs.collect::<TractResult<_>>()?;
    model.select_output_outlets(&outputs)?;
    Ok(model)
}

/// Type and shape of an input, whose shape may name symbols.
fn fact(model: &TypedModel, input: &ValueInfoProto) -> TractResult<TypedFact> {
    let expected = |what: &str| format!("input `{}`: expected a {what}", input.name);
    let value_type = input
        .r#type
        .as_ref()
        .and_then(|value_type| value_type.value.as_ref());
    let TypeOfValue::TensorType(tensor_type) = value_type.with_context(|| expected("type"))?;
    let shape = tensor_type
        .shape
        .as_ref()
        .with_context(|| expected("shape"))?;
    let dims = shape.dim.iter().map(|dim| match &dim.value {
        Some(Dimension::DimValue(size)) => Ok(size.to_dim()),
        Some(Dimension::DimParam(name)) => Ok(model.symbols.sym(name).to_dim()),
        None => bail!(expected("size of each axis")),
    });
    let dims: TVec<TDim> = dims.collect::<TractResult<_>>()?;
    Ok(tensors::datum_type(tensor_type.elem_type)?.fact(&*dims))
}

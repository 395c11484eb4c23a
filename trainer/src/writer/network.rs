//! The description of a network: all contents of a file except the drawn weight values.

use super::operator_kind::OperatorKind;
use super::weights::LayerDistribution;

/// Index into [`WriterNetwork::tensors`].
pub type TensorIdx = usize;

/// Replaces an optional input of an operator that is absent; the file has −1.
pub const ABSENT: TensorIdx = usize::MAX;

/// A network with one subgraph, which the writer makes a file of.
#[derive(Clone, Debug, PartialEq)]
pub struct WriterNetwork {
    /// Name of the subgraph.
    pub name: String,
    /// Tensors, which operators name by index.
    pub tensors: Vec<Tensor>,
    /// In execution order.
    pub operators: Vec<Operator>,
    /// Inputs of the network.
    pub inputs: Vec<TensorIdx>,
    /// Outputs of the network.
    pub outputs: Vec<TensorIdx>,
}

/// A tensor with what it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Name in the file.
    pub name: String,
    /// Sizes of the axes, outermost first.
    pub shape: Vec<i32>,
    /// Type of the elements.
    pub element: ElementType,
    /// Scales and zero point; `None` for types without.
    pub quantization: Option<Quantization>,
    /// Its values, or that it has none before the inference.
    pub content: Content,
}

/// Type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// Signed, 8 bits.
    Int8,
    /// Signed, 32 bits.
    Int32,
    /// Signed, 16 bits.
    Int16,
    /// IEEE 754, 32 bits.
    Float32,
    /// True or false, a byte each.
    Bool,
}

/// `real = scale × (stored − zero_point)`, with one scale, or one per index of `axis`.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantization {
    /// One scale, or one for each size of `axis`.
    pub scales: Vec<f32>,
    /// Stored value of the number 0.
    pub zero_point: i8,
    /// Axis that scales belong to.
    pub axis: usize,
}

/// The source of a tensor's values.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Computed when the network runs.
    Activation,
    /// Kept by an operator between inferences.
    Variable,
    /// Int8 values drawn from the distribution when the file is written.
    Weights(LayerDistribution),
    /// Int32 values, bell-shaped, drawn when the file is written; the unit is one accumulator step.
    Bias {
        /// Spread of the drawn values.
        standard_deviation: f64,
    },
    /// Values of 8 bits.
    Int8(Vec<i8>),
    /// Values of 32 bits.
    Int32(Vec<i32>),
}

/// An operator with the tensors that it reads and writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Operator {
    /// Kind with its options.
    pub kind: OperatorKind,
    /// Tensors that it reads, in TFLite's order.
    pub inputs: Vec<TensorIdx>,
    /// Tensors that it writes.
    pub outputs: Vec<TensorIdx>,
    /// Tensors with the scales of values inside the operator.
    pub intermediates: Vec<TensorIdx>,
}

impl Tensor {
    /// Number of values.
    pub fn n_values(&self) -> usize {
        self.shape.iter().map(|&dim| dim as usize).product()
    }

    /// Whether its values are in the file.
    pub fn is_constant(&self) -> bool {
        !matches!(self.content, Content::Activation | Content::Variable)
    }

    /// Bytes of the tensor's values.
    pub fn n_bytes(&self) -> usize {
        let element_bytes = match self.element {
            ElementType::Int8 | ElementType::Bool => 1,
            ElementType::Int16 => 2,
            ElementType::Int32 | ElementType::Float32 => 4,
        };
        self.n_values() * element_bytes
    }
}

impl WriterNetwork {
    /// Equal for networks with the same operators, options, shapes, connections and small constants
    /// (paddings, axes, permutations); names, scales and weight values do not count. FNV-1a, so the
    /// same on every platform and in every release.
    pub fn structure_hash(&self) -> u64 {
        let mut hash = Fnv1a::default();
        for tensor in &self.tensors {
            hash.word(tensor.element as u64);
            hash.words(tensor.shape.iter().map(|&dim| dim as u64));
            if let Content::Int32(values) = &tensor.content {
                hash.words(values.iter().map(|&value| value as u64));
            }
        }
        for operator in &self.operators {
            hash.bytes(operator.kind.text().as_bytes());
            hash.words(operator.inputs.iter().map(|&tensor| tensor as u64));
            hash.words(operator.outputs.iter().map(|&tensor| tensor as u64));
        }
        hash.0
    }
}

/// FNV-1a, 64 bits.
struct Fnv1a(u64);

impl Default for Fnv1a {
    fn default() -> Self {
        Fnv1a(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv1a {
    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn word(&mut self, word: u64) {
        self.bytes(&word.to_le_bytes());
    }

    /// The length comes first, so that different neighbouring lists have different hashes.
    fn words(&mut self, words: impl ExactSizeIterator<Item = u64>) {
        self.word(words.len() as u64);
        words.for_each(|word| self.word(word));
    }
}

//! The arena's persistent part: what the interpreter and the kernels keep between inferences.
//!
//! The interpreter takes it piece by piece from the arena's end: a structure for each resource variable (`VAR_HANDLE`),
//! for each subgraph, for each operator and for each tensor, the operators' options, what each kernel keeps, two 32-bit
//! numbers for each output channel of a convolution, the values of resource variables and of variable tensors, a word
//! for each working buffer, and the inputs and outputs. Each piece is rounded up to the alignment of its contents, so
//! the order matters.

use std::collections::{HashMap, HashSet};

use super::custom_options::number;
use super::file::written_tensors;
pub use super::structures::Pointers;
use super::structures::{self, kernel_bytes, option_bytes};
use crate::formats::tflite::{
    BuiltinOptions, Model, OpKind, Operator, Subgraph, Tensor, TensorType,
};

/// Alignment of the memory that kernels keep.
const KERNEL_ALIGNMENT: u64 = 16;

/// The arena's end, from which pieces are taken.
struct PersistentTail {
    used_bytes: u64,
}

impl PersistentTail {
    /// A piece without bytes is not allocated, and causes no rounding.
    fn take(&mut self, bytes: u64, alignment: u64) {
        if bytes > 0 {
            self.used_bytes = self.used_bytes.saturating_add(bytes);
            self.round_up(alignment);
        }
    }

    fn round_up(&mut self, alignment: u64) {
        let rounded = self.used_bytes.checked_next_multiple_of(alignment);
        self.used_bytes = rounded.unwrap_or(u64::MAX);
    }

    fn take_each(&mut self, n: usize, bytes: u64, alignment: u64) {
        self.take((n as u64).saturating_mul(bytes), alignment);
    }
}

/// Bytes of the persistent part, rounded up to the arena's alignment, beside `n_buffers` working buffers. Linear.
pub fn persistent_bytes(model: &Model, n_buffers: usize, pointers: Pointers) -> u64 {
    let word = pointers.bytes();
    let subgraphs = &model.subgraphs;
    let mut tail = PersistentTail {
        used_bytes: pointers.interpreter_bytes(),
    };
    let n_resources = resource_names(model).collect::<HashSet<_>>().len();
    if n_resources > 0 {
        tail.take(pointers.resource_variables_bytes(), KERNEL_ALIGNMENT);
        tail.take_each(
            n_resources,
            pointers.resource_variable_bytes(),
            KERNEL_ALIGNMENT,
        );
    }
    tail.take_each(subgraphs.len(), pointers.subgraph_bytes(), word);
    for subgraph in subgraphs {
        tail.take_each(subgraph.operators.len(), pointers.operator_bytes(), word);
        let n_tensors = written_tensors(model, subgraph).count();
        tail.take_each(n_tensors, pointers.tensor_bytes(), word);
    }
    for operator in subgraphs
        .iter()
        .flat_map(|subgraph| subgraph.operators.iter())
    {
        let (bytes, alignment) = option_bytes(&operator.code, pointers);
        tail.take(bytes, alignment);
    }
    for subgraph in subgraphs {
        for operator in subgraph.operators.iter() {
            take_kernel(&mut tail, operator, subgraph, pointers);
        }
        for tensor in subgraph.tensors.iter().filter(|tensor| tensor.is_variable) {
            tail.take(tensor.byte_len().unwrap_or(0), KERNEL_ALIGNMENT);
        }
    }
    for bytes in resource_buffers(model) {
        tail.take(bytes, KERNEL_ALIGNMENT);
    }
    tail.take_each(n_buffers, word, word);
    if let Some(subgraph) = model.subgraphs.first() {
        for shown in [&subgraph.inputs, &subgraph.outputs] {
            take_tensor_structures(&mut tail, shown, subgraph, pointers);
        }
    }
    tail.round_up(KERNEL_ALIGNMENT);
    tail.used_bytes
}

/// Takes the inputs or outputs: a pointer to each, and the tensor structures.
fn take_tensor_structures(
    tail: &mut PersistentTail,
    shown: &[usize],
    subgraph: &Subgraph,
    pointers: Pointers,
) {
    let word = pointers.bytes();
    tail.take_each(shown.len(), word, KERNEL_ALIGNMENT);
    tail.take_each(shown.len(), pointers.shown_tensor_bytes(), word);
    let tensors = shown.iter().filter_map(|&idx| subgraph.tensors.get(idx));
    let n_quantised = tensors.filter(|tensor| is_quantised(tensor)).count();
    tail.take_each(n_quantised, pointers.quantisation_bytes(), word);
}

fn is_quantised(tensor: &Tensor) -> bool {
    tensor.quantization.is_some()
}

fn take_kernel(
    tail: &mut PersistentTail,
    operator: &Operator,
    subgraph: &Subgraph,
    pointers: Pointers,
) {
    let kind = operator.code.kind;
    tail.take(kernel_bytes(&operator.code, pointers), KERNEL_ALIGNMENT);
    if let Some(name) = operator.code.custom.as_deref() {
        for bytes in signal_states(name, operator, subgraph, pointers).unwrap_or_default() {
            tail.take(bytes, KERNEL_ALIGNMENT);
        }
        return;
    }
    if kind == OpKind::Softmax && is_of_16_bits(operator, subgraph) {
        for _exponential_or_reciprocal in 0..2 {
            tail.take(SOFTMAX_TABLE_BYTES, KERNEL_ALIGNMENT);
        }
    }
    if let BuiltinOptions::BatchMatMul { adj_x, adj_y } = operator.options {
        if operand(operator, 0, subgraph).is_some_and(is_integer) {
            tail.take(PRODUCT_SCALE_BYTES, KERNEL_ALIGNMENT);
        }
        // The kernel multiplies rows by rows: it keeps a copy of each operand whose other sides these are.
        for (input, is_transposed) in [(0, adj_x), (1, !adj_y)] {
            take_copy(tail, operator, input, is_transposed, subgraph, pointers);
        }
        let output = operator
            .outputs
            .first()
            .and_then(|&output| subgraph.tensors.get(output));
        take_shape(tail, output);
    }
    if !keeps_channels(operator, subgraph) {
        return;
    }
    let channels = output_channels(operator, subgraph).unwrap_or(0);
    for _multiplier_or_shift in 0..2 {
        tail.take(channels.saturating_mul(4), KERNEL_ALIGNMENT);
    }
}

/// Takes a copy of an input: its structure, its shape and its values.
fn take_copy(
    tail: &mut PersistentTail,
    operator: &Operator,
    input: usize,
    is_copied: bool,
    subgraph: &Subgraph,
    pointers: Pointers,
) {
    let tensor = operand(operator, input, subgraph).filter(|_| is_copied);
    if let Some(tensor) = tensor {
        tail.take(pointers.tensor_bytes(), KERNEL_ALIGNMENT);
        take_shape(tail, Some(tensor));
        tail.take(tensor.byte_len().unwrap_or(0), KERNEL_ALIGNMENT);
    }
}

/// Takes a shape that the kernel writes: the number of dimensions, and each of them.
fn take_shape(tail: &mut PersistentTail, tensor: Option<&Tensor>) {
    if let Some(tensor) = tensor {
        tail.take_each(tensor.shape.len().saturating_add(1), 4, KERNEL_ALIGNMENT);
    }
}

fn operand<'m>(operator: &Operator, input: usize, subgraph: &'m Subgraph) -> Option<&'m Tensor> {
    let tensor_idx = operator.inputs.get(input).copied().flatten()?;
    subgraph.tensors.get(tensor_idx)
}

fn is_integer(tensor: &Tensor) -> bool {
    matches!(tensor.tensor_type, TensorType::Int8 | TensorType::Int16)
}

/// What a product of integers is scaled by: a multiplier and a shift, two bounds and three zero points.
const PRODUCT_SCALE_BYTES: u64 = 28;

/// A table of 513 values of 16 bits.
const SOFTMAX_TABLE_BYTES: u64 = 513 * 2;

fn is_of_16_bits(operator: &Operator, subgraph: &Subgraph) -> bool {
    let values = operand(operator, 0, subgraph);
    values.is_some_and(|values| values.tensor_type == TensorType::Int16)
}

/// Whether the kernel keeps a multiplier and a shift of each output channel, as those of convolutions do for floats too. A
/// fully connected layer does only where its weights have a scale for each channel.
fn keeps_channels(operator: &Operator, subgraph: &Subgraph) -> bool {
    let kind = operator.code.kind;
    let n_scales = |filter: &Tensor| {
        filter
            .quantization
            .as_ref()
            .map_or(0, |one| one.scale.len())
    };
    match kind {
        OpKind::FullyConnected => {
            operand(operator, 1, subgraph).is_some_and(|filter| n_scales(filter) > 1)
        }
        _ => structures::keeps_channels(kind),
    }
}

/// What an operator of the signal library keeps between inferences, piece by piece. Of a graph without options, sizes follow
/// from its tensors, and a delay counts as none. `None` if the operands are invalid.
fn signal_states(
    name: &str,
    operator: &Operator,
    subgraph: &Subgraph,
    pointers: Pointers,
) -> Option<Vec<u64>> {
    let word = pointers.bytes();
    let read = subgraph.tensors.get((*operator.inputs.first()?)?)?;
    let written = subgraph.tensors.get(*operator.outputs.first()?)?;
    let last = |tensor: &Tensor| u64::try_from(*tensor.shape.last()?).ok();
    let value_bytes = u64::from(read.tensor_type.bits_per_value()?) / 8;
    // A ring buffer of 16-bit values, each of them twice, behind its structure.
    let ring = |capacity: u64| capacity.checked_mul(4)?.checked_add(40);
    let outer = |inner: u64| Some(read.element_count()? / inner.max(1));
    let option = |name: &str, of_shapes: u64| match &operator.options {
        BuiltinOptions::Custom(options) => number(options, name).unwrap_or_default() as u64,
        _ => of_shapes,
    };
    match name {
        // Real transforms by complex ones of half the length (kissfft): two structures, twiddles and a buffer.
        "SignalRfft" | "SignalIrfft" => {
            let length = match name {
                "SignalRfft" => last(written)?.saturating_sub(2),
                _ => last(written)?,
            };
            let length = option("fft_length", length);
            let complex = length / 2 + (length / 2) * 3 / 2;
            let twiddles = complex.checked_mul(2 * value_bytes)?;
            Some(vec![twiddles.checked_add(264 + 3 * word)?])
        }
        "SignalOverlapAdd" => {
            let frame = last(read)?;
            let n_frames = u64::try_from(*read.shape.iter().rev().nth(1)?).ok()?;
            let outer = outer(frame.checked_mul(n_frames)?)?;
            lists_and_states(
                [outer.checked_mul(word)?, 0, frame.checked_mul(value_bytes)?],
                outer,
            )
        }
        "SignalFramer" => {
            let n_frames = u64::try_from(*written.shape.iter().rev().nth(1)?).ok()?;
            let step = last(read)? / n_frames.max(1);
            let capacity = last(written)?.checked_next_multiple_of(step.max(1))?;
            let outer = outer(last(read)?)?;
            let list = outer.checked_mul(word)?;
            lists_and_states([list, list, ring(capacity)?], outer)
        }
        "SignalDelay" => {
            let outer = outer(last(read)?)?;
            let list = outer.checked_mul(word)?;
            let values = last(read)?.checked_add(option("delay_length", 0))?;
            lists_and_states([list, list, ring(values)?], outer)
        }
        "SignalStacker" => Some(vec![ring(last(written)?)?]),
        "SignalFilterBank" => Some(vec![last(written)?.checked_add(1)?.checked_mul(8)?]),
        "SignalFilterBankSpectralSubtraction" => {
            Some(vec![option("num_channels", last(written)?).checked_mul(4)?])
        }
        _ => Some(Vec::new()),
    }
}

/// Lists of pointers of these sizes, where they are not empty, and a state for each of `outer` signals.
fn lists_and_states([pointers, other_pointers, state]: [u64; 3], outer: u64) -> Option<Vec<u64>> {
    let n = usize::try_from(outer).ok().filter(|&n| n <= MAX_STATES)?;
    let lists = [pointers, other_pointers]
        .into_iter()
        .filter(|bytes| *bytes > 0);
    Some(
        lists
            .chain(std::iter::repeat_n(state, n))
            .collect::<Vec<u64>>(),
    )
}

/// Most states of one operator that are counted one by one.
const MAX_STATES: usize = 4096;

fn output_channels(operator: &Operator, subgraph: &Subgraph) -> Option<u64> {
    let output = subgraph.tensors.get(*operator.outputs.first()?)?;
    u64::try_from(*output.shape.last()?).ok()
}

/// The identity of a resource variable: its container and its name.
type ResourceName<'m> = (&'m str, &'m str);

fn resource_name(operator: &Operator) -> Option<ResourceName<'_>> {
    match &operator.options {
        BuiltinOptions::VarHandle(handle) => Some((&handle.container, &handle.shared_name)),
        _ => None,
    }
}

fn resource_names<'m>(model: &'m Model<'_>) -> impl Iterator<Item = ResourceName<'m>> {
    let operators = model
        .subgraphs
        .iter()
        .flat_map(|subgraph| subgraph.operators.iter());
    operators.filter_map(resource_name)
}

/// Bytes of the values of each resource variable: those of the first tensor that is assigned to it.
fn resource_buffers(model: &Model) -> Vec<u64> {
    let mut bytes_of = HashMap::new();
    for subgraph in &model.subgraphs {
        let named = subgraph
            .operators
            .iter()
            .filter_map(|operator| Some((*operator.outputs.first()?, resource_name(operator)?)));
        let name_of: HashMap<usize, ResourceName> = named.collect();
        for operator in subgraph.operators.iter() {
            let [Some(handle), Some(values), ..] = operator.inputs[..] else {
                continue;
            };
            let is_assigned = operator.code.kind == OpKind::AssignVariable;
            if let Some(name) = name_of.get(&handle).filter(|_| is_assigned) {
                let bytes = subgraph.tensors.get(values).and_then(Tensor::byte_len);
                bytes_of.entry(*name).or_insert(bytes.unwrap_or(0));
            }
        }
    }
    bytes_of.into_values().collect()
}

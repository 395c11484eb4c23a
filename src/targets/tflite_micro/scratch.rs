//! Working buffers that kernels ask for while their operator runs.

use super::custom_options::number;
use super::kernels::{Scratch as Requested, kernel_of};
use crate::formats::tflite::op_row::Work;
use crate::formats::tflite::{BuiltinOptions, OpKind, Tensor, TensorType};
use crate::graph::analysis::memory_plan::Scratch;
use crate::graph::analysis::window::Window;
use crate::graph::{Graph, Node};

/// Which kernels a program is linked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernels {
    /// TensorFlow Lite Micro's own, in portable C++.
    Reference,
    /// CMSIS-NN for cores with DSP instructions (Cortex-M4, M7, M33).
    CmsisNnDsp,
}

/// Working buffers of each node, in the order in which the kernels request them. Linear.
///
/// Those of the reference kernels are the ones that the interpreter of PyPI `tflite-micro` records. Those of CMSIS-NN
/// follow its functions `arm_*_get_buffer_size` (CMSIS-NN 7): a convolution keeps two rows of its window as 16-bit
/// values, a depthwise convolution one row for each channel (unless a kernel for 3 × 3 windows runs it), and an average
/// pool a 32-bit sum for each channel.
pub fn scratch(graph: &Graph, kernels: Kernels) -> Vec<Scratch> {
    let of_node = |(node_idx, node): (usize, &Node)| {
        let sizes = match kernels {
            Kernels::Reference => reference(graph, node),
            Kernels::CmsisNnDsp => {
                cmsis_nn(graph, node_idx, node).unwrap_or_else(|| reference(graph, node))
            }
        };
        sizes.into_iter().map(move |size_bytes| Scratch {
            node_idx,
            size_bytes,
        })
    };
    graph.nodes.iter().enumerate().flat_map(of_node).collect()
}

fn input<'g>(graph: &Graph<'g>, node: &Node, position: usize) -> Option<&'g Tensor> {
    let tensor_idx = node.operator.inputs.get(position).copied().flatten()?;
    Some(graph.tensor(tensor_idx))
}

fn output<'g>(graph: &Graph<'g>, node: &Node) -> Option<&'g Tensor> {
    let tensor_idx = node.operator.outputs.first()?;
    Some(graph.tensor(*tensor_idx))
}

/// Buffers that `Prepare` of each reference kernel requests. Empty if the operands are invalid.
fn reference(graph: &Graph, node: &Node) -> Vec<u64> {
    let scratch = kernel_of(&node.operator.code).map(|kernel| kernel.7);
    let sizes = match scratch.unwrap_or(Requested::Nothing) {
        Requested::Nothing => None,
        Requested::Sums => reduction(graph, node),
        Requested::Indices => indices(graph, node),
        Requested::Gates => {
            input(graph, node, 19).and_then(|state| Some(vec![state.byte_len()?; 4]))
        }
        Requested::TransposedSums => transpose_conv(graph, node),
        Requested::Dimensions => {
            input(graph, node, 0).map(|values| vec![4 * values.shape.len() as u64; 2])
        }
        Requested::Filters => svdf(graph, node),
        Requested::UnpackedFilter => unpacked_filter(graph, node),
        Requested::Transform => rfft(graph, node).map(|bytes| vec![bytes]),
        Requested::Detections => detections(graph, node),
    };
    sizes.unwrap_or_default()
}

/// A copy of the input, as long as the transform.
fn rfft(graph: &Graph, node: &Node) -> Option<u64> {
    let values = output(graph, node)?;
    let length = u64::try_from(*values.shape.last()?).ok()?.checked_sub(2)?;
    length.checked_mul(u64::from(values.tensor_type.bits_per_value()?) / 8)
}

/// Sums as 32-bit numbers where the input is quantised, and [`indices`].
fn reduction(graph: &Graph, node: &Node) -> Option<Vec<u64>> {
    let values = input(graph, node, 0)?;
    let is_quantised = matches!(values.tensor_type, TensorType::Int8 | TensorType::Int16);
    let sums = output(graph, node)?.element_count()?.checked_mul(4)?;
    let sums = is_quantised.then_some(sums).into_iter();
    Some(sums.chain(indices(graph, node)?).collect())
}

/// An index for each dimension, and the axes.
fn indices(graph: &Graph, node: &Node) -> Option<Vec<u64>> {
    let rank = input(graph, node, 0)?.shape.len() as u64;
    let axes = input(graph, node, 1)?.element_count()?.checked_mul(4)?;
    Some(vec![4 * rank, axes])
}

fn transpose_conv(graph: &Graph, node: &Node) -> Option<Vec<u64>> {
    let n_outputs = output(graph, node)?.element_count()?;
    let bias = input(graph, node, 3);
    Some(match input(graph, node, 2)?.tensor_type {
        TensorType::Int8 => vec![n_outputs.checked_mul(4)?],
        TensorType::Int16 => {
            let sums = n_outputs.checked_mul(8)?;
            match bias.filter(|bias| bias.tensor_type == TensorType::Int16) {
                Some(bias) => vec![sums, bias.element_count()?.checked_mul(8)?],
                None => vec![sums],
            }
        }
        _ => vec![],
    })
}

/// A byte for each 4-bit value of the filter.
fn unpacked_filter(graph: &Graph, node: &Node) -> Option<Vec<u64>> {
    let filter = input(graph, node, 1)?;
    let is_packed = filter.tensor_type == TensorType::Int4;
    is_packed.then(|| filter.element_count().map(|n_values| vec![n_values]))?
}

/// 32-bit sums of each filter and of each unit.
fn svdf(graph: &Graph, node: &Node) -> Option<Vec<u64>> {
    let n_batches = u64::try_from(*input(graph, node, 0)?.shape.first()?).ok()?;
    let n_filters = u64::try_from(*input(graph, node, 1)?.shape.first()?).ok()?;
    let n_units = output(graph, node)?.element_count()?;
    let sums = n_batches.checked_mul(n_filters)?.checked_mul(4)?;
    Some(vec![sums, n_units.checked_mul(4)?])
}

/// By box: four numbers, four words and a mark, a score of each class, a word of each class or detection, whichever are
/// more, and four words of each detection. The recorder's sums for 16 to 1,917 boxes, 1 to 90 classes and 1 to 20
/// detections of one class each are these. The options say how many classes and detections there are.
fn detections(graph: &Graph, node: &Node) -> Option<Vec<u64>> {
    let side = |place: usize, axis: usize| {
        let size = input(graph, node, place)?.shape.get(axis)?;
        u64::try_from(*size).ok()
    };
    let n_boxes = side(0, 1)?;
    let n_classes = side(1, 2)?.checked_sub(1)?;
    let of_shape = output(graph, node)?.element_count()? / 4;
    let [n_named_classes, n_detections] = match &node.operator.options {
        BuiltinOptions::Custom(options) => ["num_classes", "max_detections"]
            .map(|name| number(options, name).unwrap_or_default() as u64),
        _ => [n_classes, of_shape],
    };
    let words = |per_box: u64| n_boxes.checked_mul(per_box)?.checked_mul(4);
    let most = n_named_classes.max(n_detections);
    let of_boxes = [4, 1, 1, 1, 1, n_classes, most];
    let of_detections = [n_detections; 4];
    let sizes = of_boxes.into_iter().chain(of_detections).map(words);
    sizes.chain([Some(n_boxes)]).collect()
}

/// `None` for operators without a kernel in CMSIS-NN; the reference kernels run these.
fn cmsis_nn(graph: &Graph, node_idx: usize, node: &Node) -> Option<Vec<u64>> {
    let values = input(graph, node, 0)?;
    if values.tensor_type != TensorType::Int8 {
        return None;
    }
    let channels = u64::try_from(*values.shape.last()?).ok()?;
    let window = Window::new(graph, node_idx, channels as f32);
    let side = |length: i32| u64::try_from(length).unwrap_or(0);
    let taps = side(window.filter_h).checked_mul(side(window.filter_w))?;
    let row = taps.checked_mul(channels)?;
    let kind = node.operator.code.kind;
    let bytes = match kind.row().work {
        Work::Convolution if taps == 1 => 0,
        Work::Convolution => row.checked_next_multiple_of(4)?.checked_mul(4)?,
        Work::Depthwise => {
            let is_multiplied = output(graph, node)?.shape.last() != values.shape.last();
            let is_dilated = window.dilation_h != 1 || window.dilation_w != 1;
            let has_own_kernel = window.filter_h == 3 && window.filter_w == 3;
            if is_multiplied || is_dilated || has_own_kernel {
                0
            } else {
                row.checked_mul(2)?
            }
        }
        Work::Nothing if kind == OpKind::AveragePool2d => channels.checked_mul(4)?,
        Work::Convolution3d
        | Work::Dense
        | Work::Nothing
        | Work::Product
        | Work::Recurrent
        | Work::SparseLookup
        | Work::Svdf
        | Work::TransposedConvolution
        | Work::TransposedConvolution3d
        | Work::Unknown => return None,
    };
    Some(if bytes == 0 { vec![] } else { vec![bytes] })
}

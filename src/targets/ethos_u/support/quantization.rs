//! Scales and zero points that the accelerators need.

use super::list::{Check, Listed, Maps, Scale, listed};
use super::npu::Npu;
use crate::formats::tflite::{OpKind, Tensor, TensorType};
use crate::graph::scan::ScanBudget;
use crate::graph::{Graph, Node};
use crate::target::{Place, UnsupportedReason};

/// Scales from here on have no multiplier and shift. Masks of attention have such scales: their lowest number is that of
/// floats.
const END_OF_SCALES: f32 = (1u64 << 32) as f32;

/// The first tensor of an operator whose quantisation `npu` does not run. `has_scales` says whether any tensor of the
/// network has a scale. Zero points beyond the budget count as in range.
pub fn refused_quantization(
    graph: &Graph,
    node: &Node,
    kind: OpKind,
    npu: Npu,
    has_scales: bool,
    budget: &mut ScanBudget,
) -> Option<UnsupportedReason> {
    let listed = listed(kind)?;
    let is_weighted = listed.check == Check::Weights;
    let mut fault_at = |place: Place, tensor: &Tensor| -> Option<&'static str> {
        let is_map = is_map(&listed, place);
        let is_weights = is_weighted && place == Place::Input(1);
        let is_scaled = is_weights || is_map && takes_scale(tensor.tensor_type);
        let Some(quantization) = &tensor.quantization else {
            let is_missing = is_scaled && has_scales && listed.scale != Scale::Free;
            return is_missing.then_some("no scale");
        };
        if !is_weighted && quantization.scale.len() > 1 {
            return Some("a scale for each channel");
        }
        let scale = quantization.scale.first().copied().unwrap_or_default();
        if is_map && listed.scale != Scale::Free && scale >= END_OF_SCALES {
            return Some("a scale of 2^32 or more");
        }
        let is_outside = |&zero_point: &i64| !runs_zero_point(zero_point, tensor, place, npu);
        let is_checked = is_map && listed.scale != Scale::AnyZero;
        if !is_checked {
            return None;
        }
        let zero_points = budget.spend(&quantization.zero_point).unwrap_or_default();
        (zero_points.iter().any(is_outside)).then_some("a zero point that is out of range")
    };
    let mut faults = Place::tensors_of(node.operator).filter_map(|(place, t)| {
        let fault = fault_at(place, graph.tensor(t))?;
        Some(UnsupportedReason::Quantization { place, fault })
    });
    faults
        .next()
        .or_else(|| (listed.scale == Scale::Alike).then(|| differing_scales(graph, node))?)
}

fn differing_scales(graph: &Graph, node: &Node) -> Option<UnsupportedReason> {
    let output = &graph.tensor(*node.operator.outputs.first()?).quantization;
    let differs = |&(_, t): &(Place, usize)| graph.tensor(t).quantization != *output;
    let (place, _) = Place::tensors_of(node.operator).find(differs)?;
    Some(UnsupportedReason::Quantization {
        place,
        fault: "another scale or zero point than the output",
    })
}

/// Whether a tensor is a feature map of the operator.
fn is_map(listed: &Listed, place: Place) -> bool {
    let Place::Input(input) = place else {
        return true;
    };
    match listed.maps {
        Maps::First => input == 0,
        Maps::Second => input == 1,
        Maps::Third => input == 2,
        Maps::Every => true,
    }
}

fn takes_scale(tensor_type: TensorType) -> bool {
    use TensorType::{Int8, Int16, UInt8};
    matches!(tensor_type, Int8 | UInt8 | Int16)
}

fn runs_zero_point(zero_point: i64, tensor: &Tensor, place: Place, npu: Npu) -> bool {
    use TensorType::{Bool, Int8, Int32, UInt8};
    let is_signed = !matches!(tensor.tensor_type, UInt8 | Bool);
    match (npu, place, tensor.tensor_type) {
        (Npu::EthosU55U65, _, Int32) => zero_point == 0,
        (Npu::EthosU55U65, ..) => is_signed || zero_point >= 0,
        (_, Place::Output(_), _) if is_signed => (-128..=127).contains(&zero_point),
        (_, Place::Output(_), _) => (0..=255).contains(&zero_point) || zero_point == 32_768,
        (_, _, Int8) => (-128..=127).contains(&zero_point),
        (_, _, UInt8) => (0..=255).contains(&zero_point),
        _ => zero_point == 0,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::formats::tflite::{BuiltinOptions, Quantization};
    use crate::graph::analysis::fixtures::{calling, graph_of, model, subgraph, tensor};

    fn scaled(tensor_type: TensorType, scale: &[f32], zero_point: i64) -> Tensor {
        Tensor {
            quantization: (!scale.is_empty()).then(|| {
                Arc::new(Quantization {
                    scale: scale.to_vec(),
                    zero_point: vec![zero_point; scale.len()],
                    quantized_dimension: 0,
                })
            }),
            ..tensor(tensor_type, &[1, 8, 8, 2])
        }
    }

    /// Where Vela 5.2.0 leaves such files to the CPU: on Ethos-U55 and U65, and on Ethos-U85.
    #[test]
    fn scales_and_zero_points_run_where_vela_runs_them() {
        use OpKind::*;
        use TensorType::{Int8, Int16, Int32, UInt8};
        type Side<'a> = (&'a [f32], i64);
        let plain: Side = (&[0.05], -3);
        let other: Side = (&[0.06], -3);
        let none: Side = (&[], 0);
        let both = [true; 2];
        type Case<'a> = (OpKind, TensorType, [Side<'a>; 3], [bool; 2]);
        let cases: [Case; 19] = [
            (Add, Int8, [plain, other, plain], [false; 2]),
            (Add, Int8, [plain, none, plain], both),
            (Add, Int8, [plain, plain, none], both),
            (Add, Int8, [plain, (&[0.05, 0.05], 0), plain], both),
            (Add, Int32, [none; 3], [false; 2]),
            (Add, Int32, [(&[0.05], 3), none, none], both),
            (Add, UInt8, [(&[0.05], -4), plain, plain], both),
            (Add, Int8, [(&[0.05], 200), plain, plain], [false, true]),
            (
                Add,
                Int16,
                [(&[0.05], 4), (&[0.05], 0), plain],
                [false, true],
            ),
            (Maximum, Int8, [plain; 3], [false; 2]),
            (Maximum, Int8, [plain, other, plain], both),
            (Maximum, Int8, [plain, plain, other], both),
            (Minimum, Int8, [plain, (&[0.05], 4), plain], both),
            (AveragePool2d, Int8, [(&[0.05], 200); 3], [false; 2]),
            (
                Add,
                Int8,
                [plain, plain, (&[4_294_967_040.0], 0)],
                [false; 2],
            ),
            (Add, Int8, [plain, plain, (&[4_294_967_296.0], 0)], both),
            (Softmax, Int8, [(&[9.3e35], 127), plain, plain], both),
            (Pad, Int8, [plain, none, none], [false; 2]),
            (Quantize, Int8, [plain, none, none], [false; 2]),
        ];
        for (kind, tensor_type, sides, expected) in cases {
            let tensors = sides.map(|(scale, zero_point)| scaled(tensor_type, scale, zero_point));
            let operator = calling(kind, &[0, 1], &[2], BuiltinOptions::Absent);
            let model = model(vec![subgraph(tensors.to_vec(), vec![operator])]);
            let graph = graph_of(&model);
            let refusals = [Npu::EthosU55U65, Npu::EthosU85].map(|npu| {
                let mut budget = ScanBudget::new(&model);
                refused_quantization(&graph, &graph.nodes[0], kind, npu, true, &mut budget)
            });
            let is_refused = refusals.each_ref().map(Option::is_some);
            assert_eq!(is_refused, expected, "{kind:?} {sides:?}: {refusals:?}");
        }
        // A network without any scale is taken as if it had been quantised.
        let operator = calling(Add, &[0, 1], &[2], BuiltinOptions::Absent);
        let tensors = vec![scaled(Int8, &[], 0); 3];
        let model = model(vec![subgraph(tensors, vec![operator])]);
        let graph = graph_of(&model);
        let mut budget = ScanBudget::new(&model);
        let refusal = refused_quantization(
            &graph,
            &graph.nodes[0],
            Add,
            Npu::EthosU85,
            false,
            &mut budget,
        );
        assert_eq!(refusal, None);
    }
}

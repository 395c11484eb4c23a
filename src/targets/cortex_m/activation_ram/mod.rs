//! Activation RAM under ST Edge AI Core (STM32Cube.AI).
//!
//! The tool's planners are not public. Their rules were derived from published results: the reports that the tool
//! generates beside a network list every buffer with its size and offset, and ST's model zoo lists the RAM of whole
//! networks. `precomputed` finds the tensors whose values do not depend on the input, `schedule` the layers in order
//! with their buffers, and `liveness` when each buffer is alive. There are two planners: `search` writes an output over
//! its input where memory is short, and `prefix` does so from the first layer on (`docs/method/microcontrollers.md` has the
//! rules by release).

mod liveness;
mod precomputed;
mod prefix;
mod schedule;
mod search;
mod st_tool;

pub use self::st_tool::{StDevice, StRelease, StTool};
use crate::graph::Graph;
use crate::graph::analysis::Analysis;

/// Bytes of activations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActivationRam {
    pub value: u64,
    /// Lower end of the interval. Nine of ten of ST's own figures, of any release, are between this and [`Self::hi`].
    pub lo: u64,
    pub hi: u64,
}

/// Nine of ten ratios of ST's own figures, of any release, to our estimates for the newest release are between these.
/// The lower factor is far from 1 because older releases overlap more buffers on an STM32H7.
const LO_FACTOR: f64 = 0.75;
const HI_FACTOR: f64 = 1.3;

/// RAM of the activations; `None` if shapes are known only at run time. Linear in operators times the bits of a size.
pub fn activation_ram_bytes(
    graph: &Graph,
    analysis: &Analysis,
    tool: StTool,
) -> Option<ActivationRam> {
    analysis.memory_plan.as_ref()?;
    let schedule = schedule::build(graph, tool)?;
    let planned = match (tool.is_planned_by_prefix(), tool.release) {
        (false, _) => search::peak_bytes(&schedule),
        (true, StRelease::V10_0 | StRelease::V4_0) => prefix::peak_bytes_with_reserve(&schedule),
        (true, _) => prefix::peak_bytes(&schedule),
    };
    let value = planned.saturating_add(schedule.precomputed_bytes);
    Some(ActivationRam {
        value,
        lo: (value as f64 * LO_FACTOR) as u64,
        hi: (value as f64 * HI_FACTOR).ceil() as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::schedule::{Layer, Schedule};
    use super::*;
    use crate::formats::tflite::{Model, OpKind, Padding, Tensor, TensorType};
    use crate::graph::analysis::analyze;
    use crate::graph::analysis::fixtures::{
        calling, conv_2d, graph_of, model, operator, subgraph, tensor,
    };

    const RELEASES: [StRelease; 4] = [
        StRelease::V7_3,
        StRelease::V8_1,
        StRelease::V10_0,
        StRelease::V4_0,
    ];

    fn int8(shape: &[i32]) -> Tensor {
        tensor(TensorType::Int8, shape)
    }

    fn constant(shape: &[i32]) -> Tensor {
        Tensor {
            buffer_idx: 1,
            ..int8(shape)
        }
    }

    fn bytes(model: &Model, release: StRelease, device: StDevice) -> u64 {
        let graph = graph_of(model);
        let tool = StTool { release, device };
        let ram = activation_ram_bytes(&graph, &analyze(&graph), tool).unwrap();
        assert!(ram.lo <= ram.value && ram.value <= ram.hi);
        ram.value
    }

    fn schedule_of(model: &Model, release: StRelease, device: StDevice) -> Schedule {
        schedule::build(&graph_of(model), StTool { release, device }).unwrap()
    }

    #[test]
    fn versions_and_boards_are_read_as_readmes_have_them() {
        let releases = ["7.3.0", "8.1", "10.0.0", "4.0.0", "9.1.0", "10", ""];
        let [v7_3, v8_1, v10_0, v4_0] = RELEASES.map(Some);
        assert_eq!(
            releases.map(StRelease::from_version),
            [v7_3, v8_1, v10_0, v4_0, None, None, None]
        );
        let boards = ["STM32H7", "STM32H747I-DISCO", "B-U585I-IOT02A", "STM32L4"];
        let (h7, other) = (StDevice::Stm32H7, StDevice::Other);
        assert_eq!(
            boards.map(StDevice::from_board_name),
            [h7, h7, other, other]
        );
    }

    /// The sum of an input of 64 bytes with itself lies where the input does. 10 values that depend on no
    /// input take 40 bytes as float32, all the time; `SHAPE` and what follows it take nothing.
    #[test]
    fn outputs_that_do_not_depend_on_the_input_take_memory_during_every_layer() {
        let tensors = vec![
            int8(&[1, 4, 4, 4]),
            constant(&[10]),
            tensor(TensorType::Float32, &[10]),
            tensor(TensorType::Int32, &[4]),
            tensor(TensorType::Float32, &[4]),
            tensor(TensorType::Float32, &[2, 5]),
            int8(&[1, 4, 4, 4]),
        ];
        let operators = vec![
            operator(OpKind::Dequantize, &[1], &[2]),
            operator(OpKind::Shape, &[0], &[3]),
            operator(OpKind::Cast, &[3], &[4]),
            operator(OpKind::Reshape, &[2], &[5]),
            operator(OpKind::Add, &[0, 0], &[6]),
        ];
        let mut subgraph = subgraph(tensors, operators);
        subgraph.outputs = vec![5, 6];
        let model = model(vec![subgraph]);
        for release in RELEASES {
            for device in [StDevice::Stm32H7, StDevice::Other] {
                assert_eq!(bytes(&model, release, device), 104, "{release:?}");
            }
        }
        let schedule = schedule_of(&model, StRelease::V4_0, StDevice::Other);
        assert_eq!((schedule.layers.len(), schedule.precomputed_bytes), (1, 40));
    }

    fn convolution(shapes: [[i32; 4]; 3]) -> Model<'static> {
        let options = conv_2d(Padding::Valid, [1; 2]);
        let [input, filters, output] = shapes;
        let tensors = vec![
            tensor(TensorType::UInt8, &input),
            int8(&input),
            constant(&filters),
            int8(&output),
        ];
        let operators = vec![
            operator(OpKind::Quantize, &[0], &[1]),
            calling(OpKind::Conv2d, &[1, 2], &[3], options),
        ];
        model(vec![subgraph(tensors, operators)])
    }

    /// 480 bytes in, 288 out, a row of 48, and 320 + 224 + 2,560 bytes of working memory: over its input the
    /// convolution takes 480 + 48 + 3,104, beside it 480 + 288 + 3,104. 10.0 and later reserve 1.25 times 3,104.
    #[test]
    fn filters_of_one_column_are_not_written_over_their_input_since_8_1() {
        let model = convolution([[1, 10, 3, 16], [16, 5, 1, 16], [1, 6, 3, 16]]);
        let (h7, other) = (StDevice::Stm32H7, StDevice::Other);
        let ram_bytes = |device| RELEASES.map(|release| bytes(&model, release, device));
        assert_eq!(ram_bytes(other), [3_632, 3_872, 3_872, 3_632]);
        let reserved = 480 + 288 + 3_880;
        assert_eq!(ram_bytes(h7), [3_632, 3_872, reserved, reserved]);
    }

    /// 4 × 4 positions in colour, 2 × 2 of 8 channels out of them: a row of 16 bytes.
    #[test]
    fn convolutions_of_images_stay_further_behind_on_an_stm32h7() {
        let colour = convolution([[1, 4, 4, 3], [8, 3, 3, 3], [1, 2, 2, 8]]);
        let grey = convolution([[1, 4, 4, 1], [8, 3, 3, 1], [1, 2, 2, 8]]);
        let ram_bytes = |model: &Model, release, device| {
            let schedule = schedule_of(model, release, device);
            let last = schedule.layers.last();
            let offset_bytes = last.and_then(|layer| layer.in_place_offset_bytes);
            (schedule.buffer_bytes[1], offset_bytes)
        };
        let (h7, other) = (StDevice::Stm32H7, StDevice::Other);
        for release in [StRelease::V8_1, StRelease::V10_0, StRelease::V4_0] {
            assert_eq!(ram_bytes(&colour, release, h7), (49, Some(16 + 8 + 1)));
            assert_eq!(ram_bytes(&grey, release, h7), (16, Some(16 + 1)));
            assert_eq!(ram_bytes(&colour, release, other), (48, Some(16)));
        }
        assert_eq!(ram_bytes(&colour, StRelease::V7_3, h7), (48, Some(16)));
    }

    /// A chain in which each layer reads a few older buffers too.
    pub fn chain(layers: &[(u16, u16, Option<u8>, u8)]) -> Schedule {
        let mut schedule = Schedule {
            buffer_bytes: vec![100],
            inputs: vec![0],
            ..Schedule::default()
        };
        for (layer_idx, &(bytes, scratch_bytes, in_place_offset_bytes, back)) in
            layers.iter().enumerate()
        {
            let mut reads = vec![layer_idx];
            let older = layer_idx.saturating_sub(usize::from(back) % 5);
            if older != layer_idx && back >= 128 {
                reads.insert(0, older);
            }
            schedule.buffer_bytes.push(u64::from(bytes));
            schedule.layers.push(Layer {
                reads,
                writes: vec![layer_idx + 1],
                scratch_bytes: u64::from(scratch_bytes),
                in_place_offset_bytes: in_place_offset_bytes.map(u64::from),
            });
        }
        schedule.outputs = vec![layers.len()];
        schedule
    }

    /// Whatever the plan, two buffers share at most the smaller of them, and no plan is worse than one
    /// without overlaps.
    #[test]
    fn every_plan_lies_between_full_overlap_and_none() {
        use crate::graph::analysis::fixtures::for_each;
        use proptest::collection::vec;
        let layer = proptest::arbitrary::any::<(u16, u16, Option<u8>, u8)>();
        for_each(500, vec(layer, 1..20), |layers| {
            let schedule = chain(&layers);
            let liveness = liveness::Liveness::new(&schedule);
            let size = |b: usize| i128::from(schedule.buffer_bytes[b]);
            let live = liveness.live_bytes(&schedule, i128::from);
            let of_layer = |(live, overlap): (&i128, &Option<liveness::Overlap>)| match overlap {
                Some(overlap) => live - size(overlap.read).min(size(overlap.written)),
                None => *live,
            };
            let least = live.iter().zip(&liveness.overlaps).map(of_layer).max();
            let in_words = liveness.live_bytes(&schedule, |b| liveness::aligned(i128::from(b)));
            let scratches = schedule.layers.iter().map(liveness::scratch_bytes);
            let most = in_words.iter().zip(scratches).map(|(a, b)| a + b).max();
            for bytes in [search::peak_bytes(&schedule), prefix::peak_bytes(&schedule)] {
                assert!(least <= Some(bytes.into()) && Some(bytes.into()) <= most);
            }
            let reserved = prefix::peak_bytes_with_reserve(&schedule);
            assert!(least <= Some(reserved.into()));
        });
    }
}

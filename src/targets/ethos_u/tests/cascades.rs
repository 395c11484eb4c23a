use super::super::cascades::{
    CascadeStage, InSram, Sram, cascades as striped, stage_shape, staged_cascades,
};
use super::super::scheduled_operation::{Cascade, Stripe};
use super::*;

/// Stages and scheduled operations of layers that follow each other, with so many bytes of weights.
fn sequence<'a>(
    accelerator: &Accelerator,
    layers: &[(Layer, f64)],
    histogram: &'a ByteHistogram,
) -> (Vec<CascadeStage>, Vec<Option<ScheduledOperation<'a>>>) {
    let bytes = |[h, w, c]: Hwc| (h * w * (c + 15) / 16 * 16) as f64;
    let stage = |(step, (layer, _)): (usize, &(Layer, f64))| CascadeStage {
        rounding_rows: 0,
        step,
        ifm: stage_shape(layer.ifm),
        ofm: stage_shape(layer.ofm),
        kernel_rows: layer.kernel[0] as i32,
        stride_rows: layer.stride[0] as i32,
        upscale: 1,
        element_bytes: 1,
        ifm_bytes: bytes(layer.ifm),
        ofm_bytes: bytes(layer.ofm),
        ifm2_bytes: 0.0,
        can_be_striped: true,
        follows: step > 0,
        is_in_place: false,
        in_sram: InSram::default(),
        next_stride_rows: layers
            .get(step + 1)
            .map_or(1, |(next, _)| next.stride[0] as i32),
        before: step.checked_sub(1).into(),
        alive_before_bytes: 0.0,
    };
    let steps = layers
        .iter()
        .map(|&(layer, weight_bytes)| Some(weighted(accelerator, layer, weight_bytes, histogram)));
    (
        layers.iter().enumerate().map(stage).collect(),
        steps.collect(),
    )
}

/// The cascades of feature maps that are off chip otherwise.
fn cascades<'a>(
    accelerator: &Accelerator,
    stages: &[CascadeStage],
    steps: &mut [Option<ScheduledOperation<'a>>],
    stripe: impl Fn(&ScheduledOperation<'a>, Stripe) -> Option<ScheduledOperation<'a>>,
) -> Vec<Cascade> {
    let limit_bytes = accelerator.sram_limit_bytes as f64;
    let actual = staged_cascades(stages.iter().copied(), limit_bytes, true);
    let mut used_bytes = vec![0.0; steps.len()];
    for one in &actual {
        let (first, last) = (one.stages[0].step, one.stages[one.span.last].step);
        used_bytes[first..=last].fill(one.span.rolling_bytes);
    }
    let sram = Sram {
        limit_bytes,
        used_bytes: &used_bytes,
    };
    striped(accelerator, actual, sram, steps, stripe)
}

/// The first convolutions of a network as Vela 5.2.0 runs them on Ethos-U65, from the table
/// `perf_debug` of its database: four rows at a time, all weights in SRAM, 364,480 bytes of it in use.
#[test]
fn large_feature_maps_are_cascaded() {
    use Kind::*;
    let accelerator = &ACCELERATORS[U65];
    let map = |channels| [112, 112, channels];
    let mut first = layer(Convolution, [224, 224, 3], map(24), [3, 3], [2, 2]);
    first.is_brick.ifm = false;
    let layers = [
        (first, 480.0 + 240.0),
        (
            layer(Depthwise, map(24), map(24), [5, 5], [1, 1]),
            288.0 + 240.0,
        ),
        (
            layer(Convolution, map(24), map(16), [1, 1], [1, 1]),
            176.0 + 160.0,
        ),
        (
            layer(Convolution, map(16), map(96), [1, 1], [1, 1]),
            752.0 + 960.0,
        ),
        (
            layer(Depthwise, map(96), map(96), [5, 5], [1, 1]),
            704.0 + 960.0,
        ),
        (
            layer(Convolution, map(96), map(28), [1, 1], [1, 1]),
            800.0 + 288.0,
        ),
    ];
    let histogram = histogram(&[0]);
    let (stages, mut steps) = sequence(accelerator, &layers, &histogram);
    // Keeps the bytes of the table, whatever the blocks.
    let cascades = cascades(accelerator, &stages, &mut steps, |step, stripe| {
        Some(ScheduledOperation {
            stripe: Some(stripe),
            ..step.clone()
        })
    });
    let weights: f64 = layers.iter().map(|(_, bytes)| bytes).sum();
    let expected = Cascade {
        first: 0,
        last: 5,
        rolling_bytes: 112.0 * (16.0 * 32.0 + 8.0 * 32.0 + 8.0 * 16.0 + 16.0 * 96.0 + 8.0 * 96.0),
        planned_weight_bytes: weights,
    };
    assert_eq!(cascades, [expected]);
    let rows = steps.iter().flatten().map(|step| step.stripe.unwrap().rows);
    assert_eq!(rows.collect::<Vec<_>>(), [4; 6]);
    let room_bytes = accelerator.sram_limit_bytes as f64 - expected.rolling_bytes;
    let buffers = buffers(accelerator, &steps, &cascades, &[room_bytes; 6]);
    let buffered: f64 = buffers.at_steps(0..6).map(Buffer::bytes).sum();
    println!("{} bytes in SRAM", expected.rolling_bytes + buffered);
    assert_eq!(buffered, weights);
    // Tensors are aligned to 16 bytes there.
    assert!((expected.rolling_bytes + weights - 364_480.0).abs() <= 6.0 * 16.0);
}

/// Nothing is striped if the SRAM holds whole feature maps, if another operation reads them too, or if no
/// stripe fits.
#[test]
fn only_what_helps_is_cascaded() {
    let accelerator = &ACCELERATORS[U65];
    let n_cascades = |side: i64, channels: i64, change: &dyn Fn(&mut CascadeStage)| {
        let map = [side, side, channels];
        let layers = [(layer(Kind::Convolution, map, map, [3, 3], [1, 1]), 1000.0); 3];
        let histogram = histogram(&[0]);
        let (mut stages, mut steps) = sequence(accelerator, &layers, &histogram);
        stages.iter_mut().for_each(change);
        cascades(accelerator, &stages, &mut steps, |step, stripe| {
            Some(ScheduledOperation {
                stripe: Some(stripe),
                ..step.clone()
            })
        })
        .len()
    };
    assert_eq!(n_cascades(112, 32, &|_| ()), 1);
    assert_eq!(n_cascades(56, 32, &|_| ()), 0);
    assert_eq!(n_cascades(112, 1024, &|_| ()), 0);
    assert_eq!(n_cascades(112, 32, &|stage| stage.follows = false), 0);
    assert_eq!(
        n_cascades(112, 32, &|stage| stage.can_be_striped = false),
        0
    );
}

/// Tall, narrow feature maps fit in stripes of thousands of heights: not all are tried.
#[test]
fn stripes_are_tried_in_bounded_number() {
    let accelerator = &ACCELERATORS[U65];
    let map = [65536, 1, 16];
    let layers = [(layer(Kind::Convolution, map, map, [3, 3], [1, 1]), 1000.0); 500];
    let histogram = histogram(&[0]);
    let (stages, mut steps) = sequence(accelerator, &layers, &histogram);
    let n_striped = std::cell::Cell::new(0);
    let cascades = cascades(accelerator, &stages, &mut steps, |step, stripe| {
        n_striped.set(n_striped.get() + 1);
        Some(ScheduledOperation {
            stripe: Some(stripe),
            ..step.clone()
        })
    });
    println!("{} cascades, {} striped", cascades.len(), n_striped.get());
    assert!(!cascades.is_empty() && n_striped.get() < 20_000);
}

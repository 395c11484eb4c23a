//! Labels of operators beside those of their graphs.

use std::path::Path;

use litecast_networks::gnn::prepare::Readout;
use litecast_networks::settings::Settings;
use litecast_networks::training_data::Data;
use litecast_trainer::dataset;

/// Of single precision, over some hundred operators.
const ROUNDING: f32 = 1e-4;

/// They add up to the graph's, or some are unknown and the others add up to no more: Vela says of no
/// operation of an ARG_MAX on Ethos-U55 whose it is, and half of these networks end with one.
#[test]
fn labels_of_operators_are_parts_of_the_whole() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dataset = dataset::load_spaces(&root.join("../data"), &["deeplab"], 120).unwrap();
    let data = Data::new(&dataset, &Settings::default()).unwrap();
    let n_outputs = data.outputs.len();
    for (output, key) in data.outputs.iter().enumerate() {
        if data.scaling.readouts[output] != Readout::Sum {
            continue;
        }
        let [mut n_whole, mut n_parts] = [0; 2];
        let mut largest = 0f32;
        for example in &data.training.examples {
            let total = example.labels[output];
            if total.is_nan() {
                continue;
            }
            let labels = example.operator_labels.iter().skip(output);
            let labels: Vec<f32> = labels.step_by(n_outputs).copied().collect();
            let known: f32 = labels.iter().filter(|label| !label.is_nan()).sum();
            let share = known / total;
            if labels.iter().any(|label| label.is_nan()) {
                n_parts += 1;
                assert!(share <= 1.0 + ROUNDING, "{key:?}: {share}");
            } else {
                n_whole += 1;
                largest = largest.max((share - 1.0).abs());
            }
        }
        println!("{key:?}: {n_whole} add up, off by {largest} at most, {n_parts} in part");
        assert!(n_whole > 0 && largest < ROUNDING);
        assert_eq!(n_parts > 0, key.target != "ethos-u85-256", "{key:?}");
    }
}

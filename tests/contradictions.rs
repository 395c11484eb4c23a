//! Real files, and networks that are made of them, contradict nothing: estimates would be withheld.

use std::num::NonZeroU32;

use litecast::formats::onnx::Dimensions;
use litecast::formats::{self, tflite::Model};
use litecast::graph::analysis::contradictions::contradictions;
use litecast::graph::build;
use litecast::graph::shapes::batch_size::set_batch;
use litecast::graph::shapes::inference;
use litecast::model_variants::Changes;
use litecast_needs::shared;

/// As it is, for three inputs at a time, or at half the resolution and width; none where it cannot be.
fn changed(bytes: &[u8], change: usize) -> Option<Model<'_>> {
    let dimensions = Dimensions {
        batch: 1,
        named: &[],
    };
    let mut model = formats::read(bytes, &dimensions).ok()?;
    inference::fill(&mut model);
    let half = Changes {
        resolution: Some(0.5),
        width: Some(0.5),
        ..Changes::default()
    };
    let is_changed = match change {
        0 => true,
        1 => set_batch(&mut model, NonZeroU32::new(3)?).is_ok(),
        _ => half.apply(&mut model).is_ok(),
    };
    is_changed.then_some(model)
}

#[test]
fn real_files_contradict_nothing() {
    let folders = ["models", "models-mcu"].into_iter().filter_map(shared);
    let files: Vec<_> = folders
        .flat_map(|folder| std::fs::read_dir(folder).expect("a folder"))
        .map(|entry| entry.expect("a file").path())
        .collect();
    let mut n_compared = [0; 3];
    let mut wrong = Vec::new();
    for path in files {
        let bytes = std::fs::read(&path).expect("read a file");
        for (change, n_compared) in n_compared.iter_mut().enumerate() {
            let Some(model) = changed(&bytes, change) else {
                continue;
            };
            let Ok(graph) = build(&model, 0) else {
                continue;
            };
            *n_compared += 1;
            let all = contradictions(&graph).into_iter();
            wrong.extend(all.map(|one| {
                let name = graph.nodes[one.node_idx].operator.code.name();
                format!(
                    "{} [{change}] {name} {}: {}",
                    path.display(),
                    one.node_idx,
                    one.why
                )
            }));
        }
    }
    println!(
        "{n_compared:?} files as they are, for three inputs at a time, and at half resolution and width"
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

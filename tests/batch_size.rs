//! Shapes for several inputs at a time against those that LiteRT gives them.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::Path;

use litecast::formats::tflite::{TensorType, parse};
use litecast::graph::shapes::batch_size::set_batch;
use litecast_needs::{json_lines, python, shared_models};
use serde_json::Value;

const BATCH: u32 = 3;

/// Of the shared models, those that LiteRT can resize; in others a constant holds a shape. Where such a
/// constant leaves a later dimension open, LiteRT puts the batch there, and the number of values is
/// compared alone.
#[test]
fn shapes_are_those_of_litert() {
    let (mut n_files, mut n_shapes, mut n_moved) = (0, 0, 0);
    for resized in resized() {
        let path = resized["file"].as_str().unwrap();
        let name = Path::new(path).file_name().unwrap().to_string_lossy();
        let file = std::fs::read(path).unwrap();
        let mut model = parse(&file).unwrap();
        let batched = set_batch(&mut model, NonZeroU32::new(BATCH).unwrap());
        let shapes = resized["shapes"].as_object();
        let error = resized["error"].as_str().unwrap_or_default();
        let Some(shapes) = shapes.filter(|_| batched.is_ok()) else {
            let here = batched.map_or_else(|error| error.to_string(), |()| "shapes".into());
            println!(
                "{name}: here {here}; LiteRT {}",
                error.lines().next().unwrap_or("shapes")
            );
            continue;
        };
        for (tensor_idx, tensor) in model.subgraphs[0].tensors.iter().enumerate() {
            let shape = shapes[&tensor_idx.to_string()].clone();
            let expected: Vec<i32> = serde_json::from_value(shape).unwrap();
            // LiteRT counts the values of strings when it runs.
            let is_moved = tensor.shape != expected && tensor.tensor_type != TensorType::String;
            if is_moved {
                let n_values =
                    [&tensor.shape, &expected].map(|shape| shape.iter().product::<i32>());
                assert_eq!(n_values[0], n_values[1], "{name}: tensor {tensor_idx}");
                assert_eq!(tensor.shape[0], expected[0] * BATCH as i32, "{name}");
            }
            n_moved += usize::from(is_moved);
            n_shapes += 1;
        }
        n_files += 1;
    }
    println!(
        "{n_shapes} shapes of {n_files} files: {n_moved} have the batch elsewhere, others differ by 0"
    );
}

fn resized() -> Vec<Value> {
    let (Some(files), Some(python)) = (shared_models(), python("ai_edge_litert")) else {
        return Vec::new();
    };
    let mut arguments = vec![OsString::from(BATCH.to_string()), "0".into()];
    arguments.extend(files.into_iter().map(OsString::from));
    let lines = json_lines(&python, "resize_with_litert.py", arguments);
    let documents = lines.iter().map(|line| serde_json::from_str(line).unwrap());
    documents.collect()
}

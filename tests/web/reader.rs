//! The reader of TFLite files, compiled for browsers.

use litecast::formats::tflite;
use wasm_bindgen_test::wasm_bindgen_test;

/// A file with one empty subgraph.
fn smallest_file() -> Vec<u8> {
    use tflite::schema::*;
    let mut builder = flatbuffers::FlatBufferBuilder::new();
    let name = builder.create_string("main");
    let subgraph = SubGraph::create(
        &mut builder,
        &SubGraphArgs {
            name: Some(name),
            ..Default::default()
        },
    );
    let subgraphs = builder.create_vector(&[subgraph]);
    let buffer = Buffer::create(&mut builder, &BufferArgs::default());
    let buffers = builder.create_vector(&[buffer]);
    let arguments = ModelArgs {
        version: 3,
        subgraphs: Some(subgraphs),
        buffers: Some(buffers),
        ..Default::default()
    };
    let model = Model::create(&mut builder, &arguments);
    finish_model_buffer(&mut builder, model);
    builder.finished_data().to_vec()
}

#[wasm_bindgen_test]
fn a_file_is_read() {
    let file = smallest_file();
    let model = tflite::parse(&file).unwrap();
    assert_eq!(model.subgraphs.len(), 1);
    assert_eq!(model.subgraphs[0].name, "main");
    assert_eq!(model.file_bytes, file.len());
}

#[wasm_bindgen_test]
fn every_truncation_of_a_file_is_refused() {
    let file = smallest_file();
    // The file ends in a string's zero and its padding, four bytes that the reader does not need.
    for length in 0..file.len() - 4 {
        assert!(
            tflite::parse(&file[..length]).is_err(),
            "accepted {length} of {} bytes",
            file.len()
        );
    }
}

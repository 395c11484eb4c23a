//! The page's example models are what the sampler writes.

use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

use litecast::formats::tflite::parse;
use litecast_trainer::spaces::{Space, sample};
use serde::Deserialize;

/// An entry of `www/examples/examples.json`.
#[derive(Deserialize)]
struct Example {
    file: String,
    bytes: usize,
    space: String,
    seed: u64,
    index: u64,
}

/// What a file holds, wherever it lies in it. Stored devices know files by their bytes, which therefore stay.
pub fn contents(tflite: &[u8]) -> String {
    let mut model = parse(tflite).unwrap();
    model.file_bytes = 0;
    format!("{model:?}")
}

/// `litecast-trainer sample --space SPACE --seed SEED --start INDEX --count 1 --out www/examples`
/// remakes a file.
#[test]
fn examples_of_the_page_are_remade_from_their_seeds() {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../www/examples");
    let list = fs::read_to_string(directory.join("examples.json")).unwrap();
    let examples: Vec<Example> = serde_json::from_str(&list).unwrap();
    assert_eq!(examples.len(), 3);
    for example in examples {
        let space = Space::from_str(&example.space).unwrap();
        let expected = sample(space, example.seed, example.index).to_tflite();
        let actual = fs::read(directory.join(&example.file)).unwrap();
        assert_eq!(actual.len(), example.bytes, "{}", example.file);
        assert!(
            contents(&actual) == contents(&expected),
            "{}: contents differ",
            example.file
        );
    }
}

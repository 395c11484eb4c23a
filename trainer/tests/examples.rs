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

/// `litecast-trainer sample --space SPACE --seed SEED --start INDEX --count 1 --out www/examples`
/// remakes a file. Only what it holds counts, and not where: stored devices know these files by their bytes.
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
        let [actual, expected] = [&actual, &expected].map(|bytes| {
            let mut model = parse(bytes).unwrap();
            model.file_bytes = 0;
            format!("{model:?}")
        });
        assert!(actual == expected, "{}: contents differ", example.file);
    }
}

//! Small files that were made on purpose, TFLite and ONNX: sizes, strides, windows and scales near the ends of their
//! types, constants that say other sizes than shapes, subgraphs that are called with other operands, every kind of
//! operator without what it needs.

use std::fs;
use std::path::Path;

use litecast::learned::predictor::Predictor;
use litecast_fuzz::check::{Target, max_bytes};
use litecast_fuzz::memory::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn files_of_the_corpus_keep_every_promise() {
    let predictor = Predictor::shipped().expect("the shipped predictor loads");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let (mut n_files, mut n_read) = (0, 0);
    for entry in fs::read_dir(&folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let bytes = fs::read(&path).expect("a file");
        let cost = Target::Estimate.run(&bytes, Some(&predictor));
        let most = cost.taken.peak_bytes;
        println!(
            "{}: {} bytes, at most {:.1} MB",
            path.display(),
            bytes.len(),
            most as f64 / 1e6
        );
        assert!(most <= max_bytes(bytes.len()), "{}: {most}", path.display());
        n_files += 1;
        n_read += cost.n_read;
    }
    println!("{n_read} of {n_files} files end in a report, the others in an error with a kind");
    assert!(n_files > 100 && 2 * n_read > n_files);
}

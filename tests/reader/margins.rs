//! How far real files stay from the reader's limits.

use flatbuffers::VerifierOptions;
use litecast::formats::tflite::{limits, schema};

/// The smallest value up to `most` with which the verifier accepts the file.
fn least(file: &[u8], most: usize, limit: impl Fn(&mut VerifierOptions, usize)) -> usize {
    let is_accepted = |value: &usize| {
        let mut options = VerifierOptions {
            max_depth: limits::MAX_TABLE_DEPTH,
            ignore_missing_null_terminator: true,
            ..VerifierOptions::default()
        };
        limit(&mut options, *value);
        schema::root_as_model_with_opts(&options, file).is_ok()
    };
    let (mut refused, mut accepted) = (0, most);
    assert!(is_accepted(&accepted));
    while accepted - refused > 1 {
        let middle = refused.midpoint(accepted);
        let end = if is_accepted(&middle) {
            &mut accepted
        } else {
            &mut refused
        };
        *end = middle;
    }
    accepted
}

/// A file that is refused for what it shares must be far from what converters write.
#[test]
fn shared_models_are_far_from_the_limits() {
    let (mut factor, mut bytes_per_table, mut depth) = (0.0f64, f64::INFINITY, 0);
    for path in crate::shared_models() {
        let file = std::fs::read(path).unwrap();
        let apparent = least(&file, 64 << 20, |options, value| {
            options.max_apparent_size = value
        });
        let tables = least(&file, 1 << 20, |options, value| options.max_tables = value);
        depth = depth.max(least(&file, 64, |options, value| options.max_depth = value));
        factor = factor.max(apparent as f64 / file.len() as f64);
        bytes_per_table = bytes_per_table.min(file.len() as f64 / tables as f64);
    }
    if depth > 0 {
        println!(
            "apparent size up to {factor:.2} times the file, {bytes_per_table:.1} bytes a table or more, depth up to {depth}"
        );
        assert!(factor * 2.0 <= limits::MAX_APPARENT_SIZE_FACTOR as f64);
        assert!(bytes_per_table >= 2.0 * limits::MIN_BYTES_PER_TABLE as f64);
        assert!(depth <= limits::MAX_TABLE_DEPTH);
    }
}

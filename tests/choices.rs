//! Targets under other names, and with other options.

use std::num::NonZeroU32;

use litecast::estimate::{Detail, ModelFile, Request, estimate_changed};
use litecast::model_variants::Changes;
use litecast::targets::choice::{Choice, known_targets};

/// Also for a network beyond what was measured, and for several inputs at a time.
#[test]
fn a_name_changes_no_number() {
    let file = std::fs::read("www/examples/cnn-cifar10-s7-i9.tflite").unwrap();
    let numbers = |choice: &Choice, batch: u32, factor: f64| {
        let file = ModelFile {
            request: Request {
                batch: NonZeroU32::new(batch).unwrap(),
                ..Request::default()
            },
            ..ModelFile::new("net.tflite", &file)
        };
        let changes = Changes {
            width: Some(factor),
            resolution: Some(factor),
            ..Changes::default()
        };
        let targets = [choice.target().unwrap()];
        let report = estimate_changed(file, &changes, None, &targets, Detail::Full).unwrap();
        let results = report.results.iter();
        let results: Vec<_> = results
            .map(|result| (result.metric, &result.outcome))
            .collect();
        let codes = report.diagnostics.iter().map(|doubt| doubt.diagnostic.code);
        format!("{results:?} {:?}", codes.collect::<Vec<_>>())
    };
    let mut n_beyond = 0;
    for id in known_targets() {
        let plain = Choice {
            target: Some(id.to_owned()),
            ..Choice::default()
        };
        let named = Choice {
            name: Some("another".into()),
            ..plain.clone()
        };
        for (batch, factor) in [(1, 1.0), (8, 1.0), (1, 4.0)] {
            let actual = numbers(&plain, batch, factor);
            n_beyond += usize::from(actual.contains("beyond-measured"));
            assert_eq!(
                numbers(&named, batch, factor),
                actual,
                "{id}, {batch}, {factor}"
            );
        }
    }
    assert!(n_beyond > 5, "{n_beyond}");
}

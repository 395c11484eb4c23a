//! Any bytes as a stored report: an error, or a report of the present version, which is left as it is.

#![no_main]

use litecast::report::migrate;

libfuzzer_sys::fuzz_target!(|file: &[u8]| {
    let Ok(mut report) = serde_json::from_slice::<serde_json::Value>(file) else {
        return;
    };
    if migrate(&mut report).is_ok() {
        let migrated = report.clone();
        assert!(migrate(&mut report).is_ok() && report == migrated);
    }
});

//! Any bytes as the output of a benchmark tool, and as a stored device: an error, or durations of hardware.

#![no_main]

use litecast::calibration::Device;
use litecast::profiles::read;

libfuzzer_sys::fuzz_target!(|file: &[u8]| {
    if let Ok(profile) = read(file, Some(100.0)) {
        let operators = profile.operators.iter().map(|one| one.duration_ms);
        let mut durations = operators.chain(profile.inferences.iter().map(|one| one.duration_ms));
        assert!(durations.all(|ms| (0.0..=1e9).contains(&ms)));
    }
    if let Ok(device) = Device::parse(file) {
        assert_eq!(Device::parse(device.to_json().as_bytes()), Ok(device));
    }
});

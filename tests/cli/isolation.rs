//! Files that are too large, take too much memory or take too long.

use std::fs;
use std::process::Command;

use super::*;

/// The file has no bytes on the disk, and none of it is read.
#[test]
fn a_file_beyond_the_limit_is_refused_by_its_size() {
    let folder = tempfile::tempdir().unwrap();
    let large = folder.path().join("large.tflite");
    fs::File::create(&large).unwrap().set_len(3 << 30).unwrap();
    let good = examples().remove(0);
    let output = litecast(&[
        "predict",
        "--json",
        large.to_str().unwrap(),
        good.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(1));
    let lines = json_lines(&output);
    assert_eq!(lines.len(), 2);
    assert!(
        lines[1].get("model").is_some(),
        "the good file has its report"
    );
    let words = lines[0]["error"]["message"].as_str().unwrap();
    assert!(words.contains("found 3221225472 bytes"), "{words}");
}

/// With less memory than the large file has bytes, the other one still has its report.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_memory_does_not_hold_costs_no_other_its_report() {
    let folder = tempfile::tempdir().unwrap();
    let large = folder.path().join("large.tflite");
    fs::File::create(&large)
        .unwrap()
        .set_len(2_000_000_000)
        .unwrap();
    let good = examples().remove(0);
    let command = format!(
        "ulimit -v 1500000; exec {} predict --json {} {}",
        env!("CARGO_BIN_EXE_litecast"),
        large.display(),
        good.display()
    );
    let output = Command::new("sh").args(["-c", &command]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    println!("{errors}");
    let lines = json_lines(&output);
    assert_eq!(lines.len(), 2, "{errors}");
    assert!(
        lines[1].get("model").is_some(),
        "the good file has its report"
    );
    assert!(errors.contains("large.tflite"), "{errors}");
}

/// A pipe that nobody writes to never ends.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_takes_too_long_costs_no_other_its_report() {
    let folder = tempfile::tempdir().unwrap();
    let endless = folder.path().join("endless.tflite");
    let made = Command::new("mkfifo").arg(&endless).status().unwrap();
    assert!(made.success());
    let examples = examples();
    for (command, told, seconds) in [("predict", "model", 8), ("boards", "need", 4)] {
        let output = litecast(&[
            command,
            "--json",
            &format!("--time-limit={seconds}"),
            examples[0].to_str().unwrap(),
            endless.to_str().unwrap(),
            examples[1].to_str().unwrap(),
        ]);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        println!("{errors}");
        assert_eq!(output.status.code(), Some(1), "{command}");
        let lines = json_lines(&output);
        assert_eq!(lines.len(), 3, "{errors}");
        assert_eq!(lines[1]["error"]["kind"], "time-limit");
        assert!(
            lines[2].get(told).is_some(),
            "{command}: the file behind it has its line"
        );
        assert!(
            errors.contains(&format!("endless.tflite: took longer than {seconds} s")),
            "{errors}"
        );
    }
}

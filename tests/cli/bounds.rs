//! `litecast.toml` and stored reports: what they name, in which order, how many, and how much of it is shown.

use std::fs;
use std::process::Command;

use super::*;

/// What a configuration names reaches the process that estimates, however long it is, and messages show its beginning.
#[test]
fn long_names_in_a_configuration_are_shown_in_part() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(&examples()[0], folder.path().join("a.tflite")).unwrap();
    let check = |keys: &str, arguments: &[&str]| {
        let head = "[[check]]\nfiles = [\"a.tflite\"]\nmax = { latency = \"100 s\" }\n";
        fs::write(folder.path().join("litecast.toml"), format!("{head}{keys}")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_litecast"));
        let command = command.arg("check").args(arguments);
        command.current_dir(&folder).output().unwrap()
    };
    let start = |output: &Output| {
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        words.chars().take(300).collect::<String>()
    };
    let long = "x".repeat(200_000);
    let npu = format!("targets = ['{NPU}']");
    let core = "targets = ['cortex-m7-stm32h747']";
    for keys in [
        format!("targets = ['{long}']"),
        format!("targets = ['cortex-m7-stm32h747@{long}']"),
        format!("boards = ['{long}']"),
        format!("boards = ['arduino-nano-33-ble']\nruntime = '{long}'"),
        format!("{npu}\nruntime = '{long}'"),
        format!("{npu}\nhost = '{long}'"),
        format!("{npu}\ngroups = ['{long}']"),
        format!("{npu}\nsystem-config = '{long}'"),
        format!("{npu}\nmemory-mode = '{long}'"),
        format!("{npu}\nvela-ini = '{long}'"),
        format!("{npu}\ndevices = ['{long}']"),
        format!("{core}\nrelease = '{long}'"),
    ] {
        for arguments in [&[][..], &["--outside"]] {
            let output = check(&keys, arguments);
            assert_eq!(output.status.code(), Some(2), "{}", start(&output));
            let n_bytes = output.stderr.len();
            assert!(n_bytes < 1000, "{n_bytes} bytes: {}", start(&output));
        }
    }
    // A section may have any name, and no system takes an argument of this length.
    let ini = format!(
        "[System_Config.S]\ncore_clock=1e9\naxi0_port=Sram\naxi1_port=OffChipFlash\nSram_clock_scale=1.0\n\
         OffChipFlash_clock_scale=0.125\n[Memory_Mode.{long}]\nconst_mem_area=Axi1\narena_mem_area=Axi0\n\
         cache_mem_area=Axi0\n"
    );
    fs::write(folder.path().join("vela.ini"), ini).unwrap();
    let keys = "vela-ini = 'vela.ini'\nsystem-config = 'S'";
    let output = check(&format!("{npu}\n{keys}\nmemory-mode = '{long}'"), &[]);
    assert_eq!(output.status.code(), Some(0), "{}", start(&output));
}

/// All checks have one worker; they are told in the order of the configuration, with the files that are not read.
#[cfg(unix)]
#[test]
fn checks_of_one_file_come_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let outside = tempfile::NamedTempFile::new().unwrap();
    fs::copy(&examples()[0], at("a.tflite")).unwrap();
    fs::write(at("damaged.tflite"), "TFL3").unwrap();
    std::os::unix::fs::symlink(outside.path(), at("link.tflite")).unwrap();
    let check = |idx: usize| {
        let target = [NPU, "cortex-m4-tflm", "cortex-a72-rpi4"][idx % 3];
        let head = format!("[[check]]\nfiles = ['*.tflite']\ntargets = ['{target}']\n");
        let seconds = 1 + idx;
        head + &format!(
            "batch = {}\nmax = {{ latency = '{seconds} s' }}\n",
            1 + idx % 2
        )
    };
    let text: String = (0..12).map(check).collect();
    fs::write(at("litecast.toml"), text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_litecast"));
    let command = command.args(["check", "--json"]).current_dir(&folder);
    let output = command.output().unwrap();
    let lines = json_lines(&output);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(lines.len(), 36, "{errors}");
    for (idx, lines) in lines.chunks(3).enumerate() {
        assert_eq!(lines[0]["file"], "link.tflite");
        assert_eq!(lines[0]["error"]["kind"], "file-unreadable");
        assert_eq!(lines[1]["file"], "a.tflite");
        let limit = &lines[1]["limits"][0]["limit"];
        assert_eq!(limit, 1000.0 * (1 + idx) as f64, "{idx}");
        assert_eq!(lines[2]["file"], "damaged.tflite");
    }
}

/// A stored report may have been changed by anybody: lists without end in a short text, and results and warnings that are
/// each held against all others.
#[test]
fn stored_reports_of_many_entries_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let report = json_lines(&litecast(&["predict", "--json", path(&examples()[0])])).remove(0);
    let kept = folder.path().join("kept.json");
    let refusal = |change: &dyn Fn(&mut Value)| {
        let mut report = report.clone();
        change(&mut report);
        fs::write(&kept, report.to_string()).unwrap();
        let output = litecast(&["compare", path(&kept), path(&kept)]);
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let words = refusal(&|report| {
        let result = report["results"][0].clone();
        let results = (0..8193).map(|idx| {
            let mut result = result.clone();
            result["target"] = format!("t{idx}").into();
            result
        });
        report["results"] = results.collect();
    });
    assert!(
        words.contains("at most 8192 results, found 8193"),
        "{words}"
    );
    let words = refusal(&|report| {
        let warning = serde_json::json!({"severity": "warning", "code": "c", "message": "m"});
        report["diagnostics"] = vec![warning; 8193].into();
    });
    assert!(
        words.contains("at most 8192 diagnostics, found 8193"),
        "{words}"
    );
    let words = refusal(&|report| report["model"]["signatures"] = vec![""; 2_000_000].into());
    assert!(words.contains("longer lists"), "{words}");
    let failed = format!(
        "{}\n",
        serde_json::json!({"schema_version": 2, "file": "a", "error": {"kind": "k", "message": "m"}})
    );
    fs::write(&kept, failed.repeat((1 << 14) + 1)).unwrap();
    let output = litecast(&["compare", path(&kept), path(&kept)]);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(
        words.contains("at most 16384 reports, found more"),
        "{words}"
    );
}

/// A device is read for each check, and a `vela.ini` for each target of each check.
#[test]
fn what_checks_read_again_and_again_is_limited() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::copy(&examples()[0], at("a.tflite")).unwrap();
    let device = include_str!("../profiles/device-1.json");
    fs::write(at("device.json"), device.to_owned() + &" ".repeat(1 << 20)).unwrap();
    fs::write(at("vela.ini"), ";\n".repeat(1 << 18)).unwrap();
    let check = |keys: &str, n: usize| {
        let head = "[[check]]\nfiles = ['a.tflite']\nmax = { latency = '100 s' }\n";
        fs::write(at("litecast.toml"), format!("{head}{keys}\n").repeat(n)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_litecast"));
        let output = command.arg("check").current_dir(&folder).output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(check("devices = ['device.json']", 3), "");
    let words = check("devices = ['device.json']", 40);
    assert!(
        words.contains("at most 33554432 bytes of devices"),
        "{words}"
    );
    assert!(words.contains("check 32: "), "{words}");
    let targets: Vec<String> = (0..70).map(|idx| format!("{NPU}@{}", 100 + idx)).collect();
    let words = check(&format!("vela-ini = 'vela.ini'\ntargets = {targets:?}"), 1);
    assert!(
        words.contains("at most 33554432 bytes of devices"),
        "{words}"
    );
}

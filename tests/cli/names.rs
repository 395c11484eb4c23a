//! Names that people type, and sizes that files leave open.

use std::fs;

use super::*;

/// A field of a protobuf message with bytes, or with a number.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let length = u8::try_from(bytes.len()).unwrap();
    assert!(length < 0x80);
    [&[number << 3 | 2, length], bytes].concat()
}

fn number(number: u8, value: u8) -> Vec<u8> {
    vec![number << 3, value]
}

/// A float tensor whose dimensions are sizes or names.
fn value(name: &str, dimensions: &[Result<u8, &str>]) -> Vec<u8> {
    let dimension = |result: &Result<u8, &str>| match result {
        Ok(size) => field(1, &number(1, *size)),
        Err(name) => field(1, &field(2, name.as_bytes())),
    };
    let shape: Vec<u8> = dimensions.iter().flat_map(dimension).collect();
    let tensor = [number(1, 1), field(2, &shape)].concat();
    [field(1, name.as_bytes()), field(2, &field(1, &tensor))].concat()
}

/// An ONNX file with one `Relu`, whose input has these dimensions.
pub fn relu(dimensions: &[Result<u8, &str>]) -> Vec<u8> {
    let node = [field(1, b"x"), field(2, b"y"), field(4, b"Relu")].concat();
    let graph = [
        field(1, &node),
        field(2, b"g"),
        field(11, &value("x", dimensions)),
        field(12, &value("y", dimensions)),
    ];
    let opset = field(8, &number(2, 13));
    [number(1, 8), field(7, &graph.concat()), opset].concat()
}

#[test]
fn a_size_that_is_missing_is_asked_for_as_it_is_typed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("open.onnx");
    fs::write(
        &file,
        relu(&[Err("batch"), Err("seq len"), Err("width"), Ok(4)]),
    )
    .unwrap();
    let run = |args: &[&str]| {
        let output = litecast(&[args, &[path(&file)]].concat());
        let errors = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), errors)
    };
    let (code, errors) = run(&["predict"]);
    println!("{errors}");
    assert_eq!(code, Some(1));
    assert!(
        errors.contains("--dim 'seq len=SIZE' --dim width=SIZE"),
        "{errors}"
    );
    // A wrong name is said at once.
    let (_, errors) = run(&["facts", "--dim", "seqlen=3"]);
    assert!(
        errors.contains("`seqlen`, which is none of them"),
        "{errors}"
    );
    let sizes = ["--dim", "seq len=3", "--dim", "width=5"];
    assert_eq!(run(&[&["facts"], &sizes[..]].concat()).0, Some(0));
    assert_eq!(
        run(&[&["facts", "--dim", "batch=2"], &sizes[..]].concat()).0,
        Some(0)
    );
    assert_eq!(
        run(&["facts", "--dim", "0.1=3", "--dim", "x.2=5"]).0,
        Some(0)
    );
}

#[test]
fn a_size_of_no_open_dimension_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("open.onnx"), relu(&[Ok(1), Err("seq"), Ok(4)])).unwrap();
    fs::write(at("fixed.onnx"), relu(&[Ok(1), Ok(7), Ok(4)])).unwrap();
    fs::copy(&examples()[0], at("fixed.tflite")).unwrap();
    let [open, fixed, tflite] = ["open.onnx", "fixed.onnx", "fixed.tflite"].map(at);
    for (file, words) in [
        (&open, "(`seq`), found a size of `typo`"),
        (&fixed, "(it leaves none open), found a size of `typo`"),
        (&tflite, "(it leaves none open), found a size of `typo`"),
    ] {
        for command in [
            &["predict"][..],
            &["facts"],
            &["boards"],
            &["check", "--max-macs", "1M"],
            &["predict", "--json"],
        ] {
            let sizes = ["--dim", "seq=3", "--dim", "typo=3"];
            let sizes = if file == &open {
                &sizes[..]
            } else {
                &sizes[2..]
            };
            let output = litecast(&[command, sizes, &[path(file)]].concat());
            let errors = String::from_utf8(output.stderr).unwrap();
            assert!(
                !output.status.success() && errors.contains(words),
                "{command:?}: {errors}"
            );
        }
    }
    // A folder has files without the dimension; a name that none of them has is wrong.
    let run = |command: &[&str], sizes: &[&str]| {
        let files = [path(&open), path(&fixed), path(&tflite)];
        litecast(&[command, sizes, &files].concat())
    };
    for command in [
        &["facts"][..],
        &["facts", "--json"],
        &["facts", "--csv"],
        &["facts", "--html"],
    ] {
        let output = run(command, &["--dim", "seq=3"]);
        assert_eq!(output.status.code(), Some(0), "{command:?}");
        let output = run(command, &["--dim", "seq=3", "--dim", "typo=3"]);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{command:?}: {errors}");
        assert!(
            errors.contains("--dim typo: expected a dimension"),
            "{errors}"
        );
    }
    let text = stdout(&run(&["predict", "--target", NPU], &["--dim", "seq=3"]));
    assert!(
        text.contains("warning: expected sizes of dimensions that the file"),
        "{text}"
    );
    let compared = litecast(&["compare", "--dim", "seq=3", path(&open), path(&fixed)]);
    assert_eq!(compared.status.code(), Some(0));
    let compared = litecast(&["compare", "--dim", "typo=3", path(&tflite), path(&fixed)]);
    assert_eq!(compared.status.code(), Some(2));
}

/// Which names lead where is tested beside the code; here that every option asks.
#[test]
fn names_that_nothing_has_lead_to_similar_ones() {
    let file = examples().remove(0);
    for (option, typed, expected) in [
        ("--target", "raspberry-pi-5", "did you mean cortex-a76-rpi5"),
        ("--target", "h743", "the board nucleo-h743zi"),
        ("--board", "h743", "the board nucleo-h743zi"),
        ("--board", "RP2040", "the board raspberry-pi-pico"),
    ] {
        let output = litecast(&["predict", option, typed, path(&file)]);
        let errors = String::from_utf8(output.stderr).unwrap();
        print!("{errors}");
        assert_eq!(output.status.code(), Some(2));
        assert!(errors.contains(expected), "{errors}");
        assert!(errors.len() < 400, "{errors}");
    }
    let output = litecast(&["sweep-batch", "--target", "rtx3090", path(&file)]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("did you mean rtx-3090"), "{errors}");
}

//! Recognises the format of a file that has no TFLite identifier.

use super::schema;

/// Bytes at the start that tell a format, and its name for people.
const MAGIC: [(&[u8], &str); 21] = [
    (
        b"PK\x03\x04",
        "a zip archive (unpack it: a `.task` bundle or an Android package holds its `.tflite` files inside)",
    ),
    (b"\x1f\x8b", "gzip-compressed data (unpack it first)"),
    (b"BZh", "bzip2-compressed data (unpack it first)"),
    (b"\xfd7zXZ", "xz-compressed data (unpack it first)"),
    (
        b"\x28\xb5\x2f\xfd",
        "zstd-compressed data (unpack it first)",
    ),
    (b"7z\xbc\xaf", "a 7z archive (unpack it first)"),
    (
        b"\x89HDF\r\n\x1a\n",
        "an HDF5 file, for example a Keras model (convert it to TFLite first)",
    ),
    (
        b"\x80\x02",
        "a Python pickle, for example a PyTorch checkpoint (convert it to TFLite first)",
    ),
    (b"GGUF", "a GGUF language model"),
    (
        b"LITERTLM",
        "a LiteRT-LM bundle, which holds its TFLite models inside",
    ),
    (
        b"version https://git-lfs",
        "a Git LFS pointer instead of the file it points to (run `git lfs pull`)",
    ),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"RIFF", "a RIFF file (sound, video or a WebP image)"),
    (b"\x7fELF", "a program or library (ELF)"),
    (b"MZ", "a Windows program"),
    (b"\0asm", "a WebAssembly module"),
    (b"7767517", "an ncnn network description"),
    (b"\x93NUMPY", "a NumPy array"),
];

/// Starts of text files, after white space and without regard to case.
const TEXT: [(&str, &str); 6] = [
    (
        "<!doctype html",
        "an HTML page, perhaps the page that offers the file for download",
    ),
    (
        "<html",
        "an HTML page, perhaps the page that offers the file for download",
    ),
    ("<?xml", "an XML document"),
    ("<svg", "an SVG image"),
    ("{", "a JSON document"),
    ("[", "a JSON document"),
];

/// Whether the file says that it is a TFLite file of this schema.
pub fn is_tflite(file: &[u8]) -> bool {
    file.get(4..8) == Some(schema::MODEL_IDENTIFIER.as_bytes())
}

/// The format in words. None of the file's bytes is among them: it may be any file that is no model.
pub fn describe(file: &[u8]) -> String {
    let identifier = file.get(4..8).unwrap_or_default();
    let format = by_magic(file)
        .or_else(|| by_text(file))
        .or_else(|| by_structure(file));
    match format {
        Some(name) => name.to_owned(),
        None if file.iter().all(|&byte| byte == 0) => "only zero bytes".to_owned(),
        None if identifier.starts_with(b"TFL") => {
            format!("`{}` there", identifier.escape_ascii())
        }
        None => "a file of no format that is known".to_owned(),
    }
}

fn by_magic(file: &[u8]) -> Option<&'static str> {
    MAGIC
        .iter()
        .find(|(magic, _)| file.starts_with(magic))
        .map(|(_, name)| *name)
}

fn by_text(file: &[u8]) -> Option<&'static str> {
    let start = file
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(file)
        .trim_ascii_start();
    let starts_with = |word: &str| {
        start
            .get(..word.len())
            .is_some_and(|bytes| bytes.eq_ignore_ascii_case(word.as_bytes()))
    };
    TEXT.iter()
        .find(|(word, _)| starts_with(word))
        .map(|(_, name)| *name)
}

fn by_structure(file: &[u8]) -> Option<&'static str> {
    if file.get(8..12) == Some(b"TFL3") {
        return Some("`TFL3` at byte 8: a TFLite file behind a length of 4 bytes (remove them)");
    }
    match file {
        [_, _, _, _, b'E', b'T', b'0'..=b'9', b'0'..=b'9', ..] => Some("an ExecuTorch program"),
        // Field 1 (`ir_version`) as a small number, then a field that a `ModelProto` starts with.
        [0x08, 3..=20, 0x12 | 0x1a | 0x3a | 0x42, ..] => {
            Some("an ONNX model (convert it to TFLite first)")
        }
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => Some("a video or image (ISO media file)"),
        _ => None,
    }
}

//! Hostile bytes: never a panic, never a hang, never memory that a small file blew up.

use std::time::{Duration, Instant};

use litecast::formats::tflite::{BuiltinOptions, Model, ParseError, parse};

use litecast_tflite_files::Tensor;

use crate::cases::CASES;
use crate::files::{convolution, tensor, with};
use crate::memory::peak_bytes;
use crate::sound::assert_sound;

/// A tensor of 8 bytes in a hostile file (one table, named again and again) takes about 200 in
/// memory.
const MAX_BYTES_PER_FILE_BYTE: usize = 32;
/// Messages, diagnostics and first vectors of the smallest file.
const BASE_BYTES: usize = 64 * 1024;

/// What parsing some files took at most.
#[derive(Default, Debug)]
struct Worst {
    files: usize,
    read: usize,
    bytes_per_file_byte: f64,
    time: Duration,
}

impl Worst {
    /// Parses, orders all graphs, and holds the result against the promises.
    fn check(&mut self, file: &[u8]) {
        let start = Instant::now();
        let (parsed, bytes) = peak_bytes(|| parse(file));
        if let Ok(model) = &parsed {
            assert_sound(model);
            build_graphs(model);
            self.read += 1;
        } else if let Err(error) = &parsed {
            assert_message(error);
        }
        assert!(
            bytes <= BASE_BYTES + MAX_BYTES_PER_FILE_BYTE * file.len(),
            "{bytes} bytes for a file of {}",
            file.len()
        );
        self.files += 1;
        self.time = self.time.max(start.elapsed());
        self.bytes_per_file_byte = self
            .bytes_per_file_byte
            .max(bytes as f64 / file.len().max(1024) as f64);
    }
}

fn build_graphs(model: &Model) {
    for subgraph_idx in 0..model.subgraphs.len() {
        let _ = litecast::graph::build(model, subgraph_idx);
    }
}

fn assert_message(error: &ParseError) {
    let message = error.to_string();
    assert!(message.len() < 2000 && !message.ends_with('.'), "{message}");
    assert!(!message.chars().any(char::is_control), "{message:?}");
    assert!(
        error
            .kind()
            .chars()
            .all(|c| c.is_ascii_lowercase() || c == '-'),
        "{}",
        error.kind()
    );
}

#[test]
fn cases_stay_within_memory() {
    let mut worst = Worst::default();
    CASES.iter().for_each(|case| worst.check(&(case.file)()));
    println!("cases: {worst:?}");
}

#[test]
fn truncated_at_every_length() {
    let whole = convolution().write();
    let mut worst = Worst::default();
    for length in 0..whole.len() {
        worst.check(&whole[..length]);
    }
    println!("truncated: {worst:?}");
    assert!(parse(&whole).is_ok());
}

#[test]
fn truncated_shared_models() {
    let mut worst = Worst::default();
    for path in crate::shared_models() {
        let whole = std::fs::read(path).unwrap();
        let (parsed, bytes) = peak_bytes(|| parse(&whole).map(|model| model.subgraphs.len()));
        parsed.unwrap();
        assert!(bytes <= BASE_BYTES + MAX_BYTES_PER_FILE_BYTE * whole.len());
        let step = (whole.len() / 40).max(1);
        (0..whole.len())
            .step_by(step)
            .for_each(|length| worst.check(&whole[..length]));
    }
    println!("truncated shared models: {worst:?}");
}

/// xorshift64*: the same bytes in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

/// One to four bits flipped, or an aligned word replaced by a value that attacks use.
fn mutate(file: &mut [u8], random: &mut Random) {
    for _ in 0..=random.below(4) {
        let position = random.below(file.len());
        if random.below(2) == 0 {
            file[position] ^= 1 << random.below(8);
        } else if let Some(word) = file.get_mut(position & !3..(position & !3) + 4) {
            let values = [
                0,
                1,
                u32::MAX,
                i32::MAX as u32,
                1 << 31,
                random.below(4096) as u32,
            ];
            word.copy_from_slice(&values[random.below(values.len())].to_le_bytes());
        }
    }
}

#[test]
fn flipped_bits() {
    let mut worst = Worst::default();
    for seed in [0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03, 11, 1 << 40] {
        let mut random = Random(seed);
        for case in CASES.iter().filter(|case| case.id.starts_with("READ")) {
            let whole = (case.file)();
            for _ in 0..200 {
                let mut file = whole.clone();
                mutate(&mut file, &mut random);
                worst.check(&file);
            }
        }
    }
    println!("flipped: {worst:?}");
    assert!(
        worst.read > worst.files / 20,
        "nothing is reached behind the verifier"
    );
}

#[test]
fn flipped_bits_of_shared_models() {
    let mut random = Random(0x1234_5678_9abc_def1);
    let mut worst = Worst::default();
    for path in crate::shared_models() {
        let whole = std::fs::read(path).unwrap();
        if whole.len() > 600_000 {
            continue;
        }
        for _ in 0..60 {
            let mut file = whole.clone();
            mutate(&mut file, &mut random);
            worst.check(&file);
        }
    }
    println!("flipped shared models: {worst:?}");
}

/// The verifier is the first to see a file: whatever follows the identifier must not matter.
#[test]
fn random_bytes_behind_the_identifier() {
    let mut random = Random(77);
    let mut worst = Worst::default();
    for length in (8..2000).step_by(3) {
        let mut file: Vec<u8> = (0..length).map(|_| random.below(9) as u8).collect();
        file[..8].copy_from_slice(b"\x08\0\0\0TFL3");
        worst.check(&file);
    }
    println!("random: {worst:?}");
}

/// A large constant is a slice of the file, not a copy of it.
#[test]
fn weights_are_not_copied() {
    let file = with(|f| {
        tensor(f, 1).shape = vec![1 << 12, 1, 1, 1 << 12];
        f.buffers[1] = vec![7; 1 << 24];
    });
    let (model, bytes) = peak_bytes(|| parse(&file).unwrap());
    let weights = model.buffers[1].bytes();
    assert!(file.as_ptr_range().contains(&weights.as_ptr()));
    assert_eq!(weights.len(), 1 << 24);
    println!("{bytes} bytes for a file of {}", file.len());
    assert!(bytes < BASE_BYTES);
    assert!(matches!(
        model.subgraphs[0].operators[0].options,
        BuiltinOptions::Conv2D { .. }
    ));
}

/// The most tensors for its length that the limits let a file have: 4 bytes name each, and as
/// many lie about to make the file long enough.
#[test]
fn as_many_tensors_as_the_limits_allow() {
    let n_tensors = 60_000;
    let file = with(|f| {
        f.subgraphs[0].tensors.push(Tensor {
            has_no_shape: true,
            ..Tensor::default()
        });
        f.subgraphs[0].last_tensor_again = n_tensors;
        f.buffers[2] = vec![0; 4 * n_tensors];
    });
    let mut worst = Worst::default();
    worst.check(&file);
    println!("{n_tensors} tensors: {worst:?}");
    assert_eq!(worst.read, 1, "the limits are tighter than this test says");
}

/// Their bytes are not looked at: the system gives memory only where it is touched.
#[cfg(target_pointer_width = "64")]
#[test]
fn files_beyond_2_gib_are_refused() {
    let file = vec![0; litecast::formats::tflite::limits::MAX_FILE_BYTES + 1];
    let error = parse(&file).unwrap_err();
    assert_eq!(error.kind(), "too-large");
    println!("{error}");
}

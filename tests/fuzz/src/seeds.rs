//! The networks that mutants are made of.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::random::Random;
use crate::shapes::Shape;
use litecast_tflite_files::{File, Subgraph};

/// Larger files of folders would be copied for each mutant.
const MAX_FILE_BYTES: u64 = 200_000;
/// Constants of a tiny network: those of larger ones take longer to write than a report takes.
const MAX_CONSTANT_BYTES: usize = 4096;
/// Operators of a tiny network, and of a small one.
const MAX_TINY: usize = 3;
const MAX_SMALL: usize = 12;

/// Seeds by size. Most mutants are of tiny networks, because the rules for single operators and their neighbours are
/// what a file reaches first, and a hundred of them run in the time of a large one.
#[derive(Default)]
pub struct Seeds {
    /// Each run of up to [`MAX_TINY`] operators of the other seeds, as a network of its own.
    tiny: Vec<File>,
    small: Vec<File>,
    large: Vec<File>,
}

impl Seeds {
    /// Networks of every shape, and the TFLite files of folders.
    pub fn new(folders: &[PathBuf]) -> Self {
        let mut seeds = Self::default();
        let mut known = BTreeSet::new();
        for file in shapes().chain(files(folders)) {
            for n_operators in 1..=MAX_TINY {
                let tiny = parts(&file, n_operators).filter(|tiny| known.insert(tiny.write()));
                seeds.tiny.extend(tiny);
            }
            if file.n_operators() <= MAX_SMALL {
                seeds.small.push(file)
            } else {
                seeds.large.push(file)
            }
        }
        seeds
    }

    /// How many there are: tiny, small and large ones.
    pub fn count(&self) -> [usize; 3] {
        [self.tiny.len(), self.small.len(), self.large.len()]
    }

    /// One of them: tiny but for one in 16, large once in 128.
    pub fn pick(&self, random: &mut Random) -> &File {
        let seed = match random.below(128) {
            0 => &self.large,
            1..=7 => &self.small,
            _ => &self.tiny,
        };
        &seed[random.below(seed.len())]
    }
}

fn shapes() -> impl Iterator<Item = File> {
    let sizes = |shape: &Shape| [6, 40].map(|n_operators| shape.file(n_operators));
    Shape::ALL.iter().flat_map(sizes)
}

fn files(folders: &[PathBuf]) -> Vec<File> {
    let mut files = Vec::new();
    for folder in folders {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let is_small = path.metadata().is_ok_and(|m| m.len() < MAX_FILE_BYTES);
            let bytes = is_small.then(|| std::fs::read(&path).ok()).flatten();
            files.extend(bytes.and_then(|bytes| File::read(&bytes)));
        }
    }
    files
}

/// Each run of so many operators of the main subgraph as a file, where its constants are small.
fn parts(file: &File, n_operators: usize) -> impl Iterator<Item = File> {
    let n_all = file.subgraphs.first().map_or(0, |s| s.operators.len());
    let starts = 0..(n_all + 1).saturating_sub(n_operators);
    starts.filter_map(move |start| part(file, start, n_operators))
}

fn part(file: &File, start: usize, n_operators: usize) -> Option<File> {
    let whole = file.subgraphs.first()?;
    let mut cut = Cut {
        file,
        whole,
        tensor_of: vec![None; whole.tensors.len()],
        part: File {
            buffers: vec![Vec::new()],
            subgraphs: vec![Subgraph::default()],
            ..File::default()
        },
    };
    let operators = whole.operators.get(start..start + n_operators)?;
    let written: BTreeSet<i32> = operators.iter().flat_map(|o| o.outputs.clone()).collect();
    let read: BTreeSet<i32> = operators.iter().flat_map(|o| o.inputs.clone()).collect();
    for operator in operators {
        let code = file.codes.get(operator.code as usize)?.clone();
        cut.part.codes.push(code);
        let mut operator = operator.clone();
        operator.code = cut.part.codes.len() as u32 - 1;
        for indices in [
            &mut operator.inputs,
            &mut operator.outputs,
            &mut operator.intermediates,
        ] {
            indices.iter_mut().for_each(|idx| *idx = cut.tensor(*idx));
        }
        cut.part.subgraphs[0].operators.push(operator);
    }
    let is_activation = |idx: &&i32| {
        let tensor = usize::try_from(**idx).ok().map(|idx| &whole.tensors[idx]);
        tensor.is_some_and(|tensor| file.buffers[tensor.buffer as usize].is_empty())
    };
    let inputs = read.difference(&written).filter(is_activation);
    let inputs = inputs.map(|&idx| cut.tensor(idx)).collect();
    let outputs = written
        .difference(&read)
        .map(|&idx| cut.tensor(idx))
        .collect();
    let main = &mut cut.part.subgraphs[0];
    (main.inputs, main.outputs) = (inputs, outputs);
    let bytes: usize = cut.part.buffers.iter().map(Vec::len).sum();
    (bytes <= MAX_CONSTANT_BYTES).then_some(cut.part)
}

/// A part of a file while it is cut out.
struct Cut<'f> {
    file: &'f File,
    whole: &'f Subgraph,
    /// By tensor of the whole, its index in the part.
    tensor_of: Vec<Option<i32>>,
    part: File,
}

impl Cut<'_> {
    /// The index in the part of a tensor of the whole; what names no tensor stays as it is.
    fn tensor(&mut self, idx: i32) -> i32 {
        let Some(at) = usize::try_from(idx)
            .ok()
            .filter(|&at| at < self.tensor_of.len())
        else {
            return idx;
        };
        if let Some(known) = self.tensor_of[at] {
            return known;
        }
        let mut tensor = self.whole.tensors[at].clone();
        let contents = self.file.buffers.get(tensor.buffer as usize);
        tensor.buffer = match contents.filter(|contents| !contents.is_empty()) {
            Some(contents) => {
                self.part.buffers.push(contents.clone());
                self.part.buffers.len() as u32 - 1
            }
            None => 0,
        };
        let tensors = &mut self.part.subgraphs[0].tensors;
        tensors.push(tensor);
        let tensor_idx = tensors.len() as i32 - 1;
        self.tensor_of[at] = Some(tensor_idx);
        tensor_idx
    }
}

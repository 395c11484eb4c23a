//! What somebody who typed the name of no target probably meant: parts of names of chips, cores and boards, and typing
//! errors.

use crate::target::boards::Board;

/// Listed at most.
const MAX_SUGGESTIONS: usize = 4;
/// Share of letter pairs that two names have in common, below which they are different names.
const MIN_SIMILARITY: f64 = 0.5;
/// Of a typed name. Longer ones are none of a device.
const MAX_TYPED_CHARS: usize = 64;

/// A target or a board that could be meant.
pub struct Candidate {
    /// As in the sentence: `the board imx93 (NXP i.MX 93)`.
    words: String,
    is_board: bool,
    /// Letters and digits of its id, and of each of its names.
    names: Vec<String>,
}

impl Candidate {
    pub fn target(id: &str, device: &str, aliases: &[&str]) -> Self {
        Self {
            words: if device.is_empty() {
                id.to_owned()
            } else {
                format!("{id} ({device})")
            },
            is_board: false,
            names: ([id, device].into_iter().chain(aliases.iter().copied()))
                .map(squashed)
                .collect(),
        }
    }

    pub fn board(board: &Board) -> Self {
        let Board {
            id,
            name,
            chip,
            core,
            ..
        } = board;
        let words = if name.contains(chip) {
            format!("the board {id} ({name})")
        } else {
            format!("the board {id} ({name}, {chip})")
        };
        Self {
            words,
            is_board: true,
            names: [id, name, chip, core].map(|name| squashed(name)).to_vec(),
        }
    }

    /// How well `typed` names it, of squashed text and its words; larger is better, at least 0.
    fn score(&self, typed: &str, words: &[String]) -> f64 {
        let is_part = |name: &String| !name.is_empty() && name.contains(typed);
        // A core is one name of many boards, so that it does not tell one of them from a target whose id has it.
        let of_it = if self.is_board { 3 } else { self.names.len() };
        if self.names.iter().take(of_it).any(|name| name == typed) {
            return 4.0;
        }
        if let Some(name) = self.names.iter().find(|name| is_part(name)) {
            return 3.0 + 0.9 * typed.len() as f64 / name.len() as f64;
        }
        let all = self.names.concat();
        if words.iter().all(|word| all.contains(word.as_str())) {
            return 2.0;
        }
        let similarities = self.names.iter().map(|name| similarity(typed, name));
        similarities.fold(0.0, f64::max)
    }
}

/// The sentence after an error about a name that nothing has: `; did you mean …?`, or empty. What was typed for a board is
/// sought among boards first, and otherwise among targets first.
pub fn did_you_mean(
    typed: &str,
    is_board: bool,
    candidates: impl Iterator<Item = Candidate>,
) -> String {
    let typed: String = typed.chars().take(MAX_TYPED_CHARS).collect();
    let (words, typed) = (words_of(&typed), squashed(&typed));
    if typed.len() < 2 {
        return String::new();
    }
    let mut scored: Vec<(f64, Candidate)> = candidates
        .map(|candidate| (candidate.score(&typed, &words), candidate))
        .filter(|(score, _)| *score >= MIN_SIMILARITY)
        .collect();
    let best = scored.iter().map(|(score, _)| *score).fold(0.0, f64::max);
    // Beside names that contain what was typed, similar ones are noise.
    scored.retain(|(score, _)| *score >= 2.0 || best < 2.0);
    scored.sort_by(|(a, of_a), (b, of_b)| {
        let rank = |candidate: &Candidate| candidate.is_board != is_board;
        (b.floor(), rank(of_a), *b)
            .partial_cmp(&(a.floor(), rank(of_b), *a))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let listed: Vec<&str> = scored
        .iter()
        .take(MAX_SUGGESTIONS)
        .map(|(_, candidate)| candidate.words.as_str())
        .collect();
    match listed.split_last() {
        None => String::new(),
        Some((last, [])) => format!("; did you mean {last}?"),
        Some((last, others)) => format!("; did you mean {} or {last}?", others.join(", ")),
    }
}

/// Letters and digits in lower case.
fn squashed(name: &str) -> String {
    let kept = name.chars().filter(|c| c.is_alphanumeric());
    kept.flat_map(char::to_lowercase).collect()
}

/// Runs of letters and runs of digits.
fn words_of(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut last = ' ';
    for c in name.chars().flat_map(char::to_lowercase) {
        let continues = c.is_alphanumeric()
            && last.is_alphanumeric()
            && c.is_ascii_digit() == last.is_ascii_digit();
        match words.last_mut().filter(|_| continues) {
            Some(word) => word.push(c),
            None if c.is_alphanumeric() => words.push(c.to_string()),
            None => {}
        }
        last = c;
    }
    words
}

/// Dice's coefficient of the pairs of adjacent letters.
fn similarity(a: &str, b: &str) -> f64 {
    let pairs =
        |text: &str| -> Vec<(char, char)> { text.chars().zip(text.chars().skip(1)).collect() };
    let (a, mut b) = (pairs(a), pairs(b));
    let n_all = a.len() + b.len();
    let mut n_common = 0;
    for pair in &a {
        if let Some(at) = b.iter().position(|other| other == pair) {
            b.swap_remove(at);
            n_common += 1;
        }
    }
    2.0 * f64::from(n_common) / n_all.max(1) as f64
}

//! Kinds of files that somebody made on purpose, each of any size.

/// A kind of file, and the size that it has in tests.
pub struct Case {
    pub name: &'static str,
    pub size: usize,
    pub file: fn(Amounts) -> Vec<u8>,
}

impl Case {
    /// The file of the largest amounts.
    pub fn largest(&self) -> Vec<u8> {
        self.part_of_largest(1)
    }

    /// The largest file with the `divisor`-th part of what is repeated, as often.
    pub fn part_of_largest(&self, divisor: usize) -> Vec<u8> {
        (self.file)(Amounts {
            n: self.size / divisor,
            repeats: MAX_REPEATS,
        })
    }
}

/// The most iterations and shared operands.
pub const MAX_REPEATS: usize = 4_000;

/// How large the part of a file is that is repeated, and how often it is.
#[derive(Clone, Copy)]
pub struct Amounts {
    pub n: usize,
    pub repeats: usize,
}

/// The table of functions that make files, by name, with the largest size of each.
macro_rules! cases {
    ($($name:ident $size:literal,)*) => {
        pub const CASES: &[$crate::case::Case] = &[$($crate::case::Case {
            name: stringify!($name),
            size: $size,
            file: $name,
        },)*];
    };
}
pub(crate) use cases;

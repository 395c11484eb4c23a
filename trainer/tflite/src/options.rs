//! The option tables of the schema by the types of their fields, so that each can be written with any
//! values.

use litecast::formats::tflite::schema;

/// By `BuiltinOptions` number, the fields of the table: b a byte, i 32 bits, l 64 bits, f a float, s a text,
/// and in capitals vectors of those.
const FIRST: &str = "- biibiib biiibii iII b biiiib ibb bb bbbbbB f ib bb b ifff bffbb iibb i I iib i b b - ii - - - \
    b bb b I bbb iiiiib - - i - bb - - b - - - - - - - - biibb b - - - - b - b ffib ii - i - - ii - - - - \
    bffbbb bbbb bffbbb - - bb f - b - i b - - - - - - ii - - - - ii ii i - - - - - - bbb bb i - - biiibiii \
    ibb - - - ss - - ll F b - - - - - - - - - -";

/// The same of `BuiltinOptions2`. Without the vector of precisions in two of them, which nothing reads.
const SECOND: &str = "- l L LLL LLLLBllLllLllLll sbsiIB Li bLLLlbi ii L LLL l LLLL LLLLLi lbi ii LLLlLb L - b i \
    siBbi - I";

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Byte(u8),
    Int(i32),
    Long(i64),
    Float(f32),
    Text(String),
    Bytes(Vec<u8>),
    Ints(Vec<i32>),
    Longs(Vec<i64>),
    Floats(Vec<f32>),
}

/// A table of one of the two unions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    pub is_second: bool,
    /// Number in the union; 0 for none.
    pub kind: u8,
    pub fields: Vec<Value>,
}

/// Kinds of the two unions.
pub fn n_kinds(is_second: bool) -> usize {
    fields(is_second).count()
}

fn fields(is_second: bool) -> impl Iterator<Item = &'static str> {
    if is_second { SECOND } else { FIRST }.split_whitespace()
}

impl Options {
    /// Every field 0 or empty.
    pub fn zero(is_second: bool, kind: u8) -> Self {
        let letters = fields(is_second).nth(usize::from(kind)).unwrap_or("-");
        let field = |letter: char| {
            Some(match letter {
                'b' => Value::Byte(0),
                'i' => Value::Int(0),
                'l' => Value::Long(0),
                'f' => Value::Float(0.0),
                's' => Value::Text(String::new()),
                'B' => Value::Bytes(Vec::new()),
                'I' => Value::Ints(Vec::new()),
                'L' => Value::Longs(Vec::new()),
                'F' => Value::Floats(Vec::new()),
                _ => return None,
            })
        };
        Self {
            is_second,
            kind,
            fields: letters.chars().filter_map(field).collect(),
        }
    }

    /// Of the first union, with these fields in front.
    pub fn with(kind: schema::BuiltinOptions, fields: &[Value]) -> Self {
        Self::zero(false, kind.0).starting_with(fields)
    }

    /// The same of the second union.
    pub fn with_second(kind: schema::BuiltinOptions2, fields: &[Value]) -> Self {
        Self::zero(true, kind.0).starting_with(fields)
    }

    fn starting_with(mut self, fields: &[Value]) -> Self {
        self.fields[..fields.len()].clone_from_slice(fields);
        self
    }

    /// Fields of a table that are numbers; others are left empty.
    pub fn read(operator: schema::Operator) -> Self {
        let (is_second, kind) = match operator.builtin_options_type().0 {
            0 => (true, operator.builtin_options_2_type().0),
            kind => (false, kind),
        };
        let table = if is_second {
            operator.builtin_options_2()
        } else {
            operator.builtin_options()
        };
        let mut options = Self::zero(is_second, kind);
        let Some(table) = table else {
            return options;
        };
        for (idx, field) in options.fields.iter_mut().enumerate() {
            let slot = 4 + 2 * idx as u16;
            // SAFETY: the reader's verifier has gone over the file, and the letters are those of the schema
            // that it verified against.
            unsafe {
                match field {
                    Value::Byte(value) => *value = table.get::<u8>(slot, Some(0)).unwrap_or(0),
                    Value::Int(value) => *value = table.get::<i32>(slot, Some(0)).unwrap_or(0),
                    Value::Long(value) => *value = table.get::<i64>(slot, Some(0)).unwrap_or(0),
                    Value::Float(value) => {
                        *value = table.get::<f32>(slot, Some(0.0)).unwrap_or(0.0)
                    }
                    _ => {}
                }
            }
        }
        options
    }
}

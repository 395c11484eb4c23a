//! Other shapes for the tensors of a [`Model`](crate::formats::tflite::Model): those that a file lacks, and those of another
//! batch size, resolution or width.
//!
//! All of them set the shapes of inputs, change what constants have to change with them, and infer the shape of every
//! operator's result in the file's order. [`inference`] has the rule of each operator; [`batch_size`] says which operators
//! leave the first dimension alone, and [`resize`] what becomes of weights and of sizes that constants state. Rules are
//! chosen by the class of shapes in the table of operators
//! ([`ShapeRule`](crate::formats::tflite::op_row::ShapeRule)).

pub mod batch_size;
pub mod inference;
pub mod resize;

//! Readers of model files. Nothing after them knows a file format.

pub mod tflite;

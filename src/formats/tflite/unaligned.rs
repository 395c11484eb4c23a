//! Vectors of 64-bit elements at any address.
//!
//! FlatBuffers aligns them to 8 bytes. Some writers align them to 4, and LiteRT, TensorFlow Lite Micro and Vela read such
//! files. The elements are copied when they are read, so their address does not matter.

use flatbuffers::SimpleToVerifyInSlice;

/// Stands for a 64-bit element in the generated verifiers: as large, but without an alignment of its own.
#[repr(transparent)]
pub struct Bytes8([u8; 8]);

impl SimpleToVerifyInSlice for Bytes8 {}

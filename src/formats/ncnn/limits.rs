//! The limits of the reader of ncnn's files, each with its reason.

/// The largest published networks take 100 kB. The limit bounds the memory for a file, as of a graph in JSON.
pub const MAX_FILE_BYTES: usize = 16 << 20;

/// Ten times the number of layers in the largest published networks.
pub const MAX_LAYERS: usize = 50_000;

/// Blobs that one layer reads or writes: as of a node of an ONNX file, which a layer becomes.
pub const MAX_LAYER_BLOBS: usize = 4096;

/// Parameters of one layer. ncnn itself reads 32.
pub const MAX_PARAMETERS: usize = 64;

/// Parameters of all layers of a text of this many bytes: twenty for each layer of the largest published networks.
pub fn max_parameters(file_bytes: usize) -> usize {
    (file_bytes / 64).saturating_add(1 << 17)
}

/// Numbers of one parameter that lists them: shapes and sizes of parts. ncnn's longest, of hints, has four for each blob.
pub const MAX_NUMBERS: usize = 4 * MAX_LAYER_BLOBS;

/// Numbers of a list of axes. A blob has four sides.
pub const MAX_AXES: usize = 16;

/// Layers that are visited, for all inputs together, to find what reads an input whose size the file leaves open.
pub const MAX_SEARCHED: usize = 20_000;

/// Blobs that all layers of a text of this many bytes may read and write, each of which takes up to 250 bytes of tables of
/// names.
pub fn max_blobs(file_bytes: usize) -> usize {
    (file_bytes / 128).saturating_add(1 << 17)
}

/// Maximum number of nodes, weights and results that a text of this many bytes may become. Each takes up to a kilobyte
/// while it is read as one of an ONNX file; an attention layer, which is the largest, becomes some sixty.
pub fn max_parts(file_bytes: usize) -> usize {
    (file_bytes / 512).saturating_add(3 << 14)
}

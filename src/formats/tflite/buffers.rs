//! `Buffer`: contents of constant tensors, borrowed from the file.

use super::error::ParseError;
use super::schema;

/// Contents of all buffers. At least one; the first one is empty, as TFLite takes it.
pub(super) fn read<'a>(
    file: &'a [u8],
    model: &schema::Model<'a>,
) -> Result<Vec<&'a [u8]>, ParseError> {
    let mut buffers: Vec<&[u8]> = vec![&[]];
    for (buffer_idx, buffer) in model.buffers().into_iter().flatten().enumerate().skip(1) {
        buffers.push(contents(file, buffer, buffer_idx)?);
    }
    Ok(buffers)
}

/// A buffer's own bytes or, where it has none, the part of the file that `offset` and `size`
/// name. Offsets 0 and 1 name nothing: writers put them where they do not know one yet.
fn contents<'a>(
    file: &'a [u8],
    buffer: schema::Buffer<'a>,
    buffer_idx: usize,
) -> Result<&'a [u8], ParseError> {
    match buffer.data() {
        Some(data) => Ok(data.bytes()),
        None if buffer.offset() <= 1 => Ok(&[]),
        None => part(file, buffer.offset(), buffer.size())
            .ok_or_else(|| out_of_file(file, buffer, buffer_idx)),
    }
}

fn part(file: &[u8], offset: u64, size: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(usize::try_from(size).ok()?)?;
    file.get(start..end)
}

fn out_of_file(file: &[u8], buffer: schema::Buffer, buffer_idx: usize) -> ParseError {
    ParseError::BufferOutOfFile {
        buffer_idx,
        offset: buffer.offset(),
        size: buffer.size(),
        file_bytes: file.len(),
    }
}

//! Why a part of a record file was left out, in words.

use std::fmt;

/// Why a part of a file was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A chunk header does not match its hash.
    Header,
    /// The data of a chunk do not match their hash.
    Data,
    /// The file ends inside a chunk.
    Truncated,
    /// The compressed data do not decompress, or to another size than the file says.
    Decompression(&'static str),
    /// An unknown compression: the byte that names it.
    Compression(u8),
    /// More than the limit on decompressed bytes.
    TooLarge(u64),
    /// Sizes of records do not add up.
    Sizes,
    /// Chunks whose records were taken apart into fields, which profilers do not write.
    Transposed,
    /// A chunk of an unknown type.
    Type(u8),
    /// A record that is not an XSpace.
    Record(String),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Header => write!(f, "a chunk header does not match its hash"),
            Reason::Data => write!(f, "the data do not match their hash"),
            Reason::Truncated => write!(f, "the file ends inside a chunk"),
            Reason::Decompression(format) => write!(f, "the {format} data do not decompress"),
            Reason::Compression(byte) => {
                write!(f, "compression type {byte:#04x} is not supported (none, brotli, zstd and snappy are)")
            }
            Reason::TooLarge(limit) => write!(f, "the file decompresses to more than {} MiB", limit >> 20),
            Reason::Sizes => write!(f, "the sizes of its records do not add up"),
            Reason::Transposed => {
                write!(f, "transposed chunks are not supported (write the file without \"transpose\")")
            }
            Reason::Type(byte) => write!(f, "chunk type {byte:#04x} is not supported"),
            Reason::Record(error) => write!(f, "a record is not an XSpace: {error}"),
        }
    }
}

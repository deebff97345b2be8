//! The protobuf wire format: a checked reader, texts by their place in the bytes, writing, and the tags of the known fields.

mod reader;
/// Tags and enum values of the messages in `protos/`, by file and message; made by `build.rs`.
#[allow(dead_code, non_snake_case)]
pub mod tags {
    include!(concat!(env!("OUT_DIR"), "/tags.rs"));
}
pub mod text;
pub mod write;
pub mod xspace;

pub use reader::*;

//! Record files: any bytes, and intact chunks around any data. Nothing panics, what is left out lies in the file, what is
//! found is within the limit, and of good records an XSpace.

use _native::decode::xspace::outline;
use _native::records::{Contents, Limit, blocks, to_space};

const LIMIT: u64 = 1 << 20;

fn read(file: &[u8]) -> Contents {
    let found = to_space(file, Limit::of(LIMIT, LIMIT, 0, 0));
    for part in &found.skipped {
        assert!(part.bytes > 0 && part.offset + part.bytes <= file.len() as u64, "{part:?}");
    }
    outline(&found.space, 0).unwrap();
    // Ids that are changed may get longer.
    assert!(found.space.len() as u64 <= 16 * LIMIT, "{} bytes", found.space.len());
    found
}

/// A header whose hash is right.
fn chunk(chunk_type: u8, records: u64, decoded: u64, data: &[u8]) -> Vec<u8> {
    let words = [data.len() as u64, blocks::hash(data), records << 8 | u64::from(chunk_type), decoded];
    let body: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    [&blocks::hash(&body).to_le_bytes()[..], &body, data].concat()
}

fn block(previous: u64, next: u64) -> Vec<u8> {
    let body: Vec<u8> = [previous, next].iter().flat_map(|word| word.to_le_bytes()).collect();
    [&blocks::hash(&body).to_le_bytes()[..], &body].concat()
}

pub fn check(input: &[u8]) {
    read(input);
    let Some((head, data)) = input.split_first_chunk::<4>() else { return };
    let (records, decoded) = (u64::from(head[1] % 4), u64::from(head[2]));
    let chunk_type = *b"rrrsmptx".get(usize::from(head[0] % 8)).unwrap();
    let begin = [block(0, 64), chunk(b's', 0, 0, b"")].concat();
    read(&[&begin[..], &chunk(chunk_type, records, decoded, data)].concat());
    // The same data as two records.
    let half = data.len() / 2;
    let sizes = [vec![0, 0], size(half), size(data.len() - half)].concat();
    let sizes = [&[0, (sizes.len() - 2) as u8], &sizes[2..]].concat();
    let found = read(&[&begin[..], &chunk(b'r', 2, data.len() as u64, &[&sizes[..], data].concat())].concat());
    assert!(found.records <= 2);
}

fn size(value: usize) -> Vec<u8> {
    if value < 128 { vec![value as u8] } else { vec![value as u8 | 128, (value >> 7) as u8] }
}

//! A mapped file that another program writes to while it is decoded: errors or values, never a panic or a read outside.
//!
//! `TORN_SECONDS` says how long (1 by default); `scripts/soak/torn` runs it for minutes, with a sanitizer where there is one.
#![cfg(unix)]

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use _native::decode::columns::{Options, decode};
use _native::decode::{filter, times, xspace};
use _native::hlo::{buffers, instructions};
use _native::json::text::quote;
use _native::records::{self, Limit};
use _native::system::mapped::MappedFile;
use _native::wire::text;

fn varint(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn int(field: usize, value: usize) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn bytes(field: usize, value: &[u8]) -> Vec<u8> {
    [varint(field << 3 | 2), varint(value.len()), value.to_vec()].concat()
}

fn message(field: usize, fields: &[Vec<u8>]) -> Vec<u8> {
    bytes(field, &fields.concat())
}

/// Planes with lines, events that have stats, and names of two-byte letters.
fn profile(step: usize) -> Vec<u8> {
    let plane = |number: usize| {
        let event = |at: usize| {
            let stat = message(4, &[int(1, at % 5 + 1), bytes(5, "é".repeat(at % 40 * step).as_bytes())]);
            message(4, &[int(1, at % 50 + 1), int(2, at * 1000 * step), int(3, 700), stat])
        };
        let line = |id: usize| {
            let events: Vec<_> = (0..200).map(event).collect();
            message(3, &[int(1, id), bytes(2, "línea".repeat(step).as_bytes()), int(3, 1_000_000), events.concat()])
        };
        let named = |field: usize, id: usize| {
            message(field, &[int(1, id), message(2, &[int(1, id), bytes(2, "ñ".repeat(id % 30 * step).as_bytes())])])
        };
        let lines: Vec<_> = (0..4).map(line).collect();
        let names: Vec<_> = (1..51).map(|id| named(4, id)).chain((1..6).map(|id| named(5, id))).collect();
        message(1, &[int(1, number), bytes(2, b"/host:CPU"), lines.concat(), names.concat()])
    };
    (0..3).map(plane).collect::<Vec<_>>().concat()
}

/// All that reads a profile's bytes, as often as it may be called between two changes.
fn read(data: &[u8], rounds: &mut usize) {
    let _ = xspace::second_profile(data);
    let _ = filter::has_far_line(data);
    let _ = times::survey(data, 1);
    let _ = records::is_records(data);
    let _ = records::to_space(data, Limit::of(1 << 20, 1 << 20, data.len() as u64, 1));
    let _ = (instructions::decode(data, 1), buffers::decode(data, 1));
    let Ok(space) = decode(data, 0, Options { threads: *rounds % 2 + 1, ..Options::ALL }) else { return };
    let (mut copy, mut json) = (Vec::new(), Vec::new());
    for plane in space.planes {
        let _ = text::codes(data, &plane.event_metadata.name);
        let stats = plane.events.stats;
        let values = stats.kind.iter().zip(stats.value).filter(|(kind, _)| **kind == 5).map(|(_, value)| value);
        for value in plane.event_metadata.name.into_iter().chain(values) {
            if let Ok(read) = text::read(data, value, &mut copy) {
                assert_eq!(read.chars().map(char::len_utf8).sum::<usize>(), read.len());
            }
            json.clear();
            quote(&mut json, text::slice(data, value).unwrap_or_default());
            assert!(std::str::from_utf8(&json).is_ok());
        }
    }
    *rounds += 1;
}

#[test]
fn a_file_that_changes_while_it_is_decoded() {
    let seconds = std::env::var("TORN_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let (one, other) = (profile(1), profile(2));
    let size = one.len();
    let noise: Vec<u8> = other.iter().enumerate().map(|(at, byte)| byte ^ ((at * 7919) >> 5) as u8).collect();
    let path = std::env::temp_dir().join(format!("torn-{}", std::process::id()));
    let file = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
    file.write_all_at(&one, 0).unwrap();
    let end = AtomicBool::new(false);
    let (mut rounds, mut tries, mut writes) = (0, 0, 0);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut writes = 0usize;
            while !end.load(Ordering::Relaxed) {
                let text = [&one, &other, &noise, &one][writes % 4];
                let begin = writes * 7919 % size;
                file.write_all_at(&text[begin..size.min(begin + size / (writes % 7 + 1))], begin as u64).unwrap();
                if writes % 64 == 63 {
                    file.set_len((size / 3) as u64).unwrap();
                }
                file.write_all_at(&one, 0).unwrap();
                writes += 1;
            }
            writes
        });
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(seconds) {
            let mapped = MappedFile::new(file.as_raw_fd(), size).unwrap();
            for _ in 0..10 {
                read(&mapped, &mut rounds);
                tries += 1;
            }
        }
        end.store(true, Ordering::Relaxed);
        writes = writer.join().unwrap();
    });
    std::fs::remove_file(&path).unwrap();
    assert!(rounds > 0 && tries > rounds && writes > 10, "{rounds} of {tries} rounds, {writes} writes");
}

//! What the begin of a text tells: whether it is a trace of events, and whether PyTorch's profiler wrote it.

/// Keys of the outermost object that no other writer of traces has.
const KEYS: [&[u8]; 4] = [b"schemaVersion", b"deviceProperties", b"distributedInfo", b"baseTimeNanoseconds"];
/// Categories of events, and keys of their arguments.
const CATEGORIES: [&[u8]; 7] = [
    b"cpu_op",
    b"python_function",
    b"gpu_memcpy",
    b"gpu_memset",
    b"gpu_user_annotation",
    b"user_annotation",
    b"cpu_instant_event",
];
const ARGUMENTS: [&[u8]; 4] = [b"External id", b"external id", b"Ev Idx", b"Record function id"];
/// Begins of names of ops and steps, and processes of the profiler before Kineto.
const NAMES: [&[u8]; 3] = [b"aten::", b"ProfilerStep#", b"autograd::engine::"];
const PROCESSES: [&[u8]; 2] = [b"CPU functions", b"CUDA functions"];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sniffed {
    /// Whether events were seen, or that they follow.
    pub is_trace: bool,
    pub is_pytorch: bool,
    pub rank: Option<i64>,
}

pub fn sniff(head: &[u8]) -> Sniffed {
    let mut found = Sniffed::default();
    if !begins(head) {
        return found;
    }
    let (mut in_info, mut at) = (false, 0);
    while let Some((text, end)) = next_text(head, at) {
        at = end;
        let Some(value) = value_at(head, end) else { continue };
        let string = || match head[value] {
            b'"' => next_text(head, value).map(|(text, _)| text).unwrap_or_default(),
            _ => b"",
        };
        in_info = in_info && text != b"traceEvents";
        match text {
            b"traceEvents" => found.is_trace |= head[value] == b'[',
            b"ph" => found.is_trace |= string().len() == 1,
            b"cat" => found.is_pytorch |= is_category(string()),
            b"name" => found.is_pytorch |= NAMES.iter().any(|name| string().starts_with(name)),
            b"pid" => found.is_pytorch |= PROCESSES.contains(&string()),
            b"rank" if in_info && found.rank.is_none() => found.rank = number(&head[value..]),
            _ if KEYS.contains(&text) => {
                found.is_pytorch = true;
                in_info |= text == b"distributedInfo";
                // Both may be longer than the begin of a text.
                found.is_trace |= text == b"distributedInfo" || text == b"deviceProperties";
            }
            _ => found.is_pytorch |= ARGUMENTS.contains(&text),
        }
    }
    found
}

/// Whether an object with a key begins here, or a list of such objects, and no XSpace that begins with these bytes.
fn begins(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let inner = head.strip_prefix(b"[").map_or(head, <[u8]>::trim_ascii_start);
    inner.strip_prefix(b"{").is_some_and(|rest| rest.trim_ascii_start().starts_with(b"\""))
}

/// The next text in quotes from `at` on, and the byte behind it.
fn next_text(head: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let begin = at + head.get(at..)?.iter().position(|&byte| byte == b'"')? + 1;
    let mut escaped = false;
    for (end, &byte) in head.iter().enumerate().skip(begin) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some((&head[begin..end], end + 1)),
            _ => {}
        }
    }
    None
}

/// Where the value of a key begins.
fn value_at(head: &[u8], behind_key: usize) -> Option<usize> {
    let next = |from: usize| Some(from + head.get(from..)?.iter().position(|byte| !byte.is_ascii_whitespace())?);
    let colon = next(behind_key)?;
    if head[colon] == b':' { next(colon + 1) } else { None }
}

fn is_category(text: &[u8]) -> bool {
    CATEGORIES.contains(&text) || text.ends_with(b"_runtime") || text.ends_with(b"_driver")
}

fn number(text: &[u8]) -> Option<i64> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&text[..digits]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_begin_tells_what_a_text_is() {
        for (text, is_trace, is_pytorch, rank) in [
            (r#"{"traceEvents": [{"ph": "X", "name": "a"}]}"#, true, false, None),
            (r#"[{"ph": "X", "name": "a"}]"#, true, false, None),
            (r#"{"traceEvents": [{"ph": "X", "cat": "cpu_op""#, true, true, None),
            (r#" [ {"name": "aten::mm", "ph": "X", "pid": "CPU functions"}"#, true, true, None),
            ("\u{feff}{\n \"schemaVersion\": 1,", false, true, None),
            (r#"{"distributedInfo": {"backend": "nccl", "rank": 3, "pg_config": [{"rank": 4}]}"#, true, true, Some(3)),
            (r#"{"rank": 3, "traceEvents": ["#, true, false, None),
            (r#"{"hello": 1}"#, false, false, None),
            (r#"{"nodes": [], "samples": [], "timeDeltas": []}"#, false, false, None),
            ("\n{\u{12}y", false, false, None),
            ("", false, false, None),
            ("[1, 2]", false, false, None),
        ] {
            assert_eq!(sniff(text.as_bytes()), Sniffed { is_trace, is_pytorch, rank }, "{text}");
        }
    }
}

//! Samples of a counter as JSON.

use crate::json::text::{Sink, quote};

/// Streaming: one event behind a comma that holds all samples. Older form (`legacy`): one line per sample, a comma behind.
pub fn json(pid: u32, name: &str, series: &str, begin: &[i64], value: &[f64], legacy: bool) -> Vec<u8> {
    let mut quoted = (Vec::new(), Vec::new());
    quote(&mut quoted.0, name.as_bytes());
    quote(&mut quoted.1, series.as_bytes());
    let short = ["(util %)", "(MB/sec)"].iter().any(|mark| name.contains(mark) || series.contains(mark));
    let mut out = Vec::with_capacity(begin.len() * if legacy { 80 } else { 24 } + 96);
    if legacy {
        for (&time, &value) in begin.iter().zip(value) {
            out.put(b"{\"args\": {");
            out.put(&quoted.1);
            out.put(b": ");
            number(&mut out, value, short);
            out.put(b"}, \"name\": ");
            out.put(&quoted.0);
            out.put(b", \"ph\": \"C\", \"pid\": ");
            out.uint(u64::from(pid));
            out.put(b", \"ts\": ");
            out.micro(time);
            out.put(b"},\n");
        }
        return out;
    }
    out.put(b",{\"pid\":");
    out.uint(u64::from(pid));
    out.put(b",\"name\":");
    out.put(&quoted.0);
    out.put(b",\"ph\":\"C\",\"event_stats\":");
    out.put(&quoted.1);
    out.put(b",\"entries\":[");
    for (i, (&time, &value)) in begin.iter().zip(value).enumerate() {
        out.put(if i == 0 { b"[" } else { b",[" });
        out.micro(time);
        out.put(b",");
        number(&mut out, value, short);
        out.put(b"]");
    }
    out.put(b"]}");
    out
}

fn number(out: &mut Vec<u8>, value: f64, short: bool) {
    let text = match (value.is_finite(), short) {
        (false, _) => "0".into(),
        (true, true) => format!("{value:.2}"),
        (true, false) => format!("{value}"),
    };
    out.put(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_event_holds_all_samples() {
        let text = |name: &str, legacy| {
            String::from_utf8(json(3, name, "v", &[0, 1_500_000], &[1.0, 2.125], legacy)).expect("UTF-8")
        };
        assert_eq!(
            text("a", false),
            ",{\"pid\":3,\"name\":\"a\",\"ph\":\"C\",\"event_stats\":\"v\",\"entries\":[[0,1],[1.500,2.125]]}"
        );
        assert!(
            text("x (util %)", false).ends_with("[[0,1.00],[1.500,2.13]]}")
                || text("x (util %)", false).ends_with("[[0,1.00],[1.500,2.12]]}")
        );
        assert_eq!(
            text("a", true).lines().next_back(),
            Some("{\"args\": {\"v\": 2.125}, \"name\": \"a\", \"ph\": \"C\", \"pid\": 3, \"ts\": 1.500},")
        );
    }
}

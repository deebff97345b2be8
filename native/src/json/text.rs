//! Writing JSON: numbers as the trace viewer writes them, nested lists of integers, strings with what must be escaped.

/// Where JSON goes.
pub trait Sink {
    fn put(&mut self, bytes: &[u8]);

    /// Decimal digits of `value`.
    fn uint(&mut self, value: u64);

    fn int(&mut self, value: i64) {
        if value < 0 {
            self.put(b"-");
        }
        self.uint(value.unsigned_abs());
    }

    /// `value` / 10^6 exactly (picoseconds as microseconds): no, three or six digits behind the point.
    fn micro(&mut self, value: i64);
}

impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    fn uint(&mut self, value: u64) {
        let mut scratch = [0u8; 20];
        let from = format_uint(&mut scratch, value);
        self.put(&scratch[from..]);
    }

    fn micro(&mut self, value: i64) {
        let mut scratch = [0u8; 28];
        let range = format_micro(&mut scratch, value);
        self.put(&scratch[range]);
    }
}

fn split(value: i64) -> (u64, u64) {
    let magnitude = value.unsigned_abs();
    (magnitude / 1_000_000, magnitude % 1_000_000)
}

const PAIRS: [[u8; 2]; 100] = pairs();

const fn pairs() -> [[u8; 2]; 100] {
    let mut table = [[0u8; 2]; 100];
    let mut i = 0;
    while i < 100 {
        table[i] = [b'0' + (i / 10) as u8, b'0' + (i % 10) as u8];
        i += 1;
    }
    table
}

/// Writes the digits at the end of `scratch` and returns where they begin.
#[inline]
pub fn format_uint(scratch: &mut [u8], mut value: u64) -> usize {
    let mut at = scratch.len();
    while value >= 100 {
        let pair = PAIRS[(value % 100) as usize];
        value /= 100;
        at -= 2;
        scratch[at] = pair[0];
        scratch[at + 1] = pair[1];
    }
    if value >= 10 {
        let pair = PAIRS[value as usize];
        at -= 2;
        scratch[at] = pair[0];
        scratch[at + 1] = pair[1];
    } else {
        at -= 1;
        scratch[at] = b'0' + value as u8;
    }
    at
}

/// Writes a `micro` number into `scratch` and returns where.
#[inline]
pub fn format_micro(scratch: &mut [u8; 28], value: i64) -> std::ops::Range<usize> {
    let (whole, rest) = split(value);
    let mut from = 28;
    if rest > 0 {
        let mut left = rest as u32;
        if left % 1000 == 0 {
            left /= 1000;
        } else {
            from = three(scratch, from, left % 1000);
            left /= 1000;
        }
        from = three(scratch, from, left) - 1;
        scratch[from] = b'.';
    }
    from = format_uint(&mut scratch[..from], whole);
    if value < 0 {
        from -= 1;
        scratch[from] = b'-';
    }
    from..28
}

/// Writes three digits before `end`.
#[inline]
fn three(scratch: &mut [u8; 28], end: usize, value: u32) -> usize {
    let pair = PAIRS[(value % 100) as usize];
    scratch[end - 3] = b'0' + (value / 100) as u8;
    scratch[end - 2] = pair[0];
    scratch[end - 1] = pair[1];
    end - 3
}

/// Appends `text` as a JSON string; bytes that are not UTF-8 become U+FFFD.
pub fn quote(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    // The text may change while it is read (`wire::text`): its copy is checked.
    let begin = out.len();
    out.extend_from_slice(text);
    let plain = |&byte: &u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    if !out[begin..].iter().all(plain) || std::str::from_utf8(&out[begin..]).is_err() {
        let copy = out.split_off(begin);
        escape(out, String::from_utf8_lossy(&copy).as_bytes());
    }
    out.push(b'"');
}

fn escape(out: &mut Vec<u8>, text: &[u8]) {
    let mut clean = 0;
    for (i, &byte) in text.iter().enumerate() {
        let short: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            0..=0x1f => b"",
            _ => continue,
        };
        out.extend_from_slice(&text[clean..i]);
        clean = i + 1;
        if short.is_empty() {
            out.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
        } else {
            out.extend_from_slice(short);
        }
    }
    out.extend_from_slice(&text[clean..]);
}

/// `value` with six significant digits as C's `%g` prints it; what is no number becomes `0`.
pub fn general(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".into();
    }
    let scientific = format!("{value:.5e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let power: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| -> String {
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text.to_string() }
    };
    if (-4..6).contains(&power) {
        return trim(&format!("{value:.*}", (5 - power) as usize));
    }
    let sign = if power < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trim(mantissa), power.abs())
}

fn list(values: &[i64], out: &mut Vec<u8>) {
    out.push(b'[');
    for (i, &value) in values.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        out.int(value);
    }
    out.push(b']');
}

/// Values in C order as nested lists; the product of `shape` is their number.
pub fn integers(values: &[i64], shape: &[usize], out: &mut Vec<u8>) {
    let [count, inner @ ..] = shape else {
        values.iter().for_each(|&value| out.int(value));
        return;
    };
    if inner.is_empty() {
        return list(values, out);
    }
    let width = inner.iter().product::<usize>();
    out.push(b'[');
    for i in 0..*count {
        if i > 0 {
            out.push(b',');
        }
        integers(&values[i * width..(i + 1) * width], inner, out);
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(values: &[i64], shape: &[usize]) -> String {
        let mut out = Vec::new();
        integers(values, shape, &mut out);
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn integers_nest_by_shape() {
        assert_eq!(nested(&[1, -2, i64::MIN, 4], &[2, 1, 2]), "[[[1,-2]],[[-9223372036854775808,4]]]");
        assert_eq!(nested(&[], &[0, 3]), "[]");
        assert_eq!(nested(&[], &[2, 0, 4]), "[[],[]]");
        assert_eq!(nested(&[7], &[]), "7");
    }

    fn written(f: impl Fn(&mut dyn FnMut(&mut Vec<u8>))) -> String {
        let mut out = Vec::new();
        f(&mut |sink| out.append(sink));
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn microseconds_are_exact() {
        for (value, text) in [
            (0, "0"),
            (1, "0.000001"),
            (1_000_000, "1"),
            (556_381_000, "556.381"),
            (19_500_542_949_500, "19500542.949500"),
            (-1_500_000, "-1.500"),
            (i64::MAX, "9223372036854.775807"),
            (i64::MIN, "-9223372036854.775808"),
        ] {
            let got = written(|emit| {
                let mut out = Vec::new();
                out.micro(value);
                emit(&mut out);
            });
            assert_eq!(got, text);
        }
    }

    #[test]
    fn integers_have_no_leading_zeros() {
        for value in [0, 9, 10, 99, 100, 12345, u64::MAX] {
            let mut out = Vec::new();
            out.uint(value);
            assert_eq!(String::from_utf8(out).expect("ASCII"), value.to_string());
        }
    }

    #[test]
    fn six_digits_as_percent_g() {
        for (value, text) in [
            (0.0, "0"),
            (482.852_3, "482.852"),
            (98_102.47, "98102.5"),
            (1_963_010.574, "1.96301e+06"),
            (0.020_03, "0.02003"),
            (0.000_012_345_678, "1.23457e-05"),
            (100_000.0, "100000"),
            (999_999.9, "1e+06"),
        ] {
            assert_eq!(general(value), text);
        }
    }

    #[test]
    fn strings_are_escaped() {
        let mut out = Vec::new();
        quote(&mut out, b"a\"\\\n\x01\xff");
        assert_eq!(out, "\"a\\\"\\\\\\n\\u0001\u{fffd}\"".as_bytes());
    }
}

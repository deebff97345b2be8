//! CRC-32 as gzip wants it, in a form that can be put together from parts: registers without the first and last inversion.

/// The register after some bytes.
#[inline]
pub fn update(register: u32, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(!register);
    hasher.update(bytes);
    !hasher.finalize()
}

/// The register after what gave `part` from zero, `length` bytes, follows what gave `register`.
pub fn join(register: u32, part: u32, length: u64) -> u32 {
    apply(&power(length), register) ^ part
}

type Map = [u32; 32];

fn apply(map: &Map, register: u32) -> u32 {
    let mut result = 0;
    let mut left = register;
    while left != 0 {
        result ^= map[left.trailing_zeros() as usize];
        left &= left - 1;
    }
    result
}

/// The map of `length` zero bytes, by squaring.
fn power(mut length: u64) -> Map {
    let mut step: Map = [0; 32];
    for (bit, column) in step.iter_mut().enumerate() {
        *column = update(1 << bit, &[0]);
    }
    let mut result: Map = [0; 32];
    for (bit, column) in result.iter_mut().enumerate() {
        *column = 1 << bit;
    }
    while length > 0 {
        if length & 1 == 1 {
            result = result.map(|column| apply(&step, column));
        }
        let again = step;
        step = step.map(|column| apply(&again, column));
        length >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_of_the_standard() {
        assert_eq!(!update(!0, b"123456789"), 0xcbf4_3926);
        assert_eq!(!update(!0, b""), 0);
    }

    #[test]
    fn parts_join_and_shift() {
        let text: Vec<u8> = (0..1000u32).map(|i| (i * 7 % 251) as u8).collect();
        for cut in [0, 1, 5, 8, 9, 500, 1000] {
            let (a, b) = text.split_at(cut);
            let whole = update(!0, &text);
            assert_eq!(join(update(!0, a), update(0, b), b.len() as u64), whole);
        }
    }
}

//! CRC-32 as gzip wants it, in a form that can be put together from parts: registers without the first and last inversion.

/// Polynomial of gzip, reflected.
const POLYNOMIAL: u32 = 0xedb8_8320;

const TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut all = [[0u32; 256]; 8];
    let mut i = 0;
    while i < 256 {
        let mut value = i as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { (value >> 1) ^ POLYNOMIAL } else { value >> 1 };
            bit += 1;
        }
        all[0][i] = value;
        i += 1;
    }
    let mut k = 1;
    while k < 8 {
        let mut i = 0;
        while i < 256 {
            all[k][i] = (all[k - 1][i] >> 8) ^ all[0][(all[k - 1][i] & 0xff) as usize];
            i += 1;
        }
        k += 1;
    }
    all
}

/// The register after some bytes.
#[inline]
pub fn update(mut register: u32, bytes: &[u8]) -> u32 {
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let mut word = [0u8; 8];
        word.copy_from_slice(chunk);
        let word = u64::from_le_bytes(word) ^ u64::from(register);
        register = 0;
        for (k, table) in TABLES.iter().rev().enumerate() {
            register ^= table[(word >> (8 * k)) as usize & 0xff];
        }
    }
    for &byte in chunks.remainder() {
        register = (register >> 8) ^ TABLES[0][((register ^ u32::from(byte)) & 0xff) as usize];
    }
    register
}

/// What a register becomes after `length` zero bytes: a linear map, as a table per byte of the register.
pub struct Shift([[u32; 256]; 4]);

impl Shift {
    pub fn new(length: u64) -> Self {
        let map = power(length);
        let mut table = [[0u32; 256]; 4];
        for (k, part) in table.iter_mut().enumerate() {
            for (i, entry) in part.iter_mut().enumerate() {
                *entry = apply(&map, (i as u32) << (8 * k));
            }
        }
        Shift(table)
    }

    #[inline]
    pub fn apply(&self, register: u32) -> u32 {
        let [a, b, c, d] = register.to_le_bytes();
        self.0[0][a as usize] ^ self.0[1][b as usize] ^ self.0[2][c as usize] ^ self.0[3][d as usize]
    }
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
            assert_eq!(Shift::new(b.len() as u64).apply(update(!0, a)) ^ update(0, b), whole);
        }
    }
}

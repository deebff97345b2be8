//! By how many steps two series of steps are shifted against each other.

use super::sets::Set;

/// The index offset (one - other) with the longest overlap; ties in the order 0, 1, 2, ..., -1, -2, ...
///
/// Walks over both series and leaves behind whichever step ends first, both steps if they end together. Begins and ends
/// are of equal length and in any order.
pub fn step_shift(one: Set, other: Set) -> i64 {
    let zero = other.0.len();
    let mut overlap = vec![0i128; one.0.len() + zero + 1];
    let (mut i, mut k) = (0, 0);
    while i < one.0.len() && k < other.0.len() {
        let (one_end, other_end) = (one.1[i], other.1[k]);
        let common = i128::from(one_end.min(other_end)) - i128::from(one.0[i].max(other.0[k]));
        overlap[zero + i - k] += common.max(0);
        i += usize::from(one_end <= other_end);
        k += usize::from(other_end <= one_end);
    }
    let (back, ahead) = overlap.split_at(zero);
    let mut best = (0, 0);
    for (shift, &common) in (0..).zip(ahead).chain((1..).map(|n: i64| -n).zip(back.iter().rev())) {
        if common > best.0 {
            best = (common, shift);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::step_shift;

    #[test]
    fn the_longest_overlap_decides() {
        let (begin, end) = ([0, 10, 20], [10, 20, 30]);
        assert_eq!(step_shift((&begin, &end), (&begin[1..], &end[1..])), 1);
        assert_eq!(step_shift((&begin[1..], &end[1..]), (&begin, &end)), -1);
        assert_eq!(step_shift((&begin, &end), (&[6, 26], &[16, 36])), 1);
        assert_eq!(step_shift((&begin, &end), (&[], &[])), 0);
        assert_eq!(step_shift((&[], &[]), (&begin, &end)), 0);
        assert_eq!(step_shift((&[i64::MIN], &[i64::MAX]), (&[i64::MIN], &[i64::MAX])), 0);
    }
}

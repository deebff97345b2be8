//! The time of runs by op and step, where every moment counts for the run that began first.

/// Runs by begin, and what they count for; slices of equal length.
pub struct Runs<'a> {
    pub begin: &'a [i64],
    pub end: &'a [i64],
    /// Index into `key_of_op`.
    pub op: &'a [i32],
    /// Only runs of this kind count.
    pub work: &'a [u8],
    pub kind: u8,
    /// Slot of the sums for each op.
    pub key_of_op: &'a [i64],
    /// Steps in time order: begins and ends.
    pub steps: (&'a [i64], &'a [i64]),
}

/// Sums per slot.
pub struct Sums {
    /// Time in steps.
    pub time: Vec<i64>,
    /// Time in each of the first `few` steps, slot after slot.
    pub by_step: Vec<f64>,
    pub few: usize,
    /// Runs that begin in steps.
    pub runs: Vec<i64>,
}

impl Sums {
    pub fn new(keys: usize, few: usize) -> Self {
        Sums { time: vec![0; keys], by_step: vec![0.0; keys * few], few, runs: vec![0; keys] }
    }

    /// Adds runs, whose ops and slots are valid.
    pub fn add(&mut self, runs: &Runs) {
        let (since, until) = runs.steps;
        // Steps that end by the begin of a span, and steps that begin by the begin of a run.
        let (mut first, mut begun) = (0, 0);
        let mut done = i64::MIN;
        for i in (0..runs.begin.len()).filter(|&i| runs.work[i] == runs.kind) {
            let (begin, end) = (runs.begin[i], runs.end[i]);
            let key = runs.key_of_op[runs.op[i] as usize] as usize;
            while begun < since.len() && since[begun] <= begin {
                begun += 1;
            }
            self.runs[key] += i64::from(begun > 0 && begin < until[begun - 1]);
            let from = begin.max(done);
            if end <= from {
                continue;
            }
            done = end;
            while first < until.len() && until[first] <= from {
                first += 1;
            }
            let inside = (first..since.len()).take_while(|&step| since[step] < end);
            for step in inside {
                let length = end.min(until[step]).wrapping_sub(from.max(since[step]));
                self.time[key] = self.time[key].wrapping_add(length);
                if step < self.few {
                    self.by_step[key * self.few + step] += length as f64;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(runs: &[(i64, i64, i32)], steps: &[(i64, i64)], few: usize) -> Sums {
        let (begin, end): (Vec<_>, Vec<_>) = runs.iter().map(|&(b, e, _)| (b, e)).unzip();
        let op: Vec<i32> = runs.iter().map(|run| run.2).collect();
        let (since, until): (Vec<_>, Vec<_>) = steps.iter().copied().unzip();
        let work = vec![0; runs.len()];
        let mut out = Sums::new(2, few);
        let steps = (&since[..], &until[..]);
        out.add(&Runs { begin: &begin, end: &end, op: &op, work: &work, kind: 0, key_of_op: &[0, 1], steps });
        out
    }

    #[test]
    fn a_moment_counts_for_the_run_that_began_first() {
        let found = sums(&[(0, 10, 0), (4, 8, 1), (6, 15, 1)], &[(0, 20)], 1);
        assert_eq!(found.time, [10, 5]);
        assert_eq!(found.runs, [1, 2]);
    }

    #[test]
    fn runs_are_cut_to_steps_with_gaps() {
        let found = sums(&[(0, 30, 0), (30, 40, 1)], &[(5, 10), (20, 35), (38, 50)], 2);
        assert_eq!(found.time, [15, 7]);
        assert_eq!(found.by_step, [5.0, 10.0, 0.0, 5.0]);
        assert_eq!(found.runs, [0, 1]);
    }

    #[test]
    fn other_work_and_no_steps_count_nothing() {
        let steps: (&[i64], &[i64]) = (&[0], &[9]);
        let mut found = Sums::new(1, 1);
        found.add(&Runs { begin: &[0], end: &[9], op: &[0], work: &[1], kind: 0, key_of_op: &[0], steps });
        assert_eq!(found.time, [0]);
        assert_eq!(sums(&[(0, 9, 0)], &[], 0).time, [0, 0]);
    }
}

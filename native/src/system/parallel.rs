//! Runs independent jobs on a few scoped threads; the caller gives their number, nothing outlives the call.

use std::sync::Mutex;
use std::thread;

use crate::error::{Error, Result};

/// With fewer events a second thread is not worth its start.
pub const MANY: usize = 1 << 16;

/// How many threads the work on so many events is worth.
pub fn threads_for(events: usize) -> usize {
    if events < MANY { 1 } else { 2 }
}

/// Applies `work` to every job and gives the results in the order of the jobs.
///
/// All jobs run even if one fails, so that the error (the one with the smallest offset) does not depend on timing.
/// If a thread cannot be started, the running threads do its work.
pub fn run<J, R, F>(threads: usize, jobs: Vec<J>, work: F) -> Result<Vec<R>>
where
    J: Send,
    R: Send,
    F: Fn(J) -> Result<R> + Sync,
{
    let count = jobs.len();
    let helpers = threads.min(count).saturating_sub(1);
    if helpers == 0 {
        return collect(jobs.into_iter().map(work));
    }
    let queue = Mutex::new(jobs.into_iter().enumerate());
    let drain = || {
        let mut done = Vec::new();
        // A poisoned lock means that another thread panicked; the scope passes that on.
        while let Some((index, job)) = queue.lock().ok().and_then(|mut jobs| jobs.next()) {
            done.push((index, work(job)));
        }
        done
    };
    let mut results: Vec<Option<Result<R>>> = Vec::new();
    results.resize_with(count, || None);
    thread::scope(|scope| {
        let started: Vec<_> =
            (0..helpers).filter_map(|_| thread::Builder::new().spawn_scoped(scope, drain).ok()).collect();
        let mut done = drain();
        for helper in started {
            match helper.join() {
                Ok(part) => done.extend(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        for (index, result) in done {
            results[index] = Some(result);
        }
    });
    collect(results.into_iter().flatten())
}

fn collect<R>(results: impl Iterator<Item = Result<R>>) -> Result<Vec<R>> {
    let mut first: Option<Error> = None;
    let mut values = Vec::with_capacity(results.size_hint().0);
    for result in results {
        match result {
            Ok(value) => values.push(value),
            Err(error) if first.as_ref().is_none_or(|best| error.offset < best.offset) => first = Some(error),
            Err(_) => {}
        }
    }
    first.map_or(Ok(values), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Problem;

    #[test]
    fn results_keep_their_order_for_any_number_of_threads() {
        for threads in [0, 1, 2, 7, 100] {
            let squares = run(threads, (0..50).collect(), |n: u64| Ok(n * n)).unwrap();
            assert_eq!(squares, (0..50).map(|n| n * n).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_error_with_the_smallest_offset_wins() {
        for threads in [1, 3] {
            let error = run(threads, vec![9, 4, 6], |n: u64| Err::<(), _>(Error::new(Problem::Truncated, "x", n)));
            assert_eq!(error.unwrap_err().offset, 4);
        }
    }
}

//! Runs hot loops as they were compiled for processors of the last ten years, where there is one.

/// Does `work` with AVX2, bit manipulation and counting instructions if the processor has them.
///
/// Only what is inlined into `work` is compiled for them.
#[inline(always)]
pub fn run<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        use std::is_x86_feature_detected as has;
        if has!("avx2") && has!("bmi1") && has!("bmi2") && has!("popcnt") && has!("lzcnt") {
            // SAFETY: the processor has what the function was compiled for.
            #[allow(unsafe_code)]
            return unsafe { with_features(work) };
        }
    }
    work()
}

/// # Safety
/// The processor must have the features.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
#[allow(unsafe_code)]
unsafe fn with_features<R>(work: impl FnOnce() -> R) -> R {
    work()
}

#[cfg(test)]
mod tests {
    #[test]
    fn work_is_done_once() {
        let mut times = 0;
        assert_eq!(super::run(|| std::mem::replace(&mut times, 1)), 0);
        assert_eq!(times, 1);
    }
}

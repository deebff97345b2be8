#![no_main]

#[path = "../checks/kineto.rs"]
mod kineto;

libfuzzer_sys::fuzz_target!(|data: &[u8]| kineto::check(data));

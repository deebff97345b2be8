#![no_main]

#[path = "../checks/records.rs"]
mod records;

libfuzzer_sys::fuzz_target!(|data: &[u8]| records::check(data));

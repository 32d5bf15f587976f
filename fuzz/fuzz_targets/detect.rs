#![no_main]

use libfuzzer_sys::fuzz_target;
use mnno_fuzz::detect;

fuzz_target!(|bytes: &[u8]| detect(bytes));

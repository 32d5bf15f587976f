#![no_main]

use libfuzzer_sys::fuzz_target;
use mnno_fuzz::open_as;
use mnno_store::Format;

fuzz_target!(|bytes: &[u8]| open_as(Format::Npy, bytes));

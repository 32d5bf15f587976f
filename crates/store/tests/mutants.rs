//! Golden files with seeded faults: whatever the bytes, no panic, no hang, no allocation beyond the budget.
//!
//! `MNNO_MUTANTS` sets the number per format; the formats run one after the other, since memory is counted for the process.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mnno_exact::Rows;
use mnno_store::{Format, Io, OpenOptions, open};
use peak_alloc::PeakAlloc;
use support::{fixtures, in_memory};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const MUTANTS_PER_FORMAT: usize = 100_000;
/// What a mutant may take: this, the budget, and a multiple of its length.
const FIXED: usize = 256 << 10;
const BUDGET: u64 = 1 << 16;
const TIMES_LENGTH: usize = 64;
/// A mutant of a few KiB takes microseconds; this is a hang.
const LONGEST: Duration = Duration::from_secs(20);

/// xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    fn below(&mut self, bound: usize) -> usize {
        self.next() as usize % bound.max(1)
    }
}

/// Breaks `bytes` in one to three places.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len());
        match random.below(8) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, random.next() as u8),
            2 => {
                let tail = bytes[at..].to_vec();
                bytes.extend(tail);
            }
            3 => {
                let end = (at + random.below(16)).min(bytes.len());
                bytes.drain(at..end);
            }
            // Lengths and counts at their extremes.
            4 => {
                let end = (at + 4).min(bytes.len());
                bytes[at..end].fill([0x00, 0x7f, 0x80, 0xff][random.below(4)]);
            }
            // Digits of shapes, quotation marks, brackets, delimiters.
            5 => {
                const TEXT: &[u8] = b"0123456789'\"(){}[],:;\n\r\t <>|=LTF";
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = TEXT[random.below(TEXT.len())];
                }
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
        }
    }
}

/// Golden files by format, as `expected.tsv` names them.
fn originals() -> BTreeMap<String, Vec<Vec<u8>>> {
    let table = fs::read_to_string(fixtures("golden").join("expected.tsv")).unwrap();
    let mut originals: BTreeMap<String, BTreeMap<PathBuf, Vec<u8>>> = BTreeMap::new();
    for line in table.lines() {
        let mut fields = line.split('\t');
        let (argument, format) = (fields.next().unwrap(), fields.next().unwrap());
        let path = fixtures("golden").join(argument.split("::").next().unwrap());
        if path.is_file() {
            let bytes = fs::read(&path).unwrap();
            originals.entry(format.to_owned()).or_default().insert(path, bytes);
        }
    }
    originals.into_iter().map(|(format, files)| (format, files.into_values().collect())).collect()
}

/// Uses a mutant as a program would; returns how many matrices it gave.
fn use_mutant(path: &Path, suffix: &str, format: Format, io: Io, length: usize) -> usize {
    let options = OpenOptions { io, format: Some(format), memory: BUDGET, ..OpenOptions::default() };
    let matrices = match open(&format!("{}{suffix}", path.display()), &options) {
        Ok(matrices) => matrices,
        Err(error) => {
            let text = error.to_string();
            assert!(text.starts_with(path.to_str().unwrap()) && !text.contains('\n'), "{text}");
            return 0;
        }
    };
    for matrix in &matrices {
        assert!(matrix.held_bytes() <= BUDGET, "{} bytes held", matrix.held_bytes());
        assert!(matrix.d() == 0 || matrix.n() <= length, "{} x {}", matrix.n(), matrix.d());
        if let Some(last) = matrix.n().checked_sub(1) {
            assert_eq!(matrix.row(last, &mut Vec::new()).len(), matrix.d());
        }
        matrix.fingerprint();
        match matrix.check(BUDGET, &()) {
            // Rows without columns may be more than memory could list.
            Ok(check) if matrix.d() > 0 => {
                let summary = matrix.summary(&()).unwrap();
                assert_eq!(summary.nan.count + summary.infinite.count, 0);
                assert_eq!(check.zero_rows.count(), summary.zero_rows.count);
                assert!(summary.zero_rows.first.iter().all(|&row| check.zero_rows.contains(row)));
            }
            Ok(_) => {}
            Err(error) => assert!(error.to_string().contains("row"), "{error}"),
        }
    }
    matrices.len()
}

#[test]
fn no_mutant_of_any_format_does_harm() {
    let count = std::env::var("MNNO_MUTANTS").map_or(MUTANTS_PER_FORMAT, |count| count.parse().unwrap());
    let folder = in_memory();
    let originals = originals();
    for format in Format::ALL {
        let originals = &originals[format.name()];
        let path = folder.path().join("mutant").with_extension(format.name());
        let mut random = Random(0x9E37_79B9_7F4A_7C15);
        let (mut opened, mut most) = (0, 0);
        let format_started = Instant::now();
        for mutant in 0..count {
            let mut bytes = originals[mutant % originals.len()].clone();
            mutate(&mut bytes, &mut random);
            fs::write(&path, &bytes).unwrap();
            let suffix = ["", "", "", "::*", "::layers::1", "::x"][random.below(6)];
            let io = if mutant % 2 == 0 { Io::Map } else { Io::Read };
            let length = bytes.len();
            drop(bytes);
            let started = Instant::now();
            MEMORY.reset_peak_usage();
            let before = MEMORY.current_usage();
            opened += use_mutant(&path, suffix, format, io, length);
            let taken = MEMORY.peak_usage() - before;
            let allowed = FIXED + BUDGET as usize + TIMES_LENGTH * length;
            let took = started.elapsed();
            assert!(
                taken <= allowed && took < LONGEST,
                "mutant {mutant} of {format}: {taken} bytes, {allowed} allowed; {took:?}"
            );
            most = most.max(taken);
        }
        println!(
            "{format}: {count} mutants, {opened} matrices opened, at most {most} bytes, {:?}",
            format_started.elapsed()
        );
        assert!(opened > count / 100, "too few mutants of {format} open to test what follows: {opened}");
    }
}

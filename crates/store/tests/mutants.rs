//! Golden files with seeded faults: whatever the bytes, no panic, no hang, no wild allocation.

mod support;

use std::fs;

use mnno_exact::Rows;
use mnno_store::{Format, Io, OpenOptions, open};
use support::fixtures;

const MUTANTS_PER_FORMAT: usize = 2000;

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

/// Breaks `bytes` in one to four places.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
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

fn survive(format: Format) {
    let mut originals: Vec<_> = fs::read_dir(fixtures("golden"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == format.name()) && !path.ends_with("expected.tsv"))
        .collect();
    originals.sort();
    let originals: Vec<Vec<u8>> = originals.iter().map(|path| fs::read(path).unwrap()).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mutant").with_extension(format.name());
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut opened = 0;
    for mutant in 0..MUTANTS_PER_FORMAT {
        let mut bytes = originals[mutant % originals.len()].clone();
        mutate(&mut bytes, &mut random);
        fs::write(&path, &bytes).unwrap();
        let suffix = ["", "", "::*", "::layers::1", "::text"][random.below(5)];
        let io = if mutant % 2 == 0 { Io::Map } else { Io::Read };
        let options = OpenOptions { io, format: Some(format), memory: 1 << 20, ..OpenOptions::default() };
        let matrices = match open(&format!("{}{suffix}", path.display()), &options) {
            Ok(matrices) => matrices,
            Err(error) => {
                let text = error.to_string();
                assert!(text.starts_with(path.to_str().unwrap()) && !text.contains('\n'), "{text}");
                continue;
            }
        };
        for matrix in matrices {
            opened += 1;
            assert!(matrix.d() == 0 || matrix.n() <= bytes.len(), "{} x {}", matrix.n(), matrix.d());
            if let Some(last) = matrix.n().checked_sub(1) {
                assert_eq!(matrix.row(last, &mut Vec::new()).len(), matrix.d());
            }
            let summary = matrix.summary();
            let good = matrix.validate().is_ok();
            assert!(!good || summary.nan.count + summary.infinite.count == 0);
            assert_eq!(matrix.rounding().is_ok(), good || matrix.element().widens_exactly());
            assert!(matrix.d() == 0 || matrix.zero_rows() == summary.zero_rows);
            matrix.fingerprint();
        }
    }
    assert!(opened > MUTANTS_PER_FORMAT / 100, "too few mutants of {format} open to test what follows: {opened}");
}

#[test]
fn npy() {
    survive(Format::Npy);
}

#[test]
fn npz() {
    survive(Format::Npz);
}

#[test]
fn csv() {
    survive(Format::Csv);
}

#[test]
fn tsv() {
    survive(Format::Tsv);
}

#[test]
fn fvecs() {
    survive(Format::Fvecs);
}

#[test]
fn ivecs() {
    survive(Format::Ivecs);
}

#[test]
fn fbin() {
    survive(Format::Fbin);
}

#[test]
fn ibin() {
    survive(Format::Ibin);
}

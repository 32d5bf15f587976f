//! An index comes back from its file as it was, or not at all.

use mnno_exact::{Metric, SliceRows, Threads};
use mnno_hnsw::{BuildOptions, FileError, Head, Index, Method, SearchOptions};

const FINGERPRINT: u128 = 0x0123_4567_89ab_cdef_0011_2233_4455_6677;

fn rows(n: usize, d: usize) -> Vec<f32> {
    // Two rows of every five are equal.
    (0..n).flat_map(|i| (0..d).map(move |j| (((i - i % 5 / 4) * 31 + j * 17) % 101) as f32 - 50.3)).collect()
}

fn index(rows: &[f32], d: usize, metric: Metric) -> (Index, Vec<u8>) {
    index_by(Method::KnnGraph, rows, d, metric)
}

fn index_by(method: Method, rows: &[f32], d: usize, metric: Metric) -> (Index, Vec<u8>) {
    let built = Index::build(&SliceRows::new(rows, d), metric, BuildOptions::new(method), Threads::All, &());
    let mut bytes = Vec::new();
    let index = built.unwrap();
    index.write(FINGERPRINT, &mut bytes).unwrap();
    (index, bytes)
}

#[test]
fn an_index_comes_back_as_it_was() {
    for (n, d) in [(0, 4), (1, 1), (300, 20)] {
        let rows = rows(n, d);
        let base = SliceRows::new(&rows, d);
        for (metric, method) in
            Metric::ALL.into_iter().flat_map(|m| [Method::KnnGraph, Method::Hnsw { parallel: true }].map(|by| (m, by)))
        {
            let (built, bytes) = index_by(method, &rows, d, metric);
            let (read, head) = Index::read(&bytes).unwrap();
            // Without rows, a slice has no columns either.
            let expected = Head { metric, n: n as u64, d: d as u64, fingerprint: FINGERPRINT };
            assert_eq!(head, expected);
            assert_eq!((read.graph(), read.codes()), (built.graph(), built.codes()));
            let options = SearchOptions::new(5);
            assert_eq!(read.self_join(&base, &options).unwrap(), built.self_join(&base, &options).unwrap());
            let mut again = Vec::new();
            read.write(FINGERPRINT, &mut again).unwrap();
            assert!(again == bytes, "{metric}, {n} x {d}");
        }
    }
}

#[test]
fn no_flipped_byte_goes_unnoticed() {
    let (built, bytes) = index(&rows(60, 6), 6, Metric::Euclidean);
    assert!(built.codes(), "codes are to be damaged as well");
    for at in 0..bytes.len() {
        for flip in [1, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            let error = Index::read(&damaged).expect_err(&format!("byte {at} of {}", bytes.len()));
            match at {
                0..8 => assert_eq!(error, FileError::NotAnIndex),
                8..12 => assert!(matches!(error, FileError::Version { .. }), "{at}: {error}"),
                _ => assert!(matches!(error, FileError::Checksum { .. }), "{at}: {error}"),
            }
        }
    }
}

#[test]
fn no_cut_and_no_addition_goes_unnoticed() {
    let (_, bytes) = index(&rows(60, 6), 6, Metric::Cosine);
    for end in 0..bytes.len() {
        let error = Index::read(&bytes[..end]).expect_err("a part of a file");
        let expected =
            if end < 8 { matches!(error, FileError::NotAnIndex) } else { matches!(error, FileError::Length { .. }) };
        assert!(expected, "{end}: {error}");
    }
    let longer = [bytes.as_slice(), &[0; 8]].concat();
    assert!(matches!(Index::read(&longer), Err(FileError::Length { .. })));
}

#[test]
fn other_files_and_later_versions_are_told_apart() {
    let error = Index::read(b"the cat sat on the mat, said the text file").unwrap_err();
    assert_eq!(error.to_string(), "this is no index of mnno: it does not begin as one");
    let (_, mut bytes) = index(&rows(20, 3), 3, Metric::Cosine);
    bytes[8] = 2;
    let error = Index::read(&bytes).unwrap_err();
    assert_eq!(error.to_string(), "the index has format version 2; this program reads version 1");
}

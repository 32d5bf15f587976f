//! Small files of every format, written by `tools/make_golden.py`, against the values that numpy says they hold.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use mnno_exact::Rows;
use mnno_store::{Io, Matrix, OpenOptions, open};
use support::{fixtures, values};

/// A line of `expected.tsv`.
struct Expected {
    argument: String,
    /// Format, element type, order.
    kind: [String; 3],
    access: String,
    n: usize,
    d: usize,
    names: Option<Vec<String>>,
    values: Vec<f32>,
}

fn expected() -> Vec<Expected> {
    let text = fs::read_to_string(fixtures("golden").join("expected.tsv")).unwrap();
    text.lines()
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            let [argument, format, element, order, access, n, d, names, values] = fields[..] else {
                panic!("{line}: nine fields")
            };
            Expected {
                argument: argument.to_owned(),
                kind: [format, element, order].map(str::to_owned),
                access: access.to_owned(),
                n: n.parse().unwrap(),
                d: d.parse().unwrap(),
                names: (names != "-").then(|| names.split('|').map(str::to_owned).collect()),
                values: values.split_whitespace().map(|v| v.parse().unwrap()).collect(),
            }
        })
        .collect()
}

fn open_one(argument: &str, options: &OpenOptions) -> Matrix {
    // The sign of a list stands before its whole path.
    let (sign, name) = argument.split_at(usize::from(argument.starts_with('@')));
    let argument = format!("{sign}{}", fixtures("golden").join(name).display());
    let [matrix] = <[Matrix; 1]>::try_from(open(&argument, options).unwrap()).unwrap();
    assert_eq!(matrix.display_name(), argument);
    matrix
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

#[test]
fn every_golden_file_gives_the_values_of_numpy() {
    for expected in expected() {
        let name = &expected.argument;
        for io in [Io::Map, Io::Read] {
            let matrix = open_one(name, &OpenOptions { io, ..OpenOptions::default() });
            let kind = [matrix.format().to_string(), matrix.element().to_string(), matrix.order().to_string()];
            assert_eq!(kind, expected.kind, "{name}");
            assert_eq!((matrix.n(), matrix.d()), (expected.n, expected.d), "{name}");
            assert_eq!(matrix.names(), expected.names.as_deref(), "{name}");
            for step in [1, 2, 1000] {
                assert_eq!(bits(&values(&matrix, step)), bits(&expected.values), "{name}, {io:?}, blocks of {step}");
            }
            if io == Io::Map {
                assert_eq!(matrix.access().to_string(), expected.access, "{name}");
            }
            matrix.check(1 << 20, &()).unwrap();
            matrix.verify_unchanged().unwrap();
        }
    }
}

/// Text that does not fit the memory is parsed again whenever it is read.
#[test]
fn the_values_of_text_are_the_same_in_memory_and_from_the_file() {
    for expected in expected().iter().filter(|e| e.access == "held in memory" && e.kind[2] == "row-major") {
        let name = &expected.argument;
        let path = fixtures("golden").join(name).display().to_string();
        let mut seen = BTreeSet::new();
        for memory in 0..1200 {
            let Ok(matrices) = open(&path, &OpenOptions { memory, ..OpenOptions::default() }) else { continue };
            let matrix = &matrices[0];
            assert!(matrix.held_bytes() <= memory, "{name}: {} of {memory}", matrix.held_bytes());
            for step in [1, 2, 1000] {
                assert_eq!(bits(&values(matrix, step)), bits(&expected.values), "{name}, {memory} bytes of memory");
            }
            assert_eq!(matrix.names(), expected.names.as_deref(), "{name}");
            seen.insert(matrix.access().to_string());
        }
        let needs_memory = name.contains(".npz");
        assert!(needs_memory || expected.d < 3 || seen.len() == 2, "{name}: {seen:?}");
    }
}

#[test]
fn every_golden_file_is_listed() {
    let listed: BTreeSet<String> = expected()
        .into_iter()
        .map(|e| e.argument.trim_start_matches('@').split("::").next().unwrap().to_owned())
        .collect();
    let mut found: BTreeSet<String> = fs::read_dir(fixtures("golden"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    // Beside the inputs: what they hold, and numbers for the tests of other crates.
    found.retain(|name| {
        name != "expected.tsv" && Path::new(name).extension().is_none_or(|extension| extension != "json")
    });
    assert_eq!(found, listed);
}

#[test]
fn a_range_of_rows_is_a_window_on_values_and_names() {
    for expected in expected().iter().filter(|e| e.n == 2 && e.d > 0) {
        let matrix = open_one(&expected.argument, &OpenOptions { rows: Some(1..2), ..OpenOptions::default() });
        assert_eq!((matrix.n(), matrix.d(), matrix.rows_offset()), (1, expected.d, 1));
        assert_eq!(values(&matrix, 1), expected.values[expected.d..], "{}", expected.argument);
        assert_eq!(matrix.names(), expected.names.as_ref().map(|names| &names[1..]));
    }
}

#[test]
fn a_star_opens_every_layer_under_its_own_name() {
    let argument = fixtures("golden").join("stored.npz::layers::*").display().to_string();
    let layers = open(&argument, &OpenOptions::default()).unwrap();
    let stem = argument.strip_suffix('*').unwrap();
    let names: Vec<&str> = layers.iter().map(Matrix::display_name).collect();
    assert_eq!(names, [0, 1, 2].map(|layer| format!("{stem}{layer}")));
    for (i, matrix) in layers.iter().enumerate() {
        assert_eq!((matrix.layer(), matrix.member()), (Some(i), Some("layers")));
        let alone = open_one(&format!("stored.npz::layers::{i}"), &OpenOptions::default());
        assert_eq!(values(matrix, 2), values(&alone, 2));
    }
}

#[test]
fn rounding_counts_values_and_rows_that_f32_cannot_tell_apart() {
    let count = |name: &str| {
        open_one(name, &OpenOptions::default()).check(1 << 20, &()).unwrap().rounding.map(|r| r.rounded_values)
    };
    assert_eq!(count("f2_big_c.npy"), None);
    assert_eq!(count("f4_big_c.npy"), None);
    // 0.1, 1/3, 16777217, 1e-50 and -3.4e38 are no f32; 2 is.
    assert_eq!(count("f8_little_c.npy"), Some(5));
    assert_eq!(count("f8_big_fortran.npy"), Some(5));
    // -2^31 and 1, -1 are f32; 16777217, 2^31 - 1 and 33554435 are not.
    assert_eq!(count("i4_little_fortran.npy"), Some(3));
    // 2^63 + 1 and 2^64 - 1.
    assert_eq!(count("u8_big_c.npy"), Some(2));
}

#[test]
fn a_row_of_a_block_borrowed_from_the_map_is_the_row_itself() {
    let matrix = open_one("plain.fvecs", &OpenOptions::default());
    let mut scratch = Vec::new();
    assert_eq!(matrix.row(1, &mut scratch), [4.0, 5.5, -6.125]);
    assert!(scratch.is_empty(), "the fvecs stride is read in place");
}

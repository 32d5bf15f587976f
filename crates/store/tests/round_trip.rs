//! Whatever is written is read back with the same bits, through every pair of formats that can hold it.

mod support;

use std::path::Path;

use mnno_exact::{Rows, SliceRows};
use mnno_store::output::{Vectors, WriteError, prepare_matrix};
use mnno_store::{Format, Matrix, OpenOptions, open};
use support::{in_memory, values};

/// Edges of f32: zeros of both signs, subnormals, the largest, neighbours of 1, thirds.
const ANY: [f32; 12] = [
    0.0,
    -0.0,
    f32::from_bits(1),
    -f32::MIN_POSITIVE,
    f32::MAX,
    f32::MIN,
    1.0 + f32::EPSILON,
    1.0 / 3.0,
    1e-5,
    123_456_790.0,
    -1e16,
    0.1,
];
const SIGNED: [f32; 12] = [-128.0, 127.0, 0.0, 1.0, -1.0, 5.0, 100.0, -100.0, 2.0, 3.0, 4.0, 6.0];
const UNSIGNED: [f32; 12] = [0.0, 255.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 200.0, 128.0];
const WHOLE: [f32; 12] =
    [2_147_483_520.0, -2_147_483_648.0, 16_777_216.0, 0.0, 1.0, -1.0, 3.0, 4.0, 5.0, 6.0, 7.0, -300.0];

/// Formats that can hold the values.
fn holders(data: &[f32]) -> Vec<Format> {
    let all = |range: std::ops::RangeInclusive<f32>| {
        data.iter().all(|v| range.contains(v) && v.fract() == 0.0 && v.to_bits() != (-0.0f32).to_bits())
    };
    Format::ALL
        .into_iter()
        .filter(|format| match format {
            Format::Bvecs | Format::U8bin => all(0.0..=255.0),
            Format::I8bin => all(-128.0..=127.0),
            Format::Ivecs | Format::Ibin => all(-2_147_483_648.0..=2_147_483_520.0),
            _ => true,
        })
        .collect()
}

fn write(rows: &dyn Rows, names: Option<&[String]>, format: Format, path: &Path) {
    prepare_matrix(Vectors { rows, names }, format, path, 1 << 20, &()).unwrap().publish().unwrap();
}

/// Reads without being told the format.
fn read(path: &Path) -> Matrix {
    open(path.to_str().unwrap(), &OpenOptions::default()).unwrap().remove(0)
}

fn extension(format: Format) -> &'static str {
    match format {
        Format::Glove => "txt",
        Format::Word2vec => "vec",
        Format::Word2vecBinary => "bin",
        other => other.name(),
    }
}

fn bits(matrix: &Matrix) -> Vec<u32> {
    values(matrix, 2).iter().map(|v| v.to_bits()).collect()
}

#[test]
fn every_pair_of_formats_gives_the_same_bits() {
    let folder = in_memory();
    let mut pairs = 0;
    for data in [&ANY, &SIGNED, &UNSIGNED, &WHOLE] {
        // A row, a column, and a matrix.
        for d in [1, 3, 12] {
            let expected: Vec<u32> = data.iter().map(|v| v.to_bits()).collect();
            for first in holders(data) {
                let path = folder.path().join("first").with_extension(extension(first));
                write(&SliceRows::new(data, d), None, first, &path);
                let once = read(&path);
                assert_eq!((once.format(), once.n(), once.d()), (first, data.len() / d, d));
                assert_eq!(bits(&once), expected, "{first}, {d} columns");
                for second in holders(data) {
                    let path = folder.path().join("second").with_extension(extension(second));
                    write(&once, once.names(), second, &path);
                    let twice = read(&path);
                    assert_eq!((twice.format(), twice.n(), twice.d()), (second, data.len() / d, d));
                    assert_eq!(bits(&twice), expected, "{first} to {second}, {d} columns");
                    pairs += 1;
                }
            }
        }
    }
    // Five of the sixteen hold whole numbers only. Each with each, at three shapes.
    let counts = [&ANY, &SIGNED, &UNSIGNED, &WHOLE].map(|data| holders(data).len());
    assert_eq!(counts, [11, 14, 15, 13]);
    assert_eq!(pairs, 3 * counts.iter().map(|count| count * count).sum::<usize>());
}

#[test]
fn names_come_back_as_they_were_wherever_there_is_a_place_for_them() {
    let words = ["cat", "1984", "nan", "a,b", "\"q\"", "'", "\u{a0}x", "été", "ü\u{3000}z", "#", "name", "-0.5"];
    let cells = ["new york", "", "line\nbreak", "tab\there", "\"", "a;b", "\r", ",", "x", "x", " y ", "0"];
    let folder = in_memory();
    for (names, formats) in [
        (words, &[Format::Csv, Format::Tsv, Format::Glove, Format::Word2vec, Format::Word2vecBinary][..]),
        (cells, &[Format::Csv]),
    ] {
        let names = names.map(str::to_owned);
        for d in [1, 2] {
            let data: Vec<f32> = (0..12 * d).map(|i| i as f32).collect();
            for &first in formats {
                let path = folder.path().join("first").with_extension(extension(first));
                write(&SliceRows::new(&data, d), Some(&names), first, &path);
                let once = read(&path);
                assert_eq!(once.names(), Some(&names[..]), "{first}, {d} columns");
                for &second in formats {
                    let path = folder.path().join("second").with_extension(extension(second));
                    write(&once, once.names(), second, &path);
                    assert_eq!(read(&path).names(), Some(&names[..]), "{first} to {second}, {d} columns");
                    assert_eq!(values(&read(&path), 5), data);
                }
            }
        }
    }
}

#[test]
fn rows_without_names_are_numbered_where_words_are_needed() {
    let folder = in_memory();
    for format in Format::ALL {
        let path = folder.path().join("x").with_extension(extension(format));
        write(&SliceRows::new(&[1.0, 2.0, 3.0], 1), None, format, &path);
        let numbers = ["0", "1", "2"].map(str::to_owned);
        assert_eq!(read(&path).names(), format.needs_names().then_some(&numbers[..]), "{format}");
        assert!(!format.needs_names() || format.holds_names());
    }
}

/// A matrix of which a MATLAB file is gathered in several passes.
#[test]
fn columns_are_gathered_within_the_memory() {
    let (n, d) = (1000, 17);
    let data: Vec<f32> = (0..n * d).map(|i| i as f32).collect();
    let rows = SliceRows::new(&data, d);
    let folder = in_memory();
    let path = folder.path().join("x.mat");
    for columns in [1, 2, 5, 17, 100] {
        let vectors = Vectors { rows: &rows, names: None };
        prepare_matrix(vectors, Format::Mat, &path, 4 * n as u64 * columns, &()).unwrap().publish().unwrap();
        assert_eq!(values(&read(&path), 64), data, "{columns} columns at a time");
    }
    let error = prepare_matrix(Vectors { rows: &rows, names: None }, Format::Mat, &path, 3999, &()).unwrap_err();
    assert!(matches!(error, WriteError::Memory { needed: 4000, budget: 3999, .. }), "{error}");
    assert_eq!(values(&read(&path), 64), data, "the old file is still there");
}

#[test]
fn what_a_format_cannot_hold_is_refused_by_row_and_column() {
    let folder = in_memory();
    let refused = |format: Format, data: &[f32], names: Option<&[&str]>| {
        let path = folder.path().join("x").with_extension(extension(format));
        let names: Option<Vec<String>> = names.map(|names| names.iter().map(|&name| name.to_owned()).collect());
        let vectors = Vectors { rows: &SliceRows::new(data, 2), names: names.as_deref() };
        let error = prepare_matrix(vectors, format, &path, 1 << 20, &()).unwrap_err();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{format}");
        assert!(error.hint().is_some(), "{error}");
        error.to_string().replace(&format!("{}/", folder.path().display()), "")
    };
    for (format, value, shown, element) in [
        (Format::U8bin, 256.0, "256.0", "u8"),
        (Format::Bvecs, -1.0, "-1.0", "u8"),
        (Format::I8bin, 128.0, "128.0", "i8"),
        (Format::Ibin, 2_147_483_648.0, "2147483600.0", "i32"),
        (Format::Ivecs, 0.5, "0.5", "i32"),
        (Format::Ibin, -0.0, "-0.0", "i32"),
    ] {
        let expected =
            format!("x.{}: row 1, column 0 (both from 0) is {shown}, which {element} does not hold", extension(format));
        assert_eq!(refused(format, &[1.0, 2.0, value, 3.0], None), expected);
    }
    let data = [1.0, 2.0, 3.0, 4.0];
    for (format, name, why) in [
        (Format::Glove, "new york", "holds a blank, a tab or a line break, which ends names in this format"),
        (Format::Word2vec, "", "is empty, and each row needs a word in this format"),
        (Format::Tsv, "a\tb", "holds a blank, a tab or a line break, which ends names in this format"),
    ] {
        let expected =
            format!("x.{}: the name of row 1 (from 0), '{}', {why}", extension(format), name.replace('\t', "\\t"));
        assert_eq!(refused(format, &data, Some(&["a", name])), expected);
    }
    assert_eq!(
        refused(Format::Word2vecBinary, &data, Some(&["a", "a"])),
        "x.bin: the word 'a' is on row 0 and again on row 1 (from 0)"
    );
    assert_eq!(
        refused(Format::Glove, &data, Some(&["\u{feff}a", "b"])),
        "x.txt: the name of row 0 (from 0), '\\u{feff}a', begins with a byte order mark, which would be taken for that of the file"
    );
}

//! Files written by other people's tools, in the folder that `MNNO_DATA` names; not part of this repository.

mod support;

use std::path::PathBuf;

use mnno_exact::Rows;
use mnno_store::{Matrix, OpenOptions, StoreError, open};
use support::values;

fn data(path: &str) -> String {
    let folder = std::env::var_os("MNNO_DATA").expect("MNNO_DATA names the folder of data");
    PathBuf::from(folder).join(path).display().to_string()
}

fn try_open(path: &str) -> Result<Vec<Matrix>, StoreError> {
    open(&data(path), &OpenOptions::default())
}

#[test]
#[ignore = "needs MNNO_DATA"]
fn arrays_of_other_tools_are_read() {
    let array = try_open("formats/numpy/array.npy").unwrap().remove(0);
    assert_eq!(values(&array, 1), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    for endian in ["big", "little"] {
        for order in ["standard", "fortran"] {
            let layers = try_open(&format!("formats/numpy/example_f64_{endian}_endian_{order}.npy::*")).unwrap();
            assert_eq!(layers.len(), 3);
            for (layer, matrix) in layers.iter().enumerate() {
                // The array is 0 to 23 in shape (2, 3, 4).
                let first = (4 * layer) as f32;
                let row = |start: f32| (0..4_u8).map(move |j| start + f32::from(j));
                let expected: Vec<f32> = row(first).chain(row(12.0 + first)).collect();
                assert_eq!(values(matrix, 2), expected, "{}", matrix.display_name());
            }
        }
    }
}

#[test]
#[ignore = "needs MNNO_DATA"]
fn arrays_of_other_kinds_are_refused() {
    let words = |file: &str| {
        let error = try_open(&format!("formats/numpy/{file}")).unwrap_err();
        assert!(error.hint().is_some(), "{error}");
        error.to_string().rsplit(": ").next().unwrap().to_owned()
    };
    for file in ["py2-np0-objarr.npy", "py2-objarr.npy", "py3-objarr.npy", "py2-objarr.npz"] {
        assert!(words(file).ends_with("(Python objects) cannot be used as vectors"), "{file}: {}", words(file));
    }
    for file in ["example_bool_bad_value.npy", "example_bool_standard.npy"] {
        assert_eq!(words(file), "elements of type '|b1' (booleans) cannot be used as vectors");
    }
    for endian in ["big", "little"] {
        for order in ["standard", "fortran"] {
            let sign = if endian == "big" { '>' } else { '<' };
            assert_eq!(
                words(&format!("example_c64_{endian}_endian_{order}.npy")),
                format!("elements of type '{sign}c16' (complex numbers) cannot be used as vectors")
            );
        }
    }
}

#[test]
#[ignore = "needs MNNO_DATA"]
fn csv_of_the_2018_paper_has_names_of_label_numbers() {
    for (file, d) in [("TS_lang_biGRU.csv", 64), ("TS_vis_vgg128.csv", 128)] {
        let matrix = try_open(&format!("collell2018_iaprtc/{file}")).unwrap().remove(0);
        assert_eq!((matrix.n(), matrix.d()), (1962, d));
        let names = matrix.names().unwrap();
        assert_eq!((names.len(), names[0].as_str()), (1962, "40 115 122 138 158 167 172 212 219 261"));
        matrix.check(1 << 20, &()).unwrap();
    }
    let text = try_open("collell2018_iaprtc/TS_lang_biGRU.csv").unwrap().remove(0);
    assert_eq!(text.row(0, &mut Vec::new())[..3], [-1.2254, -0.704_125, 0.646_661]);
    assert_eq!(text.summary(&()).unwrap().equal_rows.groups, 18);
}

#[test]
#[ignore = "needs MNNO_DATA"]
fn vectors_of_ann_benchmarks_are_read() {
    let words = try_open("wn_nouns_10k/glove50_f32.npy").unwrap().remove(0);
    assert_eq!((words.n(), words.d()), (10_000, 50));
    words.check(1 << 20, &()).unwrap();
    for (file, n, d) in [
        ("diskann/siftsmall_learn_256pts.fbin", 256, 128),
        ("siftsmall/queries.fvecs", 100, 128),
        ("siftsmall/groundtruth.ivecs", 100, 100),
        ("bigann10k_input_vectors.npy", 10_000, 128),
    ] {
        let matrix = try_open(&format!("ann_small/{file}")).unwrap().remove(0);
        assert_eq!((matrix.n(), matrix.d()), (n, d), "{file}");
        let rounding = matrix.check(1 << 20, &()).unwrap().rounding;
        assert!(rounding.is_none_or(|r| r.rounded_values == 0), "{file}: whole numbers below 2^24");
    }
}

/// The shape of a file, or the words in which it is refused, without its path.
fn outcome(path: &str) -> String {
    match try_open(path) {
        Ok(matrices) => {
            let matrix = &matrices[0];
            matrix.check(1 << 20, &()).unwrap();
            format!("{} x {} {}", matrix.n(), matrix.d(), matrix.element())
        }
        Err(error) => {
            let text = error.to_string();
            let path = data(path);
            assert!(text.starts_with(path.split("::").next().unwrap()) && text.lines().count() == 1, "{text}");
            assert!(error.hint().is_some(), "{text}");
            text.strip_prefix(&path).unwrap().trim_start_matches(": ").to_owned()
        }
    }
}

#[test]
#[ignore = "needs MNNO_DATA"]
fn word_vectors_of_gensim_and_fasttext_are_read() {
    for (file, expected) in [
        ("crime-and-punishment.vec", "291 x 5 f32"),
        ("lee_fasttext.vec", "1762 x 10 f32"),
        ("high_precision.kv.txt", "2 x 2 f32"),
        ("high_precision.kv.bin", "2 x 2 f32"),
        ("euclidean_vectors.bin", "2747 x 10 f32"),
        ("poincare_vectors.bin", "1182 x 10 f32"),
        ("test_glove.txt", "76 x 50 f32"),
        ("pretrained.vec", "the first line declares 3 words, but the file has 1 line behind it"),
        ("pang_lee_polarity_fasttext.vec", "line 150: the row's name is not UTF-8"),
        ("toy-model.bin", "this is a fastText model"),
    ] {
        assert_eq!(outcome(&format!("formats/gensim/{file}")), expected, "{file}");
    }
    let [text, binary] = ["txt", "bin"].map(|e| try_open(&format!("formats/gensim/high_precision.kv.{e}")).unwrap());
    assert_eq!(text[0].names(), binary[0].names());
    assert_eq!(text[0].names().unwrap(), ["kangaroo.n.01", "horse.n.01"]);
}

#[test]
#[ignore = "needs MNNO_DATA"]
fn variables_of_matlab_are_read_or_refused_by_name() {
    for (argument, expected) in [
        ("testdouble_6.1_SOL2.mat", "1 x 9 f64"),
        ("testdouble_7.1_GLNX86.mat", "1 x 9 f64"),
        ("testmatrix_7.1_GLNX86.mat", "3 x 5 u8"),
        ("testminus_7.4_GLNX86.mat", "1 x 1 i16"),
        ("test3dmatrix_7.1_GLNX86.mat::1", "2 x 4 u8"),
        ("miuint32_for_miint32.mat", "1 x 10 i64"),
        ("testsparse_7.1_GLNX86.mat::testsparse", "the variable is sparse; only real numeric matrices are read"),
        ("testcomplex_7.4_GLNX86.mat::testcomplex", "the variable is complex; only real numeric matrices are read"),
        ("testcell_7.1_GLNX86.mat::testcell", "the variable is a cell array; only real numeric matrices are read"),
        ("teststruct_6.1_SOL2.mat::teststruct", "the variable is a struct; only real numeric matrices are read"),
        ("testvec_4_GLNX86.mat", "this is a MATLAB 4 file"),
        ("corrupted_zlib_checksum.mat", "the member's data is damaged: corrupt deflate stream"),
    ] {
        assert_eq!(outcome(&format!("formats/scipy_mat/{argument}")), expected, "{argument}");
    }
    assert_eq!(outcome("wikipedia_pereira/raw_features.mat::I_te"), "693 x 128 f64");
}

/// Nothing panics, and what is not read is named.
#[test]
#[ignore = "needs MNNO_DATA"]
fn every_file_of_other_formats_is_refused_by_name() {
    let mut refused = 0;
    for (folder, what) in [("parquet", "this is a Parquet file"), ("hdf5", "this is an HDF5 file")] {
        for entry in std::fs::read_dir(data(&format!("formats/{folder}"))).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert_eq!(outcome(&format!("formats/{folder}/{name}")), what, "{name}");
            refused += 1;
        }
    }
    assert_eq!(refused, 15);
}

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

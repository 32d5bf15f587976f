//! `mnno inspect`.

use std::fs;

use crate::run::{Folder, noise, npy, root};

#[test]
fn every_fault_is_counted_and_placed() {
    let folder = Folder::new();
    let mut x = noise(6 * 3, 1);
    x[3..6].fill(0.0);
    x[7] = f32::NAN;
    x[9] = f32::INFINITY;
    x.copy_within(0..3, 15);
    folder.npy("x.npy", 3, &x);
    let json = folder.run("inspect x.npy --json").json();
    let file = &json["inputs"][0];
    assert_eq!((&file["rows"], &file["dims"], &file["dtype"]), (&6.into(), &3.into(), &"f32".into()));
    assert_eq!(file["nan"], serde_json::json!({"count": 1, "first": [[2, 1]]}));
    assert_eq!(file["infinite"], serde_json::json!({"count": 1, "first": [[3, 0]]}));
    assert_eq!(file["zero_rows"], serde_json::json!({"count": 1, "first": [1]}));
    assert_eq!(file["equal_rows"], serde_json::json!({"groups": 1, "rows": 2, "largest": 2, "largest_first": [0, 5]}));
    assert_eq!(file["norms"]["min"], 0.0);
    let text = folder.run("inspect x.npy").stdout;
    for part in ["6 rows x 3 dims", "1: row 2 column 1", "1: row 3 column 0", "1: row 1", "not fit for use"] {
        assert!(text.contains(part), "'{part}' is not in\n{text}");
    }
}

/// Case C5 (zilliztech/VectorDBBench#357).
#[test]
fn c5_vectordbbench_357_equal_rows_are_reported() {
    let folder = Folder::new();
    let mut x = noise(100 * 4, 2);
    for i in 1..20 {
        x.copy_within(0..4, i * 20);
    }
    folder.npy("x.npy", 4, &x);
    let json = folder.run("inspect x.npy --json").json();
    let expected = serde_json::json!({"groups": 1, "rows": 20, "largest": 20, "largest_first": [0, 5, 10, 15, 20]});
    assert_eq!(json["inputs"][0]["equal_rows"], expected);
    let knn = folder.run("knn x.npy -k 10 --metric euclidean -o out.npz --json").json();
    assert!(knn["tied_at_k"].as_u64().unwrap() >= 20, "{knn}");
}

#[test]
fn rounding_of_f64_is_counted() {
    let folder = Folder::new();
    let values: [f64; 6] = [1.0, 2.0, 1.0, 2.0 + 1e-12, 0.1, 3.0];
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    folder.write("x.npy", npy("<f8", "(3, 2)", &bytes));
    let json = folder.run("inspect x.npy --json").json();
    assert_eq!(json["inputs"][0]["rounding"], serde_json::json!({"rounded_values": 2, "rows_made_equal": 1}));
    folder.npy("y.npy", 2, &noise(6, 1));
    let text = folder.run("compare x.npy y.npy -k 1").stdout;
    assert!(text.contains("; 2 values rounded to f32, 1 distinct rows became equal"), "{text}");
}

#[test]
fn names_labels_and_rows() {
    let folder = Folder::new();
    folder.write("x.csv", "id,a,b\none,1,2\ntwo,3,4\none,5,6\n");
    folder.write("labels.txt", "x y\ny\nz\n");
    let json = folder.run("inspect x.csv --labels labels.txt --rows 1..3 --json").json();
    let file = &json["inputs"][0];
    assert_eq!(file["names"], serde_json::json!({"distinct": 2, "first": ["two", "one"]}));
    assert_eq!(file["labels"], serde_json::json!({"distinct": 2, "most_per_row": 1}));
    assert_eq!(file["rows"], 2);
}

#[test]
fn names_cannot_move_the_cursor() {
    let folder = Folder::new();
    folder.write("x.csv", "name,a\n\"\u{1b}[31mred\",1\n\"two\nlines\",2\n");
    let text = folder.run("inspect x.csv").stdout;
    assert!(text.contains("2 distinct: \\u{1b}[31mred, two\\nlines\n"), "{text}");
}

/// Case A8 (numpy/numpy#27722): an empty matrix is a file like any other, but nothing can be searched in it.
#[test]
fn a8_numpy_27722_empty_matrices() {
    let folder = Folder::new();
    folder.write("x.npy", npy("<f4", "(0, 128)", &[]));
    let json = folder.run("inspect x.npy --json").json();
    assert_eq!((&json["inputs"][0]["rows"], &json["inputs"][0]["dims"]), (&0.into(), &128.into()));
    folder.run("knn x.npy -o out.npz").fails_with(65, "error: x.npy: the matrix is 0 x 128: it has no rows");
}

#[test]
fn text_of_the_fixture() {
    let folder = Folder::new();
    fs::copy(root().join("fixtures/words/glove50.npy"), folder.path("glove50.npy")).unwrap();
    let run = folder.run("inspect glove50.npy");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    for part in ["glove50.npy (npy)", "2000 rows x 50 dims", "f32, row-major", "mapped, used in place", "xxh3:"] {
        assert!(run.stdout.contains(part), "'{part}' is not in\n{}", run.stdout);
    }
}

/// Finite numbers that no f32 comes near are no infinities.
#[test]
fn numbers_beyond_f32_have_a_line_of_their_own() {
    let folder = Folder::new();
    let bytes: Vec<u8> = [1e300, f64::INFINITY, 1.0, 2.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    folder.write("x.npy", npy("<f8", "(2, 2)", &bytes));
    let file = &folder.run("inspect x.npy --json").json()["inputs"][0];
    assert_eq!(file["beyond_f32"], serde_json::json!({"count": 1, "first": [[0, 0]]}));
    assert_eq!(file["infinite"], serde_json::json!({"count": 1, "first": [[0, 1]]}));
    assert_eq!(file["fit"], false);
    let text = folder.run("inspect x.npy").stdout;
    assert!(text.contains("  beyond f32  1: row 0 column 0\n") && text.contains("not fit for use"), "{text}");
    folder.npy("y.npy", 2, &[1.0, 2.0, 0.0, 0.0]);
    assert_eq!(folder.run("inspect y.npy --json").json()["inputs"][0]["fit"], true);
    assert!(folder.run("inspect y.npy").stdout.contains("fit for use, but for the cosine of zero rows"));
}

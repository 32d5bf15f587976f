//! `mnno convert`. Round trips through every pair of formats are in `crates/store/tests/round_trip.rs`.

use std::fs;

use crate::run::{Folder, noise, npy, read_npy};

fn f32_bits(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks().0.iter().map(|&b| u32::from_le_bytes(b)).collect()
}

#[test]
fn the_last_lines_name_what_was_written() {
    let folder = Folder::new();
    folder.npy("x.npy", 3, &noise(12, 1));
    let run = folder.run("convert x.npy out.fbin");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(lines[0].starts_with("x.npy: 4 x 3 f32, npy, used in place, xxh3:"), "{run:?}");
    assert_eq!(lines[1..], ["wrote out.fbin: vectors, 4 x 3 f32"]);
    let json = folder.run("convert x.npy out.vec --json").json();
    assert_eq!(
        json["outputs"][0],
        serde_json::json!({"path": "out.vec", "what": "vectors", "shape": [4, 3], "dtype": "text"})
    );
    assert_eq!(json["notes"][0], "the rows have no names, which word2vec needs: they are numbered from 0");
    assert_eq!(folder.names(), ["out.fbin", "out.vec", "x.npy"]);
}

#[test]
fn names_are_kept_or_their_loss_is_noted() {
    let folder = Folder::new();
    folder.write("x.csv", "name,0\nnew york,1.5\n\"a,b\",2\n");
    assert_eq!(folder.run("convert x.csv out.tsv").stderr, "");
    assert_eq!(fs::read_to_string(folder.path("out.tsv")).unwrap(), "name\t0\nnew york\t1.5\na,b\t2.0\n");
    let run = folder.run("convert x.csv out.npy");
    assert_eq!(run.stderr, "note: the names of the rows are not in out.npy: npy has no place for them\n");
    folder.run("convert x.csv out.txt").fails_with(
        73,
        "error: out.txt: the name of row 0 (from 0), 'new york', holds a blank, a tab or a line break, which ends names in this \
         format\nhint: csv holds any name",
    );
    assert!(!folder.path("out.txt").exists());
}

#[test]
fn members_layers_rows_and_parts_are_converted() {
    let folder = Folder::new();
    let data: Vec<u8> = (0..24).flat_map(|i| (i as f32).to_le_bytes()).collect();
    folder.write("l.npy", npy("<f4", "(2, 3, 4)", &data));
    let wrote = |arguments: &str| {
        let run = folder.run(&format!("convert {arguments} out.npy"));
        assert_eq!(run.code, Some(0), "{run:?}");
        let (shape, bytes) = read_npy(&folder.path("out.npy"));
        (shape, f32_bits(&bytes).into_iter().map(f32::from_bits).collect::<Vec<_>>())
    };
    assert_eq!(wrote("l.npy::2"), (vec![2, 4], vec![8.0, 9.0, 10.0, 11.0, 20.0, 21.0, 22.0, 23.0]));
    assert_eq!(wrote("l.npy::1 --rows 1..2"), (vec![1, 4], vec![16.0, 17.0, 18.0, 19.0]));
    fs::create_dir(folder.path("parts")).unwrap();
    for part in [10, 9] {
        folder.npy(&format!("parts/{part}.npy"), 1, &[part as f32]);
    }
    assert_eq!(wrote("parts"), (vec![2, 1], vec![9.0, 10.0]));
    folder
        .run("convert l.npy::* out.npy")
        .fails_with(2, "error: convert writes one matrix\nhint: name one layer in place of ::*");
    folder.run("convert parts parts/all.npy").fails_with(
        73,
        "error: parts/all.npy: the output would become a part of the input parts\n\
         hint: choose another output; inputs are never overwritten",
    );
    assert_eq!(fs::read_dir(folder.path("parts")).unwrap().count(), 2);
}

#[test]
fn the_format_of_the_output_is_its_extension_or_given() {
    let folder = Folder::new();
    folder.npy("x.npy", 2, &[1.0, 2.0, 3.0, 4.0]);
    for out in ["out", "out.xyz", "out.json"] {
        let run = folder.run(&format!("convert x.npy {out}"));
        assert!(
            run.stderr.starts_with(&format!("error: {out}: the extension names no format\nhint: use .npy, ")),
            "{run:?}"
        );
        assert_eq!(run.code, Some(2));
    }
    assert_eq!(folder.run("convert x.npy out.dat --to u8bin").code, Some(0));
    assert_eq!(fs::read(folder.path("out.dat")).unwrap(), [2, 0, 0, 0, 2, 0, 0, 0, 1, 2, 3, 4]);
    assert_eq!(folder.run("convert out.dat back.NPY --format u8bin").code, Some(0));
    assert_eq!(fs::read(folder.path("back.NPY")).unwrap().len(), 128 + 16);
    let run = folder.run("convert x.npy out.npy --to parquet");
    assert!(run.code == Some(2) && run.stderr.contains("[possible values: npy, npz, "), "{run:?}");
}

/// What the format cannot hold leaves the old file where it was.
#[test]
fn a_refused_value_leaves_the_old_output() {
    let folder = Folder::new();
    folder.npy("x.npy", 2, &[1.0, 2.0, 3.5, 4.0]);
    folder.write("out.bvecs", "old");
    folder.run("convert x.npy out.bvecs").fails_with(
        73,
        "error: out.bvecs: row 1, column 0 (both from 0) is 3.5, which u8 does not hold\n\
         hint: write a format of f32, such as npy or fbin",
    );
    assert_eq!(fs::read(folder.path("out.bvecs")).unwrap(), b"old");
    assert_eq!(folder.names(), ["out.bvecs", "x.npy"]);
}

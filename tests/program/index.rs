//! `mnno index`: lists from an index, and what is no index of a base.

use std::fs;

use crate::run::{Folder, i64s, noise, read_npy};

fn built() -> Folder {
    let folder = Folder::new();
    folder.npy("x.npy", 8, &noise(400 * 8, 11));
    let run = folder.run("index build x.npy -o x.ann");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    assert!(run.stdout.contains("cosine by knn-graph: 400 distinct rows with "), "{run:?}");
    assert!(run.stdout.ends_with("wrote x.ann\n"), "{run:?}");
    folder
}

#[test]
fn lists_of_an_index_that_looks_at_everything_are_the_exact_ones() {
    let folder = built();
    folder.npy("q.npy", 8, &noise(30 * 8, 12));
    for queries in ["", "--queries q.npy", "--self include"] {
        assert_eq!(folder.run(&format!("knn x.npy {queries} -k 7 -o exact.npz")).code, Some(0));
        let run = folder.run(&format!("index search x.ann x.npy {queries} -k 7 --ef 400 -o found.npz"));
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
        assert!(run.stdout.contains("7 neighbours each, found with ef 400: approximate"), "{run:?}");
        assert!(
            fs::read(folder.path("exact.npz")).unwrap() == fs::read(folder.path("found.npz")).unwrap(),
            "{queries}"
        );
    }
}

#[test]
fn an_index_is_the_same_bytes_for_any_threads_and_any_metric_has_one() {
    let folder = built();
    for metric in ["cosine", "ip", "euclidean", "l2"] {
        for threads in [1, 3] {
            let run =
                folder.run(&format!("index build x.npy --metric {metric} --threads {threads} -o {threads}.ann --json"));
            let json = run.json();
            assert_eq!((&json["nodes"], &json["metric"]), (&400.into(), &metric.into()));
        }
        assert!(fs::read(folder.path("1.ann")).unwrap() == fs::read(folder.path("3.ann")).unwrap(), "{metric}");
        let json = folder.run("index search 1.ann x.npy -k 3 -o out.npy --json").json();
        assert_eq!((&json["metric"], &json["finished_exactly"], &json["ef"]), (&metric.into(), &0.into(), &64.into()));
    }
}

#[test]
fn rows_inserted_one_after_the_other_give_the_same_bytes() {
    let folder = built();
    for threads in [1, 3] {
        let run =
            folder.run(&format!("index build x.npy --index hnsw --deterministic --threads {threads} -o {threads}.ann"));
        assert!(run.stdout.contains("cosine by hnsw: 400 distinct rows with "), "{run:?}");
    }
    assert!(fs::read(folder.path("1.ann")).unwrap() == fs::read(folder.path("3.ann")).unwrap());
    assert_eq!(folder.run("knn x.npy -k 7 -o exact.npz").code, Some(0));
    assert_eq!(folder.run("index search 1.ann x.npy -k 7 --ef 400 -o found.npz").code, Some(0));
    assert!(fs::read(folder.path("exact.npz")).unwrap() == fs::read(folder.path("found.npz")).unwrap());
    folder.run("index build x.npy --index hnsw --m 257 -o y.ann").fails_with(
        2,
        "error: --m 257: --index hnsw takes at most 256\nhint: choose a smaller --m, or --index knn-graph",
    );
}

#[test]
fn lists_of_nearby_clusters_are_said_aloud() {
    let folder = built();
    let said = "lists from nearby clusters, not exact: exact ones would take about ";
    let run = folder.run("index build x.npy --lists nearby -o y.ann");
    assert!(run.code == Some(0) && run.stdout.contains(&format!("\n{said}")), "{run:?}");
    for (lists, nearby) in [("auto", false), ("exact", false), ("nearby", true)] {
        let json = folder.run(&format!("index build x.npy --lists {lists} -o y.ann --json")).json();
        assert_eq!(json["nearby_lists"].is_f64(), nearby, "{json}");
        let run = folder.run(&format!(
            "bench x.npy -k 3 --ef 50 --index knn-graph --lists {lists} --threads 1 --truth-cache kept --csv {lists}.csv"
        ));
        assert!(run.code == Some(0) && run.stdout.contains(said) == nearby, "{run:?}");
        let csv = fs::read_to_string(folder.path(&format!("{lists}.csv"))).unwrap();
        assert_eq!(csv.trim_end().ends_with(','), !nearby, "{csv}");
    }
}

/// `hnsw_rs` has something to say at every 50,000th point.
#[test]
fn nothing_but_the_report_reaches_stdout() {
    let folder = Folder::new();
    folder.npy("x.npy", 2, &noise(50_001 * 2, 15));
    let run = folder.run("index build x.npy --index hnsw --metric l2 --m 4 --ef-construction 4 -o x.ann --json");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    let json = run.json();
    assert_eq!(
        (&json["index"], &json["deterministic"], &json["nodes"]),
        (&"hnsw".into(), &false.into(), &50_001.into())
    );
}

#[test]
fn few_rows_many_neighbours_and_a_small_ef_are_no_trouble() {
    let folder = Folder::new();
    folder.npy("x.npy", 1, &[0.0, 1.0, 3.0]);
    assert_eq!(folder.run("index build x.npy --metric l2 -o x.ann").code, Some(0));
    let run = folder.run("index search x.ann x.npy -k 4 --ef 2 -o out.npy");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), "note: ef 2 is too small for -k 4: 3 is taken\n"), "{run:?}");
    assert!(run.stdout.contains("6 places without a candidate"), "{run:?}");
    let (shape, indices) = read_npy(&folder.path("out.indices.npy"));
    assert_eq!((shape, i64s(&indices)), (vec![3, 4], vec![1, 2, -1, -1, 0, 2, -1, -1, 1, 0, -1, -1]));
}

#[test]
fn what_is_no_index_of_the_base_is_refused() {
    let folder = built();
    folder.npy("y.npy", 8, &noise(400 * 8, 13));
    folder.npy("narrow.npy", 3, &noise(30, 14));
    folder.write("text.ann", "0.1 0.2\n");
    let bytes = fs::read(folder.path("x.ann")).unwrap();
    fs::write(folder.path("cut.ann"), &bytes[..bytes.len() / 2]).unwrap();
    let mut damaged = bytes.clone();
    damaged[bytes.len() / 2] ^= 4;
    fs::write(folder.path("damaged.ann"), &damaged).unwrap();
    let mut later = bytes;
    later[8] = 9;
    fs::write(folder.path("later.ann"), &later).unwrap();
    let again =
        "hint: build it again with mnno index build, or name the very file it was built from, with the same --rows";
    let make = "hint: mnno index build makes an index of a feature file";
    for (files, code, message) in [
        ("x.ann y.npy", 65, format!("error: x.ann: the index was not built from y.npy\n{again}")),
        ("x.ann x.npy --rows 0..399", 65, format!("error: x.ann: the index was not built from x.npy\n{again}")),
        ("text.ann x.npy", 65, format!("error: text.ann: this is no index of mnno: it does not begin as one\n{make}")),
        (
            "later.ann x.npy",
            65,
            format!("error: later.ann: the index has format version 9; this program reads version 1\n{make}"),
        ),
        ("none.ann x.npy", 66, "error: none.ann: No such file or directory".to_owned()),
        (
            "x.ann x.npy --queries narrow.npy",
            65,
            "error: narrow.npy: rows have 3 dimensions, but those of x.npy have 8".to_owned(),
        ),
        ("x.ann x.npy -k 0", 2, "error: k is 0: a list needs at least one neighbour".to_owned()),
    ] {
        folder.run(&format!("index search {files} -o out.npz")).fails_with(code, &message);
    }
    for damaged in ["cut.ann", "damaged.ann"] {
        let run = folder.run(&format!("index search {damaged} x.npy -o out.npz"));
        assert_eq!(
            (run.code, run.stderr.contains(&format!("error: {damaged}: the index "))),
            (Some(65), true),
            "{run:?}"
        );
    }
    fs::copy(folder.path("x.ann"), folder.path("x.npz")).unwrap();
    folder.run("index search x.npz x.npy -o x.npz").fails_with(
        73,
        "error: x.npz: the output is the same file as the input x.npz\n\
         hint: choose another output; inputs are never overwritten",
    );
    assert!(!folder.names().contains(&"out.npz".to_owned()));
}

#[test]
fn a_base_that_cannot_be_searched_has_no_index() {
    let folder = Folder::new();
    folder.npy("nan.npy", 2, &[1.0, 2.0, f32::NAN, 0.0]);
    folder.npy("zero.npy", 2, &[1.0, 2.0, 0.0, 0.0]);
    // Nothing to wait for in a pipe or a folder.
    fs::create_dir(folder.path("folder.ann")).unwrap();
    folder
        .run("index search folder.ann nan.npy -o out.npz")
        .fails_with(66, "error: folder.ann: this is not a regular file");
    fs::remove_dir(folder.path("folder.ann")).unwrap();
    for bad in ["nan.npy", "zero.npy", "missing.npy"] {
        let run = folder.run(&format!("index build {bad} -o x.ann"));
        assert!(run.code.is_some_and(|code| code == 65 || code == 66), "{run:?}");
        assert!(run.stderr.starts_with(&format!("error: {bad}")), "{run:?}");
    }
    assert_eq!(folder.run("index build zero.npy -o zero.npy").code, Some(65));
    folder.npy("x.npy", 2, &[1.0, 2.0, 3.0, 0.0]);
    assert_eq!(folder.run("index build x.npy -o x.npy").code, Some(73));
    assert_eq!(folder.names(), ["nan.npy", "x.npy", "zero.npy"]);
}

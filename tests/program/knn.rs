//! `mnno knn`: the layouts, the exclusions, and what is written when.

use std::fs;
use std::io::Read;

use mnno::{Filter, Kernels};

use crate::run::{Folder, f64s, i64s, noise, parse_npy, read_npy};

/// Three points on a line at 0, 1 and 3.
fn line() -> Folder {
    let folder = Folder::new();
    folder.npy("x.npy", 1, &[0.0, 1.0, 3.0]);
    folder
}

#[test]
fn npz_holds_indices_and_scores() {
    let folder = line();
    let run = folder.run("knn x.npy -k 2 --metric euclidean -o out.npz");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    assert!(run.stdout.contains("wrote out.npz: indices, 3 x 2 i64\nwrote out.npz: scores, 3 x 2 f64"), "{run:?}");
    let mut zip = zip::ZipArchive::new(fs::File::open(folder.path("out.npz")).unwrap()).unwrap();
    let mut member = |name| {
        let mut bytes = Vec::new();
        zip.by_name(name).unwrap().read_to_end(&mut bytes).unwrap();
        parse_npy(&bytes)
    };
    let (shape, indices) = member("indices.npy");
    assert_eq!((shape, i64s(&indices)), (vec![3, 2], vec![1, 2, 0, 2, 1, 0]));
    let (shape, scores) = member("scores.npy");
    assert_eq!((shape, f64s(&scores)), (vec![3, 2], vec![1.0, 3.0, 1.0, 2.0, 2.0, 3.0]));
    // The output is an input of its own, used in place.
    let json = folder.run("inspect out.npz::scores --json").json();
    assert_eq!((&json["inputs"][0]["dtype"], &json["inputs"][0]["rows"]), (&"f64".into(), &3.into()));
}

#[test]
fn npy_pair_pads_with_minus_one_and_the_worst_score() {
    let folder = line();
    let run = folder.run("knn x.npy -k 4 --metric l2 -o out.npy");
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stdout.contains("6 places without a candidate: index -1 and the worst score."), "{run:?}");
    let (shape, indices) = read_npy(&folder.path("out.indices.npy"));
    assert_eq!((shape, i64s(&indices)), (vec![3, 4], vec![1, 2, -1, -1, 0, 2, -1, -1, 1, 0, -1, -1]));
    let (_, scores) = read_npy(&folder.path("out.scores.npy"));
    assert_eq!(f64s(&scores)[..4], [1.0, 9.0, f64::INFINITY, f64::INFINITY]);
    assert_eq!(folder.names(), ["out.indices.npy", "out.scores.npy", "x.npy"]);
}

#[test]
fn vecs_and_bin_pairs_and_csv() {
    let folder = line();
    for out in ["a.ivecs", "b.ibin", "c.csv"] {
        assert_eq!(folder.run(&format!("knn x.npy -k 1 --metric l2 -o {out}")).code, Some(0), "{out}");
    }
    let words = |name: &str| -> Vec<u32> {
        fs::read(folder.path(name)).unwrap().as_chunks().0.iter().map(|&b| u32::from_le_bytes(b)).collect()
    };
    assert_eq!(words("a.ivecs"), [1, 1, 1, 0, 1, 1]);
    assert_eq!(words("a.scores.fvecs"), [1, 1f32.to_bits(), 1, 1f32.to_bits(), 1, 4f32.to_bits()]);
    assert_eq!(words("b.ibin"), [3, 1, 1, 0, 1]);
    assert_eq!(words("b.scores.fbin"), [3, 1, 1f32.to_bits(), 1f32.to_bits(), 4f32.to_bits()]);
    let text = fs::read_to_string(folder.path("c.csv")).unwrap();
    assert_eq!(text, "query,rank,index,score\n0,1,1,1\n1,1,0,1\n2,1,1,4\n");
}

#[test]
fn self_is_included_on_request_and_distance_is_one_minus_similarity() {
    let folder = Folder::new();
    folder.npy("x.npy", 2, &[1.0, 0.0, 0.0, 2.0, 1.0, 1.0]);
    assert_eq!(folder.run("knn x.npy -k 1 --self include --distance -o out.npy").code, Some(0));
    assert_eq!(i64s(&read_npy(&folder.path("out.indices.npy")).1), [0, 1, 2]);
    assert_eq!(f64s(&read_npy(&folder.path("out.scores.npy")).1), [0.0; 3]);
    folder
        .run("knn x.npy --metric ip --distance -o out.npy")
        .fails_with(2, "error: --distance turns cosine similarities into distances; the metric is ip");
}

/// The filter only proposes: the lists are the same bytes, and how each search was done is said on request.
#[test]
fn filters_change_no_byte_and_are_named_on_request() {
    let folder = Folder::new();
    folder.npy("x.npy", 5, &noise(5 * 300, 4));
    let quiet = folder.run("knn x.npy -o out.npz");
    assert_eq!((quiet.code, quiet.stderr.as_str()), (Some(0), ""));
    let lists = fs::read(folder.path("out.npz")).unwrap();
    for filter in ["auto", "bf16", "int8", "f32"] {
        let run = folder.run(&format!("knn x.npy -o out.npz --filter {filter} --verbose"));
        let kernels = Kernels::detect();
        if filter.parse().is_ok_and(|filter| !Filter::available(kernels).contains(&filter)) {
            let tier = kernels.tier();
            run.fails_with(
                2,
                &format!(
                    "error: --filter {filter}: the SIMD tier {tier} has no such filter\n\
                     hint: leave the choice to mnno: --filter auto"
                ),
            );
            continue;
        }
        assert_eq!((run.code, &run.stdout), (Some(0), &quiet.stdout), "{filter}: {run:?}");
        assert!(run.stderr.starts_with("note: search: ") && run.stderr.lines().count() == 2, "{filter}: {run:?}");
        assert!(run.stderr.ends_with("note: search: each pair of rows is looked at once\n"), "{run:?}");
        assert!(filter == "auto" || run.stderr.contains(filter), "{run:?}");
        assert!(fs::read(folder.path("out.npz")).unwrap() == lists, "{filter}");
    }
    let run = folder.run("compare x.npy x.npy --filter f32 --verbose");
    assert_eq!((run.code, run.stderr.matches("note: x.npy: each pair of rows").count()), (Some(0), 2), "{run:?}");
    let run = folder.run("knn x.npy --queries x.npy -o out.npz --verbose");
    assert!(run.stderr.ends_with("note: search: the base is searched in 1 panel\n"), "{run:?}");
}

#[test]
fn queries_ask_another_base() {
    let folder = line();
    folder.npy("q.npy", 1, &[2.9, -5.0]);
    let json = folder.run("knn x.npy --queries q.npy -k 3 --metric euclidean -o out.npy --json").json();
    assert_eq!(i64s(&read_npy(&folder.path("out.indices.npy")).1), [2, 1, 0, 0, 1, 2]);
    assert_eq!(json["outputs"][0]["shape"], serde_json::json!([2, 3]));
    assert_eq!(json["conventions"]["self"], serde_json::Value::Null);
    assert_eq!(json["inputs"].as_array().unwrap().len(), 2);
}

#[test]
fn rows_that_share_a_label_are_left_out() {
    let folder = line();
    folder.write("labels.txt", "a\na b\nb\n");
    let run = folder.run("knn x.npy -k 1 --metric euclidean --labels labels.txt --exclude-same-label -o out.npy");
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(i64s(&read_npy(&folder.path("out.indices.npy")).1), [2, -1, 0]);
}

#[test]
fn dropped_zero_rows_keep_their_place_and_are_in_no_list() {
    let folder = Folder::new();
    folder.npy("x.npy", 2, &[1.0, 0.0, 0.0, 0.0, 1.0, 0.1, 0.0, 1.0]);
    let json = folder.run("knn x.npy -k 2 --zero drop -o out.npy --json").json();
    assert_eq!(json["dropped_rows"], 1);
    assert_eq!(i64s(&read_npy(&folder.path("out.indices.npy")).1), [2, 3, -1, -1, 0, 3, 2, 0]);
    assert_eq!(f64s(&read_npy(&folder.path("out.scores.npy")).1)[2..4], [f64::NEG_INFINITY; 2]);
}

#[test]
fn the_same_bytes_from_run_to_run() {
    let folder = Folder::new();
    folder.npy("x.npy", 8, &noise(8 * 300, 5));
    let mut files = Vec::new();
    for threads in [1, 3] {
        assert_eq!(folder.run(&format!("knn x.npy -o out.npz --threads {threads}")).code, Some(0));
        files.push(fs::read(folder.path("out.npz")).unwrap());
    }
    assert_eq!(files[0], files[1]);
}

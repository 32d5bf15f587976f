//! Real data, found through `MNNO_DATA`. Reference values were computed with numpy in f64.

#![allow(unreachable_pub)] // a test has no outside

use std::path::PathBuf;

use crate::run::{Folder, Run};

pub fn data(file: &str) -> String {
    let folder = std::env::var_os("MNNO_DATA").expect("MNNO_DATA names the folder of real data");
    let path = PathBuf::from(folder).join(file);
    assert!(path.exists(), "{} is missing", path.display());
    path.to_str().expect("the path is UTF-8").to_owned()
}

fn compare(files: [&str; 2], options: &str) -> Run {
    let folder = Folder::new();
    folder.run(&format!("compare {} {} {options} --json", data(files[0]), data(files[1])))
}

fn six_decimals(run: &Run) -> String {
    format!("{:.6}", run.json()["results"][0]["value"].as_f64().unwrap())
}

/// Case I1: the test features of Collell & Moens (2018), with and without the row itself.
#[test]
#[ignore = "needs MNNO_DATA"]
fn i1_iapr_tc12_has_the_reference_values() {
    let files = ["collell2018_iaprtc/TS_lang_biGRU.csv", "collell2018_iaprtc/TS_vis_vgg128.csv"];
    for (metric, k, exclude, include) in [
        ("cosine", 10, "0.081600", "0.170642"),
        ("euclidean", 10, "0.067329", "0.157951"),
        ("cosine", 30, "0.135100", "0.161553"),
        ("euclidean", 30, "0.105776", "0.134523"),
    ] {
        let run = |more: &str| compare(files, &format!("--metric {metric} -k {k} --permutations 0 {more}"));
        let excluded = run("--self exclude");
        assert_eq!(six_decimals(&excluded), exclude, "{metric}, {k}");
        assert_eq!(six_decimals(&run("--preset collell2018")), include, "{metric}, {k}");
        assert_eq!(excluded.json()["results"][0]["n"], 1962);
    }
    let json = compare(files, "-k 10 --permutations 0").json();
    assert_eq!(json["inputs"][0]["tied_at_k"], 19);
}

#[test]
#[ignore = "needs MNNO_DATA"]
fn wordnet_nouns_have_the_reference_value() {
    let run = compare(["wn_nouns_10k/glove50_f32.npy", "wn_nouns_10k/gloss_minilm_f32.npy"], "--rows 0..9251");
    assert_eq!(six_decimals(&run), "0.094444");
    // 855 of the glosses repeat.
    assert!(run.json()["inputs"][1]["tied_at_k"].as_u64().unwrap() > 0);
}

#[test]
#[ignore = "needs MNNO_DATA"]
fn imagenet_pairs_have_the_reference_value() {
    let run = compare(["imagenet1000_pairs/mobilenet_v2_gap_f32.npy", "imagenet1000_pairs/minilm_gloss_f32.npy"], "");
    assert_eq!(six_decimals(&run)[..6], *"0.1568");
    // 23 labels hold unknown words only: zero vectors.
    let zeros = ["imagenet1000_pairs/glove50_label_mean_f32.npy", "imagenet1000_pairs/minilm_gloss_f32.npy"];
    let refused = compare(zeros, "");
    assert_eq!(refused.code, Some(65), "{refused:?}");
    assert!(refused.stderr.contains("(and 22 more)"), "{refused:?}");
    assert_eq!(compare(zeros, "--zero drop").json()["dropped_rows"], 23);
}

/// The published truth of bigann10k (u8, Euclidean) and of siftsmall: equal distances place by place.
#[test]
#[ignore = "needs MNNO_DATA"]
fn bigann_truth_is_found() {
    let folder = Folder::new();
    let (base, queries) = (data("ann_small/bigann10k_input_vectors.npy"), data("ann_small/bigann10k_queries.npy"));
    let run = folder.run(&format!("knn {base} --queries {queries} -k 100 --metric l2 -o out.npy"));
    assert_eq!(run.code, Some(0), "{run:?}");
    let truth = std::fs::read(data("ann_small/bigann10k_groundtruth.npy")).unwrap();
    let length = u16::from_le_bytes([truth[8], truth[9]]) as usize;
    let header = String::from_utf8_lossy(&truth[10..10 + length]).into_owned();
    assert!(header.contains("'<u8'") || header.contains("'<i8'"), "{header}");
    let truth = crate::run::i64s(&truth[10 + length..]);
    let found = crate::run::i64s(&crate::run::read_npy(&folder.path("out.indices.npy")).1);
    let scores = crate::run::f64s(&crate::run::read_npy(&folder.path("out.scores.npy")).1);
    assert_eq!(truth.len(), found.len());
    // Integers: ties are real, and the truth breaks some of them otherwise.
    for (list, (t, f)) in truth.chunks(100).zip(found.chunks(100)).enumerate() {
        for place in 0..100 {
            let tied = |at: usize| scores[list * 100 + at] == scores[list * 100 + place];
            let in_reach = f.iter().enumerate().any(|(at, index)| *index == t[place] && tied(at));
            let cut = tied(99);
            assert!(in_reach || cut, "query {list}, place {place}: {} instead of {}", f[place], t[place]);
        }
    }
}

#[test]
#[ignore = "needs MNNO_DATA"]
fn arrays_that_hung_or_broke_other_libraries_are_searched() {
    let folder = Folder::new();
    for file in ["cosine_hang.npy", "cosine_near_duplicates.npy"] {
        let run = folder.run(&format!("knn {} -k 5 --zero drop -o out.npz", data(&format!("ann_bug_cases/{file}"))));
        assert_eq!(run.code, Some(0), "{file}: {run:?}");
    }
}

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

/// The published truth of bigann10k (u8, squared Euclidean): the same distances, place by place. Its values are integers, so ties
/// are real, and the truth breaks some of them otherwise.
#[test]
#[ignore = "needs MNNO_DATA"]
fn bigann_truth_is_found() {
    let folder = Folder::new();
    let (base, queries) = (data("ann_small/bigann10k_input_vectors.npy"), data("ann_small/bigann10k_queries.npy"));
    let run = folder.run(&format!("knn {base} --queries {queries} -k 100 --metric l2 -o out.npy"));
    assert_eq!(run.code, Some(0), "{run:?}");
    let scores = crate::run::f64s(&crate::run::read_npy(&folder.path("out.scores.npy")).1);
    let read = |path: &str| crate::run::parse_npy(&std::fs::read(path).unwrap());
    let ((_, base), (_, queries)) = (read(&base), read(&queries));
    let (_, truth) = read(&data("ann_small/bigann10k_groundtruth.npy"));
    let truth = crate::run::i64s(&truth);
    assert_eq!(truth.len(), scores.len());
    for (place, (&index, &score)) in truth.iter().zip(&scores).enumerate() {
        let (q, b) = (&queries[place / 100 * 128..][..128], &base[usize::try_from(index).unwrap() * 128..][..128]);
        let distance: i64 = q.iter().zip(b).map(|(&x, &y)| (i64::from(x) - i64::from(y)).pow(2)).sum();
        assert_eq!(distance as f64, score, "query {}, place {}", place / 100, place % 100);
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

#[test]
#[ignore = "needs MNNO_DATA"]
fn approximate_neighbours_agree_with_exact_ones_within_the_interval() {
    let files = ["wn_nouns_10k/glove50_f32.npy", "wn_nouns_10k/gloss_minilm_f32.npy"];
    let mut last = 0.0;
    for ef in [11, 20, 64, 200] {
        let run = compare(files, &format!("--rows 0..9251 --permutations 0 --ann --ef {ef}"));
        let approximate = &run.json()["results"][0]["approximate"];
        let number = |value: &serde_json::Value| value.as_f64().unwrap();
        let [low, high] = [0, 1].map(|i| number(&approximate["exact_ci95"][i]));
        assert!((low..=high).contains(&0.094_444), "ef {ef}: {approximate}");
        let recall = number(&approximate["recall"][0]);
        assert!(recall >= last, "ef {ef}: {approximate}");
        last = recall;
    }
    assert!(last > 0.99, "{last}");
}

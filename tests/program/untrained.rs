//! `mnno experiment untrained`.

use serde_json::{Value, json};

use crate::real_data::data;
use crate::run::Folder;

/// Ratings of pairs that have no cosine are left out, before the map and behind it; both are told.
#[test]
fn untrained_tells_of_zero_vectors() {
    let folder = Folder::new();
    folder.write("v.txt", "sun 1 0\nday 0.9 0.2\nnil 0 0\nsea 0.4 0.9\n");
    folder.write("r.txt", "sun day 3\nsun nil 2\nsun sea 1\nday sea 0\n");
    folder.run("experiment untrained v.txt r.txt").fails_with(
        65,
        "error: v.txt: row 2 (from 0), 'nil', is a zero vector: it has no direction, so its cosine is undefined\n\
         hint: --zero drop leaves out its pairs",
    );
    let arguments = "experiment untrained v.txt r.txt --zero drop --maps nn-1 --activation relu --hidden 1 --runs 6";
    let text = folder.run(arguments).stdout;
    assert!(text.contains("r.txt, cosine: 1 pair dropped: zero vectors have no direction.\n"), "{text}");
    let json = folder.run(&format!("{arguments} --json")).json();
    let of = &json["results"][0];
    assert_eq!((&of["known"], &of["without_direction"]), (&4.into(), &1.into()));
    let runs: Vec<u64> = of["runs_without_direction"].as_array().unwrap().iter().map(|v| v.as_u64().unwrap()).collect();
    // One hidden unit of relu maps about half of the words to zero.
    assert!(runs.len() == 6 && runs.iter().all(|run| *run >= 1) && runs.iter().any(|run| *run > 1), "{runs:?}");
    let most = runs.iter().max().unwrap();
    assert!(
        text.contains(&format!("nn-1 r.txt, cosine: {} to {most} pairs dropped in a run", runs.iter().min().unwrap())),
        "{text}"
    );
    assert_eq!(json["results"][1]["runs_without_direction"], json!([0, 0, 0, 0, 0, 0]));
}

#[test]
fn a_row_beyond_f32_is_named() {
    let folder = Folder::new();
    folder.write("v.txt", "idle 1 1\nsun 1 0\nday 3e38 3e38\nsea 0.4 0.9\n");
    folder.write("r.txt", "sun day 3\nsun sea 1\nday sea 0\n");
    folder.run("experiment untrained v.txt r.txt --maps lin").fails_with(
        65,
        "error: v.txt: row 2 (from 0), 'day', is mapped to values beyond f32\n\
         hint: scale the vectors down: divide all by one number",
    );
}

#[test]
fn untrained_maps_keep_similarities() {
    let folder = Folder::new();
    // Words on a fan, so that similarity to the first falls.
    let vectors: String = (0..9)
        .map(|i| (i, f64::from(i) / 4.0))
        .fold(String::new(), |text, (i, angle)| text + &format!("w{i} {} {}\n", angle.cos(), angle.sin()));
    folder.write("v.txt", vectors);
    folder
        .write("r.txt", (1..9).fold(String::new(), |text, i| text + &format!("w0 w{i} {}\n", 9 - i)) + "w0 blimp 4\n");
    folder.write("same.txt", "w0 w1 5\nw2 w3 5\n");
    let arguments = "experiment untrained v.txt r.txt same.txt --runs 4 --dims 300 --hidden 200";
    let json = folder.run(&format!("{arguments} --json")).json();
    let results = json["results"].as_array().unwrap();
    assert_eq!(results.len(), 8);
    for result in results.iter().filter(|result| result["file"] == "r.txt") {
        assert_eq!((&result["x"], &result["known"], &result["pairs"]), (&1.0.into(), &8.into(), &9.into()), "{result}");
        assert!(result["fx"].as_f64().unwrap() > 0.9, "{result}");
        assert_eq!(result["runs"].as_array().unwrap().len(), 4);
    }
    for result in results.iter().filter(|result| result["file"] == "same.txt") {
        assert_eq!((&result["x"], &result["fx"], &result["p"]), (&Value::Null, &Value::Null, &Value::Null));
        assert!(result["undefined"].as_str().unwrap().contains("constant"), "{result}");
    }
    assert_eq!(
        folder.run(&format!("{arguments} --threads 1 --json")).stdout,
        folder.run(&format!("{arguments} --threads 3 --json")).stdout
    );
    let text = folder.run(arguments).stdout;
    assert!(text.contains("200 hidden units (tanh; the paper does not state their number), 300 dimensions"), "{text}");
    assert!(text.contains("8/9"), "{text}");
    folder
        .run("experiment untrained v.txt r.txt --maps ridge")
        .fails_with(2, "error: --maps ridge: ridge regression is trained\nhint: choose lin, or nn-1 to nn-8");
}

/// A random linear map moves a correlation by 0.01 at most.
#[test]
#[ignore = "needs MNNO_DATA"]
fn random_linear_maps_keep_correlations_of_glove() {
    let folder = Folder::new();
    let vectors = format!("{} --names {}", data("wn_nouns_10k/glove50_f32.npy"), data("wn_nouns_10k/rows.tsv"));
    let ratings = ["EN-WS-353-ALL", "EN-MEN-TR-3k", "EN-SIMLEX-999", "EN-SimVerb-3500"];
    let ratings = ratings.map(|name| data(&format!("wordsim/{name}.txt"))).join(" ");
    let json = folder.run(&format!("experiment untrained {vectors} --maps lin {ratings} --json")).json();
    let results = json["results"].as_array().unwrap();
    assert_eq!(results.len(), 8);
    for result in results {
        let change = result["fx"].as_f64().unwrap() - result["x"].as_f64().unwrap();
        assert!(change.abs() <= 0.01, "{result}");
    }
}

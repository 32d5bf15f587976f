//! `mnno compare`.

use std::fs;

use crate::run::{Folder, noise, root};

fn words() -> Folder {
    let folder = Folder::new();
    for file in ["glove50.npy", "gloss384.npy"] {
        fs::copy(root().join("fixtures/words").join(file), folder.path(file)).unwrap();
    }
    folder
}

/// The README's main job. The value is that of an independent f64 implementation (`tools/reference_mnno.py`).
#[test]
fn the_fixture_has_its_reference_value() {
    let json = words().run("compare glove50.npy gloss384.npy -k 10 --json").json();
    let result = &json["results"][0];
    assert_eq!(format!("{:.6}", result["value"].as_f64().unwrap()), WORDS_COSINE_10);
    assert_eq!(result["by_k"].as_array().unwrap().len(), 10);
    assert_eq!(result["by_k"][9], result["value"]);
    assert_eq!((&result["n"], &result["k"], &result["measure"]), (&2000.into(), &10.into(), &"mnno".into()));
    assert_eq!((&result["a"], &result["b"]), (&0.into(), &1.into()));
    assert_eq!(result["chance"].as_f64().unwrap(), 10.0 / 1999.0);
    assert_eq!(result["p"].as_f64().unwrap(), 1.0 / 1000.0);
    let conventions = &json["conventions"];
    assert_eq!(conventions["metric"], "cosine");
    assert_eq!(conventions["self"], "exclude");
    assert_eq!(conventions["ties"], "lower-index");
    let input = &json["inputs"][1];
    assert_eq!(
        (&input["path"], &input["format"], &input["dtype"]),
        (&"gloss384.npy".into(), &"npy".into(), &"f32".into())
    );
    assert_eq!((&input["rows"], &input["dims"]), (&2000.into(), &384.into()));
    assert!(input["fingerprint"].as_str().unwrap().starts_with("xxh3:"));
    assert!(input["tied_at_k"].is_u64());
}

const WORDS_COSINE_10: &str = "0.133700";

#[test]
fn threads_tiers_and_reading_change_no_byte() {
    let folder = words();
    let arguments = "compare glove50.npy gloss384.npy --rows 0..700 -k 7 --metric euclidean --json";
    let expected = folder.run(arguments);
    assert_eq!(expected.code, Some(0), "{expected:?}");
    for tier in mnno::Kernels::available() {
        let run = folder.command(&format!("{arguments} --threads 1")).env("MNNO_SIMD", tier.tier().name()).finish();
        assert_eq!(run.stdout, expected.stdout, "{}", tier.tier());
    }
    for more in ["--threads 3", "--io read"] {
        let run = folder.run(&format!("{arguments} {more}"));
        let as_expected = |text: &str| text.replace("converted block by block", "used in place");
        assert_eq!(as_expected(&run.stdout), as_expected(&expected.stdout), "{more}");
    }
}

#[test]
fn every_pair_is_compared_and_the_order_of_files_does_not_matter() {
    let folder = Folder::new();
    for (name, d, seed) in [("x.npy", 3, 1), ("y.npy", 4, 2), ("z.npy", 5, 3)] {
        folder.npy(name, d, &noise(60 * d, seed));
    }
    let json = folder.run("compare x.npy y.npy z.npy -k 5 --json").json();
    let pairs: Vec<_> = json["results"].as_array().unwrap().iter().map(|r| (r["a"].clone(), r["b"].clone())).collect();
    assert_eq!(pairs, [(0.into(), 1.into()), (0.into(), 2.into()), (1.into(), 2.into())]);
    let turned = folder.run("compare z.npy y.npy -k 5 --json").json();
    assert_eq!(turned["results"][0]["value"], json["results"][2]["value"]);
}

#[test]
fn text_states_conventions_values_and_files() {
    let folder = Folder::new();
    folder.npy("x.npy", 2, &noise(40, 1));
    folder.npy("y.npy", 3, &noise(60, 2));
    let run = folder.run("compare x.npy y.npy -k 3 --per-row rows.csv");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    for part in [
        "[0] x.npy: 20 x 2 f32, npy, used in place, xxh3:",
        "[1] y.npy: 20 x 3 f32, npy, used in place, xxh3:",
        "cosine, self excluded, ties by lower index; 20 rows each, 3 neighbours per row",
        "mNNO    chance",
        "[0] and [1]",
        "wrote rows.csv: ",
    ] {
        assert!(run.stdout.contains(part), "'{part}' is not in\n{}", run.stdout);
    }
}

#[test]
fn per_row_counts_add_up() {
    let folder = Folder::new();
    folder.write("x.csv", "name,a,b\na,1,2\nb,2,1\n\"c, d\",3,3\ne,-1,4\n");
    folder.npy("y.npy", 2, &noise(8, 7));
    let json = folder.run("compare x.csv y.npy -k 2 --per-row out.csv --json").json();
    let text = fs::read_to_string(folder.path("out.csv")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "row,name,shared_0_1");
    assert!(lines[3].starts_with("2,\"c, d\","), "{text}");
    let total: u32 = lines[1..].iter().map(|l| l.rsplit(',').next().unwrap().parse::<u32>().unwrap()).sum();
    assert_eq!(f64::from(total) / 8.0, json["results"][0]["value"].as_f64().unwrap());
}

#[test]
fn the_preset_sets_the_self_rule_and_nothing_else() {
    let folder = Folder::new();
    folder.npy("x.npy", 2, &noise(40, 1));
    folder.npy("y.npy", 2, &noise(40, 2));
    let preset = folder.run("compare x.npy y.npy -k 4 --preset collell2018 --json").json();
    let include = folder.run("compare x.npy y.npy -k 4 --self include --json").json();
    assert_eq!(preset["results"], include["results"]);
    assert_eq!(preset["conventions"]["self"], "include");
    assert_eq!(preset["conventions"]["metric"], "cosine");
    assert_eq!(preset["results"][0]["chance"].as_f64().unwrap(), (1.0 + 9.0 / 19.0) / 4.0);
}

#[test]
fn a_single_row_has_a_value_but_no_interval() {
    let folder = Folder::new();
    folder.npy("x.npy", 2, &noise(2, 1));
    let result = folder.run("compare x.npy x.npy -k 1 --self include --json").json()["results"][0].clone();
    assert_eq!((&result["value"], &result["chance"], &result["p"]), (&1.0.into(), &1.0.into(), &1.0.into()));
    assert_eq!((&result["std_error"], &result["ci95"]), (&serde_json::Value::Null, &serde_json::json!([null, null])));
}

#[test]
fn zero_rows_are_dropped_from_every_file_on_request() {
    let folder = Folder::new();
    let (mut x, mut y) = (noise(40, 1), noise(60, 2));
    x[10..12].fill(0.0);
    y[27..30].fill(0.0);
    folder.npy("x.npy", 2, &x);
    folder.npy("y.npy", 3, &y);
    let dropped = folder.run("compare x.npy y.npy -k 3 --zero drop --json").json();
    assert_eq!((&dropped["dropped_rows"], &dropped["results"][0]["n"]), (&2.into(), &18.into()));
    for (values, d) in [(&mut x, 2), (&mut y, 3)] {
        values.drain(9 * d..10 * d);
        values.drain(5 * d..6 * d);
    }
    folder.npy("x2.npy", 2, &x);
    folder.npy("y2.npy", 3, &y);
    let without = folder.run("compare x2.npy y2.npy -k 3 --json").json();
    assert_eq!(dropped["results"], without["results"]);
}

#[test]
fn many_ties_are_warned_of() {
    let folder = Folder::new();
    let coarse: Vec<f32> = noise(200, 1).iter().map(|v| v.round()).collect();
    folder.npy("x.npy", 2, &coarse);
    folder.npy("y.npy", 2, &noise(200, 2));
    let run = folder.run("compare x.npy y.npy -k 3 --metric euclidean");
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stderr.starts_with("note: x.npy: ") && run.stderr.contains("--ties random"), "{run:?}");
    let values: Vec<_> = (0..3)
        .map(|seed| {
            let arguments = format!("compare x.npy y.npy -k 3 --metric euclidean --ties random --seed {seed} --json");
            let (first, again) = (folder.run(&arguments).json(), folder.run(&arguments).json());
            assert_eq!(first, again);
            first["results"][0]["value"].as_f64().unwrap()
        })
        .collect();
    assert!(values.windows(2).any(|pair| pair[0] != pair[1]), "{values:?}");
}

#[test]
fn layers_of_one_array_are_spaces_of_their_own() {
    let folder = Folder::new();
    let values = noise(30 * 3 * 2, 4);
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    folder.write("layers.npy", crate::run::npy("<f4", "(30, 3, 2)", &bytes));
    for layer in 0..3 {
        let rows: Vec<f32> = (0..30).flat_map(|i| values[(i * 3 + layer) * 2..][..2].to_vec()).collect();
        folder.npy(&format!("{layer}.npy"), 2, &rows);
    }
    let layers = folder.run("compare layers.npy::* -k 4 --json").json();
    let files = folder.run("compare 0.npy 1.npy 2.npy -k 4 --json").json();
    assert_eq!(layers["results"], files["results"]);
    assert_eq!(layers["inputs"][2]["path"], "layers.npy::2");
    let two = folder.run("compare layers.npy::0 layers.npy::2 -k 4 --json").json();
    assert_eq!(two["results"][0]["value"], files["results"][1]["value"]);
}

/// With a beam of all rows nothing is missed.
#[test]
fn approximate_neighbours_are_told_of_with_what_they_miss() {
    let folder = Folder::new();
    folder.npy("x.npy", 6, &noise(300 * 6, 31));
    folder.npy("y.npy", 6, &noise(300 * 6, 32));
    for rule in ["exclude", "include"] {
        let exact = folder.run(&format!("compare x.npy y.npy --self {rule} --json")).json();
        let json = folder.run(&format!("compare x.npy y.npy --self {rule} --ann --ef 300 --json")).json();
        let (exact, found) = (&exact["results"][0], &json["results"][0]);
        assert_eq!((&found["value"], &found["p"]), (&exact["value"], &exact["p"]));
        let told = &found["approximate"];
        assert_eq!((&told["sampled_rows"], &told["recall"]), (&300.into(), &serde_json::json!([1.0, 1.0])));
        assert_eq!((&told["exact_estimate"], &told["exact_ci95"][0]), (&exact["value"], &exact["value"]));
        assert_eq!(exact["approximate"], serde_json::Value::Null);
    }
    let run = folder.run("compare x.npy y.npy --ann");
    assert!(run.stdout.contains("\n[0] and [1]: the table is of approximate lists, with recall "), "{run:?}");
    folder.run("compare x.npy y.npy --ef 5").fails_with(
        2,
        "error: the following required arguments were not provided:\n  --ann\n\n\
         Usage: mnno compare --ann --ef <COUNT> <FILE>...\n\nFor more information, try '--help'.",
    );
}

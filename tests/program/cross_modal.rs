//! `mnno experiment cross-modal`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::real_data::data;
use crate::run::{Folder, noise, npy};

/// Y depends on X, but not only; 150 rows.
fn folder() -> Folder {
    let folder = Folder::new();
    let (x, e) = (noise(150 * 8, 1), noise(150 * 5, 2));
    let y: Vec<f32> = (0..150 * 5).map(|i| x[i / 5 * 8 + i % 5] * x[i / 5 * 8] + 0.7 * e[i]).collect();
    folder.npy("x.npy", 8, &x);
    folder.npy("y.npy", 5, &y);
    folder
}

/// The paths in a folder of all files below it.
fn names(folder: &Path) -> Vec<String> {
    fn add(folder: &Path, inside: &str, all: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let name = format!("{inside}{}", entry.file_name().to_str().unwrap());
            if entry.file_type().unwrap().is_dir() {
                add(&entry.path(), &format!("{name}/"), all);
            } else {
                all.push(name);
            }
        }
    }
    let mut all = Vec::new();
    add(folder, "", &mut all);
    all
}

/// All files below a folder that nobody writes to, by their paths in it.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    names(folder).into_iter().map(|name| (name.clone(), fs::read(folder.join(name)).unwrap())).collect()
}

const SMALL: &str = "--learning-rate 0.01,0.001 --hidden 8,16 --epochs 6 -k 3,10";
const LINEAR: &str = "--maps lin --learning-rate 0.01,0.001 --epochs 6 -k 3,10";

fn row<'a>(json: &'a Value, of: &Value) -> &'a Value {
    let matches = |row: &&Value| of.as_object().unwrap().iter().all(|(key, value)| row[key] == *value);
    json["rows"].as_array().unwrap().iter().find(matches).unwrap_or_else(|| panic!("no row {of}"))
}

#[test]
fn results_have_the_stated_shape_in_every_file() {
    let folder = folder();
    let json =
        folder.run(&format!("experiment cross-modal x.npy y.npy -o out --maps lin,nn-1,ridge {SMALL} --json")).json();
    // 2 directions x 3 maps x 2 metrics x 2 k.
    assert_eq!(json["rows"].as_array().unwrap().len(), 24);
    let of = json!({"direction": "x->y", "map": "lin", "loss": "mse", "metric": "cosine", "self": "exclude", "k": 10});
    let found = row(&json, &of);
    for key in ["x_fx", "y_fx", "x_y", "p", "mse", "r2", "p_signed_rank"] {
        assert!(found[key].is_f64(), "{key} of {found}");
    }
    assert_eq!(found["chance"], 10.0 / 29.0);
    let back = row(&json, &json!({"direction": "y->x", "map": "ridge", "metric": "cosine", "k": 10}));
    assert_eq!(back["x_y"], found["x_y"]);
    assert_eq!(json["conventions"]["comparisons"], 24);
    let choice = &json["cells"][1]["choices"][0];
    assert!([0.01, 0.001].contains(&choice["point"]["learning_rate"].as_f64().unwrap()), "{choice}");

    let kept: Value = serde_json::from_slice(&fs::read(folder.path("out/results.json")).unwrap()).unwrap();
    assert_eq!(kept["rows"], json["rows"]);
    let csv = fs::read_to_string(folder.path("out/results.csv")).unwrap();
    assert!(
        csv.starts_with("direction,map,loss,metric,self,k,x_fx,y_fx,x_y,chance,tied_x,tied_y,tied_fx,p,p_signed_rank,mse,r2\nx->y,lin,mse,")
    );
    assert_eq!(csv.lines().count(), 25);
    // Rows are means of splits, which have a file of their own.
    let of_splits: Vec<&Value> = json["splits"].as_array().unwrap().iter().collect();
    assert_eq!(of_splits.len(), 5 * 24);
    for key in ["x_fx", "y_fx", "x_y", "chance"] {
        let matches = |of: &&&Value| ["direction", "map", "metric", "k"].iter().all(|name| of[*name] == found[*name]);
        let values: Vec<f64> = of_splits.iter().filter(matches).map(|of| of[key].as_f64().unwrap()).collect();
        let mean = values.iter().sum::<f64>() / 5.0;
        assert!(values.len() == 5 && (mean - found[key].as_f64().unwrap()).abs() < 1e-12, "{key}: {values:?}");
    }
    let splits = fs::read_to_string(folder.path("out/splits.csv")).unwrap();
    assert!(splits.starts_with(
        "direction,map,loss,metric,k,split,x_fx,y_fx,x_y,chance,tied_x,tied_y,tied_fx,mse,r2\nx->y,lin,mse,"
    ));
    assert_eq!(splits.lines().count(), 1 + 5 * 24);
    let markdown = fs::read_to_string(folder.path("out/table.md")).unwrap();
    assert!(markdown.contains("| x->y | nn-1 | mse | **0."), "{markdown}");
    let latex = fs::read_to_string(folder.path("out/table.tex")).unwrap();
    assert!(latex.contains("$X \\rightarrow Y$ & lin & mse & \\textbf{0."), "{latex}");
    assert!(latex.contains("$Y \\rightarrow X$ & chance & & \\multicolumn{2}{c}{0.103} &"), "{latex}");
    for name in ["x-to-y.lin.mse", "y-to-x.nn-1.mse"] {
        let curve = fs::read_to_string(folder.path(&format!("out/curves/{name}.csv"))).unwrap();
        assert_eq!(curve.lines().count(), 7);
        assert!(fs::read(folder.path(&format!("out/curves/{name}.png"))).unwrap().starts_with(b"\x89PNG"));
        assert!(fs::read_to_string(folder.path(&format!("out/curves/{name}.svg"))).unwrap().contains("</svg>"));
    }
    for output in json["outputs"].as_array().unwrap() {
        assert!(folder.path(output["path"].as_str().unwrap()).exists(), "{output}");
    }
}

#[test]
fn text_says_what_was_done() {
    let folder = folder();
    let run = |more: &str| {
        let run = folder.run(&format!("experiment cross-modal x.npy y.npy -o out {LINEAR} {more}"));
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
        run.stdout
    };
    let text = run("");
    for part in [
        "Self excluded, ties by lower index; 5 folds of 30 rows, neighbours within the fold, means over folds; chosen by test loss on \
         the folds that are reported, as in the paper.",
        "mNNO, cosine neighbours\n",
        "mNNO, euclidean neighbours\n",
        "x->y chance  ",
        "after Bonferroni over 8 pairs",
        "wrote out/results.json: results, json\n",
    ] {
        assert!(text.contains(part), "'{part}' is not in\n{text}");
    }
    assert!(run("--preset collell2018").contains("Self included (preset collell2018), "));
    assert!(run("--nested").contains("chosen by test loss on 5 folds within the training rows of each fold."));
}

#[test]
fn fixed_test_rows_are_tested_by_maps_of_several_seeds() {
    let folder = folder();
    let (tx, ty) = (noise(40 * 8, 5), noise(40 * 5, 6));
    folder.npy("tx.npy", 8, &tx);
    folder.npy("ty.npy", 5, &ty);
    let json = folder
        .run(&format!(
            "experiment cross-modal x.npy y.npy --test-x tx.npy --test-y ty.npy -o out --runs 3 {SMALL} --json"
        ))
        .json();
    assert_eq!(json["conventions"]["tested"], "40 test rows, means of 3 runs that differ in their seeds");
    assert_eq!(json["rows"][0]["chance"], 3.0 / 39.0);
    let compared = folder.run("compare tx.npy ty.npy -k 3 --permutations 0 --json").json();
    let (found, expected) = (&json["rows"][0]["x_y"], &compared["results"][0]["value"]);
    assert!((found.as_f64().unwrap() - expected.as_f64().unwrap()).abs() < 1e-12);
    // A closed form has no seed; it stands for every run all the same.
    let ridge = folder
        .run("experiment cross-modal x.npy y.npy --test-x tx.npy --test-y ty.npy -o ridge --runs 3 --maps ridge -k 3 --json")
        .json();
    let of_splits = |split: u64| -> Vec<&Value> {
        let splits = ridge["splits"].as_array().unwrap();
        splits.iter().filter(|of| of["split"] == split).map(|of| &of["y_fx"]).collect()
    };
    assert_eq!(of_splits(0).len(), 4);
    assert!(of_splits(0) == of_splits(1) && of_splits(1) == of_splits(2) && of_splits(3).is_empty());
}

#[test]
fn the_same_bytes_for_any_number_of_threads_and_without_training_again() {
    let folder = folder();
    let run = |out: &str, more: &str| {
        let losses = "--losses mse,cosine,max-margin,max-margin-target,hinge-rank --margin 1,5";
        let run = folder.run(&format!("experiment cross-modal x.npy y.npy -o {out} {losses} {SMALL} {more}"));
        assert_eq!(run.code, Some(0), "{run:?}");
        files(&folder.path(out))
    };
    let first = run("a", "--threads 1");
    assert!(first == run("b", "--threads 3"));
    // What is kept is not trained again: its files are those of the first run, by their times too.
    let time = |name: &str| fs::metadata(folder.path("a").join(name)).unwrap().modified().unwrap();
    let grid: Vec<&String> = first.keys().filter(|name| name.starts_with("grid/")).collect();
    // 2 directions x (lin 2, nn-1 4 points) x 5 folds x (3 losses and twice as many points of 2).
    assert_eq!(grid.len(), 2 * 6 * 5 * (3 + 2 * 2));
    let before: Vec<_> = grid.iter().map(|name| time(name)).collect();
    assert!(first == run("a", ""));
    assert_eq!(before, grid.iter().map(|name| time(name)).collect::<Vec<_>>());
    // Another rule about the row itself needs no other maps.
    run("a", "--self include");
    assert_eq!(before, grid.iter().map(|name| time(name)).collect::<Vec<_>>());
    // Another seed does.
    let other = run("a", "--seed 1");
    assert_eq!(other.keys().filter(|name| name.starts_with("grid/")).count(), 2 * grid.len());
}

#[test]
fn a_killed_search_goes_on_and_ends_with_the_same_bytes() {
    let folder = folder();
    let small = SMALL.replace("--epochs 6", "--epochs 40");
    let arguments = |out: &str| format!("experiment cross-modal x.npy y.npy -o {out} --maps nn-1 {small}");
    assert_eq!(folder.run(&arguments("whole")).code, Some(0));
    let expected = files(&folder.path("whole"));
    // By their names alone: a file that is being written has a hidden one, and is gone a moment later.
    let kept = || match folder.path("killed/grid") {
        grid if grid.exists() => names(&grid).iter().filter(|name| !name.contains(".mnno-")).count(),
        _ => 0,
    };
    let mut kills = 0;
    for least in [1, 7, 15] {
        let mut child = folder.command(&arguments("killed")).start();
        let started = Instant::now();
        while kept() < least && child.try_wait().unwrap().is_none() {
            assert!(started.elapsed() < Duration::from_mins(1), "nothing is kept");
            sleep(Duration::from_millis(1));
        }
        kills += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!folder.path("killed/results.json").exists() || kills == 0);
    }
    assert!(kills > 0, "the search ended before it could be killed");
    assert_eq!(folder.run(&arguments("killed")).code, Some(0));
    // A file that was being written when the kill came may stay, under its hidden name.
    let mut found = files(&folder.path("killed"));
    found.retain(|name, _| !name.contains(".mnno-"));
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (name, bytes) in expected {
        assert!(found[&name] == bytes, "{name} differs");
    }
}

#[test]
fn layers_of_a_file_share_no_trainings() {
    let folder = folder();
    let values: Vec<u8> = noise(150 * 2 * 8, 8).iter().flat_map(|v| v.to_le_bytes()).collect();
    folder.write("layers.npy", npy("<f4", "(150, 2, 8)", &values));
    let run = |layer: usize, out: &str| {
        let run = folder.run(&format!("experiment cross-modal layers.npy::{layer} y.npy -o {out} {LINEAR}"));
        assert_eq!(run.code, Some(0), "{run:?}");
        let without_grid = |(name, _): &(String, Vec<u8>)| !name.starts_with("grid/");
        files(&folder.path(out)).into_iter().filter(without_grid).collect::<BTreeMap<_, _>>()
    };
    let first = run(0, "both");
    let second = run(1, "both");
    assert!(first != second && second == run(1, "second"));
    // The same values by another way are the same trainings.
    let before = names(&folder.path("both/grid")).len();
    folder.npy("layer.npy", 8, &noise(150 * 2 * 8, 8).chunks(16).flat_map(|row| row[8..].to_vec()).collect::<Vec<_>>());
    assert_eq!(folder.run(&format!("experiment cross-modal layer.npy y.npy -o both {LINEAR}")).code, Some(0));
    assert_eq!(names(&folder.path("both/grid")).len(), before);
}

#[test]
fn other_classes_share_no_trainings_and_the_same_classes_do() {
    let folder = folder();
    let labels = |name: &str, end: &str, first: usize| {
        let lines = (0..150).fold(String::new(), |text, i| text + if i < first { "sea" } else { "sky" } + end);
        folder.write(name, lines);
    };
    labels("labels", "\n", 30);
    labels("spelled-otherwise", "\t\r\n", 30);
    labels("other", "\n", 31);
    let trainings = |labels: &str| {
        let run = folder.run(&format!(
            "experiment cross-modal x.npy y.npy {labels} --direction x-to-y --losses max-margin --margin 1 -o out {LINEAR}"
        ));
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
        names(&folder.path("out/grid")).len()
    };
    let counts = ["", "--labels labels", "--labels spelled-otherwise", "--labels other"].map(trainings);
    // Of 2 learning rates on 5 folds.
    assert_eq!(counts, [10, 20, 20, 30]);
}

#[test]
fn no_input_is_overwritten() {
    let folder = folder();
    fs::create_dir_all(folder.path("out/curves")).unwrap();
    for output in ["out/splits.csv", "out/table.tex", "out/curves/y-to-x.lin.mse.svg"] {
        fs::copy(folder.path("x.npy"), folder.path(output)).unwrap();
        let run = folder.run(&format!("experiment cross-modal {output} y.npy --format npy -o out {LINEAR}"));
        run.fails_with(
            73,
            &format!(
                "error: {output}: the output is the same file as the input {output}\n\
                 hint: choose another output; inputs are never overwritten"
            ),
        );
        fs::remove_file(folder.path(output)).unwrap();
    }
}

/// Rows that stand twice have neighbours at the same distance.
#[test]
fn ties_are_counted_in_each_space() {
    let folder = Folder::new();
    let rows = noise(60 * 4, 1);
    folder.npy("x.npy", 4, &rows);
    // Three rows each: with two neighbours no row is tied, with three every one.
    let thrice: Vec<f32> = (0..60).flat_map(|i| rows[i % 20 * 4..][..4].to_vec()).collect();
    folder.npy("thrice.npy", 4, &thrice);
    let arguments = "--maps ridge --direction x-to-y -o out --test-x thrice.npy --test-y x.npy --runs 2 --folds 2";
    let run = |k: usize| folder.run(&format!("experiment cross-modal x.npy x.npy {arguments} -k {k} --json")).json();
    for (k, tied) in [(2, 0.0), (3, 1.0)] {
        let json = run(k);
        for of in json["rows"].as_array().unwrap().iter().chain(json["splits"].as_array().unwrap()) {
            assert_eq!(
                (&of["tied_x"], &of["tied_y"], &of["tied_fx"]),
                (&tied.into(), &0.0.into(), &tied.into()),
                "{of}"
            );
        }
    }
    let text = folder.run(&format!("experiment cross-modal x.npy x.npy {arguments} -k 3")).stdout;
    assert!(
        text.contains("Up to 100.0 % of the test rows are tied across K in X or Y, and up to 100.0 % in f(X): "),
        "{text}"
    );
    let text = folder.run(&format!("experiment cross-modal x.npy x.npy {arguments} -k 2")).stdout;
    assert!(!text.contains("tied across"), "{text}");
}

#[test]
fn flags_that_do_nothing_are_told() {
    let folder = folder();
    let notes = |arguments: &str| {
        let run = folder.run(arguments);
        assert_eq!(run.code, Some(0), "{run:?}");
        run.stderr
    };
    let cross_modal = |more: &str| notes(&format!("experiment cross-modal x.npy y.npy -o out -k 3 {more}"));
    assert_eq!(
        cross_modal("--maps ridge --epochs 3 --runs 2"),
        "note: --epochs does nothing: ridge is computed in closed form, of the mse\n\
         note: --runs does nothing: without --test-x every fold is trained on once\n"
    );
    assert_eq!(
        cross_modal("--maps lin,ridge --epochs 3 --margin 2 --hidden 9 --lambda 1 --learning-rate 0.01"),
        "note: --hidden does nothing: no map has a hidden layer\n\
         note: --margin does nothing: only the max-margin losses have margins to choose from\n"
    );
    assert_eq!(cross_modal("--maps nn-1 --epochs 3 --hidden 9 --learning-rate 0.01"), "");
    let fit = |more: &str| notes(&format!("map fit x.npy y.npy -o m {more}"));
    assert_eq!(
        fit("--map ridge --loss cosine -k 3 --self include"),
        "note: --loss does nothing: ridge is computed in closed form, of the mse\n\
         note: -k does nothing: neighbours are searched with --mnno\n\
         note: --self does nothing: neighbours are searched with --mnno\n"
    );
    assert_eq!(
        fit("--map lin --dropout 0.5 --lambda 1 --epochs 1"),
        "note: --dropout does nothing: lin has no hidden layer\nnote: --lambda does nothing: only ridge has it\n"
    );
    assert_eq!(fit("--map nn-1 --dropout 0.5 --epochs 1 --mnno -k 3"), "");
}

#[test]
fn kept_trainings_that_were_changed_are_refused() {
    let folder = folder();
    let arguments = format!("experiment cross-modal x.npy y.npy -o out --direction x-to-y {LINEAR}");
    assert_eq!(folder.run(&arguments).code, Some(0));
    let name = files(&folder.path("out")).into_keys().find(|name| name.ends_with("fold-2.json")).unwrap();
    let text = fs::read_to_string(folder.path("out").join(&name)).unwrap();
    for broken in [
        "",
        "{}",
        &text[..text.len() / 2],
        &text.replace("\"fold\":2", "\"fold\":1"),
        &text.replace("[[", "[[1.0,1.0],["),
        // Another number of the same length.
        &text.replacen(".1", ".2", 1).replacen(".3", ".4", 1).replacen(".5", ".6", 1),
    ] {
        folder.write(&format!("out/{name}"), broken);
        let run = folder.run(&arguments);
        assert_eq!(run.code, Some(65), "{broken}");
        assert!(run.stderr.starts_with(&format!("error: out/{name}: ")), "{}", run.stderr);
        assert!(run.stderr.ends_with("remove it, and it is trained again\n"), "{}", run.stderr);
    }
    let path = folder.path("out").join(&name);
    // A training of the same point with another loss.
    assert_eq!(folder.run(&arguments.replace("--maps lin", "--maps lin --losses cosine")).code, Some(0));
    fs::copy(folder.path("out").join(name.replace(".mse", ".cosine")), &path).unwrap();
    let run = folder.run(&arguments);
    assert!(run.code == Some(65) && run.stderr.contains("its content has the hash "), "{run:?}");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(
        folder.run(&arguments).stderr.starts_with(&format!("error: out/{name}: is no file (x->y lin mse)\nhint: "))
    );
    fs::remove_dir(&path).unwrap();
    assert_eq!(folder.run(&arguments).code, Some(0));
    assert_eq!(fs::read_to_string(folder.path("out").join(&name)).unwrap(), text);
}

#[test]
fn what_cannot_be_done_is_told() {
    let folder = folder();
    folder.write("file", "");
    fs::create_dir_all(folder.path("taken/table.md")).unwrap();
    folder.npy("tiny.npy", 5, &noise(4 * 5, 1));
    folder.npy("zero.npy", 5, &[[0.0; 5].as_slice(), &noise(149 * 5, 3)].concat());
    for (arguments, code, message) in [
        (
            "x.npy y.npy -o out -k 30",
            2,
            "error: k = 30 neighbours are more than the 29 candidates that each of 30 rows has\n\
             hint: choose a smaller -k, or train and test on more rows",
        ),
        (
            "x.npy y.npy -o out -k 3 --losses mse,max-margin --batch 1",
            2,
            "error: --batch 1: max-margin takes negatives from the other rows of a batch\nhint: choose a larger --batch",
        ),
        ("x.npy y.npy -o out -k 0", 2, "error: k is 0: an overlap needs at least one neighbour"),
        (
            "tiny.npy tiny.npy -o out -k 1",
            2,
            "error: too few rows: 4, where 5 are needed\n\
             hint: give more rows; cross-validation takes a row for each of its --folds at least",
        ),
        (
            "x.npy y.npy -o file -k 3",
            73,
            "error: file: the folder of the results is no folder\nhint: name a folder with -o",
        ),
        (
            "x.npy y.npy -o taken -k 3",
            73,
            "error: taken/table.md: an output needs the name of a file, and this is a folder\nhint: name another folder with -o",
        ),
        (
            "x.npy zero.npy -o out -k 3",
            65,
            "error: zero.npy: row 0 (from 0) is a zero vector: it has no direction, so its cosine is undefined\n\
             hint: --zero drop leaves such rows out of every file",
        ),
        (
            "x.npy y.npy -o out -k 3 --learning-rate 1e30 --optimizer sgd --maps lin --epochs 2",
            65,
            "error: the loss is not finite at any point of the grid: the smallest learning rate is 1000000000000000000000000000000 \
             (x->y lin mse)\n\
             hint: choose a smaller --learning-rate; values far from 1 train better when they are scaled first",
        ),
    ] {
        let run = folder.run(&format!("experiment cross-modal {arguments}"));
        assert_eq!((run.code, run.stdout.as_str()), (Some(code), ""), "{arguments}: {run:?}");
        assert_eq!(run.stderr.trim_end(), message, "{arguments}");
    }
    let unknown = folder.run("experiment cross-modal x.npy y.npy -o out --maps nn-9");
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("expected lin, ridge, or nn-1 to nn-8"), "{}", unknown.stderr);
}

/// Values of an independent script (`tools/reference_ridge.py`), whose folds have other seeds.
#[test]
#[ignore = "needs MNNO_DATA"]
fn ridge_on_iapr_tc12_has_the_reference_values() {
    let (images, texts) = (data("collell2018_iaprtc/TS_vis_vgg128.csv"), data("collell2018_iaprtc/TS_lang_biGRU.csv"));
    for (lambda, expected) in [("1", [[0.39, 0.15], [0.40, 0.17]]), ("loo", [[0.43, 0.16], [0.45, 0.17]])] {
        let folder = Folder::new();
        let options = format!("--maps ridge --lambda {lambda} --json");
        let json = folder.run(&format!("experiment cross-modal {images} {texts} -o out {options}")).json();
        for (direction, expected) in ["x->y", "y->x"].into_iter().zip(expected) {
            let found = row(&json, &json!({"direction": direction, "metric": "cosine", "k": 10}));
            for (key, expected) in ["x_fx", "y_fx"].into_iter().zip(expected) {
                let found = found[key].as_f64().unwrap();
                assert!(
                    (found - expected).abs() <= 0.02,
                    "{direction}, lambda {lambda}, {key}: {found}, not {expected}"
                );
            }
        }
    }
}

/// The paper's finding, on its own features (the test file, in folds) and on those of Pereira et al.
#[test]
#[ignore = "needs MNNO_DATA"]
fn mapped_rows_keep_the_neighbours_of_their_inputs() {
    let folder = Folder::new();
    let wiki = |name: &str| data("wikipedia_pereira/raw_features.mat") + "::" + name;
    let (images, texts) = (data("collell2018_iaprtc/TS_vis_vgg128.csv"), data("collell2018_iaprtc/TS_lang_biGRU.csv"));
    let [x, y, tx, ty] = ["I_tr", "T_tr", "I_te", "T_te"].map(wiki);
    for (name, files) in
        [("iapr", format!("{images} {texts}")), ("wiki", format!("{x} {y} --test-x {tx} --test-y {ty}"))]
    {
        for rule in ["exclude", "include"] {
            let options = format!("-o {name} --learning-rate 0.001 --hidden 128 --epochs 15 --self {rule} --json");
            let json = folder.run(&format!("experiment cross-modal {files} {options}")).json();
            let rows = json["rows"].as_array().unwrap();
            assert_eq!(rows.len(), 24);
            for row in rows {
                assert!(
                    row["x_fx"].as_f64() > row["y_fx"].as_f64() && row["p"].as_f64() < Some(0.001),
                    "{name}: {row}"
                );
            }
        }
    }
}

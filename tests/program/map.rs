//! `mnno map fit` and `mnno map apply`.

use std::fs;

use serde_json::Value;

use crate::run::{Folder, noise, npy, read_npy, root};

const D: usize = 6;

fn f32s(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
}

/// X of 120 rows, and Y = (x0 + 2 x1 - 3, x2 - x3).
fn folder() -> Folder {
    let folder = Folder::new();
    let x = noise(120 * D, 1);
    let y: Vec<f32> = x.chunks(D).flat_map(|x| [x[0] + 2.0 * x[1] - 3.0, x[2] - x[3]]).collect();
    folder.npy("x.npy", D, &x);
    folder.npy("y.npy", 2, &y);
    folder
}

/// The largest difference of two npy files of f32.
fn difference(folder: &Folder, a: &str, b: &str) -> f32 {
    let ((shape, a), (other, b)) = (read_npy(&folder.path(a)), read_npy(&folder.path(b)));
    assert_eq!(shape, other);
    f32s(&a).iter().zip(f32s(&b)).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn what_is_fitted_is_applied() {
    let folder = folder();
    // As many steps as a linear relation needs, of every kind of map.
    for (options, largest) in [
        ("--map ridge --lambda 0", 1e-4),
        ("--map lin --epochs 300 --learning-rate 0.01", 0.05),
        ("--map nn-1 --hidden 64 --epochs 300 --learning-rate 0.003 --optimizer adam", 0.3),
        ("--map nn-3 --hidden 32 --epochs 300 --learning-rate 0.003 --optimizer adam --bias 0.1", 0.5),
    ] {
        let fit = folder.run(&format!("map fit x.npy y.npy -o m.safetensors {options} --json")).json();
        assert_eq!(fit["train_rows"], 120, "{fit}");
        let json = folder.run("map apply m.safetensors x.npy -o f.npy --json").json();
        assert_eq!((&json["map"]["map"], &json["outputs"][0]["path"]), (&fit["map"]["map"], &"f.npy".into()));
        let found = difference(&folder, "f.npy", "y.npy");
        assert!(found < largest, "{options}: {found}");
    }
}

#[test]
fn a_model_is_a_safetensors_file_with_a_description() {
    let folder = folder();
    let options = "--map nn-2 --hidden 5 --loss cosine --epochs 3 --seed 7 --activation tanh --init truncated-normal";
    let fit = folder.run(&format!("map fit x.npy y.npy -o m.safetensors {options} --json")).json();
    let bytes = fs::read(folder.path("m.safetensors")).unwrap();
    let length = u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
    assert_eq!(length % 8, 0);
    let header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    for (name, shape) in [
        ("layers.0.weight", vec![5, D]),
        ("layers.0.bias", vec![5]),
        ("layers.1.weight", vec![5, 5]),
        ("layers.2.weight", vec![2, 5]),
        ("layers.2.bias", vec![2]),
    ] {
        assert_eq!(header[name]["shape"], serde_json::json!(shape), "{header}");
        assert_eq!(header[name]["dtype"], "F32");
    }
    let description: Value = serde_json::from_str(header["__metadata__"]["mnno"].as_str().unwrap()).unwrap();
    assert_eq!(description, fit["map"]);
    assert_eq!(description["widths"], serde_json::json!([D, 5, 5, 2]));
    let batches = &description["training"]["batches"];
    assert_eq!((&batches["loss"], &batches["seed"], &batches["epochs"]), (&"cosine".into(), &7.into(), &3.into()));
    assert_eq!(description["x"]["fingerprint"], fit["inputs"][0]["fingerprint"]);
    // Its tensors are matrices like any others.
    let weights = folder.run("inspect m.safetensors::layers.0.weight --json").json();
    assert_eq!((&weights["inputs"][0]["rows"], &weights["inputs"][0]["dims"]), (&5.into(), &D.into()), "{weights}");
}

#[test]
fn the_same_bytes_for_any_number_of_threads_and_others_for_another_seed() {
    let folder = Folder::new();
    let (x, y) = (noise(300 * 20, 1), noise(300 * 200, 2));
    folder.npy("x.npy", 20, &x);
    folder.npy("y.npy", 200, &y);
    let model = |name: &str, more: &str| {
        let options = "--map nn-1 --hidden 150 --epochs 3 --dropout 0.25 --test-share 0.2 --mnno -k 5";
        let curve = format!("--curve {name}.csv --plot {name}.svg --plot {name}.png");
        let run = folder.run(&format!("map fit x.npy y.npy -o {name} {options} {curve} {more}"));
        assert_eq!(run.code, Some(0), "{run:?}");
        ["", ".csv", ".svg", ".png"].map(|end| fs::read(folder.path(&format!("{name}{end}"))).unwrap())
    };
    let one = model("a", "--threads 1");
    assert!(one == model("b", "--threads 2"));
    assert!(one == model("c", "--threads 5"));
    assert!(one[0] != model("d", "--seed 1")[0]);
    let curve = String::from_utf8(one[1].clone()).unwrap();
    assert!(curve.starts_with("epoch,train_loss,test_loss,train_x_fx,train_y_fx,test_x_fx,test_y_fx\n1,"), "{curve}");
    assert_eq!(curve.lines().count(), 4);
}

#[test]
fn names_stay_with_mapped_rows() {
    let folder = Folder::new();
    folder.write("x.csv", "name,a,b\nsun,1,2\nmoon,3,5\nsea,4,4\n");
    folder.write("y.csv", "name,a\nmoon,8\nsea,8\nsun,3\n");
    let run = folder.run("map fit x.csv y.csv -o m --map ridge --lambda 0 --join name");
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stdout.contains("ridge, 2 -> 1, lambda 0; leave-one-out error undefined\n"), "{}", run.stdout);
    let applied = folder.run("map apply m x.csv -o f.csv");
    assert_eq!(applied.code, Some(0), "{applied:?}");
    let mapped = fs::read_to_string(folder.path("f.csv")).unwrap();
    let values: Vec<(&str, f64)> = mapped
        .lines()
        .skip(1)
        .map(|l| l.split_once(',').unwrap())
        .map(|(name, v)| (name, v.parse().unwrap()))
        .collect();
    for (found, expected) in values.iter().zip([("sun", 3.0), ("moon", 8.0), ("sea", 8.0)]) {
        assert!(found.0 == expected.0 && (found.1 - expected.1).abs() < 1e-4, "{mapped}");
    }
    let unpaired = folder.run("map fit x.csv y.csv -o m2 --map ridge");
    assert_eq!(unpaired.code, Some(65));
    assert!(unpaired.stderr.contains("row 0 (from 0) is named 'moon', but in x.csv it is 'sun'"), "{unpaired:?}");
}

#[test]
fn what_cannot_be_trained_on_is_told() {
    let folder = folder();
    folder.npy("short.npy", 2, &noise(100, 1));
    folder.npy("wide.npy", D + 1, &noise(10 * (D + 1), 1));
    folder.npy("ten.npy", 2, &noise(20, 1));
    let constant: Vec<f32> = noise(240, 3).chunks(2).flat_map(|row| [row[0], 0.5]).collect();
    folder.npy("constant.npy", 2, &constant);
    folder.write("labels.txt", "a\nb\n");
    folder.write("one.txt", "a b\nc a\n".repeat(60));
    folder.write("nan.npy", npy("<f4", "(1, 2)", &[0, 0, 0xc0, 0x7f, 0, 0, 0, 0]));
    for (arguments, code, message) in [
        (
            "x.npy short.npy -o m",
            65,
            "error: short.npy: 50 rows, but x.npy has 120: rows are paired by position\n\
             hint: --rows A..B takes the same range of every file",
        ),
        (
            "x.npy y.npy --test-x wide.npy --test-y ten.npy -o m",
            65,
            "error: wide.npy: rows have 7 dimensions, but those of x.npy have 6\n\
             hint: test rows are of the same two spaces as X and Y, in this order",
        ),
        (
            "x.npy constant.npy -o m",
            65,
            "error: constant.npy: column 1 (from 0) is constant: 0.5 in each of 120 rows\n\
             hint: leave such columns out of the file; --constant keep trains with them all the same",
        ),
        (
            "x.npy y.npy --labels labels.txt --loss max-margin -o m",
            65,
            "error: labels.txt: 2 lines of labels for 120 rows of x.npy",
        ),
        (
            "x.npy nan.npy -o m",
            65,
            "error: nan.npy: row 0, column 0 (both from 0) is NaN\n\
             hint: remove or replace such rows; 'mnno inspect' counts them and shows the first",
        ),
        (
            "x.npy y.npy --optimizer sgd --learning-rate 1e30 -o m",
            65,
            "error: the loss is not finite in epoch 1 at learning rate 1000000000000000000000000000000\n\
             hint: choose a smaller --learning-rate; values far from 1 train better when they are scaled first",
        ),
        (
            "x.npy y.npy --patience 3 -o m",
            2,
            "error: --patience watches the test loss, and there are no rows to test on\n\
             hint: set some aside with --test-share 0.2, or give --test-x and --test-y",
        ),
        ("x.npy y.npy -o m --mnno -k 0", 2, "error: k is 0: an overlap needs at least one neighbour"),
        (
            "x.npy y.npy -o m --map ridge --rows 0..1",
            2,
            "error: too few rows: 1, where 2 are needed\nhint: give more rows",
        ),
        ("x.npy y.npy -o m --curve m", 2, "error: m: two outputs would be this file"),
        (
            "x.npy y.npy --labels one.txt --loss max-margin -o m",
            65,
            "error: one.txt: one label stands in each of 120 rows\n\
             hint: negatives of the margin losses are rows that share no label: give labels that differ, or none",
        ),
        ("x.npy y.npy --margin 2 -o m", 2, "error: --margin: the loss mse has none"),
        (
            "x.npy y.npy --test-share 0.05 --mnno -o m",
            2,
            "error: k = 10 neighbours are more than the 5 candidates that each of 6 rows has\n\
             hint: choose a smaller -k, or train and test on more rows",
        ),
        (
            "x.npy y.npy -o x.npy",
            73,
            "error: x.npy: the output is the same file as the input x.npy\n\
             hint: choose another output; inputs are never overwritten",
        ),
    ] {
        let run = folder.run(&format!("map fit {arguments}"));
        assert_eq!((run.code, run.stdout.as_str()), (Some(code), ""), "{arguments}: {run:?}");
        assert_eq!(run.stderr.trim_end(), message, "{arguments}");
    }
    assert!(!folder.path("m").exists());
    assert_eq!(folder.run("map fit x.npy constant.npy -o m --epochs 2 --constant keep").code, Some(0));
}

#[test]
fn rows_and_labels_are_told_in_the_report_and_in_the_model() {
    let folder = Folder::new();
    let rows = |values: &[f32], d: usize, skipped: usize| -> String {
        let row = |(i, row): (usize, &[f32])| {
            let cells: Vec<String> = row.iter().map(f32::to_string).collect();
            format!("w{i},{}\n", cells.join(","))
        };
        values.chunks(d).enumerate().skip(skipped).map(row).collect()
    };
    let x = format!("name,a,b,c\nzero,0,0,0\n{}", rows(&noise(20 * 3, 1), 3, 0));
    folder.write("x.csv", x);
    folder.write("y.csv", format!("name,a,b\nzero,1,2\n{}", rows(&noise(20 * 2, 2), 2, 4)));
    folder.write("labels", "sea\nsky\nroad\n".repeat(7));
    let arguments =
        "map fit x.csv y.csv --join name --zero drop --labels labels --loss max-margin --epochs 2 -o m.safetensors";
    let text = folder.run(arguments).stdout;
    for part in [
        "16 rows to train on, 0 to test on\n",
        "[x] 4 rows left out: not in every file under that name.\n1 row dropped from every file: zero in one of them.\n",
        "; labels of labels, xxh3:",
    ] {
        assert!(text.contains(part), "'{part}' is not in\n{text}");
    }
    let json = folder.run(&format!("{arguments} --json")).json();
    assert_eq!((&json["inputs"][0]["left_out"], &json["inputs"][1]["left_out"]), (&4.into(), &0.into()));
    assert_eq!(json["map"]["labels"], json["inputs"][0]["labels"]);
    assert_eq!(json["map"]["labels"]["path"], "labels");
    let applied = folder.run("map apply m.safetensors x.csv -o f.csv --json").json();
    assert_eq!(applied["map"]["labels"], json["map"]["labels"]);
}

#[test]
fn what_is_no_map_or_does_not_fit_is_told() {
    let folder = folder();
    folder.run("map fit x.npy y.npy -o m --map nn-1 --hidden 4 --epochs 2");
    folder.run("map fit x.npy y.npy -o lin --map ridge");
    folder.npy("wide.npy", D + 1, &noise(10 * (D + 1), 1));
    let wide = folder.run("map apply m wide.npy -o f.npy");
    wide.fails_with(65, "error: wide.npy: rows have 7 dimensions, but m maps 6 to 2\nhint: it was trained on x.npy");
    let model = fs::read(folder.path("m")).unwrap();
    let length = u64::from_le_bytes(*model.first_chunk().unwrap()) as usize;
    let mut broken = model.clone();
    broken[8 + length + 4..][..4].copy_from_slice(&f32::NAN.to_le_bytes());
    folder.write("nan", &broken);
    let run = folder.run("map apply nan x.npy -o f.npy");
    run.fails_with(
        65,
        "error: nan: a weight or bias of layer 0 (from 0) is NaN\nhint: mnno map fit writes files of maps",
    );
    folder.write("cut", &model[..model.len() - 4]);
    assert_eq!(folder.run("map apply cut x.npy -o f.npy").code, Some(65));
    folder.run("map apply x.npy m -o f.npy").fails_with(
        65,
        "error: x.npy: the header declares its length as 379676406402707 bytes, but 3000 remain\n\
         hint: the map, a safetensors file of mnno map fit, comes before the rows; is this another file, or a damaged one?",
    );
    folder.run("convert x.npy x.safetensors");
    folder.run("map apply x.safetensors x.npy -o f.npy").fails_with(
        65,
        "error: x.safetensors: the file describes no map: its metadata have no entry 'mnno'\n\
         hint: mnno map fit writes files of maps",
    );
    // A description of other sizes than the tensors have.
    let text = String::from_utf8_lossy(&model[8..8 + length]).replace("[6,4,2]", "[6,5,2]");
    let mut other = model[..8].to_vec();
    other.extend(text.as_bytes());
    other.extend(&model[8 + length..]);
    folder.write("other", &other);
    folder.run("map apply other x.npy -o f.npy").fails_with(
        65,
        "error: other: tensor layers.0.weight is of shape [4, 6], but the description of the map asks for [5, 6]\n\
         hint: mnno map fit writes files of maps",
    );
    folder.npy("huge.npy", D, &[f32::MAX; D]);
    folder.run("map apply lin huge.npy -o f.npy").fails_with(
        65,
        "error: huge.npy: row 0 (from 0) is mapped to values beyond f32\nhint: lin was trained on rows of other magnitude",
    );
    let same = folder.run("map apply m x.npy -o m --to npy");
    assert_eq!(same.code, Some(73), "{same:?}");
    assert_eq!(fs::read(folder.path("m")).unwrap(), model);
    assert!(!folder.path("f.npy").exists());
}

#[test]
fn every_byte_of_a_model_is_checked_or_harmless() {
    let folder = folder();
    folder.run("map fit x.npy y.npy -o m --map lin --epochs 1");
    let model = fs::read(folder.path("m")).unwrap();
    let header = 8 + u64::from_le_bytes(*model.first_chunk().unwrap()) as usize;
    // The header in steps, so that the test takes seconds; values may change, but the program ends in order.
    for place in (0..header).step_by(7).chain(header..header + 8) {
        let mut broken = model.clone();
        broken[place] ^= 0x55;
        folder.write("broken", &broken);
        let run = folder.run("map apply broken x.npy -o f.npy");
        assert!(matches!(run.code, Some(0 | 65)), "byte {place}: {run:?}");
        assert_eq!(run.code == Some(0), run.stderr.is_empty(), "byte {place}: {run:?}");
    }
}

#[test]
fn early_stopping_says_whose_weights_it_keeps() {
    let folder = Folder::new();
    folder.npy("x.npy", 5, &noise(200, 1));
    folder.npy("y.npy", 5, &noise(200, 2));
    let options = "--hidden 100 --learning-rate 0.01 --epochs 200 --test-share 0.5 --patience 4";
    let json = folder.run(&format!("map fit x.npy y.npy -o m {options} --json")).json();
    let curve = json["curve"].as_array().unwrap();
    let loss = |epoch: &Value| epoch["test_loss"].as_f64().unwrap();
    let best = curve.iter().min_by(|a, b| loss(a).total_cmp(&loss(b))).unwrap()["epoch"].as_u64().unwrap();
    assert_eq!(json["map"]["training"]["batches"]["epochs"], best);
    assert_eq!(curve.len() as u64, best + 4);
}

#[test]
fn the_fixture_shows_the_phenomenon() {
    let folder = Folder::new();
    let words = root().join("fixtures/words");
    let (x, y) = (words.join("glove50.npy"), words.join("gloss384.npy"));
    let options = "--map lin --epochs 20 --learning-rate 0.001 --test-share 0.2 --mnno";
    let json = folder.run(&format!("map fit {} {} -o m {options} --json", x.display(), y.display())).json();
    let last = json["curve"].as_array().unwrap().last().unwrap().clone();
    let of = |name: &str| last[name].as_f64().unwrap();
    assert!(of("test_x_fx") > 2.0 * of("test_y_fx"), "{last}");

    // Ridge regression is measured on the same rows, once.
    let options = "--map ridge --test-share 0.2 --mnno --self include -k 5";
    let json = folder.run(&format!("map fit {} {} -o m {options} --json", x.display(), y.display())).json();
    let [line] = &json["curve"].as_array().unwrap()[..] else { panic!("{json}") };
    assert!(line["test_x_fx"].as_f64().unwrap() > line["test_y_fx"].as_f64().unwrap(), "{line}");
    assert!(line["test_loss"].as_f64().unwrap() > line["train_loss"].as_f64().unwrap(), "{line}");
    let chance = (1.0 + 4.0 * 4.0 / 399.0) / 5.0;
    assert!((json["neighbours"]["chance"].as_f64().unwrap() - chance).abs() < 1e-12, "{json}");
}

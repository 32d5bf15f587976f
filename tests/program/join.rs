//! `mnno compare --join name`, and what is said without it.

use std::fmt::Write;

use crate::run::{Folder, noise};

/// A CSV of named rows.
fn csv(folder: &Folder, file: &str, rows: &[(&str, [f32; 2])]) {
    let mut text = "name,0,1\n".to_owned();
    for (name, [a, b]) in rows {
        writeln!(text, "{name},{a},{b}").unwrap();
    }
    folder.write(file, text);
}

/// Rows named `w0`, `w1`, .. with seeded values.
fn rows(count: usize, seed: u64) -> Vec<(String, [f32; 2])> {
    noise(2 * count, seed).as_chunks().0.iter().enumerate().map(|(i, &v)| (format!("w{i}"), v)).collect()
}

fn write(folder: &Folder, file: &str, rows: &[(String, [f32; 2])]) {
    csv(folder, file, &rows.iter().map(|(name, v)| (name.as_str(), *v)).collect::<Vec<_>>());
}

/// Shuffled, with strangers between them, the rows give the result of the files in order.
#[test]
fn rows_are_paired_by_name_whatever_their_order() {
    let folder = Folder::new();
    let (x, y, z) = (rows(40, 1), rows(40, 2), rows(40, 3));
    write(&folder, "x.csv", &x);
    write(&folder, "y.csv", &y);
    write(&folder, "z.csv", &z);
    let expected = folder.run("compare x.csv y.csv z.csv -k 5 --metric euclidean --json").json();

    let mut shuffled: Vec<_> = (0..40).map(|i| y[(i * 7 + 3) % 40].clone()).collect();
    shuffled.insert(0, ("only here".to_owned(), [9.0, 9.0]));
    shuffled.insert(20, ("nor here".to_owned(), [0.0, 0.0]));
    write(&folder, "shuffled.csv", &shuffled);
    let mut more = z.clone();
    more.reverse();
    more.push(("x".to_owned(), [1.0, 1.0]));
    write(&folder, "more.csv", &more);
    let arguments = "compare x.csv shuffled.csv more.csv -k 5 --metric euclidean --join name";
    let joined = folder.run(&format!("{arguments} --json")).json();
    assert_eq!(joined["results"], expected["results"]);
    assert_eq!(joined["conventions"]["join"], "name");
    let left_out: Vec<_> = joined["inputs"].as_array().unwrap().iter().map(|i| i["left_out"].clone()).collect();
    assert_eq!(left_out, [0, 2, 1]);
    assert!(expected["inputs"][0].get("left_out").is_none() && expected["conventions"].get("join").is_none());

    let text = folder.run(arguments).stdout;
    assert!(
        text.contains("euclidean, self excluded, ties by lower index, rows joined by name; 40 rows each"),
        "{text}"
    );
    assert!(text.contains("[1] 2 rows left out: not in every file under that name.\n"), "{text}");
    assert!(text.contains("[2] 1 row left out: ") && !text.contains("[0] 0"), "{text}");
}

/// `--per-row` tells rows by the numbers and names of the first file.
#[test]
fn rows_keep_the_numbers_of_the_first_file() {
    let folder = Folder::new();
    csv(&folder, "x.csv", &[("a", [1.0, 0.0]), ("b", [0.0, 1.0]), ("c", [1.0, 1.0]), ("d", [2.0, 1.0])]);
    csv(&folder, "y.csv", &[("d", [2.0, 1.0]), ("a", [1.0, 0.0]), ("c", [1.0, 1.0])]);
    assert_eq!(folder.run("compare x.csv y.csv -k 1 --join name --per-row out.csv").code, Some(0));
    let text = std::fs::read_to_string(folder.path("out.csv")).unwrap();
    assert_eq!(text, "row,name,shared_0_1\n0,a,1\n2,c,1\n3,d,1\n");
}

#[test]
fn zero_rows_count_only_where_they_are_joined() {
    let folder = Folder::new();
    let some = [("a", [1.0, 0.0]), ("b", [0.0, 1.0]), ("c", [1.0, 2.0])];
    csv(&folder, "x.csv", &some);
    csv(&folder, "y.csv", &[("stranger", [0.0, 0.0]), some[2], some[1], some[0]]);
    assert_eq!(folder.run("compare x.csv y.csv -k 1 --join name --json").json()["results"][0]["value"], 1.0);
    csv(&folder, "y.csv", &[("c", [0.0, 0.0]), some[1], some[0]]);
    let run = folder.run("compare x.csv y.csv -k 1 --join name");
    assert!(run.stderr.starts_with("error: y.csv: row 0 (from 0) is a zero vector: "), "{run:?}");
    let json = folder.run("compare x.csv y.csv -k 1 --join name --zero drop --json").json();
    assert_eq!((&json["dropped_rows"], &json["results"][0]["n"]), (&1.into(), &2.into()));
}

/// Case A6 (facebookresearch/MUSE#139) and the features of the 2018 paper, whose names repeat: where the order tells which
/// row is meant they are joined, and nowhere else.
#[test]
fn repeated_names_are_joined_only_if_the_order_agrees() {
    let folder = Folder::new();
    let [a, b, c] = [("q", [1.0, 0.0]), ("q", [0.0, 1.0]), ("r", [1.0, 3.0])];
    csv(&folder, "x.csv", &[a, b, c]);
    csv(&folder, "y.csv", &[a, ("s", [5.0, 5.0]), b, c]);
    let json = folder.run("compare x.csv y.csv -k 1 --join name --json").json();
    assert_eq!((&json["results"][0]["n"], &json["inputs"][1]["left_out"]), (&3.into(), &1.into()));
    csv(&folder, "y.csv", &[a, c, b]);
    folder.run("compare x.csv y.csv -k 1 --join name").fails_with(
        65,
        "error: x.csv: rows 0 and 1 (from 0) are both named 'q', and the files differ in order: the name does not tell which is \
         meant\nhint: give every row a name of its own, or bring the files into the same order",
    );
}

#[test]
fn what_cannot_be_joined_is_said() {
    let folder = Folder::new();
    csv(&folder, "x.csv", &[("a", [1.0, 0.0]), ("b", [0.0, 1.0]), ("c", [1.0, 1.0])]);
    csv(&folder, "y.csv", &[("c", [1.0, 0.0]), ("d", [0.0, 1.0])]);
    csv(&folder, "z.csv", &[("A", [1.0, 0.0]), ("B", [0.0, 1.0])]);
    folder.npy("n.npy", 2, &noise(6, 1));
    folder.run("compare x.csv n.npy -k 1 --join name").fails_with(
        2,
        "error: n.npy: the file has no row names to join by\n\
         hint: names are in CSV, TSV and word-vector files; without --join rows are paired by position",
    );
    folder.run("compare x.csv z.csv -k 1 --join name").fails_with(
        65,
        "error: no row name is in every file: the names of x.csv begin with 'a', those of z.csv with 'A'",
    );
    folder
        .run("compare x.csv y.csv -k 1 --join name")
        .fails_with(2, "error: 1 row to compare: a row finds its neighbours among others");
    folder.run("compare x.csv y.csv -k 1").fails_with(
        65,
        "error: y.csv: 2 rows, but x.csv has 3: rows are paired by position\n\
         hint: --join name pairs rows of the same name; --rows A..B takes the same range of every file",
    );
}

//! `mnno words`.

use serde_json::{Value, json};

use crate::real_data::data;
use crate::run::{Folder, root};

/// Six words on a fan, so that `sun` is less and less like those that follow it, under either similarity.
const VECTORS: &str = "sun 1 0\nday 0.9 0.2\nmoon 0.7 0.5\nsea 0.4 0.9\nland -0.2 1\ncave -1 0.3\n";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("vectors.txt", VECTORS);
    folder
}

fn spearman(json: &Value) -> Vec<f64> {
    let results = json["results"].as_array().expect("results");
    results.iter().map(|r| (r["spearman"].as_f64().expect("a value") * 1e9).round() / 1e9).collect()
}

#[test]
fn similar_words_with_high_ratings_correlate() {
    let folder = folder();
    folder.write("same.txt", "sun day 9\nsun moon 7.5\nsun sea 3\nsun land 2\nsun cave 1e-1\n");
    folder.write("turned.txt", "sun day 1\nsun moon 2\nsun sea 3\nsun land 4\nsun cave 5\n");
    folder.write("swapped.txt", "day sun 9\nsea sun 7.5\nmoon sun 3\nland sun 2\ncave sun 1\n");
    let json = folder.run("words vectors.txt same.txt turned.txt swapped.txt --json").json();
    // One exchange of neighbouring ranks: 1 - 6 (1 + 1) / (5 (25 - 1)).
    assert_eq!(spearman(&json), [1.0, 1.0, -1.0, -1.0, 0.9, 0.9]);
    let result = &json["results"][1];
    assert_eq!((&result["file"], &result["similarity"]), (&"same.txt".into(), &"euclidean".into()));
    assert_eq!((&result["pairs"], &result["known"]), (&5.into(), &5.into()));
    assert_eq!((&json["command"], &json["conventions"]["unknown"]), (&"words".into(), &"drop".into()));
    assert_eq!((&json["inputs"][0]["rows"], &json["ratings"][0]["pairs"]), (&6.into(), &5.into()));
    assert!(json["ratings"][0]["fingerprint"].as_str().unwrap().starts_with("xxh3:"));
    let one = folder.run("words vectors.txt same.txt --similarity euclidean --json").json();
    assert_eq!(one["results"].as_array().unwrap().len(), 1);
    assert_eq!(one["results"][0], json["results"][1]);
}

#[test]
fn text_states_files_policy_values_and_coverage() {
    let folder = folder();
    folder.write("r.csv", "one,other,human\nsun,day,9\nSun,moon,7\nsun,sea,1\nsun,blimp,3\n");
    let run = folder.run("words vectors.txt r.csv");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    for part in [
        "vectors.txt: 6 x 2 f32, glove, ",
        "r.csv: 4 pairs, ratings 'human', 1 word known in lower case only, xxh3:",
        "words as written, else in lower case; pairs with an unknown word are dropped; equal values have average ranks",
        "       similarity  Spearman  known pairs\n",
        "r.csv      cosine  1.000000          3/4\n",
        "r.csv   euclidean  1.000000          3/4\n",
    ] {
        assert!(run.stdout.contains(part), "'{part}' is not in\n{}", run.stdout);
    }
}

/// Case D9: what becomes of an unknown word changes the value, so policy and coverage are told.
#[test]
fn d9_policies_for_unknown_words_are_told_with_the_coverage() {
    let folder = folder();
    folder.write("r.txt", "sun day 9\nsun blimp 5\nsun sea 3\nsun cave 1\n");
    let run = |more: &str| folder.run(&format!("words vectors.txt r.txt {more} --json")).json();
    let default = run("");
    assert_eq!(default["results"], run("--unknown drop")["results"]);
    assert_eq!((&default["results"][0]["known"], &default["results"][0]["pairs"]), (&3.into(), &4.into()));
    assert_eq!((default["results"][0]["compared"].as_u64(), spearman(&default)), (Some(3), vec![1.0, 1.0]));
    let zero = run("--unknown zero");
    assert_eq!(zero["conventions"]["unknown"], "zero");
    assert_eq!((&zero["results"][0]["known"], &zero["results"][0]["compared"]), (&3.into(), &4.into()));
    // Cosine: 0 lies between that of `sea` and that of `cave`. By distance nothing is as far as 0 is.
    assert_eq!(spearman(&zero), [0.8, 0.4]);
    // The mean of all rows is (0.3, 0.483): under both similarities between `sea` and `day`.
    let mean = run("--unknown mean");
    assert_eq!((&mean["conventions"]["unknown"], spearman(&mean)), (&"mean".into(), vec![1.0, 1.0]));
    assert_eq!((&mean["results"][0]["known"], &mean["results"][0]["compared"]), (&3.into(), &4.into()));
    let text = folder.run("words vectors.txt r.txt --unknown mean").stdout;
    assert!(text.contains("; an unknown word has the mean of all rows; ") && text.contains(" 3/4\n"), "{text}");
}

/// Case D8: similarities of rescalings of one row are equal, whatever rounding makes of them.
#[test]
fn d8_rounding_noise_has_no_order() {
    let folder = Folder::new();
    let (mut vectors, mut ratings) = ("origin 0.3 1.1 0.7\n".to_owned(), String::new());
    for i in 1..=30 {
        let scale = 0.1 + 0.37 * f64::from(i);
        vectors += &format!("w{i} {} {} {}\n", 0.3 * scale, 1.1 * scale, 0.7 * scale);
        ratings += &format!("origin w{i} {i}\n");
    }
    folder.write("vectors.txt", vectors);
    folder.write("r.txt", ratings);
    let json = folder.run("words vectors.txt r.txt --similarity cosine --json").json();
    assert_eq!(json["results"][0]["spearman"], Value::Null);
    assert_eq!(json["results"][0]["undefined"], "constant input: all 30 values are equal");
    let text = folder.run("words vectors.txt r.txt --similarity cosine").stdout;
    assert!(text.contains("r.txt, cosine: undefined: constant input: all 30 values are equal\n"), "{text}");
}

#[test]
fn names_may_lie_beside_the_vectors() {
    let folder = folder();
    folder.npy("v.npy", 2, &[1.0, 0.0, 0.9, 0.2, 0.7, 0.5, 0.4, 0.9, -0.2, 1.0, -1.0, 0.3]);
    folder.write("r.txt", "sun moon 9\nsea sun 7\nland sun 8\nday cave 1\n");
    let of = |arguments: &str| {
        let json = folder.run(&format!("words {arguments} r.txt --json")).json();
        json["results"].clone()
    };
    let expected = of("vectors.txt");
    folder.write("lines", "sun\nday\nmoon\nsea\nland\ncave\n");
    folder.write("tabs", "word\trank\nsun\t1\nday\t2\nmoon\t3\nsea\t4\nland\t5\ncave\t6\n");
    folder.write("commas", "rank,\"the, word\"\r\n1,sun\r\n2,day\r\n\"3,\",moon\r\n4,sea\r\n5,\"land\"\r\n6,cave");
    for names in ["lines", "tabs", "tabs::word"] {
        assert_eq!(of(&format!("v.npy --names {names}")), expected, "{names}");
    }
    let command = folder.command("words v.npy r.txt --json --names");
    assert_eq!(command.arg("commas::the, word").finish().json()["results"], expected);
    folder.run("words v.npy r.txt").fails_with(
        2,
        "error: v.npy: the file has no row names to find words by\n\
         hint: name the rows with --names FILE, a line per row or a table with a header",
    );
    folder.run("words v.npy r.txt --names tabs::nothing").fails_with(
        2,
        "error: tabs: there is no column 'nothing'; it has word, rank\n\
         hint: choose a column with ::COLUMN behind the path",
    );
    folder.run("words v.npy r.txt --names lines::word").fails_with(
        2,
        "error: lines: column 'word' was asked for, but there are as many lines as rows, so none is a header\n\
         hint: leave the column out, or put a header above the names",
    );
    folder.write("few", "sun\nday\n");
    folder.run("words v.npy r.txt --names few").fails_with(
        65,
        "error: few: 2 lines of names for 6 rows of v.npy\n\
         hint: names need a line per row, in the order of the rows, and at most a header above them",
    );
    folder.write("comma", "rank,word\n1,sun\n2,day\n3,moon, the\n4,sea\n5,land\n6,cave\n");
    folder.run("words v.npy r.txt --names comma::word").fails_with(
        65,
        "error: comma: line 4 has 3 cells, but the first line has 2\n\
         hint: every line needs as many cells as the first; a cell with a comma is written in quotes",
    );
    folder.write("empty", "word,rank\nsun,1\nday,2\n\nsea,4\nland,5\ncave,6\n");
    folder.run("words v.npy r.txt --names empty").fails_with(65, "error: empty: line 4 has no name");
    folder.write("end", "word\nsun\nday\nmoon\nsea\nland\n\"\n");
    folder.run("words v.npy r.txt --names end").fails_with(65, "error: end: line 7 has no name");
    folder.write("quote", "word,rank\nsun,1\n\"day,2\nmoon,3\nsea\",4\nland,5\ncave,6\n");
    folder.run("words v.npy r.txt --names quote").fails_with(
        65,
        "error: quote: line 3: a cell in quotes goes on in the next line\n\
         hint: close the quotes, or write a quote that is part of a cell twice, within quotes",
    );
    // A line too many moves every name, so that the one that is lost is told.
    folder.write("more", "sun\nday\nmoon\nsea\nland\ncave\nextra\n");
    assert_eq!(
        folder.run("words v.npy r.txt --names more").stderr,
        "note: more: 'sun' in its first line is taken for a header, since rows are one fewer than lines\n"
    );
    // So does one too few, below a header.
    folder.write("less", "word\tid\nsun\t1\nday\t2\nmoon\t3\nsea\t4\nland\t5\n");
    assert_eq!(
        folder.run("words v.npy r.txt --names less").stderr,
        "note: less: 'word' in its first line is taken for a name, since there are as many lines as rows\n"
    );
    folder.write("gap", "sun\nday\n\nsea\nland\ncave\n");
    folder.run("words v.npy r.txt --names gap").fails_with(65, "error: gap: line 3 has no name");
}

/// Case A6: a name that stands twice.
#[test]
fn a6_of_a_repeated_name_the_first_row_counts_and_a_note_says_so() {
    let folder = Folder::new();
    folder.write("v.csv", "word,a,b\nsun,1,0\nday,0.9,0.2\nsea,0.4,0.9\nsun,-1,0\nday,0,1\nday,1,1\nland,-0.2,1\n");
    folder.write("r.txt", "sun day 3\nsun sea 2\nsun land 1\n");
    let run = folder.run("words v.csv r.txt --json");
    assert_eq!(
        run.stderr,
        "note: v.csv: 2 words of the ratings name several rows each, of which the first is used: rows 0 and 3 (from 0) \
         are both 'sun'\n"
    );
    assert_eq!(spearman(&run.json()), [1.0, 1.0]);
}

#[test]
fn zero_vectors_have_no_cosine() {
    let folder = Folder::new();
    folder.write("v.txt", "sun 1 0\nday 0.9 0.2\nnil 0 0\nsea 0.4 0.9\nvoid 0 0\n");
    folder.write("r.txt", "sun day 3\nsun nil 2\nsun sea 1\n");
    folder.run("words v.txt r.txt").fails_with(
        65,
        "error: v.txt: row 2 (from 0), 'nil', is a zero vector: it has no direction, so its cosine is undefined\n\
         hint: --zero drop leaves out its pairs; --similarity euclidean needs no direction",
    );
    let json = folder.run("words v.txt r.txt --zero drop --json").json();
    let compared: Vec<_> = json["results"].as_array().unwrap().iter().map(|r| r["compared"].as_u64()).collect();
    assert_eq!(compared, [Some(2), Some(3)]);
    assert_eq!(json["results"][0]["without_direction"], 1);
    let text = folder.run("words v.txt r.txt --zero drop").stdout;
    assert!(text.contains("r.txt, cosine: 1 pair dropped: zero vectors have no direction.\n"), "{text}");
    assert_eq!(folder.run("words v.txt r.txt --similarity euclidean").code, Some(0));
    // A zero vector that no pair needs does no harm.
    folder.write("other.txt", "sun day 3\nday sea 2\nnil blimp 1\n");
    assert_eq!(folder.run("words v.txt other.txt").code, Some(0));
}

#[test]
fn ratings_come_in_the_layouts_of_their_authors() {
    let folder = folder();
    let expected = json!([1.0, 1.0]);
    for (name, text) in [
        ("simlex", "word1\tword2\tPOS\tSimLex999\nsun\tday\tN\t9\nsun\tsea\tN\t3\nsun\tcave\tN\t1\n"),
        ("ws353.csv", "\u{feff}Word 1,Word 2,Human (mean)\r\nsun,day,9\r\n\"sun\",sea,3.5\r\nsun,cave,1\r\n"),
        ("pairs.csv", "pair,score\nsun#day,9\nsun#sea,3.5\nsun#cave,1\n"),
        ("blank.csv", "sun,day,9\n  \nsun,sea,3.5\nsun,cave,1\n"),
        ("men", "sun-n day-n 50.000000\nsun-n sea-n 20.0\n\nsun-n cave-n 3\n"),
        ("comments", "# The set\n# Word 1\tWord 2\tHuman (mean)\nsun\tday\t9\nsun\tsea\t3\nsun\tcave\t1\n"),
    ] {
        folder.write(name, text);
        let run = folder.run(&format!("words vectors.txt {name} --json"));
        assert_eq!(json!(spearman(&run.json())), expected, "{name}");
        assert_eq!(run.json()["results"][0]["known"], 3, "{name}");
    }
    folder.write("semvis", "WORDPAIR SEMANTIC VISUAL\nsun#day 5 1.5\nsun#sea 2.5 3.2\nsun#cave 1.0 4.7\n");
    folder.run("words vectors.txt semvis").fails_with(
        2,
        "error: semvis: there are several columns of ratings, and none was chosen: SEMANTIC, VISUAL\n\
         hint: choose a column with ::COLUMN behind the path",
    );
    let both = folder.run("words vectors.txt semvis::SEMANTIC semvis::VISUAL --json").json();
    assert_eq!(spearman(&both), [1.0, 1.0, -1.0, -1.0]);
    assert_eq!(
        (&both["ratings"][1]["path"], &both["ratings"][1]["column"]),
        (&"semvis::VISUAL".into(), &"VISUAL".into())
    );
    // A rating that is missing makes no other column that of the ratings.
    folder.write("gap", "a\tb\tscore\tn\nsun\tday\tNA\t12\nsun\tsea\t3\t11\n");
    let run = folder.run("words vectors.txt gap");
    assert!(run.code == Some(2) && run.stderr.contains("none was chosen: score, n\n"), "{run:?}");
    folder.write("same", "a,b,s,s\nsun,day,9,1\nsun,sea,3,2\n");
    folder
        .run("words vectors.txt same::s")
        .fails_with(2, "error: same: several columns have the heading 's'\nhint: give them headings that differ");
    // Without a header columns have numbers.
    folder.write("raters", "sun day 5 1\nsun sea 3 2\nsun cave 1 3\n");
    let run = folder.run("words vectors.txt raters");
    assert!(run.stderr.contains("none was chosen: 3, 4\n"), "{run:?}");
    assert_eq!(spearman(&folder.run("words vectors.txt raters::4 --json").json()), [-1.0, -1.0]);
}

#[test]
fn bad_ratings_are_refused_with_their_place() {
    let folder = folder();
    for (text, message) in [
        ("", "there are no ratings in it"),
        ("# only\n\n# comments\n", "there are no ratings in it"),
        ("word1 word2 rating\n", "line 1: the rating 'rating' is not a finite number"),
        ("sun day\n", "line 1 has 2 cells: two words and a rating are needed"),
        ("sun day 1\nsun the sea 2\n", "line 2 has 4 cells, but the first line has 3"),
        ("sun day 1\n\nsun sea nan\n", "line 3: the rating 'nan' is not a finite number"),
        ("a,b,score\nsun,day,1\nsun,sea,inf\n", "line 3: the rating 'inf' is not a finite number"),
        ("# set\nsun,day,1\nsun,sea,\n", "line 3: the rating '' is not a finite number"),
        ("sun day 5,0\nsun sea 3,5\n", "line 1: the rating '5,0' is not a finite number"),
        ("a\tb\tscore\nsun\tday\t1\n\tsea\t3\n", "line 3 does not begin with two words"),
        ("sun#day 1\nsun# 2\n", "line 2 does not begin with two words"),
        ("sun,day,1\n\"sun,sea,2\nsun,cave,3\nsea\",cave,4\n", "line 2: a cell in quotes goes on in the next line"),
        ("sun day \u{2014}\nsun sea 2\n", "line 1: the rating '\u{2014}' is not a finite number"),
        ("sun day 5O\nsun sea 2\n", "line 1: the rating '5O' is not a finite number"),
        ("sun,day,1\rsun,sea,2\r", "its lines end with a carriage return alone"),
        ("a\tb\tscore\nsun\tday\tNA\nsun\tsea\t2\n", "line 2: the rating 'NA' is not a finite number"),
        ("sun day NA\nsun sea 2\n", "line 1: the rating 'NA' is not a finite number"),
    ] {
        folder.write("r.txt", text);
        let run = folder.run("words vectors.txt r.txt");
        assert_eq!((run.code, run.stdout.as_str()), (Some(65), ""), "{text:?}: {run:?}");
        assert_eq!(run.stderr.lines().next(), Some(&*format!("error: r.txt: {message}")), "{text:?}");
    }
    folder.write("r.txt", b"sun day 1\nsun s\xe9a 2\n");
    folder.run("words vectors.txt r.txt").fails_with(65, "error: r.txt: line 2 is not UTF-8");
    folder.write("r.txt", "soleil jour 1\nsoleil mer 2\n");
    folder.run("words vectors.txt r.txt").fails_with(
        65,
        "error: r.txt: none of its pairs has both words among the names of vectors.txt\n\
         hint: its words begin with 'soleil', 'jour', 'soleil', the names with 'sun', 'day', 'moon': are these the \
         words of the rows?",
    );
    // A column of numbers before the words is no word, though the other one is.
    folder.write("r.txt", "1\tsun\tday\t5\n2\tsun\tsea\t3\n");
    let run = folder.run("words vectors.txt r.txt::4");
    assert!(run.code == Some(65) && run.stderr.contains("none of its pairs has both words among"), "{run:?}");
    folder.run("words vectors.txt none.txt").fails_with(66, "error: none.txt: No such file or directory");
}

#[test]
fn ratings_and_names_keep_to_the_memory_allowed() {
    let folder = folder();
    folder.write("many.txt", "sun day 1\n".repeat(2_000_000));
    let run = folder.run("words vectors.txt many.txt --memory 64M");
    assert_eq!(run.code, Some(65), "{run:?}");
    assert!(run.stderr.contains("many.txt: needs ") && run.stderr.contains("of memory for its ratings"), "{run:?}");
}

/// The values are scipy's, on cosines and distances of numpy in f64.
#[test]
#[ignore = "needs MNNO_DATA"]
fn nouns_have_the_reference_values() {
    let files = ["EN-WS-353-ALL.txt", "EN-MEN-TR-3k.txt", "EN-SIMLEX-999.txt", "EN-SimVerb-3500.txt"];
    let paths = files.map(|file| data(&format!("wordsim/{file}"))).join(" ");
    let of = |vectors: &str, names: &str| {
        let json = Folder::new().run(&format!("words {vectors} {paths} --names {names} --json")).json();
        let results = json["results"].as_array().unwrap().clone();
        let values = results.iter().map(|r| (format!("{:.6}", r["spearman"].as_f64().unwrap()), r["known"].as_u64()));
        values.collect::<Vec<_>>()
    };
    let expected = |values: [(&str, &str, u64); 4]| -> Vec<_> {
        let of_file = |(cosine, euclidean, known): (&str, &str, u64)| {
            [(cosine.to_owned(), Some(known)), (euclidean.to_owned(), Some(known))]
        };
        values.into_iter().flat_map(of_file).collect()
    };
    assert_eq!(
        of(&data("wn_nouns_10k/glove50_f32.npy"), &format!("{}::word", data("wn_nouns_10k/rows.tsv"))),
        expected([
            ("0.540302", "0.487960", 318),
            ("0.696546", "0.666731", 2166),
            ("0.293622", "0.305322", 672),
            ("0.128857", "0.130919", 1185),
        ])
    );
    let fixture = |file: &str| root().join("fixtures/words").join(file).to_str().unwrap().to_owned();
    assert_eq!(
        of(&fixture("glove50.npy"), &fixture("rows.tsv")),
        expected([
            ("0.578741", "0.515678", 156),
            ("0.682726", "0.606819", 464),
            ("0.290854", "0.261686", 185),
            ("-0.051297", "-0.070905", 401),
        ])
    );
}

/// What other projects test their readers with.
#[test]
#[ignore = "needs MNNO_DATA"]
fn ratings_of_gensim_are_read() {
    let folder = Folder::new();
    folder.write("vectors.txt", "love 1 0\nsex 0.9 0.2\nold 0.4 0.9\nnew -0.2 1\n");
    for (file, pairs) in [("wordsim353.tsv", 353), ("simlex999.txt", 999)] {
        let ratings = data(&format!("formats/gensim/{file}"));
        let run = folder.run(&format!("words vectors.txt {ratings} --unknown zero --json")).json();
        assert_eq!(run["results"][0]["pairs"], pairs, "{file}");
    }
}

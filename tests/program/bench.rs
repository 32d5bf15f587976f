//! `mnno bench`: what it measures, keeps, draws and warns of. Speeds are only ever asked to be there.

use std::fs;

use serde_json::Value;

use crate::real_data::data;
use crate::run::{Folder, i64s, noise, npy, read_npy};

/// One setting, on one thread.
const ONE: &str = "--index exact --threads 1 --truth-cache kept";

fn entry(folder: &Folder) -> std::path::PathBuf {
    let mut entries = fs::read_dir(folder.path("kept")).unwrap().map(|entry| entry.unwrap().path());
    let only = entries.next().expect("an entry");
    assert_eq!(entries.next(), None, "one entry, and nothing that was left behind");
    only
}

#[test]
fn results_are_told_as_text_json_csv_and_pictures() {
    let folder = Folder::new();
    folder.npy("x.npy", 8, &noise(300 * 8, 41));
    let run = folder.run(
        "bench x.npy --ef 400,5,300 --threads 2 --truth-cache kept --csv out.csv --plot out.svg --plot out.png --json",
    );
    assert_eq!(run.stderr, "note: ef 5 is too small for -k 10: 12 is taken\n");
    let json = run.json();
    assert_eq!((&json["command"], &json["metric"], &json["k"]), (&"bench".into(), &"cosine".into(), &10.into()));
    assert_eq!((&json["queries"], &json["sampled_base_rows"]), (&300.into(), &true.into()));
    assert_eq!((&json["truth"]["source"], &json["inputs"][0]["rows"]), (&"computed".into(), &300.into()));
    let results = json["results"].as_array().unwrap();
    let settings: Vec<_> =
        results.iter().map(|r| (r["index"].as_str().unwrap(), r["ef"].as_u64(), r["threads"].as_u64())).collect();
    let expected = [("exact", None), ("knn-graph", Some(12)), ("knn-graph", Some(300))];
    let expected: Vec<_> = expected.iter().flat_map(|&(kind, ef)| [(kind, ef, Some(1)), (kind, ef, Some(2))]).collect();
    assert_eq!(settings, expected);
    for result in results {
        let graph = result["index"] == "knn-graph";
        let recall = result["recall"].as_f64().unwrap();
        // A beam of all rows misses nothing.
        assert!(if result["ef"] == 12 { (0.5..=1.0).contains(&recall) } else { recall == 1.0 }, "{result}");
        assert!(result["qps"].as_f64().unwrap() > 0.0, "{result}");
        assert_eq!((result["bytes"].as_u64() > Some(0), result["build_s"].as_f64() > Some(0.0)), (graph, graph));
        let walks = if graph { vec!["int8", "f32"] } else { vec![] };
        assert!(result["traversal"].as_str().map_or(!graph, |walk| walks.contains(&walk)), "{result}");
    }

    let csv = fs::read_to_string(folder.path("out.csv")).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(
        lines[0],
        "index,ef,ef_construction,traversal,recall,qps,threads,build_s,bytes,finished_exactly,nearby_lists"
    );
    assert_eq!(lines.len(), 1 + results.len());
    assert!(lines[1].starts_with("exact,,,,1.0,") && lines[3].starts_with("knn-graph,12,32,"), "{csv}");

    let svg = fs::read_to_string(folder.path("out.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    for text in ["x.npy: 300 x 8, cosine", "recall@10", "queries per second", "exact, 2 threads", "knn-graph (", "0.99"]
    {
        assert!(svg.contains(text), "{text}");
    }
    let png = fs::File::open(folder.path("out.png")).unwrap();
    let mut reader = png::Decoder::new(std::io::BufReader::new(png)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.width, info.height, pixels.len()), (1200, 800, 1200 * 800 * 3));
    let colours: std::collections::HashSet<&[u8; 3]> = pixels.as_chunks().0.iter().collect();
    // White, black, and a colour for each curve.
    assert!(colours.len() > 6, "{}", colours.len());

    let run = folder.run("bench x.npy --ef 300 --threads 1 --index knn-graph --traversal f32 --truth-cache kept");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    for text in [
        "\ntruth: read from kept/",
        "\ncosine; 300 rows of the base, evenly spread, each left out of its own list; 10 neighbours each\n",
        "\nknn-graph: built in ",
        "; walks look at f32\n",
        "\nef   recall@10  queries/s, 1 thread\n300     1.0000 ",
        "\nwith 1 thread: recall 0.95 from ef 300 (the smallest tried), at ",
    ] {
        assert!(run.stdout.contains(text), "{text}: {run:?}");
    }
}

#[test]
fn kept_truth_is_read_again_and_never_believed_blindly() {
    let folder = Folder::new();
    folder.npy("x.npy", 4, &noise(120 * 4, 42));
    folder.npy("q.npy", 4, &noise(20 * 4, 43));
    let bench = |more: &str| folder.run(&format!("bench x.npy --queries q.npy {ONE} {more} --json"));
    let source = |json: &Value| json["truth"]["source"].as_str().unwrap().to_owned();
    let first = bench("").json();
    let file = entry(&folder);
    assert_eq!(
        (source(&first).as_str(), &first["truth"]["file"]),
        ("computed", &format!("kept/{}", file.file_name().unwrap().display()).into())
    );
    assert_eq!(source(&bench("").json()), "cache");

    let kept = fs::read(&file).unwrap();
    // In the head, a list, a score, the checksum; and half of it.
    let flipped = [3, 20, 60, 48 + 4 * 200 + 9, kept.len() - 1].map(|at| {
        let mut bytes = kept.clone();
        bytes[at] ^= 1;
        bytes
    });
    for damaged in flipped.iter().map(Vec::as_slice).chain([&kept[..kept.len() / 2]]) {
        fs::write(&file, damaged).unwrap();
        let run = bench("");
        assert!(run.stderr.ends_with(": the kept truth is damaged: it is computed again\n"), "{run:?}");
        assert_eq!((source(&run.json()).as_str(), &run.json()["results"][0]["recall"]), ("computed", &1.0.into()));
        assert!(fs::read(&file).unwrap() == kept);
    }

    // Another question has an answer of its own, and other content is another question.
    for more in ["-k 3", "--metric l2", "--rows 0..100"] {
        assert_eq!(source(&bench(more).json()), "computed", "{more}");
    }
    folder.npy("x.npy", 4, &noise(120 * 4, 44));
    assert_eq!(source(&bench("").json()), "computed");
    folder.npy("x.npy", 4, &noise(120 * 4, 42));
    assert_eq!(source(&bench("").json()), "cache");
}

#[test]
fn a_cache_is_where_the_user_has_caches_and_none_is_no_trouble() {
    let folder = Folder::new();
    folder.npy("x.npy", 4, &noise(50 * 4, 45));
    let bench = || folder.command("bench x.npy --index exact --threads 1");
    let caches = folder.path("caches");
    let run = bench().env("XDG_CACHE_HOME", caches.to_str().unwrap()).finish();
    assert!(run.stdout.contains(&format!("; kept in {}/mnno/", caches.display())), "{run:?}");
    let run = bench().env("XDG_CACHE_HOME", "relative").env("HOME", caches.to_str().unwrap()).finish();
    assert!(run.stdout.contains(&format!("; kept in {}/.cache/mnno/", caches.display())), "{run:?}");
    folder.write("file", "");
    let run = folder.run("bench x.npy --index exact --threads 1 --truth-cache file");
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (Some(0), "note: the truth is not kept for the next run: file: File exists\n")
    );
}

#[test]
fn runs_at_one_time_do_not_disturb_each_other() {
    let folder = Folder::new();
    folder.npy("x.npy", 4, &noise(200 * 4, 46));
    let runs: Vec<_> = (0..4).map(|_| folder.command(&format!("bench x.npy {ONE}")).start()).collect();
    for run in runs {
        let output = run.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    }
    entry(&folder);
}

#[test]
fn a_given_truth_is_compared_and_ties_are_credited() {
    let folder = Folder::new();
    // Rows 2 and 3 are as far from the query; 4 is farther.
    folder.npy("x.npy", 1, &[0.0, 1.0, 3.0, -3.0, 4.0]);
    folder.npy("q.npy", 1, &[0.0, 4.0]);
    let bench =
        |truth: &str| folder.run(&format!("bench x.npy --queries q.npy --metric l2 -k 3 {ONE} --truth {truth}"));
    let ids = |rows: [[i32; 4]; 2]| rows.iter().flatten().flat_map(|id| id.to_le_bytes()).collect::<Vec<u8>>();
    folder.write("same.npy", npy("<i4", "(2, 4)", &ids([[1, 0, 3, 4], [4, 2, 1, 0]])));
    folder.write("other.npy", npy("<i4", "(2, 4)", &ids([[1, 0, 3, 2], [4, 2, 0, 1]])));
    folder.write("twice.npy", npy("<i4", "(2, 4)", &ids([[0, 1, 1, 2], [4, 2, 1, 0]])));
    let run = bench("same.npy");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert!(run.stdout.contains("\ngiven truth: same.npy agrees on 2 of 2 queries\n"), "{run:?}");
    let run = bench("other.npy");
    assert_eq!(run.code, Some(0));
    assert!(
        run.stderr.starts_with(
            "note: other.npy agrees on 1 of 2 queries, whatever the order of equal scores. The first other list, query 1 \
             (from 0): 4 (0), 2 (1), 0 (16) is given, and 4 (0), 2 (1), 1 (9) found."
        ),
        "{run:?}"
    );
    let given = &bench("other.npy --json").json()["truth"]["given"];
    assert_eq!((&given["agreeing"], &given["queries"]), (&1.into(), &2.into()));
    assert_eq!(given["first_disagreement"]["our_scores"], serde_json::json!([0.0, 1.0, 9.0]));
    assert_eq!(bench("twice.npy --json").json()["truth"]["given"]["first_disagreement"]["query"], 0);

    folder.write("large.npy", npy("<i4", "(2, 4)", &ids([[1, 0, 3, 2], [4, 5, 0, 1]])));
    folder.write("padded.npy", npy("<i4", "(2, 4)", &ids([[1, 0, 3, 2], [4, -1, 0, 1]])));
    folder.npy("half.npy", 3, &[0.0, 1.0, 2.5, 4.0, 2.0, 1.0]);
    folder.npy("narrow.npy", 2, &[0.0, 1.0, 2.0, 4.0]);
    folder.npy("short.npy", 3, &[0.0, 1.0, 2.0]);
    let rows = "hint: neighbours are numbers of rows of the base, from 0; with --rows A..B row A is number 0";
    let of_each = "hint: a truth has a row of neighbours for each query, nearest first";
    for (truth, message) in [
        ("large.npy", format!("error: large.npy: row 1, column 1 (both from 0) is 5, but x.npy has 5 rows\n{rows}")),
        ("padded.npy", format!("error: padded.npy: row 1, column 1 (both from 0) is -1, but x.npy has 5 rows\n{rows}")),
        (
            "half.npy",
            "error: half.npy: row 0, column 2 (both from 0) is not a whole number\n\
             hint: a truth holds numbers of rows of the base, best as integers: npy, ivecs or ibin"
                .to_owned(),
        ),
        ("narrow.npy", format!("error: narrow.npy: 2 columns for -k 3\n{of_each}")),
        ("short.npy", format!("error: short.npy: 1 row for 2 queries\n{of_each}")),
    ] {
        bench(truth).fails_with(65, &message);
    }
}

/// Rows in clusters, and queries in the middle between two of them, whose neighbours have little to do with each other.
#[test]
fn queries_unlike_the_base_are_told_of() {
    const D: usize = 24;
    let folder = Folder::new();
    let centres: Vec<f32> = noise(150 * D, 50).iter().map(|v| 5.0 * v).collect();
    let clustered = |count: usize, seed| -> Vec<f32> {
        let centres = centres.chunks(D).cycle().take(count).flatten();
        centres.zip(noise(count * D, seed)).map(|(centre, away)| centre + 0.4 * away).collect()
    };
    folder.npy("x.npy", D, &clustered(3000, 51));
    folder.npy("alike.npy", D, &clustered(200, 52));
    let centre = |i: usize| &centres[i % 150 * D..][..D];
    let middles = (0..200).flat_map(|i| centre(i).iter().zip(centre(i * 7 + 3)).map(|(a, b)| 0.5 * (a + b)));
    folder.npy("unlike.npy", D, &middles.collect::<Vec<f32>>());
    for (queries, shifted) in [("alike.npy", false), ("unlike.npy", true)] {
        let run = folder.run(&format!(
            "bench x.npy --queries {queries} --metric euclidean --index knn-graph --ef 24 --threads 1 --truth-cache kept --json"
        ));
        let base_rows = &run.json()["base_rows"];
        assert_eq!(base_rows["shifted"], shifted, "{queries}: {base_rows}");
        let told =
            run.stderr.contains("the queries are distributed otherwise than the base: with ef 24 their recall is ");
        assert_eq!(told, shifted, "{queries}: {run:?}");
    }
    assert_eq!(folder.run(&format!("bench x.npy {ONE} --json")).json()["base_rows"], Value::Null);
}

#[test]
fn what_cannot_be_measured_is_refused_before_the_work() {
    let folder = Folder::new();
    folder.npy("x.npy", 2, &[1.0, 2.0, 3.0, 0.0, 5.0, 5.0]);
    folder.npy("narrow.npy", 1, &[1.0]);
    folder.npy("nan.npy", 2, &[1.0, 2.0, f32::NAN, 0.0]);
    folder.npy("zero.npy", 2, &[1.0, 2.0, 0.0, 0.0]);
    folder.npy("empty.npy", 2, &[]);
    for (arguments, code, message) in [
        ("x.npy -k 0", 2, "error: k is 0: a list needs at least one neighbour"),
        (
            "x.npy -k 3",
            2,
            "error: k = 3 neighbours are more than the 2 candidates of x.npy that each of its rows has\nhint: choose a smaller -k",
        ),
        (
            "x.npy --queries x.npy -k 4",
            2,
            "error: k = 4 neighbours are more than the 3 candidates of x.npy\nhint: choose a smaller -k",
        ),
        ("x.npy --queries narrow.npy -k 1", 65, "error: narrow.npy: rows have 1 dimensions, but those of x.npy have 2"),
        ("empty.npy -k 1", 65, "error: empty.npy: the matrix is 0 x 2: it has no rows"),
        ("x.npy -k 1 --plot out.jpg", 2, "error: out.jpg: a picture is .svg or .png"),
        ("x.npy -k 1 --csv out.svg --plot out.svg", 2, "error: out.svg: two outputs have this name"),
        (
            "x.npy -k 1 --csv x.npy",
            73,
            "error: x.npy: the output is the same file as the input x.npy\n\
             hint: choose another output; inputs are never overwritten",
        ),
    ] {
        folder.run(&format!("bench {arguments} {ONE}")).fails_with(code, message);
    }
    for (arguments, code, begins) in [
        ("nan.npy -k 1", 65, "error: nan.npy: "),
        ("x.npy --queries zero.npy -k 1", 65, "error: zero.npy: row 1 (from 0) is a zero vector"),
        ("x.npy -k 1 --ef 0", 2, "error: invalid value '0' for '--ef <COUNT,..>'"),
        ("x.npy -k 1 --index tree", 2, "error: invalid value 'tree' for '--index <KIND,..>'"),
        (
            "x.npy -k 1 --truth x.npy",
            2,
            "error: the following required arguments were not provided:\n  --queries <FILE>",
        ),
        ("x.npy::* -k 1", 2, "error: "),
    ] {
        let run = folder.run(&format!("bench {arguments} --truth-cache kept"));
        assert_eq!((run.code, run.stderr.starts_with(begins)), (Some(code), true), "{run:?}");
    }
    assert_eq!(folder.names(), ["empty.npy", "nan.npy", "narrow.npy", "x.npy", "zero.npy"]);
}

/// The truth of a published data set, and an index that finds it.
#[test]
#[ignore = "needs MNNO_DATA"]
fn bigann_truth_agrees_and_a_graph_reaches_it() {
    let folder = Folder::new();
    let [base, queries, truth] =
        ["input_vectors", "queries", "groundtruth"].map(|name| data(&format!("ann_small/bigann10k_{name}.npy")));
    let run = folder.run(&format!(
        "bench {base} --queries {queries} --metric l2 --truth {truth} --index knn-graph --ef 16,64,256 --threads 1 \
         --truth-cache kept --json"
    ));
    let json = run.json();
    let given = &json["truth"]["given"];
    assert_eq!((&given["agreeing"], &given["queries"]), (&100.into(), &100.into()));
    let recalls: Vec<f64> = json["results"].as_array().unwrap().iter().map(|r| r["recall"].as_f64().unwrap()).collect();
    assert!(recalls.is_sorted() && recalls.last() >= Some(&0.99), "{recalls:?}");
    // The lists of knn are another way to give a truth.
    assert_eq!(folder.run(&format!("knn {base} --queries {queries} --metric l2 -o own.npy")).code, Some(0));
    assert_eq!(i64s(&read_npy(&folder.path("own.indices.npy")).1).len(), 1000);
    let json = folder
        .run(&format!("bench {base} --queries {queries} --metric l2 --truth own.indices.npy {ONE} --json"))
        .json();
    assert_eq!((&json["truth"]["given"]["agreeing"], &json["truth"]["source"]), (&100.into(), &"cache".into()));
}

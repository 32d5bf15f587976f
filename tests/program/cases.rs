//! Faults that users met in other programs, each with the right answer, where the program's own behaviour is the point.
//! Those of the engine are in `crates/exact/tests/cases.rs`, those of the readers in `crates/store/tests`.

use std::io::Write;

use crate::run::{Folder, f64s, i64s, noise, npy, read_npy};

fn npz(folder: &Folder, name: &str, method: zip::CompressionMethod, members: &[(&str, Vec<u8>)]) {
    let mut zip = zip::ZipWriter::new(std::fs::File::create(folder.path(name)).unwrap());
    for (member, bytes) in members {
        let options = zip::write::SimpleFileOptions::default().compression_method(method);
        zip.start_file(*member, options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap();
}

fn array(d: usize, values: &[f32]) -> Vec<u8> {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    npy("<f4", &format!("({}, {d})", values.len() / d), &bytes)
}

#[test]
fn a3_numpy_28795_npz_members_are_mapped_or_said_to_be_unpacked() {
    let folder = Folder::new();
    let values = noise(50 * 4, 1);
    npz(&folder, "stored.npz", zip::CompressionMethod::Stored, &[("x.npy", array(4, &values))]);
    npz(&folder, "packed.npz", zip::CompressionMethod::Deflated, &[("x.npy", array(4, &values))]);
    let stored = folder.run("inspect stored.npz --json").json();
    assert_eq!(stored["inputs"][0]["mapped"], true);
    assert_ne!(stored["inputs"][0]["access"], "held in memory");
    let packed = folder.run("inspect packed.npz --json").json();
    assert_eq!(packed["inputs"][0]["access"], "held in memory");
    npz(&folder, "large.npz", zip::CompressionMethod::Deflated, &[("x.npy", array(1 << 14, &vec![0.0; 1 << 24]))]);
    folder.run("inspect large.npz --memory 64M").fails_with(
        65,
        "error: large.npz::x: needs 67108992 bytes of memory to be unpacked, but 50331648 are left of the budget\n\
         hint: raise --memory, or save it uncompressed, as np.save does: such files are mapped",
    );
    let json = folder.run("compare stored.npz packed.npz::x -k 3 --json").json();
    assert_eq!(json["results"][0]["value"], 1.0);
}

#[test]
fn a_member_must_be_chosen_among_several() {
    let folder = Folder::new();
    let members = [("text.npy", array(2, &noise(12, 1))), ("image.npy", array(3, &noise(18, 2)))];
    npz(&folder, "two.npz", zip::CompressionMethod::Stored, &members);
    let run = folder.run("inspect two.npz");
    assert_eq!(run.code, Some(2), "{run:?}");
    for part in ["error: two.npz: ", "text (6, 2) f32", "image (6, 3) f32", "hint: "] {
        assert!(run.stderr.contains(part), "'{part}' is not in {}", run.stderr);
    }
    let json = folder.run("compare two.npz::text two.npz::image -k 2 --json").json();
    assert_eq!(json["inputs"][1]["dims"], 3);
}

#[test]
fn a10_thingsvision_182_the_last_lines_name_what_was_written() {
    let folder = Folder::new();
    folder.npy("x.npy", 2, &noise(20, 1));
    let run = folder.run("knn x.npy -k 3 -o out.npy");
    let last: Vec<&str> = run.stdout.lines().rev().take(2).collect();
    assert_eq!(last, ["wrote out.scores.npy: scores, 10 x 3 f64", "wrote out.indices.npy: indices, 10 x 3 i64"]);
    for name in ["out.indices.npy", "out.scores.npy"] {
        assert_eq!(read_npy(&folder.path(name)).0, [10, 3]);
    }
}

#[test]
fn b7_netrep_1_a_space_is_like_itself() {
    let folder = Folder::new();
    folder.npy("x.npy", 5, &noise(5 * 80, 3));
    for metric in ["cosine", "ip", "euclidean", "l2"] {
        for rule in ["exclude", "include"] {
            let arguments = format!("compare x.npy x.npy -k 7 --metric {metric} --self {rule} --json");
            let by_k = folder.run(&arguments).json()["results"][0]["by_k"].clone();
            assert_eq!(by_k, serde_json::json!(vec![1.0; 7]), "{metric}, {rule}");
        }
    }
}

#[test]
fn d4_faiss_1206_measures_refuse_what_knn_pads() {
    let folder = Folder::new();
    folder.npy("x.npy", 1, &[0.0, 1.0, 3.0]);
    let run = folder.run("knn x.npy -k 5 --self include --metric euclidean -o out.npy");
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(i64s(&read_npy(&folder.path("out.indices.npy")).1)[..5], [0, 1, 2, -1, -1]);
    assert_eq!(folder.run("compare x.npy x.npy -k 5 --metric euclidean").code, Some(2));
    let help = folder.run("knn --help").stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("hold index -1 and the worst score"), "{help}");
}

/// f16 values whose squares f16 cannot hold.
#[test]
fn e7_cuvs_1084_f16_is_summed_in_f64() {
    let folder = Folder::new();
    let row = |value: f32| (0..1024).flat_map(move |_| half::f16::from_f32(value).to_le_bytes());
    let bytes: Vec<u8> = row(200.0).chain(row(100.0)).chain(row(-200.0)).collect();
    folder.write("x.npy", npy("<f2", "(3, 1024)", &bytes));
    let json = folder.run("inspect x.npy --json").json();
    assert_eq!(json["inputs"][0]["norms"]["max"], 40_960_000f64.sqrt());
    assert_eq!(json["inputs"][0]["dtype"], "f16");
    assert_eq!(folder.run("knn x.npy -k 2 --metric ip -o out.npy").code, Some(0));
    assert_eq!(i64s(&read_npy(&folder.path("out.indices.npy")).1), [1, 2, 0, 2, 1, 0]);
    assert_eq!(f64s(&read_npy(&folder.path("out.scores.npy")).1)[..2], [20_480_000.0, -40_960_000.0]);
}

#[test]
fn g1_hnswlib_65_equal_bytes_from_any_threads_and_twice() {
    let folder = Folder::new();
    folder.npy("x.npy", 16, &noise(16 * 500, 9));
    let run = |threads| {
        assert_eq!(folder.run(&format!("knn x.npy -k 9 --threads {threads} -o out.npz")).code, Some(0));
        std::fs::read(folder.path("out.npz")).unwrap()
    };
    let first = run(1);
    assert!([1, 8, 8].into_iter().all(|threads| run(threads) == first));
}

#[test]
fn i2_neural_cross_modal_maps_unknown_names_are_refused() {
    let folder = Folder::new();
    folder.npy("x.npy", 2, &noise(20, 1));
    let run = folder.run("compare x.npy x.npy --metric cosine,euclidean");
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("unknown metric 'cosine,euclidean'"), "{run:?}");
}

/// Raw inner products far below any mask value still rank.
#[test]
fn i3_platonic_rep_large_negative_products_rank() {
    let folder = Folder::new();
    folder.npy("x.npy", 1, &[-1e9, 1e9, 2e9, -3e9]);
    assert_eq!(folder.run("knn x.npy -k 3 --metric ip -o out.npy").code, Some(0));
    let indices = i64s(&read_npy(&folder.path("out.indices.npy")).1);
    assert_eq!(indices, [3, 1, 2, 2, 0, 3, 1, 0, 3, 0, 1, 2]);
}

#[test]
fn i6_embedding_reader_order_and_endianness_are_read() {
    let folder = Folder::new();
    let values = noise(6 * 4, 5);
    folder.npy("c.npy", 4, &values);
    let big: Vec<u8> = values.iter().flat_map(|v| v.to_be_bytes()).collect();
    folder.write("big.npy", npy(">f4", "(6, 4)", &big));
    let columns: Vec<u8> =
        (0..4).flat_map(|j| (0..6).map(move |i| (i, j))).flat_map(|(i, j)| values[i * 4 + j].to_le_bytes()).collect();
    let fortran = String::from_utf8_lossy(&npy("<f4", "(6, 4)", &[])[10..]).replace("False,", "True, ");
    let mut file = npy("<f4", "(6, 4)", &[])[..10].to_vec();
    file.extend(fortran.as_bytes());
    file.extend(columns);
    folder.write("f.npy", file);
    let mut outputs = Vec::new();
    for base in ["c", "big", "f"] {
        assert_eq!(folder.run(&format!("knn {base}.npy -k 3 -o {base}.npz")).code, Some(0));
        outputs.push(std::fs::read(folder.path(&format!("{base}.npz"))).unwrap());
    }
    assert!(outputs.iter().all(|o| *o == outputs[0]));
    assert_eq!(folder.run("inspect f.npy --json").json()["inputs"][0]["order"], "column-major");
}

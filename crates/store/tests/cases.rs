//! Public bug reports of other libraries, each as a test named after it, and what the golden and bad files leave out.

mod support;

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;

use mnno_exact::Rows;
use mnno_store::{Access, ErrorKind, Fault, Io, Matrix, OpenOptions, Order, StoreError, open};
use support::{fixtures, le, npy, values};
use tempfile::TempDir;

fn file(name: &str, bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn try_open(argument: &str) -> Result<Vec<Matrix>, StoreError> {
    open(argument, &OpenOptions::default())
}

fn open_bytes(name: &str, bytes: &[u8]) -> Result<Matrix, StoreError> {
    let (_folder, path) = file(name, bytes);
    Ok(try_open(path.to_str().unwrap())?.remove(0))
}

#[test]
fn a1_rcppcnpy_12_fortran_order() {
    // [[1, 2, 3], [4, 5, 6]] column by column.
    let header = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }";
    let matrix = open_bytes("x.npy", &npy(header, &le(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]))).unwrap();
    assert_eq!(matrix.order(), Order::ColumnMajor);
    assert_eq!(matrix.row(0, &mut Vec::new()), [1.0, 2.0, 3.0]);
    assert_eq!(matrix.row(1, &mut Vec::new()), [4.0, 5.0, 6.0]);
}

#[test]
fn a2_cnpy_7_fortran_flag_is_read_exactly() {
    for (version, size) in [(1_u8, 2), (2, 4), (3, 4)] {
        for (flag, first_row) in [("True", [1.0, 3.0, 5.0]), ("False", [1.0, 2.0, 3.0])] {
            for header in [
                format!("{{'descr': '<f4', 'fortran_order': {flag}, 'shape': (2, 3), }}"),
                format!("{{'descr':'<f4','fortran_order':{flag},'shape':(2,3)}}"),
                format!("{{ 'fortran_order' :  {flag} , 'shape' : ( 2 , 3 , ) , 'descr' : \"<f4\" }}\n"),
            ] {
                let mut bytes = b"\x93NUMPY".to_vec();
                bytes.extend([version, 0]);
                bytes.extend(&(header.len() as u32).to_le_bytes()[..size]);
                bytes.extend(header.bytes());
                bytes.extend(le(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
                let matrix = open_bytes("x.npy", &bytes).unwrap();
                assert_eq!(matrix.row(0, &mut Vec::new()), first_row, "version {version}, {header}");
            }
        }
    }
    for header in ["{'descr': '<f4', 'fortran_order': true, 'shape': (2, 3)}", "{'fortran': True}"] {
        let error = open_bytes("x.npy", &npy(header, &[])).unwrap_err();
        assert!(matches!(error, StoreError::Malformed { fault: Fault::NpyHeader { .. }, .. }), "{error}");
    }
}

#[test]
fn a3_numpy_28795_and_5976_npz_members_are_mapped_or_kept_within_the_budget() {
    let open_with = |argument: &str, memory| {
        let argument = fixtures("golden").join(argument).display().to_string();
        open(&argument, &OpenOptions { memory, ..OpenOptions::default() })
    };
    let stored = open_with("stored.npz::text", 0).unwrap().remove(0);
    assert!(stored.is_mapped());
    assert_ne!(stored.access(), Access::InMemory, "a stored member needs no memory");
    let error = open_with("deflated.npz::text", 100).unwrap_err();
    assert!(matches!(error, StoreError::OverBudget { needed: 152, budget: 100, .. }), "{error}");
    assert!(error.hint().unwrap().contains("--memory"));
    let deflated = open_with("deflated.npz::text", 152).unwrap().remove(0);
    assert_eq!(deflated.access(), Access::InMemory);
    assert_eq!(values(&deflated, 1), values(&stored, 1));
}

#[test]
fn a8_numpy_27722_empty_arrays_open() {
    for (rows, columns) in [(0, 128), (0, 1_usize << 60), (1 << 60, 0)] {
        let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
        // The data begins, and the file ends, at a multiple of the page size.
        let bytes = npy(&format!("{header:<4080}"), &[]);
        assert_eq!(bytes.len(), 4096);
        let matrix = open_bytes("x.npy", &bytes).unwrap();
        assert_eq!((matrix.n(), matrix.d()), (rows, columns));
        matrix.check(1 << 20, &()).unwrap();
        assert_eq!(matrix.summary(&()).unwrap().norms, None);
        assert_eq!(matrix.block(0..0, &mut Vec::new()).n(), 0);
    }
    let fvecs = open_bytes("x.fvecs", &[]).unwrap();
    assert_eq!((fvecs.n(), fvecs.d()), (0, 0));
    let csv = open_bytes("x.csv", &[]).unwrap();
    assert_eq!((csv.n(), csv.d()), (0, 0));
}

#[test]
fn i6_embedding_reader_u1_and_big_endian_are_read() {
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 3), }";
    assert_eq!(values(&open_bytes("x.npy", &npy(header, &[0, 128, 255])).unwrap(), 1), [0.0, 128.0, 255.0]);
    let header = "{'descr': '>f4', 'fortran_order': False, 'shape': (1, 1), }";
    assert_eq!(values(&open_bytes("x.npy", &npy(header, &1.5_f32.to_be_bytes())).unwrap(), 1), [1.5]);
}

#[test]
fn a_file_beyond_4_gib_and_2_to_the_31_values_is_read_to_its_last_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.fbin");
    let (n, d) = (17_000_000_u32, 128_u32);
    assert!(u64::from(n) * u64::from(d) > 1 << 31);
    let mut large = fs::File::create(&path).unwrap();
    large.set_len(8 + 4 * u64::from(n) * u64::from(d)).unwrap();
    large.write_all(&[n.to_le_bytes(), d.to_le_bytes()].concat()).unwrap();
    let last: Vec<f32> = (0..128_u16).map(f32::from).collect();
    large.seek(SeekFrom::End(-4 * i64::from(d))).unwrap();
    large.write_all(&le(&last)).unwrap();
    drop(large);

    let argument = path.to_str().unwrap();
    let matrix = try_open(argument).unwrap().remove(0);
    assert_eq!((matrix.n(), matrix.d(), matrix.access()), (n as usize, d as usize, Access::View));
    assert_eq!(matrix.row(n as usize - 1, &mut Vec::new()), last);
    assert_eq!(matrix.row(n as usize - 2, &mut Vec::new()), [0.0; 128]);
    assert!(matrix.fingerprint().to_string().ends_with(" (sampled)"));
    // A range counts from the start of the file.
    let rows = n as usize - 1..n as usize;
    let tail = open(argument, &OpenOptions { rows: Some(rows), ..OpenOptions::default() }).unwrap().remove(0);
    assert_eq!(values(&tail, 1), last);
}

#[test]
fn a_changed_file_is_noticed_and_the_change_named() {
    let (_folder, path) = file("x.csv", b"1,2\n3,4\n");
    let matrix = try_open(path.to_str().unwrap()).unwrap().remove(0);
    matrix.verify_unchanged().unwrap();
    fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"5,6\n").unwrap();
    let error = matrix.verify_unchanged().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Changed);
    assert!(error.to_string().ends_with("its size went from 8 to 12 bytes"), "{error}");

    let other = path.with_extension("new");
    fs::write(&other, b"1,2\n3,4\n").unwrap();
    fs::rename(&other, &path).unwrap();
    let error = matrix.verify_unchanged().unwrap_err();
    assert!(error.to_string().ends_with("another file has taken its place"), "{error}");
    fs::remove_file(&path).unwrap();
    assert!(matrix.verify_unchanged().unwrap_err().to_string().contains("can no longer be found"));
}

#[test]
fn what_is_no_file_is_refused_before_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let error = try_open(folder.path().to_str().unwrap()).unwrap_err();
    assert_eq!((error.kind(), error.to_string().ends_with("no file in this folder")), (ErrorKind::CannotOpen, true));
    fs::create_dir(folder.path().join("inner")).unwrap();
    let error = try_open(folder.path().to_str().unwrap()).unwrap_err();
    assert!(error.to_string().ends_with("inner: this is a directory"), "{error}");
    let error = try_open("no/such/file.npy").unwrap_err();
    assert_eq!(error.to_string(), "no/such/file.npy: No such file or directory");
    assert_eq!(error.kind(), ErrorKind::CannotOpen);
    #[cfg(unix)]
    {
        let error = try_open("/dev/zero").unwrap_err();
        assert!(matches!(error, StoreError::NotAFile { .. }), "{error}");
    }
}

#[test]
fn a_name_with_colons_is_a_path_if_such_a_file_exists() {
    let (folder, path) = file("a::b.csv", b"1,2\n");
    assert_eq!(try_open(path.to_str().unwrap()).unwrap()[0].d(), 2);
    fs::create_dir(folder.path().join("c::d")).unwrap();
    let inner = folder.path().join("c::d/x.npz");
    fs::copy(fixtures("golden").join("stored.npz"), &inner).unwrap();
    let layer = &try_open(&format!("{}::layers::1", inner.display())).unwrap()[0];
    assert_eq!((layer.layer(), layer.path()), (Some(1), inner.as_path()));
}

#[test]
fn requests_that_do_not_fit_the_file_are_usage_errors() {
    let golden = fixtures("golden");
    let words = |argument: &str| {
        let error = try_open(golden.join(argument).to_str().unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        error.to_string().split_once(": ").unwrap().1.to_owned()
    };
    assert_eq!(words("layers_c.npy::3"), "there is no layer 3 (from 0): the array has 3");
    assert_eq!(words("layers_c.npy::text"), "npy files have no members, but 'text' was asked for");
    assert_eq!(words("layers_c.npy::0::1"), "'1' is not a layer: a number from 0, or *");
    assert_eq!(words("version1_c.npy::0"), "the array has shape (2, 3) and so no layers, but one was asked for");
    assert_eq!(words("plain.fvecs::0"), "fvecs files have no members or layers, but '0' was asked for");
    assert_eq!(words("stored.npz::layers::-1"), "'-1' is not a layer: a number from 0, or *");
    assert_eq!(
        words("stored.npz::txet"),
        "there is no member 'txet'; it holds text (2, 3) f32, image (2, 3) f64, layers (2, 3, 2) i16"
    );
    let argument = golden.join("plain.csv").display().to_string();
    let range = |rows| open(&argument, &OpenOptions { rows: Some(rows), ..OpenOptions::default() });
    let error = range(1..3).unwrap_err();
    assert!(error.to_string().ends_with("plain.csv: rows 1..3 were asked for, but there are 2"), "{error}");
    assert_eq!(range(2..2).unwrap()[0].n(), 0);
}

#[test]
fn labels_are_as_many_as_rows() {
    let (_data, data) = file("x.csv", b"1\n2\n3\n");
    let argument = data.to_str().unwrap();
    let with = |labels: &[u8], rows| {
        let (_folder, path) = file("labels", labels);
        let matrices = open(argument, &OpenOptions { rows, labels: Some(path), ..OpenOptions::default() })?;
        Ok::<_, StoreError>(matrices[0].labels().unwrap().to_vec())
    };
    assert_eq!(with(b"a b\r\nc\nd\te,f", None).unwrap(), [vec!["a", "b"], vec!["c"], vec!["d", "e", "f"]]);
    assert_eq!(with(b"a b\nc\nd\n", Some(1..2)).unwrap(), [["c"]]);
    assert_eq!(with(b"c\n", Some(1..2)).unwrap(), [["c"]]);
    let error = with(b"a\nb\n", None).unwrap_err().to_string();
    assert!(error.contains("labels: 2 lines of labels for 3 rows of ") && error.ends_with("x.csv"), "{error}");
    let error = with(b"a\n \nb\n", None).unwrap_err().to_string();
    assert!(error.ends_with("labels: line 2 has no label"), "{error}");
    let error = with(b"a\nb\n\xff\n", None).unwrap_err().to_string();
    assert!(error.ends_with("labels: line 3 is not UTF-8"), "{error}");
}

#[test]
fn a_summary_counts_what_is_odd_and_finds_equal_rows() {
    let text = "0,0\n3,4\nnan,1\n3,4\n-0,0\ninf,-inf\n6,8\n3,4\n";
    let summary = open_bytes("x.csv", text.as_bytes()).unwrap().summary(&()).unwrap();
    assert_eq!((summary.nan.count, summary.nan.first), (1, vec![(2, 0)]));
    assert_eq!((summary.infinite.count, summary.infinite.first), (2, vec![(5, 0), (5, 1)]));
    assert_eq!((summary.zero_rows.count, summary.zero_rows.first), (2, vec![0, 4]));
    assert_eq!(summary.norms, Some([0.0, 5.0, 10.0]));
    let equal = summary.equal_rows;
    assert_eq!((equal.groups, equal.rows, equal.largest, equal.largest_first), (2, 5, 3, vec![1, 3, 7]));
}

#[test]
fn c5_vectordbbench_357_twenty_equal_rows_are_one_group() {
    let text: String = (0..100).map(|i| if i % 5 == 0 { "1,2\n".to_owned() } else { format!("{i},0\n") }).collect();
    let equal = open_bytes("x.csv", text.as_bytes()).unwrap().summary(&()).unwrap().equal_rows;
    assert_eq!((equal.groups, equal.rows, equal.largest), (1, 20, 20));
    assert_eq!(equal.largest_first, [0, 5, 10, 15, 20]);
}

#[test]
fn rows_that_only_f64_tells_apart_are_counted() {
    let data: Vec<u8> = [1.0, 1.0 + 1e-12, 1.0, 2.0].into_iter().flat_map(f64::to_le_bytes).collect();
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (4, 1), }";
    let rounding = open_bytes("x.npy", &npy(header, &data)).unwrap().check(1 << 20, &()).unwrap().rounding.unwrap();
    assert_eq!((rounding.rounded_values, rounding.rows_made_equal), (1, Some(1)));
}

/// Words with which files of other formats begin are also words.
#[test]
fn headings_are_not_taken_for_signatures() {
    for text in ["PAR1,PAR2\n1,2\n", "ARROW1,b\n1,2\n", "BZhx,b\n1,2\n"] {
        let matrix = open_bytes("x.csv", text.as_bytes()).unwrap();
        assert_eq!((matrix.n(), matrix.d()), (1, 2), "{text:?}");
    }
}

#[test]
fn text_keeps_to_its_budget() {
    let (_folder, path) = file("x.csv", "1,2\n".repeat(1000).as_bytes());
    let with = |memory| open(path.to_str().unwrap(), &OpenOptions { memory, ..OpenOptions::default() });
    assert_eq!(with(8000).unwrap()[0].n(), 1000);
    let access = |memory| with(memory).unwrap()[0].access();
    assert_eq!((access(15_999), access(16_000)), (Access::ConvertedPerBlock, Access::InMemory), "half of the memory");
    let error = with(7999).unwrap_err();
    assert!(matches!(error, StoreError::OverBudget { needed: 8000, budget: 7999, .. }), "{error}");
}

#[test]
fn reading_and_mapping_give_one_fingerprint_of_the_content() {
    let argument = fixtures("golden").join("plain.fbin").display().to_string();
    let of = |io| open(&argument, &OpenOptions { io, ..OpenOptions::default() }).unwrap()[0].fingerprint();
    assert_eq!(of(Io::Map), of(Io::Read));
    let text = of(Io::Map).to_string();
    assert!(text.starts_with("xxh3:") && text.ends_with(" (full)") && text.len() == 5 + 32 + 7, "{text}");
}

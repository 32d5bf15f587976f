//! What is written, read back by readers that share nothing with the writers, and what happens when it cannot be.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use mnno_exact::NO_NEIGHBOUR;
use mnno_store::output::{AtomicFile, Lists, WriteError, list_paths, prepare_lists, same_file};

const INDICES: [u32; 6] = [3, 1, 70_000, 0, 2, NO_NEIGHBOUR];
const SCORES: [f64; 6] = [0.1, -0.25, 1e-30, 1.0, 1.0 / 3.0, f64::NEG_INFINITY];

fn lists<'a>() -> Lists<'a> {
    Lists { n: 3, k: 2, indices: &INDICES, scores: &SCORES, query_names: None, base_names: None }
}

fn publish(lists: &Lists<'_>, path: &Path) -> Vec<String> {
    let written = prepare_lists(lists, path).unwrap().publish().unwrap();
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    written.iter().map(|w| format!("{}: {} {:?} {}", name(&w.path), w.what, w.shape, w.dtype)).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn u16_at(bytes: &[u8], at: usize) -> usize {
    u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap()).into()
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

fn numbers<T, const B: usize>(bytes: &[u8], number: fn([u8; B]) -> T) -> Vec<T> {
    assert_eq!(bytes.len() % B, 0);
    bytes.chunks_exact(B).map(|b| number(b.try_into().unwrap())).collect()
}

/// The data of an npy whose header must be the one of a `[3, 2]` array.
fn npy<'a>(bytes: &'a [u8], descr: &str) -> &'a [u8] {
    assert_eq!(bytes[..8], *b"\x93NUMPY\x01\x00");
    let start = 10 + u16_at(bytes, 8);
    assert_eq!(start % 64, 0, "data begin at a multiple of 64");
    let header = std::str::from_utf8(&bytes[10..start]).unwrap();
    assert_eq!(
        header.trim_end_matches([' ', '\n']),
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (3, 2), }}")
    );
    assert!(header.ends_with('\n'));
    &bytes[start..]
}

const WIDE: [i64; 6] = [3, 1, 70_000, 0, 2, -1];
const NARROW: [i32; 6] = [3, 1, 70_000, 0, 2, -1];

fn narrow_scores() -> Vec<f32> {
    SCORES.iter().map(|&s| s as f32).collect()
}

/// Names, offsets of the data and data of the members, by the central directory (PKWARE APPNOTE 4.3).
fn members(zip: &[u8]) -> Vec<(String, usize, &[u8])> {
    let end = zip.len() - 22;
    assert_eq!(zip[end..end + 4], *b"PK\x05\x06");
    let mut at = u32_at(zip, end + 16);
    let mut members = Vec::new();
    for _ in 0..u16_at(zip, end + 10) {
        assert_eq!(zip[at..at + 4], *b"PK\x01\x02");
        assert_eq!(u16_at(zip, at + 10), 0, "stored");
        assert_eq!((u16_at(zip, at + 12), u16_at(zip, at + 14)), (0, 0x21), "1980-01-01 00:00");
        let (size, name) = (u32_at(zip, at + 24), u16_at(zip, at + 28));
        let local = u32_at(zip, at + 42);
        let data = local + 30 + u16_at(zip, local + 26) + u16_at(zip, local + 28);
        let text = String::from_utf8(zip[at + 46..at + 46 + name].to_vec()).unwrap();
        members.push((text, data, &zip[data..data + size]));
        at += 46 + name + u16_at(zip, at + 30) + u16_at(zip, at + 32);
    }
    members
}

#[test]
fn npz_holds_both_arrays_ready_to_be_mapped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.npz");
    assert_eq!(publish(&lists(), &path), ["out.npz: indices [3, 2] i64", "out.npz: scores [3, 2] f64"]);
    let bytes = fs::read(&path).unwrap();
    let members = members(&bytes);
    assert_eq!(members.iter().map(|m| m.0.as_str()).collect::<Vec<_>>(), ["indices.npy", "scores.npy"]);
    assert!(members.iter().all(|m| m.1 % 64 == 0), "offsets {} and {}", members[0].1, members[1].1);
    assert_eq!(numbers(npy(members[0].2, "<i8"), i64::from_le_bytes), WIDE);
    assert_eq!(numbers(npy(members[1].2, "<f8"), f64::from_le_bytes), SCORES);

    let again = folder.path().join("again.npz");
    publish(&lists(), &again);
    assert_eq!(bytes, fs::read(again).unwrap(), "equal lists, equal bytes");
}

#[test]
fn npy_is_a_pair() {
    let folder = tempfile::tempdir().unwrap();
    let written = publish(&lists(), &folder.path().join("a.b.npy"));
    assert_eq!(written, ["a.b.indices.npy: indices [3, 2] i64", "a.b.scores.npy: scores [3, 2] f64"]);
    let read = |name| fs::read(folder.path().join(name)).unwrap();
    assert_eq!(numbers(npy(&read("a.b.indices.npy"), "<i8"), i64::from_le_bytes), WIDE);
    assert_eq!(numbers(npy(&read("a.b.scores.npy"), "<f8"), f64::from_le_bytes), SCORES);
    assert_eq!(names(folder.path()), ["a.b.indices.npy", "a.b.scores.npy"]);
}

#[test]
fn vecs_and_bin_are_pairs() {
    for output in ["out.ivecs", "out.IVECS"] {
        let folder = tempfile::tempdir().unwrap();
        let written = publish(&lists(), &folder.path().join(output));
        assert_eq!(
            written,
            [format!("{output}: indices [3, 2] i32"), "out.scores.fvecs: scores [3, 2] f32".to_owned()]
        );
        let rows = |name| {
            let bytes = fs::read(folder.path().join(name)).unwrap();
            assert_eq!(bytes.len(), 3 * 12);
            assert!(bytes.chunks(12).all(|row| row[..4] == 2i32.to_le_bytes()));
            bytes.chunks(12).flat_map(|row| row[4..].to_vec()).collect::<Vec<_>>()
        };
        assert_eq!(numbers(&rows(output), i32::from_le_bytes), NARROW);
        assert_eq!(numbers(&rows("out.scores.fvecs"), f32::from_le_bytes), narrow_scores());
    }
    let folder = tempfile::tempdir().unwrap();
    let written = publish(&lists(), &folder.path().join("out.ibin"));
    assert_eq!(written, ["out.ibin: indices [3, 2] i32", "out.scores.fbin: scores [3, 2] f32"]);
    let data = |name| {
        let bytes = fs::read(folder.path().join(name)).unwrap();
        assert_eq!((u32_at(&bytes, 0), u32_at(&bytes, 4)), (3, 2));
        bytes[8..].to_vec()
    };
    assert_eq!(numbers(&data("out.ibin"), i32::from_le_bytes), NARROW);
    assert_eq!(numbers(&data("out.scores.fbin"), f32::from_le_bytes), narrow_scores());
}

#[test]
fn csv_has_a_line_for_each_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.csv");
    assert_eq!(publish(&lists(), &path), ["out.csv: neighbours [6, 4] text"]);
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "query,rank,index,score\n0,1,3,0.1\n0,2,1,-0.25\n1,1,70000,0.000000000000000000000000000001\n1,2,0,1\n2,1,2,0.3333333333333333\n\
         2,2,-1,-inf\n"
    );

    let words: Vec<String> = ["cat", "a, b", "say \"hi\""].map(String::from).to_vec();
    let named = Lists {
        n: 1,
        k: 3,
        indices: &[1, 2, NO_NEIGHBOUR],
        scores: &[2.0, 1.0, f64::NEG_INFINITY],
        query_names: Some(&words[..1]),
        base_names: Some(&words),
    };
    assert_eq!(publish(&named, &path), ["out.csv: neighbours [3, 6] text"]);
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "query,rank,index,score,query_name,name\n0,1,1,2,cat,\"a, b\"\n0,2,2,1,cat,\"say \"\"hi\"\"\"\n\
         0,3,-1,-inf,cat,\n"
    );
}

#[test]
fn lists_without_places_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let empty = Lists { n: 3, k: 0, indices: &[], scores: &[], query_names: None, base_names: None };
    for output in ["a.npz", "a.npy", "a.ivecs", "a.ibin", "a.csv"] {
        publish(&empty, &folder.path().join(output));
    }
    assert_eq!(fs::read(folder.path().join("a.ivecs")).unwrap(), [0; 12]);
    assert_eq!(fs::read_to_string(folder.path().join("a.csv")).unwrap(), "query,rank,index,score\n");
}

#[test]
fn what_32_bits_cannot_hold_is_refused_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let largest = i32::MAX.unsigned_abs();
    for output in ["out.ivecs", "out.ibin"] {
        let path = folder.path().join(output);
        let refused = |index: u32, score: f64| {
            let (indices, scores) = ([0, index], [1.0, score]);
            let lists = Lists { n: 1, k: 2, indices: &indices, scores: &scores, query_names: None, base_names: None };
            prepare_lists(&lists, &path).err()
        };
        let error = refused(largest + 1, 1.0);
        assert!(
            matches!(error, Some(WriteError::TooLarge { value: 0x8000_0000, largest: 0x7fff_ffff, .. })),
            "{error:?}"
        );
        let error = refused(largest, 1e39);
        assert!(matches!(error, Some(WriteError::ScoreRange { query: 0, score: 1e39, .. })), "{error:?}");
        assert!(refused(largest, f64::INFINITY).is_none(), "the score of a pad");
    }
    assert!(names(folder.path()).is_empty(), "{:?}", names(folder.path()));
}

#[test]
fn another_extension_is_refused_with_the_list_of_layouts() {
    for output in ["out", "out.parquet", ".npz", "out.fvecs", "out.fbin"] {
        let error = list_paths(Path::new(output)).unwrap_err().to_string();
        assert!(error.starts_with(output), "{error}");
        for extension in [".npz", ".npy", ".ivecs", ".scores.fvecs", ".ibin", ".scores.fbin", ".csv"] {
            assert!(error.contains(extension), "{error}");
        }
    }
    assert_eq!(list_paths(Path::new("a/x.npy")).unwrap(), ["a/x.indices.npy", "a/x.scores.npy"].map(PathBuf::from));
}

#[test]
fn the_old_file_stays_until_the_new_one_is_published() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.npz");
    fs::write(&path, "old").unwrap();
    let prepared = prepare_lists(&lists(), &path).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names(folder.path()).len(), 2, "the new one lies beside it");
    drop(prepared);
    assert_eq!(names(folder.path()), ["out.npz"]);
    assert_eq!(fs::read(&path).unwrap(), b"old");
    publish(&lists(), &path);
    assert_eq!(names(folder.path()), ["out.npz"]);
    assert_ne!(fs::read(&path).unwrap(), b"old");
}

#[test]
fn a_pair_whose_second_file_cannot_be_written_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("out.scores.fvecs")).unwrap();
    let refused = prepare_lists(&lists(), &folder.path().join("out.ivecs"));
    assert!(matches!(refused, Err(WriteError::Folder { path }) if path.ends_with("out.scores.fvecs")));
    assert_eq!(names(folder.path()), ["out.scores.fvecs"]);
}

#[test]
fn places_that_cannot_be_written_are_refused_before_anything_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);

    let error = AtomicFile::create(&path("none/out.csv")).unwrap_err();
    assert!(matches!(&error, WriteError::MissingFolder { folder, .. } if *folder == path("none")), "{error:?}");
    assert_eq!(
        error.to_string(),
        format!("{}: the folder {} does not exist", path("none/out.csv").display(), path("none").display())
    );
    assert_eq!(error.hint(), Some(format!("create it: mkdir -p '{}'", path("none").display())));

    for name in ["", ".", "new/"] {
        let error = AtomicFile::create(&path(name)).unwrap_err();
        assert!(matches!(error, WriteError::Folder { .. }), "{error:?}");
    }

    fs::write(path("file"), "").unwrap();
    let error = AtomicFile::create(&path("file/out.csv")).unwrap_err();
    assert!(matches!(error, WriteError::Io { .. }), "{error:?}");
    assert!(std::error::Error::source(&error).is_some());

    let mut permissions = fs::metadata(path("file")).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(path("file"), permissions).unwrap();
    let error = AtomicFile::create(&path("file")).unwrap_err();
    assert!(matches!(error, WriteError::ReadOnly { .. }), "{error:?}");
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn causes_are_told_apart() {
    let of = |kind: std::io::ErrorKind| WriteError::io(Path::new("out"), kind.into());
    assert!(matches!(of(std::io::ErrorKind::PermissionDenied), WriteError::Denied { .. }));
    assert!(matches!(of(std::io::ErrorKind::StorageFull), WriteError::DiskFull { .. }));
    assert!(matches!(of(std::io::ErrorKind::Interrupted), WriteError::Io { .. }));
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    fn write(path: &Path, text: &str) {
        let mut file = AtomicFile::create(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.publish().unwrap();
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn a_link_stays_a_link_and_its_file_is_replaced() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (link, target) = (folder.path().join("link"), elsewhere.path().join("target"));
        fs::write(&target, "old").unwrap();
        symlink(&target, &link).unwrap();
        write(&link, "new");
        assert_eq!(fs::read_link(&link).unwrap(), target);
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");

        let broken = folder.path().join("broken");
        symlink(folder.path().join("nothing"), &broken).unwrap();
        assert!(matches!(AtomicFile::create(&broken), Err(WriteError::BrokenLink { .. })));
    }

    #[test]
    fn permissions_are_those_of_the_old_file_or_of_any_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let (ordinary, new, old) = (folder.path().join("a"), folder.path().join("b"), folder.path().join("c"));
        fs::write(&ordinary, "").unwrap();
        write(&new, "");
        assert_eq!(mode(&new), mode(&ordinary), "as the umask has it");
        fs::write(&old, "").unwrap();
        fs::set_permissions(&old, fs::Permissions::from_mode(0o622)).unwrap();
        write(&old, "");
        assert_eq!(mode(&old), 0o622);
    }

    #[test]
    fn devices_are_not_replaced() {
        assert!(matches!(AtomicFile::create(Path::new("/dev/null")), Err(WriteError::Special { .. })));
    }

    #[test]
    fn one_file_is_known_under_every_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a"), "").unwrap();
        fs::write(path("other"), "").unwrap();
        fs::hard_link(path("a"), path("hard")).unwrap();
        symlink(path("a"), path("soft")).unwrap();
        for name in ["a", "hard", "soft", "./a"] {
            assert!(same_file(&path("a"), &path(name)), "{name}");
        }
        assert!(!same_file(&path("a"), &path("other")));
        assert!(!same_file(&path("none"), &path("none")));
    }
}

//! Archives that are what they should be, and archives made to do harm.

use super::*;
use crate::{plan_install, run_install};
use proptest::prelude::*;

const SKILL: &str = "---\nname: tides\ndescription: Reads tide tables.\n---\nOpen the table.";

/// One file of an archive.
struct Packed<'a> {
    name: &'a str,
    mode: u32,
    text: &'a [u8],
    method: u16,
    flags: u16,
    /// The size that the archive states.
    size: Option<u32>,
}

fn packed<'a>(name: &'a str, text: &'a [u8]) -> Packed<'a> {
    Packed { name, mode: 0o100_644, text, method: 8, flags: 0, size: None }
}

/// An archive of these files, byte by byte, so that it can say anything.
fn archive(files: &[Packed<'_>]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for Packed { name, mode, text, method, flags, size } in files {
        let data = if *method == 8 { miniz_oxide::deflate::compress_to_vec(text, 6) } else { text.to_vec() };
        let offset = u32::try_from(bytes.len()).unwrap();
        let length = |length: usize| u32::try_from(length).unwrap();
        let mut common = Vec::new();
        for half in [20_u16, *flags, *method, 0, 0x21] {
            common.extend(half.to_le_bytes());
        }
        for whole in [rawzip::crc32(text), length(data.len()), size.unwrap_or(length(text.len()))] {
            common.extend(whole.to_le_bytes());
        }
        common.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
        common.extend([0, 0]);
        bytes.extend(b"PK\x03\x04");
        bytes.extend(&common);
        bytes.extend(name.as_bytes());
        bytes.extend(&data);
        directory.extend(b"PK\x01\x02\x14\x03");
        directory.extend(&common);
        directory.extend([0; 6]);
        directory.extend((mode << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let count = u16::try_from(files.len()).unwrap().to_le_bytes();
    let (at, size) = (u32::try_from(bytes.len()).unwrap(), u32::try_from(directory.len()).unwrap());
    bytes.extend(directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend([count, count].concat());
    bytes.extend([size.to_le_bytes(), at.to_le_bytes()].concat());
    bytes.extend([0, 0]);
    bytes
}

/// Unpacks into `out` of a new folder, whose other names are returned, too.
fn unpack(bytes: &[u8]) -> (tempfile::TempDir, Result<(), SkillError>) {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("a.skill"), bytes).unwrap();
    fs::create_dir(root.path().join("out")).unwrap();
    let result = unpack_archive(&root.path().join("a.skill"), &root.path().join("out"));
    (root, result)
}

#[track_caller]
fn check_refused(bytes: &[u8], reason: &str) {
    let (root, result) = unpack(bytes);
    let error = result.expect_err(reason).to_string();
    assert!(error.contains(reason), "{error}");
    let mut names: Vec<_> =
        fs::read_dir(root.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    assert_eq!(names, ["a.skill", "out"], "nothing is written elsewhere");
}

#[test]
fn a_skill_comes_out_of_its_archive() {
    let script = Packed { mode: 0o100_755, ..packed("tides/scripts/run.sh", b"echo") };
    let plain = Packed { method: 0, ..packed("tides/SKILL.md", SKILL.as_bytes()) };
    let folder = Packed { mode: 0o040_755, ..packed("tides/scripts/", b"") };
    let (root, result) = unpack(&archive(&[folder, plain, script, packed("__MACOSX/tides/._x", b"x")]));
    result.unwrap();
    let out = root.path().join("out");
    assert!(!out.join("__MACOSX").exists());
    let plans = plan_install(&find_skill_root(&out, None).unwrap(), &root.path().join("skills")).unwrap();
    assert_eq!((plans.len(), plans[0].name.as_str(), plans[0].files.len()), (1, "tides", 2));
    #[cfg(unix)]
    assert_eq!(plans[0].files.iter().map(|file| file.is_executable).collect::<Vec<_>>(), [false, true]);
    run_install(&plans[0]).unwrap();
    assert_eq!(fs::read_to_string(root.path().join("skills/tides/SKILL.md")).unwrap(), SKILL);
}

#[test]
fn no_name_leads_out() {
    for name in
        ["../x", "a/../../x", "/x", "//x", "a//x", "./x", "..\\x", "C:\\x", "C:x", "a\0b", "a\nb", "a/.."]
    {
        check_refused(&archive(&[packed(name, b"x")]), "is not a plain relative path");
    }
    check_refused(&archive(&[packed(&"a/".repeat(40), b"")]), "too deep");
    check_refused(&archive(&[packed("a", b"x"), packed("A", b"y")]), "is there twice");
}

#[test]
fn only_plain_files_are_unpacked() {
    let of = |mode: u32| archive(&[Packed { mode, ..packed("link", b"/etc/passwd") }]);
    check_refused(&of(0o120_777), "is a link");
    check_refused(&of(0o010_644), "is not a regular file");
    check_refused(&of(0o060_644), "is not a regular file");
    check_refused(&archive(&[Packed { flags: 1, ..packed("a", b"x") }]), "is encrypted");
    check_refused(&archive(&[Packed { method: 12, ..packed("a", b"x") }]), "other than deflate");
}

#[test]
fn bombs_do_not_go_off() {
    let zeros = vec![0; 60 * 1024 * 1024];
    check_refused(&archive(&[packed("a", &zeros)]), "larger than 50 MiB");
    // Whatever it says of its size.
    check_refused(&archive(&[Packed { size: Some(1), ..packed("a", &zeros) }]), "larger than 50 MiB");
    let part = &zeros[..20 * 1024 * 1024];
    check_refused(&archive(&[packed("a", part), packed("b", part), packed("c", part)]), "larger than 50 MiB");
    let names: Vec<String> = (0..2_001).map(|number| number.to_string()).collect();
    let many: Vec<Packed<'_>> = names.iter().map(|name| packed(name, b"")).collect();
    check_refused(&archive(&many), "more than 2,000 files");
}

#[test]
fn what_is_damaged_is_refused() {
    check_refused(b"no archive", "not a zip archive");
    let mut bytes = archive(&[Packed { method: 0, ..packed("a", b"some text") }]);
    bytes[35] ^= 1;
    check_refused(&bytes, "is damaged");
}

#[test]
fn a_folder_of_it_can_be_named() {
    let (root, result) = unpack(&archive(&[
        packed("skills/tides/SKILL.md", SKILL.as_bytes()),
        packed("more/deep/winds/SKILL.md", SKILL.as_bytes()),
    ]));
    result.unwrap();
    let out = root.path().join("out");
    assert_eq!(find_skill_root(&out, None).unwrap(), out.join("skills"));
    assert!(find_skill_root(&out, Some("more/deep")).unwrap().ends_with("more/deep"));
    for named in ["../..", "/etc", "none", ""] {
        assert!(
            matches!(find_skill_root(&out, Some(named)), Err(SkillError::NothingThere { .. })),
            "{named}"
        );
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("..", out.join("up")).unwrap();
        assert!(find_skill_root(&out, Some("up")).is_err());
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(place in 0..200_usize, byte: u8, end in 0..250_usize) {
        let mut bytes = archive(&[packed("tides/SKILL.md", SKILL.as_bytes()), packed("b", b"x")]);
        let place = place.min(bytes.len() - 1);
        bytes[place] = byte;
        bytes.truncate(end.max(20));
        let (root, _) = unpack(&bytes);
        prop_assert_eq!(fs::read_dir(root.path()).unwrap().count(), 2);
    }
}

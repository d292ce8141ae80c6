//! `read_file`.

use longhaul_conversation::{Body, Media, MediaData, Origin};
use longhaul_tools::{FileReadError, IgnoreFiles, Preview, ReadRange, ToolDisplay, load_file};
use longhaul_workspace::Ignoring;
use serde_json::json;

use crate::world::World;

fn numbered(count: usize) -> String {
    (1..=count).map(|line| line.to_string()).collect::<Vec<_>>().join("\n")
}

#[test]
fn text_comes_as_it_is_with_line_feeds() {
    let world = World::with(&[("src/a.rs", "fn a() {}\r\n")]);
    let answer = world.check("read_file", &json!({"file_path": "src/a.rs"}), "fn a() {}\n");
    assert_eq!(answer.shown, ToolDisplay::Line("2 lines".into()));
    assert_eq!(answer.touched, [world.at("src/a.rs")]);
    for other in ["path", "absolute_path"] {
        world.check("read_file", &json!({other: world.at("src/a.rs")}), "fn a() {}\n");
    }
}

#[test]
fn ranges_say_what_is_shown_and_how_to_go_on() {
    let world = World::with(&[("a", &numbered(20)), ("long", &numbered(2500))]);
    let read = |args, expected: &str| {
        world.check("read_file", &args, expected);
    };
    let middle = "Shown are lines 6 to 8 of 20. To read on, use start_line 9.\n---\n6\n7\n8";
    read(json!({"file_path": "a", "start_line": 6, "end_line": 8}), middle);
    read(json!({"file_path": "a", "offset": 5, "limit": 3}), middle);
    read(json!({"file_path": "a", "start_line": 19}), "Shown are lines 19 to 20 of 20.\n---\n19\n20");
    read(json!({"file_path": "a", "end_line": 99}), &numbered(20));
    let first = "Shown are lines 1 to 2000 of 2500. To read on, use start_line 2001.\n---\n";
    read(json!({"file_path": "long"}), &format!("{first}{}", numbered(2000)));
    world.check_failed(
        "read_file",
        &json!({"file_path": "a", "start_line": 30}),
        "a has 20 lines: there is none from line 30 on.",
    );
    for (args, why) in [
        (json!({"file_path": "a", "start_line": 0}), "Lines are counted from 1."),
        (
            json!({"file_path": "a", "offset": 3, "limit": 0}),
            "There are no lines from 4 to 3: start_line comes first.",
        ),
        (
            json!({"file_path": "a", "start_line": 5, "end_line": 4}),
            "There are no lines from 5 to 4: start_line comes first.",
        ),
    ] {
        world.check_failed("read_file", &args, why);
        assert_eq!(world.preview("read_file", &args), Err(why.to_string()));
    }
}

#[test]
fn what_is_not_to_be_read_is_said_in_words() {
    let world = World::with(&[
        (".git/HEAD", ""),
        (".gitignore", "target/\n"),
        ("target/x", "built"),
        ("a.bin", "text"),
        ("a.m4a", "\0\0"),
        ("dir/x", ""),
        ("empty.png", ""),
    ]);
    let failed = |path: &str, why: &str| world.check_failed("read_file", &json!({"file_path": path}), why);
    failed("missing", "missing does not exist.");
    failed("dir", "dir is a folder, not a file; list_directory shows what is in it.");
    failed(".", ". is a folder, not a file; list_directory shows what is in it.");
    failed(
        "target/x",
        "target/x is not shown: the line \"target/\" in .gitignore hides it; the user can change that line, or set \
         context.fileFiltering.respectGitIgnore to false.",
    );
    failed(
        "a.m4a",
        "a.m4a is a sound of a kind that models do not take; they take mp3, wav, aiff, aac, ogg and flac.",
    );
    let outside =
        format!("\"../x\" is outside of the workspace, which is {}.", world.roots.first().display());
    failed("../x", &outside);
    failed("", "\"\" is not a path: it is empty.");
    world.check("read_file", &json!({"file_path": "a.bin"}), "a.bin cannot be shown: it is no text.");
    world.check("read_file", &json!({"file_path": "empty.png"}), "empty.png is empty.");
}

#[test]
fn files_may_have_twenty_megabytes_and_not_a_byte_more() {
    let world = World::new();
    let most = 20 * 1024 * 1024;
    world.put("most", &vec![b'x'; most]);
    let shown = format!(
        "Lines of more than 2000 characters are cut and end in \"... [truncated]\".\n---\n{}... [truncated]",
        "x".repeat(2000)
    );
    world.check("read_file", &json!({"file_path": "most"}), &shown);
    world.put("more", &vec![b'x'; most + 1]);
    let why = "more is too large: it has 20.00 MB, and 20 MB can be read.";
    world.check_failed("read_file", &json!({"file_path": "more"}), why);
}

#[test]
fn drawings_are_text_up_to_a_megabyte() {
    let world = World::new();
    let drawing = "<svg/>\n".repeat(3000);
    world.put("a.svg", drawing.as_bytes());
    world.check("read_file", &json!({"file_path": "a.svg"}), &drawing);
    world.put("large.svg", &vec![b' '; 1024 * 1024 + 1]);
    world.check(
        "read_file",
        &json!({"file_path": "large.svg"}),
        "large.svg is not shown: as a drawing of 1.00 MB it is too large to be read as text, which 1 MB may have.",
    );
}

#[test]
fn media_are_attached() {
    let world = World::new();
    for (name, bytes, mime, base64) in [
        ("a.png", &b"\x89PNG"[..], "image/png", "iVBORw=="),
        ("a.pdf", b"%PDF", "application/pdf", "JVBERg=="),
        ("a.mp3", b"\0\0\0", "audio/mpeg", "AAAA"),
        ("a.mp4", b"\0\0\0", "video/mp4", "AAAA"),
    ] {
        world.put(name, bytes);
        let said = format!("{name} is attached ({mime}).");
        let answer = world.check("read_file", &json!({"file_path": name}), &said);
        let media = Media { mime: mime.into(), data: MediaData::Base64(base64.into()) };
        let [part] = answer.media.as_slice() else { panic!("{answer:?}") };
        assert_eq!((part.origin, &part.body), (Origin::Tool, &Body::Media(Box::new(media))));
    }
}

#[test]
fn encodings_are_told_by_their_marks() {
    let world = World::new();
    for (name, bytes) in [
        ("8", &b"\xEF\xBB\xBFh\xC3\xA9"[..]),
        ("16le", b"\xFF\xFEh\0\xE9\0"),
        ("16be", b"\xFE\xFF\0h\0\xE9"),
        ("32le", b"\xFF\xFE\0\0h\0\0\0\xE9\0\0\0"),
        ("32be", b"\0\0\xFE\xFF\0\0\0h\0\0\0\xE9"),
    ] {
        world.put(name, bytes);
        world.check("read_file", &json!({"file_path": name}), "hé");
    }
}

#[test]
fn a_preview_tells_file_and_lines() {
    let world = World::new();
    for (args, expected) in [
        (json!({"file_path": "./a/../b"}), "b"),
        (json!({"file_path": "b", "end_line": 7}), "b, lines 1 to 7"),
        (json!({"file_path": "b", "start_line": 7}), "b, from line 7"),
    ] {
        assert_eq!(world.preview("read_file", &args), Ok(Preview::Look(expected.into())));
    }
    assert!(world.preview("read_file", &json!({"file_path": "/etc/passwd"})).is_err());
}

#[test]
fn the_schema_names_only_what_is_current() {
    let declaration = World::new().tool("read_file").declaration();
    let properties = declaration.parameters["properties"].as_object().unwrap();
    let names: Vec<&String> = properties.keys().collect();
    assert_eq!(names, ["file_path", "start_line", "end_line"]);
    assert_eq!(declaration.parameters["required"], json!(["file_path"]));
}

#[test]
fn attachments_keep_the_same_limits() {
    let world = World::with(&[(".geminiignore", "secret\n"), ("secret", "s"), ("a", &numbered(2500))]);
    let ignored = IgnoreFiles::load(&world.roots, &Ignoring::default());
    let load = |path: &str| load_file(&world.roots, &ignored, path, ReadRange::default());
    assert!(matches!(load("secret"), Err(FileReadError::Ignored { .. })));
    assert!(matches!(load("../outside/file"), Err(FileReadError::Refused(_))));
    assert_eq!(load("a").unwrap().place, world.at("a"));
}

#[cfg(unix)]
#[test]
fn pipes_sockets_and_devices_are_refused_at_once() {
    use std::os::unix::net::UnixListener;
    let world = World::new();
    let pipe = world.at("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let _socket = UnixListener::bind(world.at("socket")).unwrap();
    for name in ["pipe", "socket"] {
        let why = format!("could not read {name}: it is a pipe, a socket or a device, not a file.");
        world.check_failed("read_file", &json!({"file_path": name}), &why);
        world.check_failed("write_file", &json!({"file_path": name, "content": ""}), &why);
    }
}

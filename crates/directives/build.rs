//! Lists the files of phrases in `data/` and its folders, so that adding a language is adding files.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=data");
    let data = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("data");
    let mut files = Vec::new();
    for folder in [data.join("requests"), data.join("rules"), data] {
        for file in fs::read_dir(folder)? {
            files.push(file?.path());
        }
    }
    files.retain(|file| file.extension().is_some_and(|ending| ending == "txt"));
    files.sort();
    let mut code = String::from("&[");
    for file in &files {
        let folder =
            file.parent().and_then(Path::file_name).expect("a file is in a folder").to_string_lossy();
        let name = file.file_name().expect("a file has a name").to_string_lossy();
        let name = format!("{folder}/{name}");
        write!(code, "({name:?}, include_str!({file:?})),").expect("a string takes text");
    }
    code.push(']');
    let folder = env::var("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&folder).join("languages.rs"), code)
}

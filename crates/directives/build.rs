//! Lists the languages in `data/`, so that adding one is adding a file.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=data");
    let data = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("data");
    let mut files: Vec<_> = fs::read_dir(data)?.map(|file| Ok(file?.path())).collect::<io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|ending| ending == "txt"));
    files.sort();
    let mut code = String::from("&[");
    for file in &files {
        let name = file.file_stem().expect("a file has a name").to_string_lossy();
        write!(code, "({name:?}, include_str!({file:?})),").expect("a string takes text");
    }
    code.push(']');
    let folder = env::var("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&folder).join("languages.rs"), code)
}

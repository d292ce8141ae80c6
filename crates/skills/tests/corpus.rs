//! Skills of real repositories: each is read, or refused with a sentence that says why.

use std::fs;

use longhaul_skills::{parse_manifest, render_manifest};
use longhaul_testkit::{corpus, files_below};

#[test]
fn every_skill_is_read_or_refused_with_a_reason() {
    let Some(corpus) = corpus() else { return };
    let folder = corpus.join("skills");
    let (mut read, mut refused) = (0, Vec::new());
    let files = files_below(&folder).into_iter().filter(|path| path.ends_with("SKILL.md"));
    for path in files {
        let text = fs::read_to_string(&path).expect("a text");
        match parse_manifest(&text) {
            Ok(manifest) => {
                read += 1;
                assert!(
                    !manifest.description.is_empty() && !manifest.description.contains('\n'),
                    "{}",
                    path.display()
                );
                let written = parse_manifest(&render_manifest(&manifest));
                assert_eq!(written.as_ref(), Ok(&manifest), "{}", path.display());
            }
            Err(error) => {
                let name = path.strip_prefix(&folder).expect("inside").display().to_string();
                refused.push(format!("{name}: {error}"));
            }
        }
    }
    println!("{read} skills read, {} refused:", refused.len());
    refused.iter().for_each(|refused| println!("  {refused}"));
    // What is refused has no front matter or no name, and nothing else.
    assert!(read >= 10 * refused.len());
    for refused in refused {
        let is_expected =
            refused.ends_with("the first line is not ---") || refused.contains("\"name\" is missing");
        assert!(is_expected, "{refused}");
    }
}

//! The summaries of test runners, builds and checkers that are known.

use super::*;
use crate::colours::plain;
use crate::data::DataFile;

/// `passed/failed/skipped verdict names`
#[track_caller]
fn check(output: &str, expected: &str) {
    let results = read_results(&plain(output));
    let number = |number: Option<u32>| number.map_or("-".to_string(), |number| number.to_string());
    let verdict = match results.verdict {
        Some(true) => "ok",
        Some(false) => "bad",
        None => "?",
    };
    let counts = [results.passed, results.failed, results.skipped].map(number).join("/");
    let seen = format!("{counts} {verdict} {}", results.failing.join(", "));
    assert_eq!(seen.trim_end(), expected, "{output}");
}

#[test]
fn examples_of_the_data_file_are_read_as_it_says() {
    for rules::Example { line, expected } in RULES.examples() {
        check(line, expected);
    }
}

#[test]
fn the_entry_that_the_data_file_shows_can_be_added() {
    let shown = rules::FILE.text.lines().skip_while(|line| !line.contains("To add a test runner"));
    let entry: Vec<&str> = shown.skip(1).map_while(|line| line.strip_prefix('#')).map(str::trim).collect();
    let end = entry.iter().position(|line| line.starts_with("The ")).expect("text follows the entry");
    let text: &'static str = entry[..end].join("\n").leak();
    let rules = rules::parse(&DataFile { name: "shown.txt", text }).expect("the entry is complete");
    let example = rules.examples().next().expect("it has an example").line;
    let counts = LineResult::Counts {
        passed: Some(3),
        failed: Some(1),
        skipped: None,
        is_sum: false,
        verdict: Some(false),
    };
    assert_eq!(rules.told(example, false), [counts]);
}

#[test]
fn cargo() {
    check("running 27 tests\ntest result: ok. 26 passed; 0 failed; 1 ignored; 0 measured", "26/0/1 ok");
    check(
        "test a::b ... ok\ntest a::c ... FAILED\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored;\n\nDoc-tests\ntest result: ok. 3 passed; 0 failed; 0 ignored",
        "4/1/0 bad a::c",
    );
    check("     Summary [   0.5s] 10 tests run: 9 passed, 1 failed, 0 skipped", "9/1/0 bad");
    check("    Finished `dev` profile [unoptimized] target(s) in 2s", "-/-/- ok");
    check("error[E0308]: mismatched types\n --> src/a.rs:1:1\nerror: could not compile `x`", "-/1/- bad");
}

#[test]
fn python() {
    check(
        "===== 3 failed, 20 passed in 2.1s =====\nFAILED tests/a.py::test_b - AssertionError: x",
        "20/3/- bad tests/a.py::test_b",
    );
    check("20 passed, 2 skipped in 0.42s", "20/0/2 ok");
    check("1 passed, 3 warnings, 1 error in 1.20s", "1/1/- bad");
    check("........\nRan 8 tests in 0.012s\n\nOK", "8/0/- ok");
    check(
        "FAIL: test_x (app.Tests)\nRan 5 tests in 0.01s\n\nFAILED (failures=1, errors=1)",
        "3/2/- bad test_x (app.Tests)",
    );
    check("Success: no issues found in 3 source files", "-/-/- ok");
    check("a.py:1: error: bad type\nFound 1 error in 1 file (checked 3 source files)", "-/1/- bad");
    check("All checks passed!", "-/-/- ok");
}

#[test]
fn go() {
    check("ok  \tgithub.com/a/b\t0.3s\n?   \tgithub.com/a/c\t[no test files]", "1/0/- ok");
    check(
        "--- FAIL: TestX (0.00s)\n    --- FAIL: TestX/sub (0.00s)\nFAIL\nFAIL\tgithub.com/a/b\t0.4s\nFAIL",
        "0/1/- bad TestX, TestX/sub",
    );
    check("=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\nok  \ta/b\t0.1s", "1/0/- ok");
    check("FAIL\ta/b [build failed]", "0/1/- bad a/b [build failed]");
    check("3 issues:\n* nilerr: 3", "-/3/- bad");
}

#[test]
fn javascript() {
    check("Tests:       1 failed, 4 passed, 5 total\n  ● Suite › does it", "4/1/- bad Suite › does it");
    check(" Test Files  1 passed (1)\n      Tests  4 passed | 1 skipped (5)", "4/0/1 ok");
    check(" FAIL  src/a.test.ts > adds\n Tests  1 failed | 4 passed (5)", "4/1/- bad src/a.test.ts > adds");
    check("  4 passing (10ms)\n  1 failing\n", "4/1/- bad");
    check("  4 passing (10ms)", "4/0/- ?");
    check("ℹ tests 5\nℹ pass 4\nℹ fail 1\nℹ skipped 0\n✖ wraps text (1.2ms)", "4/1/0 bad wraps text");
    check("# tests 2\n# pass 2\n# fail 0", "2/0/- ok");
    check("src/a.ts(1,2): error TS2345: no\nsrc/b.ts:3:4 - error TS7005: no", "-/2/- bad");
    check("✖ 3 problems (2 errors, 1 warning)", "-/2/- bad");
    check("\u{1b}[31mTests:\u{1b}[0m 2 passed, 2 total", "2/0/- ok");
    check("npm error code ELIFECYCLE", "-/-/- bad");
}

#[test]
fn others() {
    check(
        "12 examples, 1 failure, 2 pending\nrspec ./spec/a_spec.rb:3 # A does",
        "9/1/2 bad spec/a_spec.rb:3 # A does",
    );
    check("OK (5 tests, 10 assertions)", "5/0/- ok");
    check("Tests: 5, Assertions: 10, Failures: 1, Errors: 0.", "4/1/- bad");
    check("[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 1\n[INFO] BUILD SUCCESS", "4/0/1 ok");
    check("Failed!  - Failed:     1, Passed:     9, Skipped:     0, Total:    10", "9/1/0 bad");
    check("90% tests passed, 1 tests failed out of 10", "9/1/- bad");
    check("ATest > adds FAILED\n5 tests completed, 1 failed\nBUILD FAILED in 3s", "4/1/- bad ATest > adds");
    check("make: *** [all] Error 2", "-/-/- bad");
}

#[test]
fn other_text_is_no_result() {
    check("", "-/-/- ?");
    check("all fine\n3 files changed, 2 insertions(+)\n12 of 13 done in 3 days", "-/-/- ?");
}

proptest::proptest! {
    #[test]
    fn no_line_is_passed_over(
        text in "(test |result: ok\\.| \\.\\.\\. FAILED|1 |12| passed| failed| error|s in 2s|=+| examples?,|passing|failing|pending|issues:\
            |tests completed, |% tests passed, |Tests|Summary|Ran| tests? |run: | in |OK|FAILED|\\(|Passed!|Failed!|Total:|#|ℹ|pass |fail \
            |skipped |ok|FAIL|PASS|BUILD |SUCCESS|\\[INFO\\] |\\[ERROR\\] |Tests run:|Finished|Success|no issues found|profile|All\
            |checks passed|Found|✖|● | › |✕ |× |a > b|not ok |rspec \\./| # | - |--- FAIL: |--- PASS: |ERROR|: error: |error: |error\\[E1\
            |\\): error TS1|make|: \\*\\*\\*|g|npm|ninja: build stopped|ERROR task failed| ELIFECYCLE |[:\t \u{b}\u{3000}]|[\r\n]{1,3}){0,30}"
    ) {
        proptest::prop_assert_eq!(read_results(&text), read_lines(&text, true));
    }

    #[test]
    fn any_text_is_read(text in "(?s).{0,300}") {
        read_results(&text);
    }

    #[test]
    fn any_mix_of_known_words_is_read(words in proptest::collection::vec("(Tests|OK|FAILED|Ran|[0-9é]{0,3}| passed| failed|%|=| in |s|\\(|:|\n|\t)", 0..40)) {
        read_results(&words.concat());
    }
}

//! Results of `go test`, which counts neither tests nor packages itself.

/// The packages and tests of an output so far.
#[derive(Default)]
pub(super) struct GoCounts {
    packages_passed: u32,
    packages_failed: u32,
    tests_passed: u32,
    tests_failed: u32,
}

/// A line of `go test` that tells of a failure.
pub(super) enum GoFailure<'l> {
    /// A test failed.
    Test(&'l str),
    /// A package failed, by itself if it could not be built.
    Package { unbuilt: Option<&'l str> },
}

impl GoCounts {
    /// Reads `ok pkg 0.3s`, `FAIL pkg 0.3s`, `--- FAIL: TestA (0.1s)` and `--- PASS: TestA (0.1s)`, with tabs around packages.
    pub(super) fn read<'l>(&mut self, line: &'l str) -> Option<GoFailure<'l>> {
        let text = line.trim();
        if let Some(name) = text.strip_prefix("--- FAIL: ") {
            // Parts of a test are indented.
            self.tests_failed += u32::from(!line.starts_with(' '));
            return Some(GoFailure::Test(name.split(" (").next().unwrap_or(name)));
        }
        if line.starts_with("--- PASS: ") {
            self.tests_passed += 1;
        } else if text
            .strip_prefix("ok")
            .is_some_and(|rest| rest.starts_with([' ', '\t']) && rest.contains('\t'))
        {
            self.packages_passed += 1;
        } else if let Some(package) = text.strip_prefix("FAIL\t") {
            self.packages_failed += 1;
            let is_unbuilt = package.contains("[build failed]") || package.contains("[setup failed]");
            return Some(GoFailure::Package { unbuilt: is_unbuilt.then_some(package) });
        }
        None
    }

    /// The numbers that passed and failed: of tests where the output names those that passed, else of packages.
    pub(super) fn passed_and_failed(&self) -> Option<(u32, u32)> {
        let any = self.packages_passed + self.packages_failed + self.tests_passed + self.tests_failed;
        let passed = if self.tests_passed > 0 { self.tests_passed } else { self.packages_passed };
        (any > 0).then(|| (passed, self.tests_failed.max(self.packages_failed)))
    }
}

//! The program speaks TLS with whoever may be trusted.

use longhaul_testkit::fake_provider::{Authority, Certificate, FakeProvider, Validity};

use crate::support::{Sandbox, Wire};

const HERE: &str = "127.0.0.1";

/// A sandbox whose provider shows `certificate`.
fn desk_with(wire: Wire, certificate: &Certificate) -> Sandbox {
    let mut sandbox = Sandbox::new(wire, []);
    sandbox.server = FakeProvider::start_secure(certificate, [wire.texts(&["Hel", "lo."])]);
    let url = sandbox.server.url();
    sandbox.set("GOOGLE_GEMINI_BASE_URL", &url);
    sandbox.set("OPENAI_BASE_URL", &format!("{url}/v1"));
    sandbox.set("ANTHROPIC_BASE_URL", &url);
    sandbox
}

#[test]
fn a_file_says_whom_to_trust() {
    let authority = Authority::default();
    for wire in Wire::ALL {
        let signed = (authority.sign(HERE, Validity::Current), authority.pem());
        let own = Certificate::self_signed(HERE, Validity::Current);
        let named = own.pem().to_string();
        for (certificate, trusted) in [signed, (own, named)] {
            let sandbox = desk_with(wire, &certificate);
            sandbox.write("work/trusted.pem", &trusted);
            assert_eq!(sandbox.answer(&["-p", "hi", "--ca-file", "trusted.pem"]), "Hello.\n", "{wire:?}");
        }
    }
}

#[test]
fn nobody_else_is_told_anything() {
    let certificate = Certificate::self_signed(HERE, Validity::Current);
    let sandbox = desk_with(Wire::Gemini, &certificate);
    sandbox.write("work/other.pem", Certificate::self_signed(HERE, Validity::Current).pem());
    let unknown =
        ["could not reach 127.0.0.1", "its certificate is signed by an unknown authority", "--ca-file"];
    sandbox.check_fails(&["-p", "hi", "--ca-file", "other.pem"], &unknown);
    sandbox.write("work/empty.pem", "");
    sandbox.check_fails(&["-p", "hi", "--ca-file", "empty.pem"], &["empty.pem: the file is empty", "PEM"]);
    sandbox.check_fails(&["-p", "hi", "--ca-file", "gone.pem"], &["gone.pem: No such file", "PEM"]);
    assert!(
        sandbox.server.requests().is_empty() && sandbox.sessions().len() == 1,
        "nothing is begun that cannot go on"
    );
    let expired = Certificate::self_signed(HERE, Validity::Expired);
    let sandbox = desk_with(Wire::Gemini, &expired);
    sandbox.write("work/expired.pem", expired.pem());
    let told = ["its certificate has expired", "this machine's clock"];
    sandbox.check_fails(&["-p", "hi", "--ca-file", "expired.pem"], &told);
}

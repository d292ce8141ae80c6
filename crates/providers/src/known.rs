//! The providers that are known without any settings: the lines of `data/providers.txt`.

use std::sync::LazyLock;

use longhaul_wire::WireFormat;

use crate::data::entries;

/// A provider that is known without any settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownProvider {
    /// The name before the slash in `provider/model`.
    pub name: &'static str,
    /// The format it takes requests in.
    pub format: WireFormat,
    /// The address that paths are added to.
    pub endpoint: &'static str,
    /// Environment variables that hold the key; the first that is set counts.
    pub key_variables: Vec<&'static str>,
    /// An environment variable that names another address.
    pub endpoint_variable: Option<&'static str>,
    /// Beginnings of the names of its models.
    pub models: Vec<&'static str>,
}

static KNOWN: LazyLock<Vec<KnownProvider>> =
    LazyLock::new(|| entries(include_str!("data/providers.txt")).map(read_line).collect());

/// The known providers; of each format the usual one comes first.
pub fn known_providers() -> &'static [KnownProvider] {
    &KNOWN
}

/// The usual provider of a format.
pub(crate) fn usual_provider(format: WireFormat) -> &'static KnownProvider {
    let usual = known_providers().iter().find(|known| known.format == format);
    usual.expect("the list has a provider of each format")
}

fn read_line(line: &'static str) -> KnownProvider {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, format, endpoint, keys, variable, ref models @ ..] = words[..] else {
        panic!("malformed provider line: {line:?}")
    };
    let format = WireFormat::from_word(format).unwrap_or_else(|| panic!("unknown format in {line:?}"));
    let stated = |word: &&str| *word != "-";
    KnownProvider {
        name,
        format,
        endpoint,
        key_variables: keys.split(',').collect(),
        endpoint_variable: Some(variable).filter(stated),
        models: models.iter().copied().filter(stated).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Endpoint;

    #[test]
    fn every_line_names_a_provider_that_can_be_called() {
        for known in known_providers() {
            assert!(
                Endpoint::parse(known.endpoint).is_ok(),
                "providers.txt, {}: ENDPOINT is {:?}",
                known.name,
                known.endpoint
            );
            let is_variable = |name: &&str| {
                name.bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_')) && !name.is_empty()
            };
            let wrong =
                known.key_variables.iter().chain(&known.endpoint_variable).find(|name| !is_variable(name));
            assert_eq!(
                wrong, None,
                "providers.txt, {}: KEY-VARIABLES and ENDPOINT-VARIABLE are environment variables, or - for none",
                known.name
            );
            let same = known_providers().iter().filter(|other| other.name == known.name);
            assert_eq!(same.count(), 1, "{} is there twice", known.name);
        }
    }

    #[test]
    fn a_line_is_all_that_a_provider_takes() {
        let line = "mistral openai https://api.mistral.ai/v1 MISTRAL_API_KEY - mistral- codestral-";
        let mistral = read_line(line);
        assert_eq!((mistral.name, mistral.format), ("mistral", WireFormat::OpenAi));
        assert_eq!((mistral.key_variables, mistral.endpoint_variable), (vec!["MISTRAL_API_KEY"], None));
        assert_eq!(mistral.models, ["mistral-", "codestral-"]);
        assert!(read_line("local openai http://localhost:1/v1 KEY - -").models.is_empty());
    }

    #[test]
    fn each_format_has_its_usual_provider() {
        let usual = WireFormat::ALL.map(|format| usual_provider(format).name);
        assert_eq!(usual, ["gemini", "openai", "anthropic"]);
    }
}

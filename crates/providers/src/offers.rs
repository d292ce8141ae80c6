//! The models that a server offers, and the context window it gives to one.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{Method, Uri};
use longhaul_conversation::{ModelError, TokenCount};
use longhaul_wire::WireFormat;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::client::{HttpModel, common_headers};
use crate::failure::{Callee, judge_answer};

/// A model that a server offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedModel {
    /// Its name, as the server knows it.
    pub name: String,
    /// Its context window, if the server states it.
    pub window: Option<TokenCount>,
}

/// The longest list that is read: OpenRouter's takes half a megabyte.
const LONGEST: usize = 8 << 20;
/// Fields in which servers state a window: vLLM, LM Studio, OpenRouter, Groq, Anthropic, Gemini.
const WINDOWS: &[&str] = &[
    "max_model_len",
    "loaded_context_length",
    "context_length",
    "context_window",
    "max_context_length",
    "max_input_tokens",
    "inputTokenLimit",
];

impl HttpModel {
    /// The models that the server offers, in its order.
    ///
    /// # Errors
    /// As for any call; a server that does not answer within `patience` is [`ModelError::Unreachable`].
    pub async fn offered(&self, patience: Duration) -> Result<Vec<OfferedModel>, ModelError> {
        let path = match self.provider().format {
            WireFormat::Gemini => "v1beta/models?pageSize=1000",
            WireFormat::Anthropic => "v1/models?limit=1000",
            WireFormat::OpenAi => "models",
        };
        let uri = self.provider().endpoint.join(path);
        Ok(read_list(&self.ask(Method::GET, uri, None, patience).await?))
    }

    /// The window that the server gives to a model, if it says so: its list of models, Ollama's `/api/ps` and `/api/show`, or
    /// llama.cpp's `/props`.
    pub async fn served_window(&self, model: &str, patience: Duration) -> Option<TokenCount> {
        let listed = self.offered(patience).await.ok()?;
        let stated = listed.iter().find(|offered| offered.name == model).and_then(|offered| offered.window);
        if stated.is_some() || self.provider().format != WireFormat::OpenAi {
            return stated;
        }
        let endpoint = &self.provider().endpoint;
        let running = self.ask(Method::GET, endpoint.at_root("/api/ps"), None, patience).await;
        if let Some(window) = running.ok().as_ref().and_then(|answer| running_window(answer, model)) {
            return Some(window);
        }
        let question = json!({"model": model});
        let shown = self.ask(Method::POST, endpoint.at_root("/api/show"), Some(&question), patience).await;
        if let Some(window) = shown.ok().as_ref().and_then(shown_window) {
            return Some(window);
        }
        let props = self.ask(Method::GET, endpoint.at_root("/props"), None, patience).await.ok()?;
        let settings = props.get("default_generation_settings").and_then(|settings| settings.get("n_ctx"));
        tokens(settings.or_else(|| props.get("n_ctx"))?)
    }

    async fn ask(
        &self,
        method: Method,
        uri: Option<Uri>,
        body: Option<&Value>,
        patience: Duration,
    ) -> Result<Value, ModelError> {
        let host = || self.provider().endpoint.host().to_string();
        let unreachable = |reason: String| ModelError::Unreachable { host: host(), reason };
        let uri = uri.ok_or_else(|| unreachable("the address is malformed".into()))?;
        let headers = common_headers(self, &uri)?;
        let bytes = body.map_or_else(Bytes::new, |body| body.to_string().into());
        let mut request = hyper::Request::new(Full::new(bytes));
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        let answered = timeout(patience, async {
            let response = self.http().client.request(request).await;
            let response = response.map_err(|error| unreachable(crate::http::innermost(&error)))?;
            let (head, body) = response.into_parts();
            let body = Limited::new(body, LONGEST).collect().await;
            let body = body.map_err(|error| unreachable(error.to_string()))?.to_bytes();
            Ok((head, body))
        });
        let (head, body) = answered
            .await
            .map_err(|_| unreachable(format!("no answer within {} s", patience.as_secs_f64())))??;
        if !head.status.is_success() {
            let callee = Callee { provider: self.provider(), model: "" };
            return Err(
                judge_answer(callee, head.status, &head.headers, &body, self.surroundings().now()).error
            );
        }
        serde_json::from_slice(&body)
            .map_err(|_| ModelError::NotAModel { host: host(), reason: "returned no list of models".into() })
    }
}

/// The models in an answer to a request for them: OpenAI's, Anthropic's or Gemini's shape.
fn read_list(answer: &Value) -> Vec<OfferedModel> {
    let list = answer.get("data").or_else(|| answer.get("models")).unwrap_or(answer);
    let models = list.as_array().into_iter().flatten();
    models.filter(|model| talks(model)).filter_map(read_model).collect()
}

fn read_model(model: &Value) -> Option<OfferedModel> {
    let name = ["id", "name"].iter().find_map(|key| model.get(key).and_then(Value::as_str))?;
    let name = name.strip_prefix("models/").unwrap_or(name);
    let window = WINDOWS.iter().find_map(|key| tokens(model.get(key)?));
    // llama.cpp states the window that the model was trained for, which says little of the one it runs with.
    Some(OfferedModel { name: name.to_string(), window }).filter(|model| !model.name.is_empty())
}

/// Returns false for models that a server says are for something else, such as embeddings.
fn talks(model: &Value) -> bool {
    let methods = model.get("supportedGenerationMethods").and_then(Value::as_array);
    methods.is_none_or(|methods| methods.iter().any(|method| method == "generateContent"))
}

/// The window of a model that Ollama has loaded.
fn running_window(answer: &Value, model: &str) -> Option<TokenCount> {
    let models = answer.get("models")?.as_array()?;
    let is_it = |running: &&Value| {
        ["name", "model"].iter().any(|key| running.get(key).is_some_and(|name| name == model))
    };
    tokens(models.iter().find(is_it)?.get("context_length")?)
}

/// The window that Ollama will give to a model: what its Modelfile sets, else what the model can hold.
fn shown_window(answer: &Value) -> Option<TokenCount> {
    let parameters = answer.get("parameters").and_then(Value::as_str).unwrap_or_default();
    let set = parameters.lines().find_map(|line| line.trim().strip_prefix("num_ctx"));
    if let Some(set) = set.and_then(|set| set.trim().parse().ok()) {
        return Some(TokenCount(set));
    }
    let info = answer.get("model_info")?.as_object()?;
    tokens(info.iter().find(|(key, _)| key.ends_with(".context_length"))?.1)
}

fn tokens(value: &Value) -> Option<TokenCount> {
    value.as_u64().filter(|tokens| *tokens > 0).map(TokenCount)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_list(answer: &Value, expected: &[(&str, Option<u64>)]) {
        let listed = read_list(answer);
        let seen: Vec<_> =
            listed.iter().map(|model| (model.name.as_str(), model.window.map(|window| window.0))).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn every_kind_of_list_is_read() {
        check_list(
            &json!({"object": "list", "data": [{"id": "gpt-5"}, {"id": "q", "max_model_len": 40_960}, {"id": 7}]}),
            &[("gpt-5", None), ("q", Some(40_960))],
        );
        check_list(
            &json!({"models": [
                {"name": "models/gemini-x", "inputTokenLimit": 1_048_576, "supportedGenerationMethods": ["generateContent"]},
                {"name": "models/embed", "supportedGenerationMethods": ["embedContent"]}]}),
            &[("gemini-x", Some(1_048_576))],
        );
        for nothing in [json!(null), json!({}), json!({"data": {}}), json!("x"), json!([{"id": ""}])] {
            check_list(&nothing, &[]);
        }
    }

    #[test]
    fn ollama_says_how_long_a_context_it_gives() {
        let running = json!({"models": [{"name": "qwen3:8b", "context_length": 4_096}]});
        assert_eq!(running_window(&running, "qwen3:8b"), Some(TokenCount(4_096)));
        assert_eq!(running_window(&running, "other"), None);
        let shown = |parameters: &str| {
            shown_window(&json!({"parameters": parameters, "model_info": {"qwen3.context_length": 40_960}}))
        };
        assert_eq!(shown("stop \"x\"\nnum_ctx    8192"), Some(TokenCount(8_192)));
        assert_eq!(shown(""), Some(TokenCount(40_960)));
        assert_eq!(shown_window(&json!({"error": "not found"})), None);
    }
}

//! Repairs of a session as JSON, and the losses they cause.

use std::collections::HashSet;

use longhaul_conversation::{CallId, FaultKind, Repair};
use longhaul_wire::{Loss, LossKind};
use serde_json::{Value, json};

/// Removes losses of answers that repairs added: nobody said those.
pub(crate) fn drop_own_answers(lost: &mut Vec<Loss>, repairs: &[Repair]) {
    let answered = repairs.iter().filter(|repair| repair.fault.kind == FaultKind::UnansweredCall);
    let calls: HashSet<&str> =
        answered.filter_map(|repair| repair.fault.call.as_ref()).map(CallId::as_str).collect();
    lost.retain(|loss| loss.kind != LossKind::Status || !calls.contains(loss.detail.as_str()));
}

/// One repair as JSON.
pub(crate) fn repair_json(repair: &Repair) -> Value {
    let fault = &repair.fault;
    json!({
        "kind": fault.kind.as_str(),
        "message": fault.ordinal.map(|ordinal| ordinal.to_string()),
        "id": fault.message.as_str(),
        "call": fault.call.as_ref().map(|call| call.as_str()),
        "action": repair.action(),
    })
}

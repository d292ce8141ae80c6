// Longhaul's guard for opencode: brings rules and work back after a compaction.
// Installed by `longhaul install opencode`, removed by `longhaul uninstall opencode`.
import { spawn } from "node:child_process"

const PATIENCE = 3000

// Asks `longhaul guard`; an empty text if it has nothing to say, is not there or takes too long.
const ask = (call) =>
  new Promise((resolve) => {
    let said = ""
    const child = spawn("longhaul", ["guard"], { stdio: ["pipe", "pipe", "ignore"] })
    const timer = setTimeout(() => child.kill(), PATIENCE)
    const end = () => {
      clearTimeout(timer)
      try {
        resolve(JSON.parse(said).text ?? "")
      } catch {
        resolve("")
      }
    }
    child.on("error", end)
    child.on("close", end)
    child.stdout.on("data", (chunk) => (said += chunk))
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify({ agent: "opencode", ...call }))
  })

export const LonghaulGuard = async ({ directory }) => {
  // One text for each compaction: each later request gets the same bytes in the same place.
  const texts = new Map()
  return {
    config: async (config) => {
      config.mcp ??= {}
      config.mcp.longhaul ??= { type: "local", command: ["longhaul", "mcp"], enabled: true }
    },
    "experimental.session.compacting": async (input, output) => {
      const text = await ask({ hook_event_name: "SessionCompacting", session_id: input.sessionID, cwd: directory })
      if (text) output.context.push(text)
    },
    "experimental.chat.messages.transform": async (_input, output) => {
      const messages = output.messages ?? []
      const mark = messages.findLast((message) => message.parts.some((part) => part.type === "compaction"))
      if (!mark) return
      const id = mark.info.id
      if (!messages.some((message) => message.info.summary && message.info.parentID === id)) return
      if (!texts.has(id)) {
        const call = { hook_event_name: "MessagesTransform", session_id: mark.info.sessionID, compaction: id, cwd: directory }
        texts.set(id, await ask(call))
      }
      const text = texts.get(id)
      if (!text || mark.parts.some((part) => part.type === "text" && part.text === text)) return
      mark.parts.push({
        id: `${mark.parts[0].id}guard`,
        sessionID: mark.info.sessionID,
        messageID: id,
        type: "text",
        synthetic: true,
        text,
      })
    },
    event: async ({ event }) => {
      if (event.type !== "session.idle") return
      await ask({ hook_event_name: "SessionIdle", session_id: event.properties?.sessionID, cwd: directory })
    },
  }
}

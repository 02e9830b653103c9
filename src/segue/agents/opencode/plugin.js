// Segue in OpenCode: a brief when a conversation starts, is resumed or was compacted, and a checkpoint when it is
// idle. It has no dependencies. If anything fails, OpenCode continues as if this plugin did not exist.
import { spawn } from "node:child_process"

const COMMAND = "@COMMAND@"

function ask(event, payload, milliseconds) {
  return new Promise((resolve) => {
    let output = ""
    let timer
    const done = (value) => {
      clearTimeout(timer)
      resolve(value)
    }
    try {
      const [program, ...words] = COMMAND
      const child = spawn(program, [...words, event, "speak"].slice(0, words[0] === "hook" ? -1 : undefined), {
        cwd: payload.cwd,
        stdio: ["pipe", "pipe", "ignore"],
      })
      timer = setTimeout(() => {
        child.kill("SIGKILL")
        done("")
      }, milliseconds)
      child.on("error", () => done(""))
      child.stdin.on("error", () => {})
      child.stdout.on("data", (piece) => (output += piece))
      child.on("close", () => {
        try {
          done(output ? JSON.parse(output).context || "" : "")
        } catch {
          done("")
        }
      })
      child.stdin.end(JSON.stringify(payload))
    } catch {
      done("")
    }
  })
}

export const SeguePlugin = async ({ directory }) => {
  const briefs = new Map() // conversation -> promise of its brief
  const fresh = new Set() // conversations that started in this process
  const inner = new Set() // conversations of sub-agents
  const about = (id, more) => ({ session_id: id, cwd: directory, pid: process.pid, ...more })
  const start = (id, source, text) => briefs.set(id, ask("start", about(id, { source, text }), 10000))
  return {
    event: async ({ event }) => {
      try {
        const properties = event.properties || {}
        const info = properties.info || {}
        const id = properties.sessionID || info.sessionID
        if (event.type === "session.created") {
          fresh.add(info.id)
          if (info.parentID) inner.add(info.id)
        } else if (!id || inner.has(id)) {
          return
        } else if (event.type === "session.compacted") {
          start(id, "compact")
        } else if (event.type === "session.idle") {
          await ask("idle", about(id), 10000)
        } else if (event.type === "session.error") {
          const error = properties.error
          await ask("error", about(id, { text: String((error && error.name) || "") }), 5000)
        }
      } catch {}
    },
    "chat.message": async (input, output) => {
      try {
        const id = input.sessionID
        if (inner.has(id)) return
        const parts = (output.parts || []).filter((part) => part.type === "text" && !part.synthetic)
        const text = parts.map((part) => part.text).join("\n")
        if (!briefs.has(id)) start(id, fresh.has(id) ? "startup" : "resume", text)
        const model = input.model || {}
        await Promise.all([briefs.get(id), ask("prompt", about(id, { text, model: model.modelID || "" }), 10000)])
      } catch {}
    },
    "experimental.chat.system.transform": async (input, output) => {
      try {
        const brief = await briefs.get(input.sessionID)
        if (brief) output.system.push(brief)
      } catch {}
    },
    "experimental.session.compacting": async (input, output) => {
      try {
        const context = inner.has(input.sessionID) ? "" : await ask("compact", about(input.sessionID), 10000)
        if (context) output.context.push(context)
      } catch {}
    },
  }
}

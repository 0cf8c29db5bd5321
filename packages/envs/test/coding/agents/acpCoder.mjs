/**
 * A coding agent over the Agent Client Protocol: asks before it runs its shell, reports its calls, and keeps the chat
 * of its session. Its argument is a stop reason, or what is odd about it.
 */
import * as acp from "@agentclientprotocol/sdk"
import { execSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { Readable, Writable } from "node:stream"

const [oddity] = process.argv.slice(2)
const stopReason = oddity === "refusal" || oddity === "max_tokens" ? oddity : "end_turn"
const flood = oddity === "floods" ? 3000 : 0
const cancelled = Promise.withResolvers()
const properties = { command: { type: "string" } }
const tools = [{ type: "function", function: { name: "run", parameters: { type: "object", properties } } }]
const messages = []

const ask = async () => {
  const response = await fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: process.env.OPENAI_MODEL, messages, tools })
  })
  if (!response.ok) throw new Error(await response.text())
  return (await response.json()).choices[0].message
}

/** A call that goes on until the turn is cancelled; notes both. */
const waiting = async (update, toolCallId) => {
  await update("tool_call_update", { toolCallId, status: "in_progress" })
  writeFileSync(`${process.env.CODER_NOTES}/started-${process.pid}`, "")
  await cancelled.promise
  writeFileSync(`${process.env.CODER_NOTES}/cancelled-${process.pid}`, "")
}

const options = [
  { optionId: "no", name: "No", kind: "reject_once" },
  { optionId: "yes", name: "Yes", kind: "allow_once" }
]

acp
  .agent({ name: "coder" })
  .onRequest(acp.methods.agent.initialize, () => ({ protocolVersion: acp.PROTOCOL_VERSION, agentCapabilities: {} }))
  .onRequest(acp.methods.agent.session.new, () => ({ sessionId: "one" }))
  .onNotification(acp.methods.agent.session.cancel, () => cancelled.resolve())
  .onRequest(acp.methods.agent.session.prompt, async ({ client, params: { prompt, sessionId } }) => {
    const update = (sessionUpdate, what) =>
      client.notify(acp.methods.client.session.update, { sessionId, update: { sessionUpdate, ...what } })
    if (oddity === "ends") process.exit(7)
    if (oddity === "deaf") {
      await update("tool_call", { toolCallId: "deaf", title: "Sleep", status: "pending" })
      await waiting(update, "deaf")
      await new Promise(() => undefined)
    }
    for (let call = 0; call < flood; call++) {
      const content = [{ type: "content", content: { type: "text", text: "x".repeat(10_000) } }]
      await update("tool_call", { toolCallId: `flood-${call}`, title: "y".repeat(10_000), content })
    }
    messages.push({ role: "user", content: prompt[0].text })
    for (;;) {
      const message = await ask()
      messages.push(message)
      if (message.tool_calls === undefined) break
      for (const { function: called, id } of message.tool_calls) {
        const toolCall = { toolCallId: id, title: called.name }
        await update("tool_call", { ...toolCall, kind: "execute", status: "pending" })
        const { outcome } = await client.request(acp.methods.client.session.requestPermission, {
          sessionId,
          toolCall,
          options
        })
        if (oddity === "waits") {
          await waiting(update, id)
          return { stopReason: "cancelled" }
        }
        const isAllowed = outcome.outcome === "selected" && outcome.optionId === "yes"
        const content = isAllowed ? execSync(JSON.parse(called.arguments).command, { encoding: "utf8" }) : "refused"
        messages.push({ role: "tool", tool_call_id: id, content })
        const shown = [{ type: "content", content: { type: "text", text: content } }]
        await update("tool_call_update", {
          toolCallId: id,
          title: `Run ${called.name}`,
          status: "completed",
          content: shown
        })
      }
    }
    await update("agent_message_chunk", { content: { type: "text", text: messages.at(-1).content } })
    return { stopReason }
  })
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)))

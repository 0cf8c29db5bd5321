/** A coding agent over the Agent Client Protocol: asks before it runs its shell, and keeps the chat of its session. */
import * as acp from "@agentclientprotocol/sdk"
import { execSync } from "node:child_process"
import { Readable, Writable } from "node:stream"

const [ending] = process.argv.slice(2)
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

const options = [
  { optionId: "no", name: "No", kind: "reject_once" },
  { optionId: "yes", name: "Yes", kind: "allow_once" }
]

acp
  .agent({ name: "coder" })
  .onRequest(acp.methods.agent.initialize, () => ({ protocolVersion: acp.PROTOCOL_VERSION, agentCapabilities: {} }))
  .onRequest(acp.methods.agent.session.new, () => ({ sessionId: "one" }))
  .onRequest(acp.methods.agent.session.prompt, async ({ client, params: { prompt, sessionId } }) => {
    if (ending === "ends") process.exit(7)
    messages.push({ role: "user", content: prompt[0].text })
    for (;;) {
      const message = await ask()
      messages.push(message)
      if (message.tool_calls === undefined) break
      for (const { function: called, id } of message.tool_calls) {
        const toolCall = { toolCallId: id, title: called.name }
        const { outcome } = await client.request(acp.methods.client.session.requestPermission, {
          sessionId,
          toolCall,
          options
        })
        const isAllowed = outcome.outcome === "selected" && outcome.optionId === "yes"
        const content = isAllowed ? execSync(JSON.parse(called.arguments).command, { encoding: "utf8" }) : "refused"
        messages.push({ role: "tool", tool_call_id: id, content })
      }
    }
    const content = { type: "text", text: messages.at(-1).content }
    await client.notify(acp.methods.client.session.update, {
      sessionId,
      update: { sessionUpdate: "agent_message_chunk", content }
    })
    return { stopReason: ending ?? "end_turn" }
  })
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)))

/** A coding agent as those of the terminal: a version, a title on the side, a shell, settings in its home. */
import { execSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"

if (process.argv[2] === "--version") {
  console.log(`coder ${process.env.CODER_VERSION ?? "1.2.3"}`)
  process.exit()
}
const { tool, ...extra } = JSON.parse(readFileSync(join(homedir(), ".coder/settings.json"), "utf8"))
// What an earlier run left behind would be seen here.
writeFileSync(join(homedir(), "memory.txt"), "seen", { flag: "wx" })

const ask = async (body) => {
  const response = await fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: process.env.OPENAI_MODEL, ...extra, ...body })
  })
  if (!response.ok) throw new Error(await response.text())
  return (await response.json()).choices[0].message
}

const properties = { command: { type: "string" } }
const tools = [{ type: "function", function: { name: tool, parameters: { type: "object", properties } } }]
const messages = [{ role: "user", content: process.argv[2] }]
await ask({ messages: [{ role: "user", content: `A title for: ${process.argv[2]}` }] })
for (;;) {
  const message = await ask({ messages, tools })
  messages.push(message)
  if (message.tool_calls === undefined) break
  for (const { function: called, id } of message.tool_calls) {
    const content = execSync(JSON.parse(called.arguments).command, { encoding: "utf8" })
    messages.push({ role: "tool", tool_call_id: id, content })
  }
}
console.log(messages.at(-1).content)

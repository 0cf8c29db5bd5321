/** An agent of two turns that leaves processes behind, one of them in a session of its own. */
import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"

const { mark, number } = JSON.parse(readFileSync(0, "utf8"))
const lasting = (detached) => spawn("sleep", [`${mark}`], { detached, stdio: "ignore" }).unref()
lasting(false)
lasting(true)

const ask = async (messages) => {
  const answer = await fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: process.env.OPENAI_MODEL, messages })
  })
  if (!answer.ok) throw new Error(await answer.text())
  return (await answer.json()).choices[0].message
}

const messages = [{ role: "user", content: `item ${number}.` }]
messages.push(await ask(messages), { role: "user", content: "Go on." })
await ask(messages)

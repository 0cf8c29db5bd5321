/** Asks as Anthropic's SDK does, writes the answer into its working folder, and says what it saw. */
import { readFileSync, writeFileSync } from "node:fs"

const item = JSON.parse(readFileSync(0, "utf8"))
const answer = await fetch(`${process.env.ANTHROPIC_BASE_URL}/v1/messages`, {
  method: "POST",
  headers: {
    "content-type": "application/json",
    "x-api-key": process.env.ANTHROPIC_API_KEY,
    "anthropic-version": "2023-06-01"
  },
  body: JSON.stringify({
    model: process.env.ANTHROPIC_MODEL,
    max_tokens: 100,
    messages: [{ role: "user", content: item.question }]
  })
})
const { content } = await answer.json()
writeFileSync("answer.txt", content.map(({ text }) => text).join(""))
const report = process.argv[2]
if (report === "file") writeFileSync(process.env.REWARD_FILE, JSON.stringify({ correct: 0.5 }))
if (report === "nonsense") writeFileSync(process.env.REWARD_FILE, "good")
if (report === "post") {
  const body = JSON.stringify({ rewards: { posted: 0.25 } })
  await fetch(process.env.REWARD_URL, { method: "POST", headers: { "content-type": "application/json" }, body })
}
if (report === "fail") process.exit(3)
if (report === "hang") setInterval(() => {}, 1000)
console.log(JSON.stringify({ cwd: process.cwd(), files: (await import("node:fs")).readdirSync(".") }))

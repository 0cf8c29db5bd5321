/** A scorer: looks at what the program has left in its folder. */
import { existsSync, readFileSync } from "node:fs"

const told = JSON.parse(readFileSync(0, "utf8"))
const text = existsSync("answer.txt") ? readFileSync("answer.txt", "utf8") : ""
console.log("judging", told.item.question)
console.log(
  JSON.stringify({
    correct: text === told.item.answer ? 1 : 0,
    turns: told.messages.filter(({ role }) => role === "assistant").length,
    exit: told.exit_code ?? -1,
    secret: process.env.OPENAI_BASE_URL === undefined && process.cwd() === told.folder ? 0 : 1
  })
)

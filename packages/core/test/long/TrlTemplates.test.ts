/** Every chat template that TRL ships, with chats of every order of roles: no text is lost, moved or refused. */
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Message, TemplateRoles } from "@atropos/core"
import { decode } from "../gateway/dialect/MessagesClient.ts"
import * as responses from "../gateway/dialect/ResponsesTest.ts"
import * as RoleChats from "../inference/RoleChats.ts"
import { having, interpreter } from "../Python.ts"

const { absence, isPresent } = having("trl")

const program = "import importlib.util as u; print(u.find_spec('trl').submodule_search_locations[0])"
const folder = isPresent
  ? join(spawnSync(interpreter, ["-c", program], { encoding: "utf8" }).stdout.trim(), "chat_templates")
  : undefined
const firstOf = (file: string) => {
  const text = readFileSync(new URL(`../fixtures/agents/${file}`, import.meta.url), "utf8")
  const { body } = JSON.parse(text.split("\n")[0]!) as { readonly body: { readonly input?: unknown } }
  return body.input === undefined ? decode(body).request : responses.decode(body).request
}

const files = folder === undefined ? [] : readdirSync(folder).filter((file) => file.endsWith(".jinja"))

describe.skipIf(!isPresent)(`the chat templates of TRL${absence}`, () => {
  it("are at least forty", () => {
    assert.isAtLeast(files.length, 40)
  })

  /** The first requests of Claude Code and of Codex: a system message behind the user's, several at the start. */
  const requests = [firstOf("claude-code.jsonl"), firstOf("codex.jsonl")]

  for (const file of files) {
    it(`show all that coding agents sent first, tools too or not: ${file}`, () => {
      const tokenizer = RoleChats.tokenizerWith(file, readFileSync(join(folder ?? "", file), "utf8"))
      for (const { messages, tools } of requests) {
        assert.isAtLeast(messages.filter(({ role }) => role === "system").length, 2)
        const shown = TemplateRoles.adapt(messages, TemplateRoles.renderedBy(tokenizer, true)).messages
        const prompt = tokenizer.applyChatTemplate(shown, { addGenerationPrompt: true, ...(tools && { tools }) })
        for (const message of messages) {
          for (const line of Message.text(message).split("\n")) assert.include(prompt, line.trim())
        }
      }
    })

    it(`show every text of a chat, in order: ${file}`, () => {
      const tokenizer = RoleChats.tokenizerWith(file, readFileSync(join(folder ?? "", file), "utf8"))
      assert.deepStrictEqual(RoleChats.violations(tokenizer), [])
    })
  }
})

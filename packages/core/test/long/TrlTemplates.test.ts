/** Every chat template that TRL ships, with chats of every order of roles: no text is lost, moved or refused. */
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as RoleChats from "../inference/RoleChats.ts"
import { having, interpreter } from "../Python.ts"

const { absence, isPresent } = having("trl")

const program = "import importlib.util as u; print(u.find_spec('trl').submodule_search_locations[0])"
const folder = isPresent
  ? join(spawnSync(interpreter, ["-c", program], { encoding: "utf8" }).stdout.trim(), "chat_templates")
  : undefined
const files = folder === undefined ? [] : readdirSync(folder).filter((file) => file.endsWith(".jinja"))

describe.skipIf(!isPresent)(`the chat templates of TRL${absence}`, () => {
  it("are at least forty", () => {
    assert.isAtLeast(files.length, 40)
  })

  for (const file of files) {
    it(`show every text of a chat, in order: ${file}`, () => {
      const tokenizer = RoleChats.tokenizerWith(file, readFileSync(join(folder ?? "", file), "utf8"))
      assert.deepStrictEqual(RoleChats.violations(tokenizer), [])
    })
  }
})

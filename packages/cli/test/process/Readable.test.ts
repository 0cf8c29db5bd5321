/** What `process` writes, `view` and `sft-gen` read: whatever an author made of the messages. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { fileURLToPath } from "node:url"
import * as InProcess from "../InProcess.ts"

const byHand = fileURLToPath(new URL("../fixtures/messages-by-hand.ts", import.meta.url))

const out = "out.jsonl"

layer(NodeServices.layer, { excludeTestServices: true })("process", (it) => {
  for (const messages of ["no content", "no role", "none"]) {
    it.effect(`writes no line that a reader refuses, and says why: ${messages}`, () =>
      Effect.gen(function* () {
        const cwd = yield* InProcess.folder
        const words = ["process", "--env", byHand, "--env.messages", messages, "--testing", "--no-html"]
        const { code, stderr } = yield* InProcess.run([...words, "--env.data_path_to_save_groups", out])
        assert.strictEqual(code, 1)
        assert.match(stderr, /all groups were dropped \(unreadable 4\)\. .*its line could not be reread: messages/)
        const files = yield* (yield* FileSystem.FileSystem).readDirectory(cwd)
        assert.notInclude(files, out)
      })
    )
  }

  it.effect("writes the others, which view takes whole", () =>
    Effect.gen(function* () {
      yield* InProcess.folder
      const words = ["process", "--env", byHand, "--env.messages", "some without content", "--testing", "--no-html"]
      const { code, stderr, stdout } = yield* InProcess.run([...words, "--env.data_path_to_save_groups", out])
      assert.strictEqual(code, 0, stderr)
      assert.match(stdout, /groups +2 kept/)
      assert.match(stdout, /dropped +2 \(unreadable 2\)/)
      const viewed = yield* InProcess.run(["view", out, "--out", "page.html"])
      assert.strictEqual(viewed.code, 0, viewed.stderr)
      assert.notInclude(viewed.stderr, "skipped")
    })
  )
})

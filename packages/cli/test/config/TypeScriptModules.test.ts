import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { createRequire } from "node:module"
import * as TypeScriptModules from "../../src/config/TypeScriptModules.ts"

it.effect("JSON is the same to a user's `require` as without these hooks", () =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const folder = yield* fs.makeTempDirectoryScoped({ prefix: "atropos-test-" })
    yield* fs.writeFileString(`${folder}/data.json`, '{"a": [1, 2]}')
    TypeScriptModules.register()
    assert.deepStrictEqual(createRequire(`${folder}/agent.cjs`)("./data.json"), { a: [1, 2] })
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
)

it.effect("a file that cannot be parsed is found among those that were loaded", () =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const folder = yield* fs.makeTempDirectoryScoped({ prefix: "atropos-test-" })
    yield* fs.writeFileString(`${folder}/agent.mjs`, 'export { layer as default } from "./wrong.mjs"\n')
    yield* fs.writeFileString(`${folder}/wrong.mjs`, "export const layer = {\n  a: }\n")
    TypeScriptModules.register()
    assert.throws(() => createRequire(`${folder}/agent.cjs`)("./agent.mjs"), SyntaxError)
    assert.match(TypeScriptModules.placeOfFault() ?? "", /wrong\.mjs:2$/)
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
)

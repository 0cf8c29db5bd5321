/**
 * Installs the packages of `npm run pack` as an outsider would, into empty folders, and uses them: `npm run
 * check:install [-- 22 24]`.
 *
 * Some minutes for each Node (default: 24), of which the npm registry is asked; nothing else need be reachable, and no
 * package may have an install script, so that nothing else is. Held: what is installed and how large it is; the first
 * commands of the README; a starter with both compilers; an application on the oldest Effect; `require`. On Node 20
 * only that each says which Node it needs.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { strict as assert } from "node:assert"
import corePackage from "../packages/core/package.json" with { type: "json" }

const packed = fileURLToPath(new URL("../.packages", import.meta.url))
const archive = (name: string): string => {
  const file = readdirSync(packed).find((one) => one.startsWith(`atropos-${name}-`) && one.endsWith(".tgz"))
  assert.ok(file, `no archive of ${name}: npm run pack first`)
  return join(packed, file)
}
const platform = `onnxruntime-${process.platform}-${process.arch}`
const libraries = ["core", "api", "envs", "trainer", platform].map(archive)
const oldest = /^>=(\S+)/.exec(corePackage.peerDependencies.effect)?.[1] ?? ""

const root = mkdtempSync(join(tmpdir(), "atropos-install-"))

/** A program in a folder, with a Node and its npm. */
const makeShell = (bin: string) => {
  const env = {
    ...process.env,
    PATH: `${bin}:/usr/bin:/bin`,
    NODE_OPTIONS: "",
    npm_config_audit: "false",
    npm_config_fund: "false"
  }
  // npm tells its scripts what it was asked to do, and this is one of them.
  for (const name of Object.keys(env)) if (/^npm_(?!config)/.test(name)) Reflect.deleteProperty(env, name)
  return (cwd: string, ...[command = "", ...words]: ReadonlyArray<string>) => {
    const { status, stderr, stdout } = spawnSync(command, words, { cwd, env, encoding: "utf8", maxBuffer: 2 ** 26 })
    return { status, output: `${stdout}${stderr}` }
  }
}

const folder = (name: string, files: { readonly [file: string]: string }): string => {
  const made = join(root, name)
  mkdirSync(made, { recursive: true })
  for (const [file, text] of Object.entries(files)) writeFileSync(join(made, file), text)
  return made
}
const empty = (name: string, more: object = {}) =>
  folder(name, { "package.json": JSON.stringify({ name: "outsider", version: "1.0.0", private: true, ...more }) })

const megabytes = (cwd: string): number =>
  Number(execFileSync("du", ["-sm", "node_modules"], { cwd, encoding: "utf8" }).split("\t")[0])

/** What npm installed there. */
const tree = (
  cwd: string
): { readonly [place: string]: { readonly version: string; readonly hasInstallScript?: boolean } } =>
  JSON.parse(readFileSync(join(cwd, "node_modules/.package-lock.json"), "utf8")).packages

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

/** What a trajectory service needs none of: libraries of models, pictures, sandboxes and browsers. */
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

const check = (major: string) => {
  const home = empty(`node-${major}`)
  execFileSync("npm", ["install", "--silent", `node@${major}`, `npm@${Number(major) < 22 ? 10 : 11}`], {
    cwd: home,
    stdio: "inherit"
  })
  const run = makeShell(join(home, "node_modules/.bin"))
  const must = (cwd: string, ...words: ReadonlyArray<string>): string => {
    const { output, status } = run(cwd, ...words)
    assert.equal(status, 0, `${words.join(" ")} (in ${cwd}, Node ${major}): ${output}`)
    return output
  }
  const say = (text: string) => console.log(`Node ${major}  ${text}`)

  const core = empty(`core-${major}`)
  must(core, "npm", "install", archive("core"))
  assert.ok(megabytes(core) < 100, `core takes ${megabytes(core)} MB`)
  say(`@atropos/core alone: ${megabytes(core)} MB`)

  const service = empty(`api-${major}`)
  writeFileSync(join(service, "own.mjs"), tokenizer)
  must(service, "npm", "install", archive("core"), archive("api"))
  const brought = Object.keys(tree(service)).filter((place) =>
    foreign.some((name) => place.endsWith(`node_modules/${name}`))
  )
  assert.deepEqual(brought, [])
  assert.ok(megabytes(service) < 140, `api takes ${megabytes(service)} MB`)
  if (Number(major) >= 22) {
    const { output, status } = run(service, "node", "own.mjs")
    assert.notEqual(status, 0)
    assert.match(output, /@huggingface\/tokenizers[^]*npm install @huggingface\/tokenizers@\S+ @huggingface\/jinja@/)
  }
  say(`@atropos/api alone: ${megabytes(service)} MB, no library of models, pictures or sandboxes`)
  for (const name of ["envs", "trainer"]) {
    const one = empty(`${name}-${major}`)
    must(one, "npm", "install", archive("core"), archive(name), ...(name === "trainer" ? [archive(platform)] : []))
    say(`@atropos/${name} alone: ${megabytes(one)} MB`)
  }

  const all = empty(`all-${major}`)
  writeFileSync(join(all, "own.cjs"), `console.log(typeof require("@atropos/core").Environment.layer)`)
  must(all, "npm", "install", ...libraries, archive("cli"))
  const scripts = Object.entries(tree(all)).filter(([, { hasInstallScript }]) => hasInstallScript === true)
  assert.deepEqual(scripts, [])
  assert.ok(megabytes(all) < 430, `all takes ${megabytes(all)} MB`)
  say(`all packages: ${megabytes(all)} MB, no install script`)

  const required = run(all, "node", "own.cjs")
  if (Number(major) < 22) {
    assert.match(required.output, /Atropos needs Node 22\.19 or newer and runs under v20/)
    assert.match(run(all, "npx", "@atropos/cli", "up").output, /atropos needs Node 22\.19 or newer and runs under v20/)
    must(all, "npm", "install", "node@24")
    say("each says which Node it needs")
  } else {
    assert.match(required.output, /^function/)
    say("require works")
  }

  assert.match(must(all, "npx", "@atropos/cli", "envs"), /sort-letters[^]*npx @atropos\/cli envs NAME/)
  must(all, "npx", "@atropos/cli", "doctor")
  must(all, "npx", "@atropos/cli", ..."process --env arithmetic-stories --testing --env.total_steps 4".split(" "))
  must(all, "npx", "@atropos/cli", "view", "data/arithmetic-stories.jsonl", "--out", "page.html")
  const trained = must(all, "npx", "@atropos/cli", ..."up --steps 2 --env.group_size 4".split(" "))
  assert.match(trained, /held-out items solved/)
  assert.doesNotMatch(trained, /Warning/)
  const page = /(\S+)writing-an-environment\.md/.exec(trained)?.[0] ?? ""
  assert.ok(readFileSync(join(all, page), "utf8").length > 1000)
  say("envs, doctor, process, view, up: run")

  // Elsewhere, so that the starter has to install what it depends on.
  must(root, join(all, "node_modules/.bin/atropos"), "init", `starter-${major}`)
  const starter = join(root, `starter-${major}`)
  must(starter, "npm", "install", ...(Number(major) < 22 ? ["node@24"] : []))
  must(starter, "npm", "test")
  must(starter, "npx", "@atropos/cli", "validate", "--env", `./starter-${major}.ts`, "--texts", "20")
  for (const version of ["5.9", "7"]) {
    must(starter, "npm", "install", "--no-save", `typescript@${version}`)
    must(starter, "npx", "tsc", "-p", ".")
    say(`starter: its test, its laws, TypeScript ${must(starter, "npx", "tsc", "--version").trim()}`)
  }

  if (Number(major) < 22) return
  const old = empty(`effect-${oldest}-${major}`, { type: "module" })
  must(
    old,
    "npm",
    "install",
    `effect@${oldest}`,
    `@effect/platform-node@${oldest}`,
    // A lockfile of that time has it; npm alone would take a newer one, which wants a newer Effect.
    `@effect/platform-node-shared@${oldest}`,
    "@types/node@24",
    "typescript@5.9",
    ...libraries
  )
  const copies = Object.keys(tree(old)).filter((place) => place.endsWith("node_modules/effect"))
  assert.deepEqual(copies, ["node_modules/effect"])
  assert.equal(tree(old)["node_modules/effect"]?.version, oldest)
  writeFileSync(join(old, "app.ts"), app)
  must(
    old,
    "npx",
    "tsc",
    ..."--noEmit --strict --exactOptionalPropertyTypes --skipLibCheck --target ES2024 --lib ESNext --module NodeNext --types node app.ts".split(
      " "
    )
  )
  must(
    old,
    "npx",
    "tsc",
    ..."--strict --skipLibCheck --target ES2024 --lib ESNext --module NodeNext --types node app.ts".split(" ")
  )
  assert.deepEqual(must(old, "node", "app.js").trim().split("\n"), ["[1,0]", "true", "object object object true"])
  say(`an application on effect ${oldest}: one copy, its types and its errors hold`)
}

const asked = process.argv.slice(2)
for (const major of asked.length === 0 ? ["24"] : asked) check(major)
console.log(`all held; what was installed lies in ${root}`)

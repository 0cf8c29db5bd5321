/**
 * Checks the libraries against the oldest Effect of their range: `npm run check:range`, about two minutes. The suite
 * itself runs on the newest.
 *
 * Compiles sources and tests of core, api, envs and trainer with it, and runs some test files. The command is excluded:
 * it is a program with its own range, not a library.
 */
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import packageJson from "../package.json" with { type: "json" }
import corePackage from "../packages/core/package.json" with { type: "json" }

const source = fileURLToPath(new URL("..", import.meta.url))
const libraries = ["core", "api", "envs", "trainer"]
const smoke = [
  "packages/core/test/rollout/Rollout.test.ts",
  "packages/core/test/inference/tokenizer/Tokenizer.test.ts",
  "packages/envs/test/verify/math/MathAnswer.test.ts",
  "packages/api/test/v1/V1.test.ts",
  "packages/trainer/test/run/Trainer.test.ts",
  "packages/trainer/test/server/PolicyServer.test.ts"
]

const oldest = /^>=(\S+)/.exec(corePackage.peerDependencies.effect)?.[1]
if (oldest === undefined) throw new Error("the range of effect in packages/core has no lower end")
const { devDependencies } = packageJson
const folder = mkdtempSync(join(tmpdir(), "atropos-range-"))
const modules = join(folder, "node_modules")
const call = (program: string, ...words: ReadonlyArray<string>) =>
  void execFileSync(program, words, { cwd: folder, stdio: "inherit" })

writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "range", private: true, type: "module" }))
call(
  "npm",
  ..."install --no-audit --no-fund --ignore-scripts --loglevel error".split(" "),
  ...["effect", "@effect/platform-node", "@effect/platform-node-shared"].map((name) => `${name}@${oldest}`),
  ...(["@effect/sql-pg", "@effect/vitest"] as const).map((name) => `${name}@${devDependencies[name]}`),
  `vitest@${devDependencies.vitest}`,
  `@types/node@${devDependencies["@types/node"]}`
)

/** Links everything else from the checkout. */
const link = (from: string, to: string) => {
  if (!existsSync(to)) symlinkSync(from, to)
}
for (const name of readdirSync(join(source, "node_modules"))) {
  const from = join(source, "node_modules", name)
  const to = join(modules, name)
  if (name === "@atropos" || name === ".vite" || name === ".cache") continue
  if (!name.startsWith("@") || lstatSync(from).isSymbolicLink()) link(from, to)
  else {
    mkdirSync(to, { recursive: true })
    for (const one of readdirSync(from)) link(join(from, one), join(to, one))
  }
}
mkdirSync(join(modules, "@atropos"))
for (const name of libraries) {
  const from = join(source, "packages", name)
  const to = join(folder, "packages", name)
  for (const part of ["src", "test", "template", "package.json", "dist/viewer"]) {
    if (existsSync(join(from, part))) cpSync(join(from, part), join(to, part), { recursive: true })
  }
  for (const file of existsSync(join(from, "dist")) ? readdirSync(join(from, "dist")) : []) {
    // The template of the embedded database.
    if (file.endsWith(".tar.gz")) cpSync(join(from, "dist", file), join(to, "dist", file))
  }
  symlinkSync(to, join(modules, "@atropos", name))
}
// Tests of the pages read them through the scripts that generate them.
for (const file of ["docs", "scripts", "vitest.config.ts", "vitest.setup.ts"])
  cpSync(join(source, file), join(folder, file), { recursive: true })
writeFileSync(
  join(folder, "tsconfig.json"),
  JSON.stringify({
    extends: join(source, "tsconfig.json"),
    compilerOptions: { typeRoots: [join(modules, "@types")] },
    include: ["packages/*/src", "packages/*/test"],
    // They compile the viewer, which has its own settings and no Effect; use a WebSocket server that came with 4.1; and
    // read the command's sources.
    exclude: ["packages/api/test/viewer", "packages/envs/test/openenv", "packages/api/test/regular"]
  })
)
call(process.execPath, join(source, "node_modules/typescript/bin/tsc"), "--noEmit", "-p", ".")
// Effect 4.0 closes the connection when a body of undeclared length is too large; 4.1 responds with 413.
const newer = ["stop reading a body of unknown length", "takes JSON alone, no larger than it says"]
call(process.execPath, join(modules, "vitest/vitest.mjs"), "run", "-t", `^(?!.*(${newer.join("|")}))`, ...smoke)
console.log(`effect ${oldest}: types and tests hold`)

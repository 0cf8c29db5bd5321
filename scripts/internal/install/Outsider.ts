/**
 * Simulates a user with a version of Node and its npm and the published packages: runs programs in separate folders,
 * with packages of the scope from `PackedRegistry`.
 */
import { strict as assert } from "node:assert"
import { execFileSync, spawn } from "node:child_process"
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"

interface Ended {
  readonly status: number | null
  readonly output: string
}

export interface Outsider {
  readonly major: number
  /** True if the packages support this Node. */
  readonly isNewEnough: boolean
  readonly say: (text: string) => void
  /** A new folder with only these files. */
  readonly folder: (name: string, files?: { readonly [file: string]: string }) => string
  readonly run: (cwd: string, ...words: ReadonlyArray<string>) => Promise<Ended>
  /** Its output; fails if the program fails. */
  readonly must: (cwd: string, ...words: ReadonlyArray<string>) => Promise<string>
  /** Runs a line in a shell. Its global packages are in the folder itself. */
  readonly type: (cwd: string, line: string) => Promise<Ended>
  /** Starts a server, waits for this output, and stops it. */
  readonly serves: (cwd: string, says: RegExp, ...words: ReadonlyArray<string>) => Promise<void>
}

/** npm passes its own arguments to scripts by variables, and the caller is one of them. */
const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_(?!config)/.test(name)))

export const make = (root: string, major: number, registry: string): Outsider => {
  const folder: Outsider["folder"] = (name, files = {}) => {
    const made = join(root, `${name}-${major}`)
    mkdirSync(made, { recursive: true })
    for (const [file, text] of Object.entries(files)) writeFileSync(join(made, file), text)
    return made
  }
  const home = folder("node", { "package.json": `{ "private": true }` })
  execFileSync("npm", ["install", "--silent", `node@${major}`, `npm@${major < 22 ? 10 : 11}`], {
    cwd: home,
    stdio: "inherit"
  })
  // Hides packages that npx fetched for an earlier run, but reuses npm's downloads.
  const cache = folder("cache")
  const kept = join(inherited["npm_config_cache"] ?? join(homedir(), ".npm"), "_cacache")
  mkdirSync(kept, { recursive: true })
  symlinkSync(kept, join(cache, "_cacache"))
  const npmrc = join(home, "npmrc")
  writeFileSync(npmrc, `${registry}\n`)

  const environment = (cwd: string) => ({
    ...inherited,
    PATH: `${join(cwd, "global/bin")}:${join(home, "node_modules/.bin")}:/usr/bin:/bin`,
    NODE_OPTIONS: "",
    npm_config_audit: "false",
    npm_config_fund: "false",
    // Confirms npx's installation prompt.
    npm_config_yes: "true",
    npm_config_cache: cache,
    npm_config_globalconfig: npmrc,
    npm_config_prefix: join(cwd, "global")
  })

  /** In its own group, so that its children can be stopped with it. */
  const start = (cwd: string, [command = "", ...words]: ReadonlyArray<string>) => {
    const child = spawn(command, words, {
      cwd,
      env: environment(cwd),
      detached: true,
      stdio: ["ignore", "pipe", "pipe"]
    })
    let output = ""
    const heard = (part: Buffer) => void (output += part.toString())
    child.stdout.on("data", heard)
    child.stderr.on("data", heard)
    const ended = new Promise<Ended>((resolve, reject) => {
      child.once("error", reject)
      child.once("close", (status) => resolve({ status, output }))
    })
    return { child, ended, output: () => output }
  }

  const run: Outsider["run"] = (cwd, ...words) => start(cwd, words).ended
  const must: Outsider["must"] = async (cwd, ...words) => {
    const { output, status } = await run(cwd, ...words)
    assert.equal(status, 0, `${words.join(" ")} (in ${cwd}, Node ${major}): ${output}`)
    return output
  }
  return {
    major,
    isNewEnough: major >= 22,
    say: (text) => console.log(`Node ${major}  ${text}`),
    folder,
    run,
    must,
    type: (cwd, line) => run(cwd, "bash", "-c", line),
    serves: async (cwd, says, ...words) => {
      const { child, ended, output } = start(cwd, words)
      const said = new Promise<void>((resolve) => {
        const look = () => says.test(output()) && resolve()
        child.stdout.on("data", look)
        child.stderr.on("data", look)
      })
      const early = await Promise.race([said, ended])
      assert.equal(early, undefined, `${words.join(" ")} (in ${cwd}, Node ${major}) ended: ${output()}`)
      // It was started, so it has a group.
      process.kill(-child.pid!, "SIGINT")
      await ended
    }
  }
}

/** The packages that npm installed in a folder. */
export const tree = (
  cwd: string
): { readonly [place: string]: { readonly version: string; readonly hasInstallScript?: boolean } } =>
  JSON.parse(readFileSync(join(cwd, "node_modules/.package-lock.json"), "utf8")).packages

export const megabytes = (cwd: string): number =>
  Number(execFileSync("du", ["-sm", "node_modules"], { cwd, encoding: "utf8" }).split("\t")[0])

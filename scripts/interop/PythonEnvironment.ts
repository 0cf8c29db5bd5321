/**
 * Creates virtual environments of locked requirements, once for each content of their file: they are cached in
 * `$XDG_CACHE_HOME/atropos/interop` (`~/.cache` by default), under the digest of the file, Python's version and the
 * platform.
 *
 * An environment appears atomically: it is created in a separate folder, and the link under which it is found is set
 * last. If two processes create the same one, the second to finish uses the first's. A folder left by a killed process
 * is removed by the next one.
 *
 * Every file that pip installs has a hash in the lock. The GPU build of torch, which an index may have instead of the
 * CPU build, depends on libraries that the lock omits, each with its version: they are installed from that.
 */
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync
} from "node:fs"
import { homedir } from "node:os"
import { basename, join } from "node:path"
import type { Python } from "./Python.ts"

/** An environment that this machine cannot provide; not a failure of the tested code. */
export class Unavailable extends Error {}

const cache = join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "atropos", "interop")

const interpreterOf = (folder: string): string => join(folder, "bin", "python")

/** Runs a program; returns its success and all of its output. */
const call = (program: string, words: ReadonlyArray<string>) => {
  const { error, status, stderr, stdout } = spawnSync(program, words, { encoding: "utf8", maxBuffer: 2 ** 26 })
  return { succeeded: status === 0, output: error === undefined ? stdout + stderr : String(error) }
}

const must = (program: string, words: ReadonlyArray<string>): void => {
  const { output, succeeded } = call(program, words)
  if (!succeeded) throw new Error(`failed: ${program} ${words.join(" ")}\n${output}`)
}

/** The interpreter of an existing environment; undefined if it was never created or is gone. */
const made = (link: string): string | undefined => {
  try {
    const interpreter = interpreterOf(link)
    realpathSync(interpreter)
    return interpreter
  } catch {
    return undefined
  }
}

/** Removes folders without a link whose process has ended: their names end in its id and six letters. */
const removeAbandoned = (): void => {
  const entries = readdirSync(cache, { withFileTypes: true })
  const used = new Set(entries.filter((one) => one.isSymbolicLink()).map(({ name }) => readlinkSync(join(cache, name))))
  for (const { name } of entries.filter((one) => one.isDirectory() && !used.has(one.name))) {
    const [, pid] = /\.(\d+)-\w+$/.exec(name) ?? []
    if (pid !== undefined && !isRunning(Number(pid))) rmSync(join(cache, name), { recursive: true, force: true })
  }
}

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}

const install = (name: string, interpreter: string, requirements: string): void => {
  const pip = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
  const [first = ""] = /^\S+==[^\s;\\]+/m.exec(readFileSync(requirements, "utf8")) ?? []
  const asked = ["--dry-run", "--ignore-installed", "--no-deps", "--retries", "1", "--timeout", "15", first]
  const { output, succeeded } = call(interpreter, [...pip, ...asked])
  if (!succeeded) throw new Unavailable(`no package index with ${first}: ${output.trim().split("\n").at(-1)}`)
  console.log(`making the environment ${name}: some minutes`)
  must(interpreter, [...pip, "-qq", "--no-compile", "--require-hashes", "--no-deps", "-r", requirements])
  // Has an effect only if torch is the GPU build.
  const [torch] = /^torch==[^\s;\\]+/m.exec(readFileSync(requirements, "utf8")) ?? []
  if (torch !== undefined) must(interpreter, [...pip, "-qq", torch])
  must(interpreter, ["-m", "pip", "check"])
}

/** Sets the link, unless another process has set it meanwhile; a broken link is replaced. */
const publish = (folder: string, link: string): boolean => {
  try {
    symlinkSync(basename(folder), link, "dir")
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
    if (made(link) !== undefined) return false
    symlinkSync(basename(folder), `${folder}.link`, "dir")
    renameSync(`${folder}.link`, link)
    return true
  }
}

/** The interpreter of a lock's environment; created if missing. */
export const ensure = (name: string, requirements: string, { path, platform, version }: Python): string => {
  const digest = createHash("sha256")
    .update(JSON.stringify([readFileSync(requirements, "utf8"), version, platform]))
    .digest("hex")
  const link = join(cache, `${name}-${digest.slice(0, 16)}`)
  const there = made(link)
  if (there !== undefined) return there
  mkdirSync(cache, { recursive: true })
  removeAbandoned()
  const folder = mkdtempSync(`${link}.${process.pid}-`)
  try {
    must(path, ["-m", "venv", folder])
    install(name, interpreterOf(folder), requirements)
    if (!publish(folder, link)) rmSync(folder, { recursive: true, force: true })
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
  return interpreterOf(link)
}

/**
 * Writes `requirements*.txt` from `requirements*.in`, here and in `packages/trainer/python`: exact versions of
 * everything, with the hashes of all files in the package index, for every platform and each Python from 3.11 on. Run
 * `node scripts/interop/lock.ts` after a change of an `.in`; needs uv (`pip install uv`). `--upgrade` takes the newest
 * versions that the `.in` allows.
 *
 * torch is special. An index may have its GPU build or, like a folder of `PIP_FIND_LINKS` here, a CPU build with its
 * own hashes: the lock has both, and keeps earlier hashes of CPU builds of the same version. The libraries of the GPU
 * build, gigabytes, are omitted here (`PythonEnvironment` installs them if needed).
 */
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const folder = fileURLToPath(new URL(".", import.meta.url))
/** What the engine `torch` installs, with the libraries of its GPU build. */
const ofEngine = fileURLToPath(new URL("../../packages/trainer/python/", import.meta.url))
const ofGpu = /^(?:nvidia-|cuda-|triton(?:==|-))/
const command = "node scripts/interop/lock.ts"

/** A package with its hashes, and comments on its dependents. */
const blocks = (lock: string): ReadonlyArray<string> => lock.split(/\n(?=[a-z0-9])/i)

const torchOf = (lock: string): string | undefined => blocks(lock).find((block) => block.startsWith("torch=="))
const versionOf = (block: string | undefined): string | undefined => /^torch==([^\s;\\]+)/.exec(block ?? "")?.[1]
const hashesOf = (block: string | undefined): ReadonlyArray<string> =>
  Array.from((block ?? "").matchAll(/--hash=(sha256:\w+)/g), ([, hash]) => hash!)

/** Hashes of CPU builds in the folders given to pip. */
const ofCpu = (version: string): ReadonlyArray<string> =>
  (process.env["PIP_FIND_LINKS"] ?? "")
    .split(/\s+/)
    .filter((path) => path !== "" && existsSync(path))
    .flatMap((path) => readdirSync(path).map((name) => join(path, name)))
    .filter((file) => file.includes(`/torch-${version}+cpu-`))
    .map((file) => `sha256:${createHash("sha256").update(readFileSync(file)).digest("hex")}`)

const sources = [folder, ofEngine].flatMap((place) =>
  readdirSync(place)
    .filter((name) => name.endsWith(".in"))
    .map((name) => ({ place, source: name }))
)
for (const { place, source } of sources) {
  const target = join(place, source.replace(/\.in$/, ".txt"))
  const before = existsSync(target) ? torchOf(readFileSync(target, "utf8")) : undefined
  const words = ["pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-emit-index-url"]
  execFileSync(
    "uv",
    [
      ...words,
      ...`--python-version ${source.includes("harbor") ? "3.12" : "3.11"}`.split(" "),
      "--custom-compile-command",
      command,
      "--output-file",
      target,
      source,
      ...process.argv.slice(2)
    ],
    { cwd: place, stdio: "inherit" }
  )
  if (place === ofEngine) continue
  const lock = readFileSync(target, "utf8")
  const torch = torchOf(lock)
  const version = versionOf(torch)
  const kept = blocks(lock).filter((block) => !ofGpu.test(block))
  if (version !== undefined) {
    const known = new Set(hashesOf(torch))
    const more = new Set([...(versionOf(before) === version ? hashesOf(before) : []), ...ofCpu(version)])
    const added = Array.from(more.difference(known)).map((hash) => ` \\\n    --hash=${hash}`)
    const [last = ""] = hashesOf(torch).slice(-1)
    const at = kept.indexOf(torch!)
    kept[at] = torch!.replace(`--hash=${last}`, `--hash=${last}${added.join("")}`)
  }
  writeFileSync(target, kept.join("\n"))
}

/**
 * Installs PyTorch for the engine: a virtual environment in the cache (`~/.cache/atropos/torch`), under the digest of
 * `python/requirements.txt`, which has the exact version and the hashes of every package.
 *
 * Builds for CUDA are in the lock with their libraries. CPU builds come from PyTorch's own index, whose files are not
 * in the lock: there the version of torch is fixed, and all other packages have hashes. uv is used if it is installed.
 * An environment appears when it is complete.
 */
import { createHash } from "node:crypto"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Executable from "@atropos/core/base/system/Executable"
import { Effect, FileSystem, Path } from "effect"
import * as CacheFile from "../base/CacheFile.ts"

export const builds = ["cuda", "cpu"] as const
export type Build = (typeof builds)[number]

/** Downloaded, and on the disk: gigabytes. */
export const gigabytes: { readonly [B in Build]: readonly [downloaded: number, installed: number] } = {
  cuda: [2.8, 5],
  cpu: [0.3, 1.3]
}

const requirements = fileURLToPath(new URL("../../python/requirements.txt", import.meta.url))

/** CUDA where NVIDIA's driver is, otherwise the CPU. */
export const suited = (): Build => (Executable.find("nvidia-smi") === undefined ? "cpu" : "cuda")

export const uv = (): string | undefined => Executable.find("uv")

/** Packages with their hashes. */
const blocks = (lock: string): ReadonlyArray<string> =>
  lock.split(/\n(?=[a-z0-9])/i).filter((block) => !block.startsWith("#"))

const ofCuda = /^(?:nvidia-|cuda-|triton(?:==|-))/

/** The lock of a build, and the version of torch if its files are not in the lock. */
export const lockOf = (lock: string, build: Build) => {
  if (build === "cuda") return { lock, torch: undefined }
  const kept = blocks(lock).filter((block) => !ofCuda.test(block) && !block.startsWith("torch=="))
  return { lock: `${kept.join("\n")}\n`, torch: /^torch==[^\s;\\]+/m.exec(lock)?.[0] }
}

const interpreterOf = (environment: string): string => join(environment, "bin", "python")

const environmentOf = Effect.fnUntraced(function* (build: Build) {
  const fs = yield* FileSystem.FileSystem
  const lock = yield* fs.readFileString(requirements)
  const digest = createHash("sha256").update(lock).digest("hex").slice(0, 12)
  return { lock, folder: yield* CacheFile.path("torch", `${build}-${digest}`) }
})

/** The interpreter: the given one, else that of an installed environment, else `python3`. */
export const interpreter = Effect.fn("TorchInstall.interpreter")(function* (given: string | null) {
  if (given !== null) return given
  const fs = yield* FileSystem.FileSystem
  for (const build of builds) {
    const { folder } = yield* environmentOf(build)
    if (yield* fs.exists(interpreterOf(folder))) return interpreterOf(folder)
  }
  return "python3"
})

export interface Options {
  readonly build: Build
  /** Makes the environment; Python 3.11 or newer. */
  readonly python: string
  /** The executable; undefined: pip is used. */
  readonly uv: string | undefined
  /** URL of a package index that has PyTorch's build, in addition to pip's own. */
  readonly index: string | undefined
}

/** Runs a command line; fails if it does. */
export type Run<E, R> = (words: ReadonlyArray<string>) => Effect.Effect<void, E, R>

/** Command lines that make an environment in `folder` from the lock in `file`. */
export const commands = (
  { build, index, python, uv: program }: Options,
  folder: string,
  file: string,
  torch: string | undefined
): ReadonlyArray<ReadonlyArray<string>> => {
  const own = interpreterOf(folder)
  const install =
    program === undefined
      ? [own, "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
      : [program, "pip", "install", "--python", own]
  const more = index === undefined ? [] : ["--extra-index-url", index]
  const backend = program === undefined || build === "cuda" || index !== undefined ? [] : ["--torch-backend", "cpu"]
  return [
    program === undefined ? [python, "-m", "venv", folder] : [program, "venv", "--python", python, folder],
    [...install, "--require-hashes", "--no-deps", "-r", file],
    ...(torch === undefined ? [] : [[...install, "--no-deps", ...backend, ...more, torch]])
  ]
}

/** Makes the environment, unless it exists. Returns its interpreter. */
export const install = Effect.fn("TorchInstall.install")(function* <E, R>(options: Options, run: Run<E, R>) {
  const fs = yield* FileSystem.FileSystem
  const { dirname } = yield* Path.Path
  const { folder, lock } = yield* environmentOf(options.build)
  if (yield* fs.exists(interpreterOf(folder))) return interpreterOf(folder)
  const of = lockOf(lock, options.build)
  const partial = `${folder}.${process.pid}.partial`
  const file = `${partial}.txt`
  yield* fs.makeDirectory(dirname(folder), { recursive: true })
  yield* Effect.gen(function* () {
    yield* fs.writeFileString(file, of.lock)
    for (const words of commands(options, partial, file, of.torch)) yield* run(words)
    // What is missing at run time is better found now.
    yield* run([interpreterOf(partial), "-c", "import torch, transformers, peft, safetensors"])
    yield* fs.rename(partial, folder)
  }).pipe(
    Effect.ensuring(Effect.ignore(fs.remove(file, { force: true }))),
    Effect.onError(() => Effect.ignore(fs.remove(partial, { recursive: true, force: true })))
  )
  return interpreterOf(folder)
})

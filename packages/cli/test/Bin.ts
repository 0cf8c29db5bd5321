/** Runs the real command in a process of its own, in a folder of its own. */
import { fileURLToPath } from "node:url"
import { Effect, FileSystem, Stream } from "effect"
import { ChildProcess, ChildProcessSpawner } from "effect/process"

export const bin = fileURLToPath(new URL("../bin/atropos.js", import.meta.url))

/** The environment of one's own that the tests run. */
export const myEnvironment = fileURLToPath(new URL("fixtures/my-env.ts", import.meta.url))
export const loadedModules = new URL("fixtures/loaded-modules.js", import.meta.url).href

export interface BinOptions {
  readonly cwd: string
  readonly env?: Record<string, string>
  /** Options of Node itself. */
  readonly node?: ReadonlyArray<string>
}

/** What of this process the command is not to see. */
export const clean = {
  DATABASE_URL: undefined,
  ATROPOS_DATA_DIR: undefined,
  ATROPOS_TOKENS: undefined,
  NODE_OPTIONS: undefined
}

/** Starts the command; it is killed with the scope. */
export const start = Effect.fn("Bin.start")(function* (words: ReadonlyArray<string>, options: BinOptions) {
  const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
  return yield* spawner.spawn(
    ChildProcess.make(process.execPath, ["--conditions=atropos-src", ...(options.node ?? []), bin, ...words], {
      cwd: options.cwd,
      env: { ...clean, ...options.env },
      extendEnv: true
    })
  )
})

const textOf = (stream: Stream.Stream<Uint8Array, unknown>) =>
  stream.pipe(
    Stream.decodeText,
    Stream.runFold(
      () => "",
      (all, part) => all + part
    )
  )

/** Runs the command to its end. */
export const run = Effect.fn("Bin.run")(function* (words: ReadonlyArray<string>, options: BinOptions) {
  const child = yield* start(words, options)
  const [stdout, stderr, code] = yield* Effect.all([textOf(child.stdout), textOf(child.stderr), child.exitCode], {
    concurrency: "unbounded"
  })
  return { stdout, stderr, code: Number(code) }
}, Effect.scoped)

/** A fresh folder, removed with the scope. */
export const folder = Effect.flatMap(FileSystem.FileSystem, (fs) =>
  fs.makeTempDirectoryScoped({ prefix: "atropos-cli-" })
)

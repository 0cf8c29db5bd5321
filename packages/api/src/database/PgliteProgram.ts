/**
 * PGlite's program, compiled once for all databases of this process: to compile it takes a thread as long as all else
 * that it does before its first answer.
 */
import { Effect } from "effect"
import { readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"

/** A compiled module; it may be posted to other threads. */
export interface Program {
  readonly __module: never
}

/** Node's WebAssembly, whose types come with the browser's library alone. */
const { WebAssembly } = globalThis as unknown as {
  readonly WebAssembly: { readonly compile: (bytes: Uint8Array) => Promise<Program> }
}

const read = async (): Promise<Program> => {
  const main = createRequire(import.meta.url).resolve("@electric-sql/pglite")
  return WebAssembly.compile(await readFile(join(dirname(main), "pglite.wasm")))
}

let compiled: Promise<Program> | undefined

/** What went wrong is told in words, and tried again by the next database. */
export const program = Effect.tryPromise({
  try: () => (compiled ??= read()),
  catch: (error) => {
    compiled = undefined
    return error instanceof Error ? error.message : String(error)
  }
})

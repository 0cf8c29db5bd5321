/**
 * Compiles PGlite's WebAssembly once for all databases of this process: compiling takes a thread as long as everything
 * else before its first answer.
 */
import { Effect } from "effect"
import { readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"

/** A compiled module that can be posted to threads. */
export interface Program {
  readonly __module: never
}

/** Node's WebAssembly, whose types are only in the browser's library. */
const { WebAssembly } = globalThis as unknown as {
  readonly WebAssembly: { readonly compile: (bytes: Uint8Array) => Promise<Program> }
}

const read = async (): Promise<Program> => {
  const main = createRequire(import.meta.url).resolve("@electric-sql/pglite")
  return WebAssembly.compile(await readFile(join(dirname(main), "pglite.wasm")))
}

let compiled: Promise<Program> | undefined

/** Fails with a message; the next database tries again. */
export const program = Effect.tryPromise({
  try: () => (compiled ??= read()),
  catch: (error) => {
    compiled = undefined
    return error instanceof Error ? error.message : String(error)
  }
})

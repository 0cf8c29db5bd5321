/**
 * Which words are paths on this machine, and never ids of the hub: those that begin with `./`, `../`, `/`, `~` or a
 * drive, and those that end as files of data or weights do. A missing folder is then said to be missing, and nothing is
 * asked for it elsewhere.
 */
import { Effect, FileSystem, Option, Path } from "effect"
import { homedir } from "node:os"

const begins = /^(\.{0,2}[/\\]|\.{1,2}$|~|[a-z]:[/\\])/i
const ends =
  /\.(jsonl|ndjson|json|csv|tsv|txt|parquet|arrow|yaml|yml|safetensors|gguf|bin|pt|pth|onnx|ckpt|zip|gz|zst|tar)$/i

/** The word as a path, `~` as the home folder; none where it may be an id of the hub. */
export const of = (word: string): Option.Option<string> =>
  begins.test(word) || ends.test(word) ? Option.some(word.replace(/^~(?=$|[/\\])/, () => homedir())) : Option.none()

/** Names of files in llama.cpp's format. */
export const ggufPattern = /\.gguf$/i

/** What a message says of such a file, after naming it. */
export const gguf =
  "which is not read: give the folder of safetensors that it was made from, or the model's hub id; to sample from it only, serve it (llama-server -m FILE) and name that server (--openai.base_url)"

/** The folder that a word names; none where it may be an id of the hub. Fails with what is wrong with a path. */
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
      ? `there is no folder ${path}`
      : ggufPattern.test(path)
        ? `${path} is a GGUF file, ${gguf}`
        : `${path} is no folder: give the one that holds the model's files`
  )
})

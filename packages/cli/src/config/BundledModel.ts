/**
 * Locates the small language model bundled with the command: `--model bundled`. It solves arithmetic word problems
 * poorly (docs/models.md); `scripts/pretrain-bundled.ts` made it. A folder of that name is `./bundled`.
 */
import type { Description } from "@atropos/trainer/model/PretrainedModel"
import { Effect, FileSystem } from "effect"
import { createHash } from "node:crypto"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

/** The name used instead of a folder. */
export const word = "bundled"

const folder = fileURLToPath(new URL("../../models/bundled", import.meta.url))

/** The folder of the bundled model; every other name unchanged. */
export const located = (model: string): string => (model === word ? folder : model)

const files = ["config.json", "tokenizer.json", "model.safetensors"]

/** SHA-256 of its content, 12 hexadecimal digits. */
const digest = Effect.fnUntraced(function* () {
  const fs = yield* FileSystem.FileSystem
  const hash = createHash("sha256")
  for (const file of files) hash.update(yield* fs.readFile(join(folder, file)))
  return hash.digest("hex").slice(0, 12)
})

/**
 * Names the bundled model by its short name, regardless of where the command is installed: to clients, in settings and
 * in checkpoints, which identify the version by its content. Other models are unchanged.
 */
export const named = Effect.fn("BundledModel.named")(function* <M extends Pick<Description, "name" | "tokenizer">>(
  model: M,
  requested: string
) {
  if (requested !== word) return model
  const identity = `${word} (sha256 ${yield* digest()})`
  return { ...model, name: word, identity, tokenizer: { ...model.tokenizer, name: word } }
})

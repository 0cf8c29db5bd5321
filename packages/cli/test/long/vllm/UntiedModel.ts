/**
 * The bundled model with an output matrix of its own, equal to its embeddings. vLLM 0.32 on a CPU does not read the
 * output matrix anew where it is the embeddings'.
 */
import { cpSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const bundled = fileURLToPath(new URL("../../../models/bundled", import.meta.url))

interface Head {
  readonly [name: string]: {
    readonly dtype: string
    readonly shape: ReadonlyArray<number>
    readonly data_offsets: readonly [number, number]
  }
}

/** Writes it into a folder. */
export const write = (folder: string): void => {
  cpSync(bundled, folder, { recursive: true })
  const config = JSON.parse(readFileSync(join(folder, "config.json"), "utf8")) as object
  writeFileSync(join(folder, "config.json"), JSON.stringify({ ...config, tie_word_embeddings: false }))
  const file = readFileSync(join(folder, "model.safetensors"))
  const length = Number(file.readBigUInt64LE(0))
  const head = JSON.parse(file.subarray(8, 8 + length).toString()) as Head
  const data = file.subarray(8 + length)
  const embedding = head["model.embed_tokens.weight"]!
  const [from, to] = embedding.data_offsets
  const output = { ...embedding, data_offsets: [data.length, data.length + to - from] }
  const text = JSON.stringify({ ...head, "lm_head.weight": output })
  const whole = Buffer.from(text.padEnd(Math.ceil(text.length / 8) * 8))
  const size = Buffer.alloc(8)
  size.writeBigUInt64LE(BigInt(whole.length))
  writeFileSync(join(folder, "model.safetensors"), Buffer.concat([size, whole, data, data.subarray(from, to)]))
}

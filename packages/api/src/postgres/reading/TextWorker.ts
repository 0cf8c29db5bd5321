/** Extracts the text of stored groups in a thread: receives groups as stored, answers with their texts. */
import { parentPort } from "node:worker_threads"
import { zstdDecompressSync } from "node:zlib"
import type { TrajectoryApi } from "@atropos/core"
import { payloadText } from "./PayloadText.ts"

/** A group as stored (`Codec`). */
export interface Task {
  readonly encoding: number
  readonly bytes: Uint8Array
}

export interface Reply {
  readonly preview: string | null
  /** Null without text. */
  readonly body: string | null
  readonly count: number
  readonly figures: TrajectoryApi.GroupFigures | null
}

const textOf = ({ bytes, encoding }: Task): Reply => {
  const { body, figures, preview, vocabulary } = payloadText({
    format: encoding < 2 ? "json" : "packed",
    bytes: encoding % 2 === 0 ? bytes : zstdDecompressSync(bytes)
  })
  return { preview, body: body === "" ? null : body, count: vocabulary, figures }
}

parentPort?.on("message", (tasks: ReadonlyArray<Task>) => parentPort?.postMessage(tasks.map(textOf)))
